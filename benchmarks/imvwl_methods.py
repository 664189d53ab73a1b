"""iMVWL, its variants, and what a user would pick instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from imvwl_data import Run
from labelgap import IMVWL, BinaryRelevance, KernelRidgePerLabel, LabelPrior
from labelgap.bench.methods._views import LowRankImputer, OneScale, ViewScaler

MAX_ITER = 60
VARIANTS: dict[str, dict[str, Any]] = {
    "iMVWL": {},
    "iMVWL-Sp": {"supervised": False},
    "iMVWL-Nc": {"correlation": False},
    "iMVWL-X": {"views": "concatenated"},
}
# chosen on training rows, see imvwl_selection.py
IMPROVED = {"n_factors": 1.0, "predictor": "combined", "penalty": 60.0}
YARDSTICK = {"one_scale": True, "C": 1 / 60}
KERNEL = {"alpha": 1.0, "sharpness": 3.0}


def methods(run: Run, seed: int) -> dict[str, Callable[[], Any]]:
    """By name, in the order of the tables."""
    found: dict[str, Callable[[], Any]] = {
        "label prior": lambda: make_pipeline(FunctionTransformer(np.nan_to_num), LabelPrior()),
        "mean imputation, PCA, logistic": lambda: imputed(run, seed),
        "low-rank imputation, PCA, logistic": lambda: imputed(run, seed, LowRankImputer()),
    }
    roots = ", roots" if has_roots(run) else ""
    found |= {
        f"mean imputation{roots}, tuned": lambda: imputed(
            run, seed, roots=bool(roots), **YARDSTICK
        ),
        f"mean imputation{roots}, kernel ridge": lambda: kernel_ridge(
            run, roots=bool(roots), **KERNEL
        ),
    }
    for name, settings in VARIANTS.items():
        found[name] = lambda settings=settings: imvwl(run, seed, **settings)
    found |= {
        "iMVWL, intercept": lambda: imvwl(run, seed, intercept=True),
        "iMVWL, logistic": lambda: imvwl(run, seed, predictor="logistic"),
    }
    if roots:
        found |= {
            "iMVWL, roots, k = d_min, logistic": lambda: imvwl(
                run, seed, roots=True, n_factors=1.0, predictor="logistic"
            ),
        }
    found[f"iMVWL{roots}, combined"] = lambda: imvwl(run, seed, roots=bool(roots), **IMPROVED)
    return found


def has_roots(run: Run) -> bool:
    return bool(np.nanmin(run.X) >= 0)


def imvwl(run: Run, seed: int, roots: bool = False, **settings: Any) -> Any:
    """With a shift where features have either sign; ``roots`` makes differences of counts
    comparable."""
    scaling = "balance" if has_roots(run) else "range"
    common = {"max_iter": MAX_ITER, "scaling": scaling, "random_state": seed}
    model = IMVWL(run.groups, **{**common, **settings})
    return make_pipeline(FunctionTransformer(np.sqrt), model) if roots else model


def imputed(
    run: Run,
    seed: int,
    imputer: Any = None,
    *,
    roots: bool = False,
    one_scale: bool = False,
    C: float = 0.1,
) -> Any:
    """Absent views filled in, at most 300 components, one classifier per label."""
    n_components = min(300, run.X.shape[1], run.X.shape[0])
    return make_pipeline(
        *([FunctionTransformer(np.sqrt)] if roots else []),
        ViewScaler(run.groups) if one_scale else StandardScaler(),
        SimpleImputer() if imputer is None else imputer,
        PCA(n_components, svd_solver="randomized", random_state=seed),
        OneScale(),
        # not liblinear, which shrinks the intercepts too and so forgets how rare labels are
        BinaryRelevance(LogisticRegression(C=C, max_iter=300)),
    )


def kernel_ridge(run: Run, *, roots: bool, alpha: float, sharpness: float) -> Any:
    """Absent views filled with means, one kernel ridge regression per label.

    Of a sharpness of 1 two rows at the root mean square distance have a kernel of exp(-1/2).
    """
    gamma = sharpness / (4 * run.X.shape[1])  # every feature has a mean square of 1
    return make_pipeline(
        *([FunctionTransformer(np.sqrt)] if roots else []),
        ViewScaler(run.groups),
        SimpleImputer(),
        OneScale(),
        KernelRidgePerLabel(alpha, gamma=gamma, solver="cg"),
    )
