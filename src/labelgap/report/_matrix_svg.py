"""A few rows of the label matrix as inline SVG: shape tells the value, colour tells the story."""

from __future__ import annotations

from html import escape

from labelgap.report._demo_result import CELL_STATES, MatrixSample

CELL, _LEFT, _MOST_LETTERS = 24, 62, 14
_LETTER, _SLANT = 5.6, 0.8

# value: a full square is a yes, a dot is a no; story: ink is known, blue recovered, orange wrong
_SHAPES = {
    "yes": '<rect class="ink" x="4" y="4" width="16" height="16" rx="2"/>',
    "no": '<circle class="ink-soft" cx="12" cy="12" r="2.5"/>',
    "found": '<rect class="gap" x="1" y="1" width="22" height="22" rx="3"/>'
    '<rect class="right" x="4" y="4" width="16" height="16" rx="2"/>',
    "cleared": '<rect class="gap" x="1" y="1" width="22" height="22" rx="3"/>'
    '<circle class="right" cx="12" cy="12" r="4"/>',
    "missed": '<rect class="gap" x="1" y="1" width="22" height="22" rx="3"/>'
    '<rect class="wrong-line" x="5" y="5" width="14" height="14" rx="2"/>'
    '<path class="wrong-line" d="M8 8l8 8M16 8l-8 8"/>',
    "alarm": '<rect class="gap" x="1" y="1" width="22" height="22" rx="3"/>'
    '<circle class="wrong" cx="12" cy="12" r="4"/>'
    '<path class="wrong-line" d="M5 5l14 14M19 5L5 19"/>',
}


def symbols() -> str:
    """The shapes, to be put into the page once."""
    shapes = "".join(
        f'<symbol id="cell-{state}" viewBox="0 0 {CELL} {CELL}">{shape}</symbol>'
        for state, shape in _SHAPES.items()
    )
    return f'<svg class="hidden" aria-hidden="true" focusable="false">{shapes}</svg>'


def legend() -> list[tuple[str, str]]:
    """Symbol and meaning of every state."""
    return [
        (
            f'<svg width="{CELL}" height="{CELL}" aria-hidden="true" focusable="false">'
            f'<use href="#cell-{state}"/></svg>',
            meaning,
        )
        for state, meaning in CELL_STATES.items()
    ]


def matrix_svg(sample: MatrixSample) -> str:
    """The picture; every cell says in words what it is when pointed at."""
    names = [_short(name) for name in sample.labels]
    top = int(_SLANT * _LETTER * max(map(len, names), default=0)) + 18
    # names lean to the right: the last one needs room beyond its column
    right = int(0.6 * _LETTER * len(names[-1])) + 8 if names else 0
    width, height = _LEFT + CELL * len(names) + right, top + CELL * len(sample.rows)
    parts = [
        f'<svg class="matrix" viewBox="0 0 {width} {height}" role="img" '
        f'style="min-width:{min(width, 22 * len(names) + 50)}px;max-width:{1.5 * width:.0f}px" '
        'aria-labelledby="matrix-title matrix-desc">',
        '<title id="matrix-title">Labels of a few training rows</title>',
        f'<desc id="matrix-desc">{escape(describe(sample))}</desc>',
    ]
    for j, name in enumerate(names):
        x = _LEFT + CELL * j + CELL / 2
        parts.append(
            f'<text class="name" transform="translate({x + 3:g} {top - 6}) rotate(-55)">'
            f"{escape(name)}</text>"
        )
    for i, (row, states) in enumerate(zip(sample.rows, sample.states, strict=True)):
        y = top + CELL * i
        parts.append(
            f'<text class="name" x="{_LEFT - 6}" y="{y + 16}" text-anchor="end">row {row}</text>'
        )
        parts += [
            f"<g><title>{escape(f'row {row}, {label}: {CELL_STATES[state]}')}</title>"
            f'<use href="#cell-{state}" x="{_LEFT + CELL * j}" y="{y}" '
            f'width="{CELL}" height="{CELL}"/></g>'
            for j, (label, state) in enumerate(zip(sample.labels, states, strict=True))
        ]
    return "".join([*parts, "</svg>"])


def describe(sample: MatrixSample) -> str:
    """The picture in one sentence, for those who cannot see it."""
    counts = dict.fromkeys(CELL_STATES, 0)
    for states in sample.states:
        for state in states:
            counts[state] += 1
    listed = "; ".join(f"{CELL_STATES[state]}: {count}" for state, count in counts.items())
    return f"{len(sample.rows)} rows and {len(sample.labels)} labels. Entries {listed}."


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else name[: _MOST_LETTERS - 1] + "…"
