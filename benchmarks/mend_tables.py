"""The same classifier on observed entries, on unknown as negative, and on mended labels.

Entries unknown at random, or positives dropped without a trace; complete test rows. The penalty of
the classifier is chosen for every method alike, once per set, kind of gap and rate, by the average
precision at recorded entries of held-out training rows of a run that is not in the table (three
folds of at most 3,000 rows).

    python benchmarks/mend_tables.py [sets] [--gaps entries positives] [--runs 5]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from labelgap import BinaryRelevance, LabelPrior, Mend, metrics
from labelgap.mending import LabelwiseCompleter, NeighborsCompleter, ScoreCompleter
from mend_data import CHOSEN_ON, CONFIRMED_ON, GAPS, LARGE, Run, draw_run, score
from result_rows import ResultRows

PENALTIES = (0.01, 0.1, 1.0, 10.0)
N_FOLDS = 3
OBSERVED, NEGATIVE, MENDED = "observed entries", "unknown as negative", "mended"


def logistic(C: float) -> LogisticRegression:
    """Not liblinear, which shrinks the intercept too: with a small C rare labels look frequent."""
    return LogisticRegression(C=C, max_iter=1000)


def methods(gap: str, C: float) -> dict[str, Callable[[], Any]]:
    """With positives dropped, nothing is known to be missing: the first two are then one."""
    zeros: Any = "ambiguous" if gap == "positives" else "irrelevant"

    def mend(completer: Any = None) -> Mend:
        return Mend(logistic(C), completer, zeros=zeros, random_state=0)

    found: dict[str, Callable[[], Any]] = {OBSERVED: lambda: BinaryRelevance(logistic(C))}
    if gap == "entries":
        found[NEGATIVE] = lambda: BinaryRelevance(logistic(C), unknown="negative")
    found[MENDED] = mend
    found["completed per label"] = lambda: mend(LabelwiseCompleter(logistic(C)))
    found["filled with means"] = lambda: mend(ScoreCompleter(LabelPrior()))
    found["filled by neighbours"] = lambda: mend(NeighborsCompleter())
    return found


def choose_penalty(name: str, gap: str, rate: float, method: str) -> float:
    rows = ResultRows("mend_selection", ("dataset", "gap", "rate", "method", "C"))
    wanted = {"dataset": name, "gap": gap, "rate": rate, "method": method}
    found = []
    for C in PENALTIES:
        row = rows.find(**wanted, C=C)
        if row is None:
            values = []
            for inner in held_out(draw_run(name, gap, rate, 0)):
                model = methods(gap, C)[method]().fit(inner.X, inner.Y)
                scores = model.predict_proba(inner.X_test)
                values.append(metrics.average_precision(inner.Y_test, scores))
            value = float(np.mean(values))
            row = {"experiment": "selection", **wanted, "C": C, "average_precision": value}
            rows.add(row)
        found.append((row["average_precision"], C))
    return max(found)[1]


def held_out(run: Run, most_rows: int = 3000) -> Iterator[Run]:
    """Folds of the training rows, with the gaps that they have."""
    some = np.random.default_rng(0).permutation(run.Y.n_rows)[:most_rows]
    for fit, held in KFold(N_FOLDS).split(some):
        fit, held = np.sort(some[fit]), np.sort(some[held])
        yield Run(run.X[fit], run.Y[fit], run.X[held], run.Y[held])


def measure(rows: ResultRows, name: str, gap: str, rate: float, method: str, seed: int) -> None:
    wanted = {"dataset": name, "gap": gap, "rate": rate, "method": method, "run": seed}
    if rows.find(**wanted):
        return
    C = choose_penalty(name, gap, rate, method)
    run = draw_run(name, gap, rate, seed)
    start = time.perf_counter()
    model = methods(gap, C)[method]().fit(run.X, run.Y)
    seconds = time.perf_counter() - start
    row = {"experiment": "tables", **wanted, "C": C, **score(model, run), "fit_seconds": seconds}
    row["half"] = "chosen on" if name in CHOSEN_ON else "confirmed on"
    if isinstance(model, Mend):
        row |= {"weight": model.completed_.weights.max(), "recorded": model.recorded_}
        row["completer"] = model.verdict_.plan.completer if model.verdict_ else None
        row["labels_mended"] = float((model.completed_.weights > 0).mean())
    rows.add(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*CHOSEN_ON, *CONFIRMED_ON])
    parser.add_argument("--gaps", nargs="*", default=list(GAPS))
    parser.add_argument("--runs", type=int, help="5, or 3 for large sets, by default")
    parser.add_argument("--methods", nargs="*", help="only these")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_tables", ("dataset", "gap", "rate", "method", "run"))
    for name in arguments.sets:
        for gap in arguments.gaps:
            for rate in GAPS[gap]:
                for method in methods(gap, 1.0):
                    if arguments.methods and method not in arguments.methods:
                        continue
                    for seed in range(1, 1 + (arguments.runs or (3 if name in LARGE else 5))):
                        measure(rows, name, gap, rate, method, seed)


if __name__ == "__main__":
    main()
