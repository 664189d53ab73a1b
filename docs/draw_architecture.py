"""Draw ``docs/architecture.svg``: the rooms of the library in layers, and the way of the data.

A room imports from rooms of its own layer or below, as ``tests/test_architecture.py`` allows; the tests
compare the picture with that map. After a change: ``python docs/draw_architecture.py``.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

TARGET = Path(__file__).parent / "architecture.svg"

# (what the layer is for, {room: what it holds}), from what users call down to plain arrays
LAYERS: list[tuple[str, dict[str, str]]] = [
    ("commands", {"cli": "labelgap audit, review, fit, ..."}),
    (
        "pages and files",
        {"report": "HTML pages", "review": "questions, decisions", "export": "ONNX"},
    ),
    (
        "answers",
        {
            "auditing": "which labels are missing",
            "plots": "pictures",
            "registry": "list of estimators",
        },
    ),
    (
        "learning despite gaps",
        {
            "mend": "combine, impute",
            "imputers": "probability of each entry",
            "models": "the five systems",
            "networks": "all labels at once",
            "label_tree": "thousands of labels",
            "baselines": "simple methods",
        },
    ),
    (
        "shared engines",
        {
            "one_vs_rest": "one model per label",
            "propensity": "label frequency",
            "estimation": "count what is missing",
            "fitting": "EM, Gibbs, blocks",
            "zero_shot": "unseen labels",
            "losses": "for networks",
            "estimator": "the contract",
        },
    ),
    (
        "data and measures",
        {
            "data": "files, benchmark sets",
            "protocols": "hide labels",
            "generators": "known truth",
            "model_selection": "folds, searches",
            "metrics": "skip unknown entries",
        },
    ),
    (
        "what an entry says",
        {
            "labels": "1, 0, unknown, unlabeled",
            "views": "groups of columns",
            "frames": "columns of any type",
            "text": "of items and labels",
            "cooccurrence": "label counts",
            "targets": "labels or classes",
        },
    ),
    (
        "arrays",
        {
            "kernels": "pure functions",
            "memory": "one budget",
            "parameters": "declared once",
            "files": "safe writing",
            "extras": "optional packages",
        },
    ),
]
# how a table becomes an answer, read from below: shown as steps beside the layers
WAY = [
    (5, "a table is read once"),
    (6, "its labels become Labels"),
    (4, "models share engines"),
    (3, "gaps are imputed"),
    (2, "entries are scored"),
    (1, "pages are written"),
]

WIDTH, LEFT, RIGHT, HEIGHT, GAP = 1000, 150, 190, 54, 12


def boxes() -> list[str]:
    parts = []
    for position, (purpose, rooms) in enumerate(LAYERS):
        top = 10 + position * (HEIGHT + GAP)
        parts.append(
            f'<text x="{LEFT - 12}" y="{top + HEIGHT / 2 + 4}" class="layer">{escape(purpose)}</text>'
        )
        width = (WIDTH - LEFT - RIGHT - (len(rooms) - 1) * 8) / len(rooms)
        for column, (room, holds) in enumerate(rooms.items()):
            left = LEFT + column * (width + 8)
            middle = left + width / 2
            parts += [
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{HEIGHT}" rx="6"/>',
                f'<text x="{middle:.1f}" y="{top + 22}" class="room">{escape(room)}</text>',
                f'<text x="{middle:.1f}" y="{top + 40}" class="holds">{escape(holds)}</text>',
            ]
    return parts


def way() -> list[str]:
    """The steps of the data, numbered, each beside its layer."""
    parts = []
    for number, (layer, words) in enumerate(WAY, start=1):
        y = 10 + layer * (HEIGHT + GAP) + HEIGHT / 2
        left = WIDTH - RIGHT + 22
        parts += [
            f'<circle cx="{left}" cy="{y}" r="11"/>',
            f'<text x="{left}" y="{y + 4}" class="number">{number}</text>',
            f'<text x="{left + 18}" y="{y + 4}" class="step">{escape(words)}</text>',
        ]
    return parts


def drawing() -> str:
    height = 10 + len(LAYERS) * (HEIGHT + GAP)
    style = (
        "text{font-family:system-ui,sans-serif;font-size:11px;fill:#222}"
        ".room{font-weight:600;font-size:13px;text-anchor:middle}"
        ".holds{fill:#555;text-anchor:middle;font-size:10.5px}"
        ".layer{fill:#555;text-anchor:end}"
        "rect{fill:#eef4fa;stroke:#0072b2}"
        "circle{fill:#d55e00}.number{fill:#fff;text-anchor:middle;font-weight:600}"
        ".step{font-size:11px}"
    )
    title = "The rooms of labelgap in layers; imports point downwards"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{title}</title>",
            f"<style>{style}</style>",
            '<rect x="0" y="0" width="100%" height="100%" style="fill:#fff;stroke:none"/>',
            *boxes(),
            *way(),
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    TARGET.write_text(drawing(), encoding="utf-8")
