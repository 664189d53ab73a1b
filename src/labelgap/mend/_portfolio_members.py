"""The members of the portfolio: each fits itself and gives out-of-fold probabilities of all rows."""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from labelgap.baselines import BinaryRelevance, KernelRidgePerLabel, KNeighborsLabels
from labelgap.kernels.logistic import mean_log_loss
from labelgap.labels import Labels, LabelWarning, observed_prevalence

__all__ = ["MEMBERS", "Limits", "Member"]

_FOLDS = 5
_LABELS_TO_CHOOSE_BY = 60


class Limits(NamedTuple):
    """What a preset allows: rows of a kernel matrix, seconds and number of trees, networks."""

    kernel_rows: int
    tree_seconds: float
    n_trees: int
    n_networks: int
    device: str | None
    n_jobs: int | None

    @classmethod
    def of(cls, preset: str, device: str | None, n_jobs: int | None) -> Limits:
        """Return the limits of "balanced" or "best"."""
        if preset == "balanced":
            return cls(3000, 60.0, 200, 5, device, n_jobs)
        return cls(10_000, 600.0, 500, 10, device, n_jobs)


class Member:
    """A kind of model. ``fit`` returns out-of-fold probabilities, or None where it gave up."""

    name = ""

    def __init__(self, limits: Limits, seed: int) -> None:
        self.limits = limits
        self.seed = seed
        self.gave_up = ""

    def reason_to_skip(self, X: Any, labels: Labels) -> str:
        """Return why this member is of no use here, or nothing."""
        return ""

    def fit(self, X: Any, labels: Labels, seconds: float | None) -> np.ndarray | None:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return probabilities of shape (n_samples, n_labels)."""
        return self.model.predict_proba(X)  # type: ignore[attr-defined]

    def forget_training_rows(self) -> None:
        """Drop what predictions do not need."""

    def folds(self, n_samples: int) -> np.ndarray:
        """Return the fold of each row."""
        return np.random.default_rng(self.seed).permutation(n_samples) % min(_FOLDS, n_samples)


class EstimatorMember(Member):
    """An estimator with one setting to choose by the log-loss of out-of-fold entries."""

    candidates: tuple[float, ...] = ()

    def make(self, X: Any, value: float) -> Any:
        """An estimator with the setting."""
        raise NotImplementedError

    def fit(self, X: Any, labels: Labels, seconds: float | None) -> np.ndarray | None:
        folds = self.folds(labels.n_samples)
        value = self._choose(X, labels, folds)
        self.model = _quietly_fitted(self.make(X, value), X, labels)
        return self._out_of_fold(X, labels, folds, value)

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

    def _out_of_fold(self, X: Any, labels: Labels, folds: np.ndarray, value: float) -> np.ndarray:
        found = np.empty(labels.shape, dtype=np.float32)
        for fold in range(folds.max() + 1):
            learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model = _quietly_fitted(self.make(X, value), X[learned], labels[learned])
            found[held] = model.predict_proba(X[held])
        return found


class LinearMember(EstimatorMember):
    """A logistic regression per label; dense features are standardised."""

    name = "linear"
    candidates = (0.003, 0.03, 0.3, 3.0)

    def make(self, X: Any, value: float) -> Any:
        C = value * 100 if sparse.issparse(X) else value
        return _scaled(
            X, BinaryRelevance(LogisticRegression(C=C, max_iter=300), device=self.limits.device)
        )


class KernelMember(EstimatorMember):
    """Kernel ridge regression per label with a Gaussian kernel."""

    name = "kernel"
    candidates = (0.3, 3.0)

    def reason_to_skip(self, X: Any, labels: Labels) -> str:
        if labels.n_samples > self.limits.kernel_rows:
            return f"{labels.n_samples:,} rows are more than {self.limits.kernel_rows:,}"
        return ""

    def make(self, X: Any, value: float) -> Any:
        return _scaled(X, KernelRidgePerLabel(alpha=value, solver="cg"), unit_rows=True)


class NeighborsMember(EstimatorMember):
    """The labels of the nearest rows."""

    name = "neighbors"
    candidates = (10, 30)

    def reason_to_skip(self, X: Any, labels: Labels) -> str:
        if labels.n_samples > 20 * self.limits.kernel_rows:
            return f"{labels.n_samples:,} rows are too many to compare with one another"
        return ""

    def make(self, X: Any, value: float) -> Any:
        n_neighbors = max(1, min(int(value), X.shape[0] // 2))
        return _scaled(X, KNeighborsLabels(n_neighbors), unit_rows=True)


class NetworkMember(Member):
    """Networks for all labels, which also take known labels as input."""

    name = "network"

    def reason_to_skip(self, X: Any, labels: Labels) -> str:
        if find_spec("torch") is None:
            return "torch is not installed: pip install 'labelgap[networks]'"
        return ""

    def fit(self, X: Any, labels: Labels, seconds: float | None) -> np.ndarray | None:
        from labelgap.networks import LabelNet

        begin = time.perf_counter()

        def over_time(progress: Any) -> bool:
            return seconds is not None and time.perf_counter() - begin > seconds / 2

        self.model = LabelNet(
            n_networks=self.limits.n_networks,
            device=self.limits.device,
            callback=over_time,
            random_state=self.seed,
        )
        self.model.fit(X, labels).set_params(callback=None)
        out_of_fold = self.model.oof_proba_
        if np.isnan(out_of_fold).any():
            self.gave_up = "the time limit came before the first pass over the rows"
            return None
        return out_of_fold

    def forget_training_rows(self) -> None:
        self.model._forget_training_rows()


class TreesMember(Member):
    """Extremely randomised trees: one forest for all labels, or one per label with unknown entries.

    Out-of-fold probabilities are those of the trees that did not draw the row.
    """

    name = "trees"

    def fit(self, X: Any, labels: Labels, seconds: float | None) -> np.ndarray | None:
        self.prevalence = observed_prevalence(labels)
        complete = labels.n_observed(unlabeled=True) == labels.n_samples * labels.n_labels
        limit = self.limits.tree_seconds
        limit = limit if seconds is None else min(limit, seconds / 2)
        n_trees = self._affordable(X, labels, complete, limit)
        if n_trees < 20:
            self.gave_up = f"trees would take longer than {limit:.0f} s"
            return None
        if complete:
            return self._fit_together(X, labels, n_trees)
        return self._fit_per_label(X, labels, n_trees)

    def _affordable(self, X: Any, labels: Labels, complete: bool, limit: float) -> int:
        """Return how many trees fit the limit, from the seconds of a few."""
        begin = time.perf_counter()
        if complete:
            self._forest(X, 4).fit(X, _outputs(labels))
            seconds = (time.perf_counter() - begin) / 4
        else:
            usual = int(np.argsort(labels.n_observed(axis=0, unlabeled=True))[labels.n_labels // 2])
            rows, values = labels.column(usual)
            if rows.size:
                self._classifier(10).set_params(oob_score=False).fit(X[rows], values)
            seconds = (time.perf_counter() - begin) / 10 * labels.n_labels
        return int(min(self.limits.n_trees, limit / max(seconds, 1e-9)))

    def _forest(self, X: Any, n_trees: int) -> ExtraTreesRegressor:
        return ExtraTreesRegressor(
            n_trees,
            min_samples_leaf=2,
            max_features="sqrt" if sparse.issparse(X) else 1 / 3,
            bootstrap=True,
            n_jobs=self.limits.n_jobs,
            random_state=self.seed,
        )

    def _classifier(self, n_trees: int) -> ExtraTreesClassifier:
        return ExtraTreesClassifier(
            n_trees,
            min_samples_leaf=2,
            bootstrap=True,
            oob_score=True,
            n_jobs=self.limits.n_jobs,
            random_state=self.seed,
        )

    def _fit_together(self, X: Any, labels: Labels, n_trees: int) -> np.ndarray:
        self.n_trees = n_trees
        self.model = self._forest(X, n_trees).set_params(oob_score=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            self.model.fit(X, _outputs(labels))
        found = self.model.oob_prediction_.reshape(labels.shape)
        del self.model.oob_prediction_
        return self._smoothed(found, 0.37 * n_trees)

    def _fit_per_label(self, X: Any, labels: Labels, n_trees: int) -> np.ndarray:
        self.n_trees = n_trees
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (LabelWarning, UserWarning))
            self.model = BinaryRelevance(self._classifier(n_trees)).fit(X, labels)
        found = np.empty(labels.shape)
        for label, forest in enumerate(self.model.estimators_):
            found[:, label] = self.prevalence[label]
            if hasattr(forest, "oob_decision_function_"):
                rows, _ = labels.column(label)
                found[rows, label] = forest.oob_decision_function_[:, 1]
                del forest.oob_decision_function_
        return self._smoothed(found, 0.37 * n_trees)

    def _smoothed(self, probabilities: np.ndarray, n_trees: float) -> np.ndarray:
        """No forest is certain: one imaginary tree says the prevalence."""
        return ((n_trees * probabilities + self.prevalence) / (n_trees + 1)).astype(np.float32)

    def predict(self, X: Any) -> np.ndarray:
        if isinstance(self.model, ExtraTreesRegressor):
            found = self.model.predict(X).reshape(X.shape[0], -1)
        else:
            found = self.model.predict_proba(X)
        return self._smoothed(found, 0.37 * self.n_trees)


def _outputs(labels: Labels) -> np.ndarray:
    """Return complete labels as scikit-learn's regressors take them: a vector where there is one."""
    values = labels.to_dense(unlabeled=0.0)
    return values[:, 0] if labels.n_labels == 1 else values


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


# in the order in which they are fitted
MEMBERS = (LinearMember, NetworkMember, TreesMember, NeighborsMember, KernelMember)
