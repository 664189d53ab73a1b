"""The members of the portfolio that wrap an estimator, and the order of all."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from labelgap.baselines import BinaryRelevance, KNeighborsLabels
from labelgap.kernels.logistic import mean_log_loss
from labelgap.label_tree import ProbabilisticLabelTree
from labelgap.labels import Labels, LabelWarning
from labelgap.mend._forest_member import ForestMember
from labelgap.mend._kernel_member import KernelMember
from labelgap.mend._member import Member, Teaching, labels_to_choose_by

# unit rows gain on bibtex (1,836 features), and lose on corel5k (499)
_MANY_FEATURES = 1000
# of the mean loss: validation does not see what a smaller one would gain
_TOLERANCE = 1e-3
_ROWS_TO_CHOOSE_BY = 10_000
# numbers of dense features that may lie on a device
_MOST_ON_DEVICE = 1_000_000_000
# operations of a network for each of its weights and rows, forward and backward
_OPERATIONS_PER_WEIGHT = 6
# rows that a network sees at most, in all its passes, and the bounds of these
_MOST_ROWS_SEEN, _PASSES = 2_000_000, (20, 200)
_FEWEST_PASSES = 10
# times as many networks of all rows, where they take seconds
_MORE_ON_A_DEVICE = 2
# one wide layer is the better network of so many labels; chosen on training rows of EURLex-4K
MANY_LABELS, _WIDE, _WIDE_ON_A_DEVICE, _WIDE_DROPOUT = 2000, (1024,), (2048,), 0.8
# the dearest that a network chooses among where labels are fewer
_DEAREST, _DEAREST_ON_A_DEVICE = (512, 512), (1024, 1024)


class Setting(NamedTuple):
    """What an estimator is made with: a number, and whether rows get unit length."""

    value: float
    unit_rows: bool = False


class EstimatorMember(Member):
    """An estimator with a setting to choose by the log-loss of out-of-fold entries."""

    def candidates(self, X: Any) -> Sequence[Setting]:
        """The settings to choose among."""
        raise NotImplementedError

    def make(self, X: Any, setting: Setting) -> Any:
        """An estimator with the setting."""
        raise NotImplementedError

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        X, labels, folds = teaching.X, teaching.labels, teaching.folds
        self.setting = self._choose(X, labels, folds)
        found = np.empty(labels.shape, dtype=np.float32)
        self.without = []
        for fold in range(teaching.n_folds):
            learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model = _quietly_fitted(self.make(X, self.setting), X[learned], labels[learned])
            found[held] = model.predict_proba(X[held])
            if teaching.has_gaps:
                self.without.append(model)
        return found

    def refit(self, teaching: Teaching, seconds: float | None) -> None:
        model = self.make(teaching.X, self.setting)
        self.model = _quietly_fitted(model, teaching.X, teaching.labels)

    def predict_without(self, fold: int, X: Any) -> np.ndarray:
        return self.without[fold].predict_proba(X)

    def forget_training_rows(self) -> None:
        self.without = []

    def _choose(self, X: Any, labels: Labels, folds: np.ndarray) -> Setting:
        """Return the setting with the least log-loss of one fold, for some labels and rows."""
        some = np.random.default_rng(self.seed).permutation(labels.n_samples)[:_ROWS_TO_CHOOSE_BY]
        candidates = self.candidates(X)
        if len(candidates) == 1:
            return candidates[0]
        part = labels[:, labels_to_choose_by(labels)]
        learned, held = np.sort(some[folds[some] != 0]), np.sort(some[folds[some] == 0])
        truth = part[held].to_dense(unknown=np.nan, unlabeled=0.0)
        losses = {}
        for setting in candidates:
            model = _quietly_fitted(self.make(X, setting), X[learned], part[learned])
            losses[setting] = mean_log_loss(model.predict_proba(X[held]), truth)
        return min(losses, key=lambda setting: losses[setting])


class LinearMember(EstimatorMember):
    """A logistic regression per label; dense features are standardised."""

    name = "linear"

    def reason_to_skip(self, teaching: Teaching) -> str:
        n_labels = teaching.labels.n_labels
        return f"a label tree learns {n_labels:,} labels" if n_labels > MANY_LABELS else ""

    def candidates(self, X: Any) -> Sequence[Setting]:
        if not sparse.issparse(X):
            return [Setting(C) for C in (0.003, 0.03, 0.3, 3.0)]
        raw = [Setting(C) for C in (0.1, 0.3, 3.0)]
        return [*raw, *(Setting(C, True) for C in (3.0, 10.0, 30.0))]

    def make(self, X: Any, setting: Setting) -> Any:
        logistic = LogisticRegression(C=setting.value, max_iter=300, tol=_TOLERANCE)
        return _scaled(X, BinaryRelevance(logistic, device=self._device(X)), setting)

    def _device(self, X: Any) -> str | None:
        """The device, where features that are dense there fit."""
        return self.limits.device if np.prod(X.shape) <= _MOST_ON_DEVICE else None


class LabelTreeMember(EstimatorMember):
    """A tree of sparse linear models, where labels are too many for a regression of each."""

    name = "label tree"

    def reason_to_skip(self, teaching: Teaching) -> str:
        n_labels = teaching.labels.n_labels
        few = f"{n_labels:,} labels are few enough for a regression of each"
        return few if n_labels <= MANY_LABELS else ""

    def candidates(self, X: Any) -> Sequence[Setting]:
        return [Setting(0.0)]  # the tree chooses its own strength

    def make(self, X: Any, setting: Setting) -> Any:
        n_jobs = -1 if self.limits.n_jobs is None else self.limits.n_jobs
        tree = ProbabilisticLabelTree(n_jobs=n_jobs, random_state=self.seed)
        return _scaled(X, tree, setting)


class NeighborsMember(EstimatorMember):
    """The labels of the nearest rows."""

    name = "neighbors"

    def reason_to_skip(self, teaching: Teaching) -> str:
        n_samples, n_labels = teaching.labels.shape
        if n_samples > 20 * self.limits.kernel_rows:
            return f"{n_samples:,} rows are too many to compare with one another"
        if n_labels > MANY_LABELS:
            return f"{n_labels:,} labels are too many for the labels of a few rows"
        return ""

    def candidates(self, X: Any) -> Sequence[Setting]:
        return [Setting(n, unit_rows=True) for n in (10, 30)]

    def make(self, X: Any, setting: Setting) -> Any:
        n_neighbors = max(1, min(int(setting.value), X.shape[0] // 2))
        return _scaled(X, KNeighborsLabels(n_neighbors), setting)


class NetworkMember(Member):
    """Networks for all labels, each without the rows of a fold, with a loss at the observed entries."""

    name = "network"

    def reason_to_skip(self, teaching: Teaching) -> str:
        if find_spec("torch") is None:
            return "torch is not installed: pip install 'labelgap[networks]'"
        if self._affordable_passes(teaching) < _FEWEST_PASSES:
            n_samples, n_labels = teaching.labels.shape
            return f"networks of {n_labels:,} labels and {n_samples:,} rows take too long here"
        return ""

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        X = teaching.X
        long_rows = sparse.issparse(X) and X.shape[1] >= _MANY_FEATURES
        self.scaler = Normalizer() if long_rows else None
        n_labels = teaching.labels.n_labels
        sizes = self._most_units(n_labels) if n_labels > MANY_LABELS else "auto"
        passes = int(np.clip(_MOST_ROWS_SEEN / teaching.labels.n_samples, *_PASSES))
        self.without = self.model = self._trained(
            teaching,
            teaching.found.get("hidden_layer_sizes", sizes),
            min(passes, self._affordable_passes(teaching)),
            teaching.folds,
            seconds,
        )
        teaching.found["hidden_layer_sizes"] = self.model.hidden_layer_sizes_
        if np.isnan(self.model.oof_proba_).any():
            self.gave_up = "the time limit came before the first pass over the rows"
            return None
        return self.model.oof_proba_

    def refit(self, teaching: Teaching, seconds: float | None) -> None:
        passes = self.model.refit_iter_
        if self.model.n_iter_ + passes > self._affordable_passes(teaching):
            return  # the mean of those without a fold stays
        nobody = np.full(teaching.labels.n_samples, -1)
        sizes = self.model.hidden_layer_sizes_
        more = _MORE_ON_A_DEVICE if self._is_accelerated else 1
        again = self._trained(teaching, sizes, passes, nobody, seconds, more)
        if again.n_iter_ == passes:  # the time limit did not stop it
            again.logit_scales_[:] = self.model.logit_scales_.mean()
            self.model = again

    def _trained(
        self,
        teaching: Teaching,
        sizes: Any,
        passes: int,
        folds: np.ndarray,
        seconds: float | None,
        more: int = 1,
    ) -> Any:
        from labelgap.networks import LabelNet

        is_wide = self._is_accelerated and teaching.labels.n_labels > MANY_LABELS
        model = LabelNet(
            sizes,
            n_networks=more * teaching.n_folds,
            dropout=_WIDE_DROPOUT if is_wide else "auto",
            max_iter=passes,
            device=self.limits.device,
            refit=False,
            known_labels=False,
            callback=None if seconds is None else _stop_after(seconds / 2),
            random_state=self.seed,
        )
        given = self._given(teaching, more)
        model.fit(self._scaled(teaching.X), teaching.labels, folds=folds, **given)
        return model.set_params(callback=None)

    def _given(self, teaching: Teaching, more: int) -> dict[str, Any]:
        return {}

    @property
    def _is_accelerated(self) -> bool:
        return self.limits.device not in (None, "cpu")

    def _most_units(self, n_labels: int) -> tuple[int, ...]:
        """The sizes for many labels, and the dearest of those to choose among for fewer."""
        if n_labels > MANY_LABELS:
            return _WIDE_ON_A_DEVICE if self._is_accelerated else _WIDE
        return _DEAREST_ON_A_DEVICE if self._is_accelerated else _DEAREST

    def _affordable_passes(self, teaching: Teaching) -> int:
        """How often the networks may see their rows, by the number of their weights."""
        (n_samples, n_features), n_labels = teaching.X.shape, teaching.labels.n_labels
        if sparse.issparse(teaching.X):
            n_features = max(1, teaching.X.nnz // n_samples)
        layers = (n_features, *self._most_units(n_labels), n_labels)
        weights = sum(before * after for before, after in pairwise(layers))
        one_pass = _OPERATIONS_PER_WEIGHT * weights * n_samples * teaching.n_folds
        return int(self.limits.operations / one_pass)

    def _scaled(self, X: Any) -> Any:
        """Give sparse rows of many features unit length; a network standardises dense ones itself."""
        return X if self.scaler is None else self.scaler.transform(X)

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self._scaled(X))

    def predict_without(self, fold: int, X: Any) -> np.ndarray:
        return self.without.predict_proba(self._scaled(X), without=fold)

    def forget_training_rows(self) -> None:
        self.model._forget_training_rows()
        self.without = None


class ImputedNetworkMember(NetworkMember):
    """Networks that learn from imputed labels, and stop by the observed entries."""

    name = "network on imputed labels"
    learns_from_imputed = True

    def reason_to_skip(self, teaching: Teaching) -> str:
        reason = super().reason_to_skip(teaching)
        if not reason and teaching.imputed is not None and not teaching.imputed.has_gaps:
            return "no label is missing"
        return reason

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        assert teaching.imputed is not None
        self.label_frequency = teaching.imputed.label_frequency
        found = super().fit(teaching, seconds)
        return None if found is None else found * np.asarray(self.label_frequency, np.float32)

    def _given(self, teaching: Teaching, more: int) -> dict[str, Any]:
        assert teaching.imputed is not None
        return {
            "pseudo_labels": [*teaching.imputed.of_fold] * more,
            "label_frequency": self.label_frequency,
        }

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(X) * self.label_frequency


def _stop_after(seconds: float) -> Callable[[Any], bool]:
    begin = time.perf_counter()
    return lambda progress: time.perf_counter() - begin > seconds


def _scaled(X: Any, estimator: Any, setting: Setting) -> Any:
    """Standardise dense features; sparse rows are taken as they are, or of unit length."""
    if not sparse.issparse(X):
        return make_pipeline(StandardScaler(), estimator)
    return make_pipeline(Normalizer() if setting.unit_rows else "passthrough", estimator)


def _quietly_fitted(model: Any, X: Any, labels: Labels) -> Any:
    """A fold may lack a label, and a candidate need not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (LabelWarning, ConvergenceWarning))
        return model.fit(X, labels)


_LINEAR: tuple[type[Member], ...] = (LinearMember, LabelTreeMember)
_MORE: tuple[type[Member], ...] = (
    NetworkMember,
    ImputedNetworkMember,
    ForestMember,
    NeighborsMember,
    KernelMember,
)
_ALL = (*_LINEAR, *_MORE)
# in the order in which they are fitted: those that impute for the others first
MEMBERS_OF_PRESET = {"fast": _LINEAR, "balanced": _ALL, "best": _ALL}
