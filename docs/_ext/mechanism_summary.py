"""The tables of "Do not trust random masks", from the rows of ``mechanisms`` and ``real-gaps``.

Gains are over the regression for which zeros are negatives, on the same rows: means over runs first, and
then over sets. A method is in a table where it was measured on all sets of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any

from measured_rows import STORE, read_rows

from labelgap_papers.bench import RowStore

READ = ("mechanisms", "real-gaps")
PLAIN = "zeros are negatives"
METRICS = ("average_precision", "average_precision_micro")
CHOSEN_ON = ("emotions", "yeast", "scene")
FOUR = ("emotions", "image", "scene", "yeast")

Values = dict[tuple[str, str, str], dict[int, dict[str, Any]]]


def summaries() -> list[dict[str, Any]]:
    """Return a row for each line of each table."""
    return [*_mechanisms(), *_real_gaps()]


def _measured(experiment: str, kind_of: Callable[[dict[str, Any]], str]) -> Values:
    found: Values = defaultdict(dict)
    if not RowStore(STORE).rows(experiment):
        return found
    for row in read_rows(experiment):
        if all(metric in row for metric in METRICS):
            found[row["dataset"], kind_of(row), row["method"]][row["run"]] = row
    return found


def _mechanisms() -> Iterator[dict[str, Any]]:
    values = _measured("mechanisms", lambda row: row["kind"])
    kinds = sorted({kind for _, kind, _ in values})
    methods = list(dict.fromkeys(method for *_, method in values))
    every = sorted({dataset for dataset, _, method in values if method == PLAIN})
    tables = {
        "all": every,
        "not chosen on": [dataset for dataset in every if dataset not in CHOSEN_ON],
        "four": [dataset for dataset in every if dataset in FOUR],
    }
    for sets, datasets in tables.items():
        for metric in METRICS:
            for method in methods:
                gains = [_gain(values, datasets, kind, method, metric) for kind in kinds]
                reached = [gain for gain in gains if gain is not None]
                if method == PLAIN or not datasets or len(reached) < len(kinds):
                    continue
                by_kind = dict(zip(kinds, reached, strict=True))
                others = fmean(gain for kind, gain in by_kind.items() if kind != "positives")
                named = {kind.replace("-", "_"): f"{gain:+.4f}" for kind, gain in by_kind.items()}
                line = {"table": "mechanisms", "sets": sets, "metric": metric, "method": method}
                yield {**line, **named, "others": f"{others:+.4f}", "n_sets": len(datasets)}


def _gain(values: Values, datasets: list[str], kind: str, method: str, metric: str) -> float | None:
    """The mean gain over the sets; None where one of them was not measured."""
    found = []
    for dataset in datasets:
        mine, plain = (values.get((dataset, kind, name), {}) for name in (method, PLAIN))
        runs = mine.keys() & plain.keys()
        if not runs:
            return None
        found.append(fmean(mine[run][metric] - plain[run][metric] for run in runs))
    return fmean(found) if found else None


def _real_gaps() -> Iterator[dict[str, Any]]:
    values = _measured("real-gaps", lambda row: f"{row['features']}/{row['labels']}")
    wide: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for (dataset, kind, method), runs in values.items():
        features, labels = kind.split("/")
        for metric in METRICS:
            reached = fmean(run[metric] for run in runs.values())
            place = dataset, features, metric, method
            wide[place][labels.replace("-", "_")] = f"{reached:.4f}"
    names = ("set", "features", "metric", "method")
    for place, reached_by in wide.items():
        yield {"table": "real", **dict(zip(names, place, strict=True)), **reached_by}
