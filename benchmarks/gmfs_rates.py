"""How near theta comes to the share of positives that was recorded, and what probabilities mean.

A share of the positives becomes zeros. "held out" takes as the rate of looks the one that predicts
held-out records best, "surest" the share recorded among the entries that are most surely relevant;
"calibrated" probabilities are fitted to held-out records, with the order of the zeros as it is.
Beside theta stand the expected number of forgotten positives, the mean log loss of the
probabilities of all zeros, and the share of forgotten positives that 20 bins of equal numbers
of zeros promise too much or too little.

- real: training rows of real sets, 20 and 40% of the positives hidden. "surest" was made with
  emotions, yeast, science, scene and rcv1subset1 in sight; the other sets had no part in it.
- planted: labels of the model, one rate for all labels or rates between 0.3 and 0.9; also the share
  of the features that matter among the best as many

    python benchmarks/gmfs_rates.py [real planted] [--sets emotions] [--runs 3]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from gmfs_hidden import load_training
from labelgap import GMFS, Labels, State
from labelgap.generators import make_positive_only
from labelgap.protocols import hide_positives
from result_rows import ResultRows

MADE_ON = ("emotions", "yeast", "science", "rcv1subset1")
SETS = (*MADE_ON, "image", "education", "rcv1subset2", "bibtex")
LARGE = ("rcv1subset1", "education", "rcv1subset2", "bibtex")
RATES = (0.2, 0.4)
METHODS = ("held out", "held out, calibrated", "surest, calibrated")
KEY = ("experiment", "dataset", "missing", "run", "method")
# of planted labels: the share of relevant rows, and rates of recording
DENSITIES = {"frequent": 0.3, "rare": 0.05}
RECORDED: dict[str, Any] = {"0.8": 0.8, "0.6": 0.6, "0.4": 0.4, "0.3 to 0.9": (0.3, 0.9)}
_BINS = 20


def facts_of(model: GMFS, truth: np.ndarray) -> dict[str, Any]:
    """Of a fitted model, given the states that are true at the hidden and other zeros."""
    asked = (truth == State.RELEVANT) | (truth == State.IRRELEVANT)
    chance, hidden = model.forgotten()[asked], truth[asked] == State.RELEVANT
    bins = np.array_split(np.argsort(chance), _BINS)
    off = sum(abs(chance[part].sum() - hidden[part].sum()) for part in bins)
    likelihood = np.where(hidden, chance, 1 - chance)
    share = model.look_share_
    return {
        "theta": float(model.look_rates_.mean()),
        "read": share.value,
        "low": share.low,
        "high": share.high,
        "n_hidden": int(hidden.sum()),
        "expected_hidden": float(chance.sum()),
        "expected_over_true": float(chance.sum() / hidden.sum()),
        "misplaced": float(off / hidden.sum()),
        "log_loss": float(-np.log(np.maximum(likelihood, 1e-12)).mean()),
        "auc": float(roc_auc_score(hidden, chance)),
    }


def real(rows: ResultRows, names: list[str], runs: int | None) -> None:
    for name in names:
        X, Y = load_training(name)
        for rate in RATES:
            for run in range(1, 1 + (runs or (1 if name in LARGE else 3))):
                hidden = hide_positives(Y, rate, random_state=run)
                place = {"experiment": "real", "dataset": name, "missing": rate, "run": run}
                measure(rows, place, X, hidden)


def planted(rows: ResultRows, runs: int) -> None:
    for kind, density in DENSITIES.items():
        for recorded, rates in RECORDED.items():
            for run in range(1, 1 + runs):
                size = {"n_rows": 1500, "n_features": 60, "n_labels": 20, "density": density}
                data = make_positive_only(**size, label_rates=rates, random_state=run)
                place = {"experiment": "planted", "dataset": kind, "recorded": recorded}
                place |= {"missing": recorded, "run": run}
                measure(rows, place, data.X, data.hidden, data.relevant_features)


def measure(rows: ResultRows, place: dict, X: Any, hidden: Any, relevant: Any = None) -> None:
    n_recorded, truth = int(hidden.labels.n_positives()), hidden.truth.states()
    for method in METHODS:
        if rows.find(**place, method=method) is not None:
            continue
        rate, _, calibrate = method.partition(", ")
        start = time.perf_counter()
        model = fitted(X, hidden.labels, rate, place["run"])
        seconds = time.perf_counter() - start
        found = facts_of(model.set_params(calibrate=bool(calibrate)), truth)
        found = {"true": n_recorded / (n_recorded + found["n_hidden"]), **found}
        if relevant is not None:
            best = np.argsort(-model.scores_)[: relevant.sum()]
            found["recall"] = float(relevant[best].mean())
        rows.add({**place, "method": method, **found, "seconds": seconds})


_last: list[Any] = []


def fitted(X: Any, labels: Labels, rate: str, run: int) -> GMFS:
    """A fit, kept for the next method: calibration changes nothing of it."""
    if not _last or _last[0] is not labels or _last[1] != rate:
        model = GMFS(look_rate=rate, calibrate=True, random_state=run)
        _last[:] = [labels, rate, model.fit(X, labels)]
    return _last[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiments", nargs="*", default=["real", "planted"])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--runs", type=int, help="3, and 1 for the larger sets, by default")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_rates", KEY)
    if "planted" in arguments.experiments:
        planted(rows, arguments.runs or 3)
    if "real" in arguments.experiments:
        real(rows, arguments.sets, arguments.runs)


if __name__ == "__main__":
    main()
