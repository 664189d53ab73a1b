"""What was chosen for corel5k, on training rows of a split that no table uses.

Of the training rows of split 100, with half of their labels and views hidden, 30% are held out and
scored by their observed labels alone. The same is done for iMVWL and for what a user would pick.

``python benchmarks/imvwl_selection.py [part of a name]``; rows that are there are not run again.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from imvwl_data import Run, load_run, scores
from imvwl_methods import imputed, imvwl, kernel_ridge
from labelgap import IMVWL
from result_rows import ResultRows

SPLIT = 100


def candidates(run: Run) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    for penalty in (30, 60, 120):
        for one_scale in (False, True):
            scale = "one scale per view" if one_scale else "standardised"
            name = f"mean imputation, roots, {scale}, penalty {penalty}"
            found[name] = lambda one_scale=one_scale, penalty=penalty: imputed(
                run, SPLIT, roots=True, one_scale=one_scale, C=1 / penalty
            )
    for alpha, sharpness in product((0.3, 1, 3), (1, 3, 6)):
        name = f"mean imputation, roots, kernel ridge, penalty {alpha:g}, sharpness {sharpness}"
        found[name] = lambda alpha=alpha, sharpness=sharpness: kernel_ridge(
            run, roots=True, alpha=alpha, sharpness=sharpness
        )
    for predictor, penalty in (("logistic", 30), ("combined", 30), ("combined", 60)):
        for supervised in (True, False):
            name = "iMVWL" if supervised else "iMVWL-Sp"
            name += f", roots, k = d_min, {predictor}, penalty {penalty}"
            found[name] = lambda s=supervised, p=predictor, penalty=penalty: imvwl(
                run, SPLIT, roots=True, n_factors=1.0, supervised=s, predictor=p, penalty=penalty
            )
    name = "imputation by iMVWL-Sp, roots, one scale per view, penalty 60"
    found[name] = lambda: imputed(
        run, SPLIT, SubspaceImputer(run.groups), roots=True, one_scale=True, C=1 / 60
    )
    return found


class SubspaceImputer(TransformerMixin, BaseEstimator):
    """Fills gaps with what the subspace of the views says, without a look at labels."""

    def __init__(self, groups: Any) -> None:
        self.groups = groups

    def fit(self, X: np.ndarray, y: Any = None) -> SubspaceImputer:
        settings = {"supervised": False, "scaling": "range", "random_state": SPLIT}
        self.model_ = IMVWL(self.groups, 1.0, **settings).fit(X, y)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.model_.impute_views(X)


def main() -> None:
    warnings.simplefilter("ignore")
    wanted = " ".join(sys.argv[1:])
    whole = load_run("corel5k_multiview", SPLIT)
    order = np.random.default_rng(1).permutation(len(whole.X))
    train, held = np.split(order, [int(0.7 * len(order))])
    run = Run(whole.X[train], whole.Y[train], whole.X[held], whole.Y[held], whole.groups)
    rows = ResultRows("imvwl_selection", ("method",))
    for name, make in candidates(run).items():
        if wanted not in name or rows.find(method=name):
            continue
        start = time.perf_counter()
        model = make().fit(run.X, run.Y)
        seconds = time.perf_counter() - start
        row = {"experiment": "selection", "method": name, "fit_seconds": seconds}
        rows.add({**row, **scores(run.Y_test, model.predict_proba(run.X_test))})


if __name__ == "__main__":
    main()
