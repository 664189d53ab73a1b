"""``labelgap demo``: labels are deleted without a trace, and an audit looks for them."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from labelgap.audit import Audit, DataSource, Suggestion
from labelgap.audit import audit as run_audit
from labelgap.cli._demo_unknown import demo_command
from labelgap.cli._terminal import Terminal, bullets, table
from labelgap.cli.audit import write_audit
from labelgap.data import Dataset, dataset_info
from labelgap.labels import Labels
from labelgap.protocols import Hidden, hide_positives

_FIRST, _N_SHOWN = (100, 1000), 8


@dataclass(frozen=True)
class Found:
    """How many of the first ``n`` suggestions are labels that were deleted."""

    n: int
    right: int


def show_forgotten(
    terminal: Terminal,
    data: Dataset,
    reason: str | None,
    *,
    share: float,
    seed: int,
    max_rows: int,
    out: Path,
) -> None:
    """Delete labels, audit what is left, compare; ``reason`` says why data are generated."""
    start = time.perf_counter()
    rows = np.random.default_rng(seed).permutation(data.Y.n_rows)[:max_rows]
    rows = np.sort(rows)
    full = _named(data.Y[rows])
    hidden = hide_positives(full, share, random_state=seed)
    # the audit is not told that zeros are in doubt: it has to find out
    left = Labels.from_sparse(hidden.labels.positives(), names=full.names)
    with terminal.progress(f"auditing {rows.size} items") as advance:
        audit = run_audit(
            data.X[rows],
            left,
            item_ids=rows,
            feature_names=None if data.feature_names is None else list(data.feature_names),
            random_state=seed,
            progress=advance,
            command=demo_command("forgotten", data.name, share, seed, max_rows, out),
            sources=(
                DataSource("items", f"{data.name} with {share:.0%} of its labels deleted", None),
            ),
        )
    files = write_audit(audit, out, "row")
    right = _deleted(audit.suggestions, hidden, rows)
    counts = [Found(n, int(right[:n].sum())) for n in _FIRST if n <= len(right)]
    payload = {
        "dataset": data.name,
        "generated": reason,
        "share": share,
        "seed": seed,
        "n_items": full.n_rows,
        "n_labels": full.n_labels,
        "n_deleted": hidden.n_hidden,
        "summary": audit.to_dict()["summary"],
        "first_suggestions": [asdict(one) for one in counts],
        "files": [str(path) for path in files],
        "seconds": time.perf_counter() - start,
    }
    words = _words(data, reason, full, hidden, audit, counts)
    shown = _table(audit.suggestions, right)
    terminal.result(payload, *words, shown, *_next(files, payload["seconds"]))


def _named(labels: Labels) -> Labels:
    """Labels under the names that suggestions will use."""
    names = range(labels.n_labels) if labels.names is None else labels.names
    # all labels of bibtex begin alike
    return labels.with_names([str(name).removeprefix("TAG_") for name in names])


def _deleted(suggestions: tuple[Suggestion, ...], hidden: Hidden, rows: np.ndarray) -> np.ndarray:
    """For every suggestion whether that label of that item had been deleted."""
    names = hidden.labels.names
    assert names is not None
    gone = {(str(rows[i]), str(names[j])) for i, j in zip(hidden.rows, hidden.cols, strict=True)}
    return np.array([(one.item, one.label) in gone for one in suggestions], dtype=bool)


def _words(
    data: Dataset, reason: str | None, full: Labels, hidden: Hidden, audit: Audit, counts: Any
) -> list[Any]:
    """The story: how much of what was found is right, what was done, what else was found."""
    what = data.name if reason else f"{data.name} ({dataset_info(data.name).title})"
    chance = hidden.n_hidden / (full.n_rows * full.n_labels - hidden.labels.n_positives())
    lines: list[Any] = []
    if reason:
        lines += [f"[yellow]These data are generated.[/yellow] {escape(reason)}", ""]
    right = ", and ".join(f"{one.right:,} of the first {one.n:,}" for one in counts)
    if right:
        lines += [f"[bold]{right} labels that the audit calls missing had been deleted.[/bold]", ""]
    lines.append(
        f"{escape(what)} has {full.n_rows:,} items and {full.n_labels:,} labels. Of the "
        f"{full.n_positives():,} labels that its items carry, {hidden.n_hidden:,} were deleted: "
        "where one was, there is now a no like any other. The audit had to find out which noes "
        f"are wrong. (A guess would be right {100 * chance:.2g}% of the time.)"
    )
    lines += ["", "What it says of the table, without having been told:"]
    lines.append(bullets([audit.summary.gaps_in_words, *audit.summary.sentences]))
    return [*lines, ""]


def _table(suggestions: tuple[Suggestion, ...], right: np.ndarray) -> Any:
    """The surest suggestion of each label, for the labels with the surest ones."""
    first: dict[str, int] = {}
    for place, one in enumerate(suggestions):
        first.setdefault(one.label, place)
    rows = [
        (
            escape(suggestions[k].item),
            escape(suggestions[k].label),
            f"{suggestions[k].probability:.0%}",
            "yes" if right[k] else "no",
            escape(", ".join(one.label for one in suggestions[k].evidence.companions[:2])),
            escape(", ".join(one.feature for one in suggestions[k].evidence.features[:2])),
        )
        for k in list(first.values())[:_N_SHOWN]
    ]
    columns = {"item": "right", "label": "left", "chance": "right", "deleted?": "left"}
    columns |= {"goes with": "left", "features": "left"}
    caption = "deleted? no: it was not there before either, wrongly or rightly"
    return table("The surest suggestion of some labels", columns, rows, caption)


def _next(files: list[Path], seconds: float) -> list[str]:
    page, data = files[0], files[-1]
    return [
        f"The report, for a browser: [bold]{escape(str(page))}[/bold] ({seconds:.0f} s)",
        f"  {escape(page.resolve().as_uri())}",
        "To decide about the suggestions yourself:",
        f"  labelgap review {escape(str(data))} --db decisions.sqlite --open",
        "The same with a table of your own:",
        "  labelgap audit items.csv --labels 'tag_*' --item id",
    ]
