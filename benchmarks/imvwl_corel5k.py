"""iMVWL, its variants and what a user would pick, with half of labels and views missing.

``python benchmarks/imvwl_corel5k.py [n_runs [dataset]]``; rows that are there are not run again.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from imvwl_data import Run, load_run, published, scores
from labelgap import IMVWL, BinaryRelevance, LabelPrior
from result_rows import ResultRows

MAX_ITER = 60


def methods(run: Run, seed: int) -> dict[str, Callable[[], Any]]:
    """By name, in the order of the tables."""
    # features of either sign need a shift
    scaling = "range" if np.nanmin(run.X) < 0 else "balance"

    def imvwl(**settings: Any) -> IMVWL:
        common = {"max_iter": MAX_ITER, "scaling": scaling, "random_state": seed}
        return IMVWL(run.groups, **{**common, **settings})

    def on_roots(**settings: Any) -> Any:
        """Square roots of counts, whose differences are comparable."""
        return make_pipeline(FunctionTransformer(np.sqrt), imvwl(**settings))

    found: dict[str, Callable[[], Any]] = {
        "label prior": lambda: make_pipeline(FunctionTransformer(np.nan_to_num), LabelPrior()),
        "mean imputation, PCA, logistic": lambda: imputed(run, seed),
        "iMVWL": imvwl,
        "iMVWL-Sp": lambda: imvwl(supervised=False),
        "iMVWL-Nc": lambda: imvwl(correlation=False),
        "iMVWL-X": lambda: imvwl(views="concatenated"),
        "iMVWL, intercept": lambda: imvwl(intercept=True),
        "iMVWL, logistic": lambda: imvwl(predictor="logistic"),
    }
    if scaling == "balance":
        found |= {
            "iMVWL, roots": on_roots,
            "iMVWL, roots, logistic": lambda: on_roots(predictor="logistic"),
            "iMVWL, roots, k = d_min, logistic": lambda: on_roots(
                n_factors=1.0, predictor="logistic"
            ),
            "iMVWL-Sp, roots, k = d_min, logistic": lambda: on_roots(
                n_factors=1.0, supervised=False, predictor="logistic"
            ),
            "mean imputation, roots, PCA, logistic": lambda: imputed(run, seed, roots=True),
        }
    return found


class OneScale(TransformerMixin, BaseEstimator):
    """Divides by the standard deviation of all values together: strong components stay strong."""

    def fit(self, X: np.ndarray, y: Any = None) -> OneScale:
        self.scale_ = float(X.std())
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X / self.scale_


def imputed(run: Run, seed: int, roots: bool = False) -> Any:
    """Absent views filled with means, 300 components, one classifier per label."""
    n_components = min(300, run.X.shape[1], run.X.shape[0])
    steps = [FunctionTransformer(np.sqrt)] if roots else []
    return make_pipeline(
        *steps,
        SimpleImputer(),
        StandardScaler(),
        PCA(n_components, svd_solver="randomized", random_state=seed),
        OneScale(),
        # not liblinear, which shrinks the intercepts too and so forgets how rare labels are
        BinaryRelevance(LogisticRegression(C=0.1, max_iter=300)),
    )


def main() -> None:
    warnings.simplefilter("ignore")
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    dataset = sys.argv[2] if len(sys.argv) > 2 else "corel5k_multiview"
    rows = ResultRows("imvwl_accuracy", ("dataset", "seed", "method"))
    for seed in range(n_runs):
        run = load_run(dataset, seed)
        for name, make in methods(run, seed).items():
            if rows.find(dataset=dataset, seed=seed, method=name):
                continue
            start = time.perf_counter()
            model = make().fit(run.X, run.Y)
            row = {"experiment": "accuracy", "dataset": dataset, "seed": seed, "method": name}
            row |= {"fit_seconds": time.perf_counter() - start}
            row |= scores(run.Y_test, model.predict_proba(run.X_test))
            corel = dataset.startswith("corel5k")
            rows.add({**row, "published": published(name) if corel else None})


if __name__ == "__main__":
    main()
