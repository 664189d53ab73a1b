"""The methods of iMVWL's tables."""

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

from labelgap.baselines import BinaryRelevance, KernelRidgePerLabel, LabelPrior
from labelgap.models.imvwl import IMVWL
from labelgap_papers.bench.methods._method import Method
from labelgap_papers.bench.protocols.protocol import Task
from labelgap_papers.methods import IMSF, LRMMC, MVLIV, LabelMe, Maxide

_MAX_ITER = 60
# chosen on training rows of a split that no run uses
_COMBINED = {"n_factors": 1.0, "predictor": "combined", "C": 1 / 60}
_PENALTY = 60.0


def _imvwl(task: Task, roots: bool = False, **params: Any) -> Any:
    """With a shift where features have either sign; roots make differences of counts
    comparable."""
    scaling = "balance" if _not_negative(task) else "range"
    common = {"max_iter": _MAX_ITER, "scaling": scaling, "random_state": task.extra["run"]}
    model = IMVWL(task.views, **{**common, **params})
    return make_pipeline(FunctionTransformer(np.sqrt), model) if roots else model


def _combined(task: Task, **params: Any) -> Any:
    return _imvwl(task, roots=_not_negative(task), **{**_COMBINED, **params})


def _not_negative(task: Task) -> bool:
    return bool(np.nanmin(task.X) >= 0)


def _imputed(task: Task, imputer: Any = None, C: float = 0.1) -> Any:
    """Absent views filled in, at most 300 components, one classifier per label."""
    return _classified(task, [StandardScaler()], imputer, C)


def _imputed_tuned(task: Task, C: float = 1 / _PENALTY) -> Any:
    """Every view on one scale, roots of counts, and a penalty chosen on training rows."""
    roots = [FunctionTransformer(np.sqrt)] if _not_negative(task) else []
    return _classified(task, [*roots, ViewScaler(task.views)], None, C)


def _kernel_ridge(task: Task, alpha: float = 1.0, sharpness: float = 3.0) -> Any:
    """Absent views filled with means, one kernel ridge regression per label.

    Of a sharpness of 1 two rows at the root mean square distance have a kernel of exp(-1/2).
    """
    gamma = sharpness / (4 * task.X.shape[1])  # every feature has a mean square of 1
    return make_pipeline(
        *([FunctionTransformer(np.sqrt)] if _not_negative(task) else []),
        ViewScaler(task.views),
        SimpleImputer(),
        OneScale(),
        KernelRidgePerLabel(alpha, gamma=gamma, solver="cg"),
    )


def _classified(task: Task, scalers: list[Any], imputer: Any, C: float) -> Any:
    n_components = min(300, task.X.shape[1], task.X.shape[0])
    seed = task.extra["run"]
    return make_pipeline(
        *scalers,
        SimpleImputer() if imputer is None else imputer,
        PCA(n_components, svd_solver="randomized", random_state=seed),
        OneScale(),
        # not liblinear, which shrinks the intercepts too and so forgets how rare labels are
        BinaryRelevance(LogisticRegression(C=C, max_iter=300)),
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

    def __init__(self, views: Any) -> None:
        self.views = views

    def fit(self, X: np.ndarray, y: Any = None) -> ViewScaler:
        variance = np.nanvar(X, axis=0)
        self.mean_, self.scale_ = np.nanmean(X, axis=0), np.ones(X.shape[1])
        for columns in self.views.values():
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
        n_components = min(self.n_components, min(X.shape) - 1)
        filled = np.nan_to_num(X)
        for _ in range(self.max_iter):
            pca = PCA(n_components, svd_solver="randomized", iterated_power=2, random_state=0)
            pca.fit(filled)
            self.mean_, self.axes_ = pca.mean_, pca.components_
            strength = self.ridge * pca.explained_variance_.mean()
            self.prior_ = strength / pca.explained_variance_
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


def _of_views(estimator: Callable[..., Any], **common: Any) -> Callable[..., Any]:
    def make(task: Task, **params: Any) -> Any:
        return estimator(task.views, **{**common, **params})

    return make


def _prior(task: Task) -> Any:
    return make_pipeline(FunctionTransformer(np.nan_to_num), LabelPrior())


def _maxide(task: Task, **params: Any) -> Any:
    """On features of one scale, with means in the place of absent views."""
    settings = {"max_iter": 300, "tol": 1e-4, **params}
    return make_pipeline(ViewScaler(task.views), SimpleImputer(), Maxide(**settings))


METHODS: dict[str, Method] = {
    "imvwl": Method(_imvwl),
    "imvwl-combined": Method(_combined),
    "label-prior-of-views": Method(_prior),
    "mean-imputation": Method(_imputed),
    "mean-imputation-tuned": Method(_imputed_tuned),
    "low-rank-imputation": Method(lambda task: _imputed(task, LowRankImputer())),
    "mean-imputation-kernel-ridge": Method(_kernel_ridge),
    "lrmmc": Method(_of_views(LRMMC)),
    # the paper takes the unknown labels of these two for irrelevant ones
    "mvl-iv": Method(_of_views(MVLIV, unknown="negative")),
    "imsf": Method(_of_views(IMSF, unknown="negative")),
    "labelme": Method(_of_views(LabelMe)),
    "maxide-of-views": Method(_maxide),
}
