"""Every method of the library on the same splits, with the same gaps and the same effort.

Classifiers and feature selectors learn from rows with 40% of the entries unknown, or with 40% of
the positives dropped without a trace; methods for several views from rows with half the views and
half the labels missing. Each tries four settings (``which_method_models.py``), once per set and
kind of gap, and keeps the one with the best average precision at recorded entries of held-out
training rows of split 0. Scores are of the complete test rows of splits 1 to 3, which nothing was
chosen on. Seconds are those of the processor, one thread. A fit of more than LIMIT is given up.

    python benchmarks/which_method.py [sets] [--parts classifiers selectors views]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np

import imvwl_data
import mend_data
from cpu_limit import OverLimitError, fit_seconds
from labelgap import Labels, metrics
from result_rows import ResultRows
from which_method_models import CLASSIFIERS, SELECTORS, VIEWS, Method

SETS = ("emotions", "yeast", "image", "science")
WITH_VIEWS = ("emotions", "yeast")
METHODS = {"classifiers": CLASSIFIERS, "selectors": SELECTORS, "views": VIEWS}
GAPS = {"entries": 0.4, "positives": 0.4}
RUNS = (1, 2, 3)
MOST_ROWS = 2000
LIMIT = 60.0


class Run(NamedTuple):
    """``groups`` are the views, for methods that have them."""

    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels
    groups: Any = None


def draw(part: str, name: str, gap: str, seed: int) -> Run:
    """At most MOST_ROWS training rows."""
    if part == "views":
        return Run(*imvwl_data.load_run(f"{name}_multiview", seed))
    run = Run(*mend_data.draw_run(name, gap, GAPS[gap], seed))
    rows = np.sort(np.random.default_rng(seed).permutation(run.Y.n_rows)[:MOST_ROWS])
    return run._replace(X=run.X[rows], Y=run.Y[rows])


def held_out(run: Run) -> Run:
    """A quarter of the training rows against the others, with the gaps that they have."""
    order = np.random.default_rng(0).permutation(run.Y.n_rows)
    fit, held = (np.sort(part) for part in np.split(order, [int(0.75 * len(order))]))
    return Run(run.X[fit], run.Y[fit], run.X[held], run.Y[held], run.groups)


def made(method: Method, run: Run, settings: dict[str, Any]) -> Any:
    views = {} if run.groups is None else {"groups": run.groups, "X": run.X}
    return method.make(**views, **settings)


def choose(wanted: dict[str, Any], method: Method) -> dict[str, Any] | None:
    """The best of the settings; None if every fit is given up."""
    if len(method.candidates) == 1:
        return method.candidates[0]
    rows = ResultRows("which_method_selection", (*wanted, "params"))
    inner, found = None, []
    for settings in method.candidates:
        row = rows.find(**wanted, params=settings)
        if row is None:
            inner = inner or held_out(draw(wanted["part"], wanted["dataset"], wanted["gap"], 0))
            row = {**wanted, "params": settings, **tried(method, inner, settings)}
            rows.add(row)
        if row["outcome"] == "fitted":
            found.append((row["average_precision"], settings))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def tried(method: Method, run: Run, settings: dict[str, Any]) -> dict[str, Any]:
    model = made(method, run, settings)
    try:
        seconds = fit_seconds(model, run.X, run.Y, LIMIT)
    except OverLimitError as reason:
        return {"outcome": str(reason)}
    value = metrics.average_precision(run.Y_test, model.predict_proba(run.X_test))
    return {"outcome": "fitted", "average_precision": float(value), "fit_seconds": seconds}


def measure(rows: ResultRows, wanted: dict[str, Any], method: Method, seed: int) -> None:
    if rows.find(**wanted, run=seed):
        return
    settings = choose(wanted, method)
    row = {**wanted, "run": seed, "family": method.family, "params": settings}
    if settings is None:
        rows.add({**row, "outcome": f"over {LIMIT:g} s"})
        return
    run = draw(wanted["part"], wanted["dataset"], wanted["gap"], seed)
    model = made(method, run, settings)
    try:
        seconds = fit_seconds(model, run.X, run.Y, 2 * LIMIT)
    except OverLimitError as reason:
        rows.add({**row, "outcome": str(reason)})
        return
    row |= {"outcome": "fitted", "n_rows": run.Y.n_rows, **mend_data.score(model, run)}
    row |= {"fit_seconds": seconds, "n_iter": getattr(model, "n_iter_", None)}
    rows.add(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--parts", nargs="*", default=list(METHODS))
    parser.add_argument("--methods", nargs="*", help="only these")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("which_method", ("part", "dataset", "gap", "method", "run"))
    for name in arguments.sets:
        for part in arguments.parts:
            if part == "views" and name not in WITH_VIEWS:
                continue
            for gap in ["views and labels"] if part == "views" else GAPS:
                for title, method in METHODS[part].items():
                    if arguments.methods and title not in arguments.methods:
                        continue
                    wanted = {"part": part, "dataset": name, "gap": gap, "method": title}
                    for seed in RUNS:
                        measure(rows, wanted, method, seed)


if __name__ == "__main__":
    main()
