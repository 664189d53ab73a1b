"""iMVWL, its variants, and what a user would pick instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from imvwl_data import Run
from labelgap import IMVWL, BinaryRelevance, KernelRidgePerLabel, LabelPrior

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


class OneScale(TransformerMixin, BaseEstimator):
    """Divides by the standard deviation of all values together: strong components stay strong."""

    def fit(self, X: np.ndarray, y: Any = None) -> OneScale:
        self.scale_ = float(X.std())
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X / self.scale_


class ViewScaler(TransformerMixin, BaseEstimator):
    """Centres features and divides every view by the root of its total variance."""

    def __init__(self, groups: Any) -> None:
        self.groups = groups

    def fit(self, X: np.ndarray, y: Any = None) -> ViewScaler:
        variance = np.nanvar(X, axis=0)
        self.mean_, self.scale_ = np.nanmean(X, axis=0), np.ones(X.shape[1])
        for columns in self.groups.values():
            self.scale_[columns] = np.sqrt(variance[columns].sum())
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.scale_


class LowRankImputer(TransformerMixin, BaseEstimator):
    """Fills gaps of centred data with its leading components, again and again.

    Gaps of new rows follow from their observed values by ridge regression on the components.
    """

    def __init__(self, n_components: int = 50, ridge: float = 0.1, max_iter: int = 8) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.max_iter = max_iter

    def fit(self, X: np.ndarray, y: Any = None) -> LowRankImputer:
        q = min(self.n_components, min(X.shape) - 1)
        filled = np.nan_to_num(X)
        for _ in range(self.max_iter):
            pca = PCA(q, svd_solver="randomized", iterated_power=2, random_state=0).fit(filled)
            self.mean_, self.axes_ = pca.mean_, pca.components_
            self.strength_ = self.ridge * pca.explained_variance_.mean()
            self.prior_ = self.strength_ / pca.explained_variance_
            filled = self.transform(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        gaps = np.isnan(X)
        filled = X.copy()
        # rows with the same gaps share one system
        packed = np.ascontiguousarray(np.packbits(gaps, axis=1))
        marks = packed.view(f"V{packed.shape[1]}").ravel()
        _, first, kind = np.unique(marks, return_index=True, return_inverse=True)
        for number, absent in enumerate(gaps[first]):
            rows = np.flatnonzero(kind.ravel() == number)
            there = self.axes_[:, ~absent]
            gram = there @ there.T + np.diag(self.prior_)
            centred = X[np.ix_(rows, np.flatnonzero(~absent))] - self.mean_[~absent]
            weights = np.linalg.solve(gram, there @ centred.T).T
            filled[np.ix_(rows, np.flatnonzero(absent))] = (
                weights @ self.axes_[:, absent] + self.mean_[absent]
            )
        return filled
