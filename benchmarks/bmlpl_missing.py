"""BMLPL on bibtex with few entries revealed: positives only, and with the mask."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from bmlpl_data import load_split, scores
from labelgap import BMLPL, BinaryRelevance
from labelgap.fitting import EM
from labelgap.protocols import reveal
from result_rows import ResultRows

LOW_RANK = {"n_factors": 100, "r": 0.1, "tau": 0.1}


def methods() -> dict:
    def topics(**params):
        return BMLPL(**params, inference=EM(50, 0.0), random_state=0)

    logistic = LogisticRegression(solver="liblinear", C=1.0)
    return {
        "BMLPL, positives only": topics(unknown="zero"),
        "BMLPL, with the mask": topics(),
        "BMLPL, 100 topics, positives only": topics(unknown="zero", **LOW_RANK),
        "BMLPL, 100 topics, with the mask": topics(**LOW_RANK),
        "logistic per label, observed entries": BinaryRelevance(logistic, n_jobs=2),
        "logistic per label, unknown as 0": BinaryRelevance(logistic, unknown="negative", n_jobs=2),
    }


def revealed(labels, kind: str):
    if kind == "20% of all entries":
        return reveal(labels, 0.2, random_state=0).labels
    rates = np.random.default_rng(0).choice([0.05, 0.5], labels.n_labels)
    return reveal(labels, rates=rates, random_state=0).labels


def main() -> None:
    warnings.simplefilter("ignore")
    split = load_split("bibtex")
    rows = ResultRows("bmlpl_missing", ("revealed", "method"))
    for kind in ("20% of all entries", "5% or 50%, by label"):
        labels = revealed(split.Y, kind)
        for name, estimator in methods().items():
            if rows.find(revealed=kind, method=name):
                continue
            start = time.perf_counter()
            estimator.fit(split.X, labels)
            seconds = time.perf_counter() - start
            row = {"experiment": "missing", "dataset": "bibtex", "revealed": kind, "method": name}
            row |= {"fit_seconds": seconds, "published": 0.8420 if "20%" in kind else None}
            rows.add({**row, **scores(split.Y_test, estimator.predict_proba(split.X_test))})


if __name__ == "__main__":
    main()
