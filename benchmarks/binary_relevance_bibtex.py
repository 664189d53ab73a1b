"""One logistic regression per label on bibtex: the figures every model has to beat.

Run ``python benchmarks/binary_relevance_bibtex.py``; with ``--check`` the exit status says whether
the figures are at least those expected. Rows are normalised and C is chosen by cross-validation on
the observed entries of the training rows alone.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from labelgap.data import load_dataset
from labelgap.metrics import auc, get_scorer, precision_at_k
from labelgap.protocols import reveal
from labelgap.yardsticks import BinaryRelevance

GRID = {
    "rows": ["passthrough", Normalizer(), TfidfTransformer()],
    "model__estimator__C": [3.0, 10.0, 30.0, 100.0, 300.0],
}
COLUMNS = ("AUC micro", "AUC instance", "P@1", "P@3", "P@5", "seconds")
EXPECTED = {
    "100%, C=0.1": {"AUC instance": 0.94, "P@1": 0.62},
    "20%, tuned": {"AUC micro": 0.90},
}


def measure(model, data, labels) -> dict[str, float]:
    """Fit on the training rows, score on the test rows."""
    started = time.perf_counter()
    model.fit(data.X[data.train], labels)
    scores, truth = model.decision_function(data.X[data.test]), data.Y[data.test]
    ranking = [precision_at_k(truth, scores, k=k) for k in (1, 3, 5)]
    areas = [auc(truth, scores, average=average) for average in ("micro", "instance")]
    seconds = time.perf_counter() - started
    return dict(zip(COLUMNS, [*areas, *ranking, seconds], strict=True))


def tuned(n_jobs: int, seed: int) -> GridSearchCV:
    logistic = LogisticRegression(solver="liblinear")
    pipeline = Pipeline([("rows", "passthrough"), ("model", BinaryRelevance(logistic))])
    return GridSearchCV(
        pipeline,
        GRID,
        scoring=get_scorer("auc", average="micro"),
        cv=KFold(3, shuffle=True, random_state=seed),
        n_jobs=n_jobs,
        error_score="raise",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the hidden entries and the folds")
    parser.add_argument("--check", action="store_true", help="fail when a figure is too low")
    options = parser.parse_args()
    data = load_dataset("bibtex")
    complete = data.Y[data.train]
    observed = reveal(complete, 0.2, random_state=options.seed).labels

    small = LogisticRegression(solver="liblinear", C=0.1)
    plain = LogisticRegression(solver="liblinear", C=1.0)
    search = tuned(options.jobs, options.seed)
    runs = {
        "100%, C=0.1": (BinaryRelevance(small, n_jobs=options.jobs), complete),
        "20%, C=1": (BinaryRelevance(plain, n_jobs=options.jobs), observed),
        "20%, C=1, unknown as 0": (
            BinaryRelevance(plain, unknown="negative", n_jobs=options.jobs),
            observed,
        ),
        "20%, tuned": (search, observed),
    }
    print(f"{'labels observed':24}" + "".join(f"{column:>14}" for column in COLUMNS))
    figures = {}
    for name, (model, labels) in runs.items():
        figures[name] = measure(model, data, labels)
        print(f"{name:24}" + "".join(f"{value:14.4f}" for value in figures[name].values()))
    print("chosen:", search.best_params_)
    for setting, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        print(f"  {np.round(score, 4):.4f}  {setting}")
    low = [
        f"{name}: {metric} {figures[name][metric]:.4f} < {least}"
        for name, bounds in EXPECTED.items()
        for metric, least in bounds.items()
        if figures[name][metric] < least
    ]
    print("\n".join(low) if low else "all figures as expected")
    return 1 if low and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
