"""BMLPL by default and tuned on training rows, beside one logistic regression per label."""

from __future__ import annotations

import argparse
import time
import warnings

from sklearn.linear_model import LogisticRegression

from bmlpl_data import PUBLISHED, Split, hold_out, load_split, scores
from labelgap import BMLPL, BinaryRelevance
from labelgap.fitting import EM
from result_rows import ResultRows

GRIDS = {
    "bibtex": [{"r": r, "tau": tau} for r in (0.1, 0.3, 1.0) for tau in (0.05, 0.1, 0.2)],
    "delicious": [
        {"n_factors": k, "r": r, "tau": tau}
        for k in (200, 400)
        for r in (0.3, 1.0)
        for tau in (0.2, 0.5, 1.0)
    ],
    "eurlex4k": [
        {"n_factors": 400, "r": 0.1, "tau": 0.03, "eta": 1.02, "init": "random"},
        {"n_factors": 1000, "r": 0.1, "tau": 0.03, "eta": 1.02},
        {"n_factors": 1000, "r": 0.1, "tau": 0.03, "eta": 1.05},
    ],
}
YARDSTICK_C = {"bibtex": 0.1, "delicious": 0.1, "eurlex4k": 30.0}


def fit_and_score(estimator, split: Split) -> tuple[dict[str, float], float]:
    start = time.perf_counter()
    estimator.fit(split.X, split.Y)
    seconds = time.perf_counter() - start
    return scores(split.Y_test, estimator.predict_proba(split.X_test)), seconds


def topic_model(params: dict) -> BMLPL:
    return BMLPL(**params, inference=EM(30, 0.0), random_state=0)


def choose(name: str, split: Split) -> dict:
    """The settings with the best AUC per instance on held-out training rows."""
    rows = ResultRows("bmlpl_selection", ("dataset", "params"))
    inner = hold_out(split)
    for params in GRIDS[name]:
        if rows.find(dataset=name, params=params) is None:
            values, seconds = fit_and_score(topic_model(params), inner)
            row = {
                "experiment": "selection",
                "dataset": name,
                "params": params,
                "fit_seconds": seconds,
            }
            rows.add({**row, **values})
    measured = [rows.find(dataset=name, params=params) for params in GRIDS[name]]
    return max(measured, key=lambda row: row["auc_instance"])["params"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(GRIDS))
    parser.add_argument("--yardstick", action="store_true", help="the classifiers per label too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("bmlpl_accuracy", ("dataset", "method"))
    for name in arguments.datasets:
        split = load_split(name)
        base = {"experiment": "accuracy", "dataset": name, "published": PUBLISHED[name]}
        if rows.find(dataset=name, method="BMLPL, default") is None:
            values, seconds = fit_and_score(BMLPL(random_state=0), split)
            row = {
                "method": "BMLPL, default",
                "params": {},
                "chosen_on": "",
                "fit_seconds": seconds,
            }
            rows.add({**base, **row, **values})
        if arguments.yardstick and rows.find(dataset=name, method="logistic per label") is None:
            C = YARDSTICK_C[name]
            classifier = LogisticRegression(solver="liblinear", C=C)
            values, seconds = fit_and_score(BinaryRelevance(classifier, n_jobs=2), split)
            row = {"method": "logistic per label", "params": {"C": C}, "chosen_on": "fixed"}
            rows.add({**base, **row, "fit_seconds": seconds, **values})
        if rows.find(dataset=name, method="BMLPL, tuned") is None:
            params = choose(name, split)
            values, seconds = fit_and_score(topic_model(params), split)
            row = {
                "method": "BMLPL, tuned",
                "params": params,
                "chosen_on": "held-out training rows",
            }
            rows.add({**base, **row, "fit_seconds": seconds, **values})


if __name__ == "__main__":
    main()
