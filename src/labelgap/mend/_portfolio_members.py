"""The members of the portfolio that wrap an estimator, and the order of all."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from labelgap.baselines import BinaryRelevance, KNeighborsLabels
from labelgap.kernels.logistic import mean_log_loss
from labelgap.labels import Labels, LabelWarning
from labelgap.mend._forest_member import ForestMember
from labelgap.mend._kernel_member import KernelMember
from labelgap.mend._member import Member, Teaching
from labelgap.mend._network_members import ImputedNetworkMember, NetworkMember

__all__ = ["MEMBERS"]

_LABELS_TO_CHOOSE_BY = 60


class EstimatorMember(Member):
    """An estimator with one setting to choose by the log-loss of out-of-fold entries."""

    candidates: tuple[float, ...] = ()

    def make(self, X: Any, value: float) -> Any:
        """An estimator with the setting."""
        raise NotImplementedError

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        X, labels, folds = teaching.X, teaching.labels, teaching.folds
        value = self._choose(X, labels, folds)
        self.model = _quietly_fitted(self.make(X, value), X, labels)
        found = np.empty(labels.shape, dtype=np.float32)
        self.without = []
        for fold in range(teaching.n_folds):
            learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model = _quietly_fitted(self.make(X, value), X[learned], labels[learned])
            found[held] = model.predict_proba(X[held])
            self.without.append(model)
        return found

    def predict_without(self, fold: int, X: Any) -> np.ndarray:
        return self.without[fold].predict_proba(X)

    def forget_training_rows(self) -> None:
        self.without = []

    def _choose(self, X: Any, labels: Labels, folds: np.ndarray) -> float:
        """Return the setting with the least log-loss of one fold, for some labels of any prevalence."""
        if len(self.candidates) == 1:
            return self.candidates[0]
        order = np.argsort(-labels.n_positives(axis=0), kind="stable")
        step = max(1, labels.n_labels // _LABELS_TO_CHOOSE_BY)
        part = labels[:, np.sort(order[::step])]
        learned, held = np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)
        truth = part[held].to_dense(unknown=np.nan, unlabeled=0.0)
        losses = {}
        for value in self.candidates:
            model = _quietly_fitted(self.make(X, value), X[learned], part[learned])
            losses[value] = mean_log_loss(model.predict_proba(X[held]), truth)
        return min(losses, key=lambda value: losses[value])


class LinearMember(EstimatorMember):
    """A logistic regression per label; dense features are standardised."""

    name = "linear"
    candidates = (0.003, 0.03, 0.3, 3.0)

    def make(self, X: Any, value: float) -> Any:
        C = value * 100 if sparse.issparse(X) else value
        return _scaled(
            X, BinaryRelevance(LogisticRegression(C=C, max_iter=300), device=self.limits.device)
        )


class NeighborsMember(EstimatorMember):
    """The labels of the nearest rows."""

    name = "neighbors"
    candidates = (10, 30)

    def reason_to_skip(self, teaching: Teaching) -> str:
        labels = teaching.labels
        if labels.n_samples > 20 * self.limits.kernel_rows:
            return f"{labels.n_samples:,} rows are too many to compare with one another"
        return ""

    def make(self, X: Any, value: float) -> Any:
        n_neighbors = max(1, min(int(value), X.shape[0] // 2))
        return _scaled(X, KNeighborsLabels(n_neighbors), unit_rows=True)


def _scaled(X: Any, estimator: Any, *, unit_rows: bool = False) -> Any:
    """Standardise dense features; sparse rows are taken as they are, or of unit length."""
    if not sparse.issparse(X):
        return make_pipeline(StandardScaler(), estimator)
    return make_pipeline(Normalizer(), estimator) if unit_rows else estimator


def _quietly_fitted(model: Any, X: Any, labels: Labels) -> Any:
    """A fold may lack a label, and a candidate need not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (LabelWarning, ConvergenceWarning))
        return model.fit(X, labels)


# in the order in which they are fitted: those that impute for the others first
MEMBERS: tuple[type[Member], ...] = (
    LinearMember,
    NetworkMember,
    ImputedNetworkMember,
    ForestMember,
    NeighborsMember,
    KernelMember,
)
