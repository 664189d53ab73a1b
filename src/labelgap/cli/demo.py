"""``labelgap demo``: hide labels of a real data set, find them again, show how well."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from labelgap import BinaryRelevance, Labels, Mend, metrics
from labelgap.auditing import Audit, DataSource
from labelgap.auditing import audit as run_audit
from labelgap.cli._item_cells import with_item_cells
from labelgap.cli._options import Folder, RandomState
from labelgap.cli._read_data import InputRows, check_dataset_name
from labelgap.cli._table_files import check_folder
from labelgap.cli._terminal import BadInputError, Terminal, bullets, table
from labelgap.cli.audit import write_audit
from labelgap.data import Dataset, DatasetUnavailableError, dataset_info, load_dataset
from labelgap.extras import require
from labelgap.generators import make_low_rank
from labelgap.model_selection import train_test_split
from labelgap.protocols import HiddenEntries, hide_positives

_FIRST, _N_SHOWN = (100, 1000), 8
_METRICS = ("label_ranking_average_precision", "f1_micro")


def demo(
    terminal: Terminal,
    dataset: Annotated[
        str,
        typer.Option("--dataset", "-d", help="A data set with complete labels, or 'generated'."),
    ] = "bibtex",
    fraction: Annotated[
        float, typer.Option(min=0.01, max=0.95, help="How much of the labels is hidden.")
    ] = 0.4,
    random_state: RandomState = 0,
    out: Folder = Path("labelgap-demo"),
    max_rows: Annotated[int, typer.Option(min=20, help="Use at most so many rows.")] = 10_000,
    fetch: Annotated[bool, typer.Option(help="Whether a data set may be fetched.")] = True,
) -> None:
    """Hide labels of a real data set, find them again, and show how well that went.

    Where a label is hidden there is a 0 like any other. An audit looks for the hidden labels and
    writes its report, and Mend learns from what is left, beside the same classifier without Mend.
    If the data set is neither here nor can be fetched, generated data are used, and the result
    says so.

    [bold]Examples[/bold]

    \b  labelgap demo
      labelgap demo --dataset emotions --fraction 0.3 --random-state 1 --out songs
      labelgap demo --dataset generated --json
    """
    check_folder(out)
    require("jinja2", extra="cli", purpose="labelgap demo")
    data, reason = _load(dataset, random_state, terminal, fetch)
    start = time.perf_counter()
    rows = np.sort(np.random.default_rng(random_state).permutation(data.n_samples)[:max_rows])
    full = _named(data.Y[rows])
    hidden = hide_positives(full, fraction, random_state=random_state)
    # neither the audit nor Mend is told where labels are hidden, nor how many
    left = Labels.from_sparse(hidden.labels.positives(), names=full.names)
    with terminal.progress(f"auditing {rows.size} items") as advance:
        audit = run_audit(
            data.X[rows],
            left,
            item_ids=rows,
            feature_names=None if data.feature_names is None else list(data.feature_names),
            random_state=random_state,
            progress=advance,
            command=terminal.command,
            sources=(
                DataSource("items", f"{data.name} with {fraction:.0%} of its labels hidden", None),
            ),
        )
        there = InputRows(data.name, replace(data.take(rows), Y=left, ids=rows))
        files = write_audit(with_item_cells(audit, there), out, "row")
        advance("learning with Mend and without", 0, None)
        scores = _scores(data, rows, left, full, random_state)
    right = _hidden_ones(audit, hidden, rows)
    counts = [{"n": n, "right": int(right[:n].sum())} for n in _FIRST if n <= len(right)]
    payload = {
        "dataset": data.name,
        "generated": reason,
        "fraction": fraction,
        "random_state": random_state,
        "n_items": full.n_samples,
        "n_labels": full.n_labels,
        "n_hidden": hidden.n_hidden,
        "summary": audit.to_dict()["summary"],
        "first_suggestions": counts,
        "scores": scores,
        "files": [str(path) for path in files],
        "seconds": time.perf_counter() - start,
    }
    story = _story(data, reason, full, hidden, audit, counts)
    shown = (_suggestion_table(audit, right), _score_table(scores), *_next(files, payload))
    terminal.result(payload, *story, *shown)


def _load(
    name: str, random_state: int, terminal: Terminal, fetch: bool
) -> tuple[Dataset, str | None]:
    """The data set, or generated data and the reason for these."""
    reason = "They were asked for, from a low-rank model with known truth."
    if name != "generated":
        name = check_dataset_name(name)
        try:
            with terminal.progress(f"loading {name}") as progress:
                data = load_dataset(name, fetch=fetch, progress=progress)
        except DatasetUnavailableError as error:
            terminal.note(f"{error}")
            reason = f"The data set {name} is neither on this machine nor could it be fetched."
        else:
            if data.Y.has_unknown or not np.isfinite(getattr(data.X, "data", data.X)).all():
                raise BadInputError(
                    f"--dataset {name}: has gaps itself; the demo needs complete data"
                )
            return data, None
    made = make_low_rank(2400, 60, 14, density=0.3, fraction_hidden=0.0, random_state=random_state)
    names = [f"label {j + 1}" for j in range(14)]
    return Dataset("generated", made.X, made.full.with_names(names)), reason


def _named(labels: Labels) -> Labels:
    """Labels under the names that suggestions will use."""
    names = range(labels.n_labels) if labels.names is None else labels.names
    # all labels of bibtex begin alike
    return labels.with_names([str(name).removeprefix("TAG_") for name in names])


def _scores(
    data: Dataset, rows: np.ndarray, left: Labels, full: Labels, random_state: int
) -> dict[str, dict[str, float]]:
    """How well a classifier predicts the complete labels of other rows, with Mend and without."""
    if data.train is not None and data.test is not None:
        train, test = (np.flatnonzero(np.isin(rows, part)) for part in (data.train, data.test))
    else:
        train, test = train_test_split(
            np.arange(rows.size), test_size=1 / 3, stratify=full, random_state=random_state
        )
    scaler = MaxAbsScaler() if sparse.issparse(data.X) else StandardScaler()
    X, found = data.X[rows], {}
    mend = Mend(preset="fast", zeros="unlabeled", random_state=random_state)
    for name, one in (("Mend", mend), ("without Mend", BinaryRelevance())):
        model = make_pipeline(scaler, one).fit(X[train], left[train])
        probability = model.predict_proba(X[test])
        decided = np.asarray(model.predict(X[test]))
        found[name] = metrics.evaluate(
            full[test], metrics=list(_METRICS), y_proba=probability, y_pred=decided
        )
    return found


def _hidden_ones(audit: Audit, hidden: HiddenEntries, rows: np.ndarray) -> np.ndarray:
    """For every suggestion whether that label of that item had been hidden."""
    names = hidden.labels.names
    assert names is not None
    gone = {(str(rows[i]), str(names[j])) for i, j in zip(hidden.rows, hidden.cols, strict=True)}
    return np.array([(one.item, one.label) in gone for one in audit.suggestions], dtype=bool)


def _story(
    data: Dataset,
    reason: str | None,
    full: Labels,
    hidden: HiddenEntries,
    audit: Audit,
    counts: Any,
) -> list[Any]:
    """How much of what was found is right, what was done, and what the audit says of the table."""
    what = data.name if reason else f"{data.name} ({dataset_info(data.name).title})"
    by_chance = hidden.n_hidden / (full.n_samples * full.n_labels - hidden.labels.n_positives())
    lines: list[Any] = []
    if reason:
        lines += [f"[yellow]These data are generated.[/yellow] {escape(reason)}", ""]
    right = ", and ".join(f"{one['right']:,} of the first {one['n']:,}" for one in counts)
    if right:
        lines += [f"[bold]{right} labels that the audit calls missing had been hidden.[/bold]", ""]
    return [
        *lines,
        f"{escape(what)} has {full.n_samples:,} items and {full.n_labels:,} labels. Of the "
        f"{full.n_positives():,} labels that its items carry, {hidden.n_hidden:,} were hidden: "
        "each is now a 0 like any other, and the audit had to find out which zeros are wrong. "
        f"(A random choice would be right {100 * by_chance:.2g}% of the time.)",
        "",
        "What it says of the table, without having been told:",
        bullets([audit.summary.gaps_in_words, *audit.summary.sentences]),
        "",
    ]


def _suggestion_table(audit: Audit, right: np.ndarray) -> Any:
    """The most probable suggestion of each label, for the labels with the most probable ones."""
    first: dict[str, int] = {}
    for place, one in enumerate(audit.suggestions):
        first.setdefault(one.label, place)
    lines = []
    for place in list(first.values())[:_N_SHOWN]:
        one = audit.suggestions[place]
        names = ", ".join(other.feature for other in one.evidence.features[:2])
        hit = "yes" if right[place] else "no"
        cells = (one.item, one.label, f"{one.probability:.0%}", hit, names)
        lines.append(tuple(escape(cell) for cell in cells))
    columns = {"item": "right", "label": "left", "probability": "right", "hidden?": "left"}
    caption = "hidden? no: the label was not there before either, rightly or wrongly"
    title = "The most probable suggestion of some labels"
    return table(title, {**columns, "features": "left"}, lines, caption)


def _score_table(scores: dict[str, dict[str, float]]) -> Any:
    lines = [(name, *(f"{found[one]:.3f}" for one in _METRICS)) for name, found in scores.items()]
    columns = {"logistic regression": "left", "average precision": "right", "F1": "right"}
    caption = "learned from the labels that are left, tested on the complete labels of other items"
    return table("A classifier for new items", columns, lines, caption)


def _next(files: list[Path], payload: dict[str, Any]) -> list[str]:
    page, data = files[0], files[-1]
    return [
        f"The report, for a browser: [bold]{escape(str(page))}[/bold] ({payload['seconds']:.0f} s)",
        f"  {escape(page.resolve().as_uri())}",
        "To decide about the suggestions yourself:",
        f"  labelgap review {escape(str(data))} --db decisions.sqlite --open",
        "The same with a table of your own:",
        "  labelgap audit items.csv --labels 'tag_*' --item id",
    ]
