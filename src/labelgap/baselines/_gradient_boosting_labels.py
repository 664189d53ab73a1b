"""Gradient boosting of all labels in one model: trees with a vector of labels in each leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from labelgap.estimator import LabelGapClassifier
from labelgap.extras import require
from labelgap.fitting import Progress, counting
from labelgap.kernels.logistic import mean_log_loss
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, parameter, with_parameters

_LEAST_CURVATURE = 1e-16
_FEWEST_ROWS_TO_STOP = 20


@with_parameters
class GradientBoostingLabels(LabelGapClassifier):
    """Boost all labels together with XGBoost, by gradients that are 0 where a label is unknown.

    A tree splits the rows for all labels at once and has a log-odds step for each label in every
    leaf. With p the probabilities so far, an observed entry has the gradient p - y and the curvature
    p (1 - p) of its log-loss, and an unknown one has neither: it moves no split and no leaf. With one
    label this is XGBoost on the rows in which the label is known. With many, the splits of a tree are
    found from the gradients of a few labels, drawn in proportion to their squares and weighted so
    that the gain of a split is right in the mean (Iosipoi and Vakhrushev, 2022).

    Sparse features are taken as they are: an entry that is not stored is a missing value to
    XGBoost, which sends it to the better side of each split.

    Parameters
    ----------
    max_iter : int, default=300
        Largest number of trees.
    learning_rate : float, default=0.1
        Factor of every step.
    max_depth : int, default=6
        Depth of a tree.
    min_child_weight : float, default=0.01
        Least sum of curvatures in a leaf, in the mean over labels.
    l2_regularization : float, default=1.0
        Penalty of the squares of the steps.
    max_bins : int, default=64
        Values that a feature is cut into.
    n_split_labels : int or None, default=8
        Labels whose gradients split a tree; None for all, which costs as much as a model per label.
    validation_fraction : float or None, default=0.1
        Rows held out to stop by their observed entries; None takes all trees.
    n_iter_no_change : int, default=20
        Trees without gain after which it stops.
    n_jobs : int, default=None
        Threads; None means one.
    random_state : int, RandomState or None, default=0
        Draws the rows that are held out.
    callback : callable, default=None
        Called with a :class:`labelgap.fitting.Progress` after each tree; a
        :class:`labelgap.fitting.ProgressBar` draws it.

    Attributes
    ----------
    booster_ : xgboost.Booster
    n_iter_ : int
        Trees that are used.
    prevalence_ : ndarray of shape (n_labels,)
        Smoothed prevalence of each label, where boosting begins.

    See Also
    --------
    BinaryRelevance : One model per label, such as any other boosting.
    labelgap.Mend : Combines several kinds of models.

    References
    ----------
    Chen, T., Guestrin, C. (2016). XGBoost: a scalable tree boosting system. KDD.
    Iosipoi, L., Vakhrushev, A. (2022). SketchBoost: fast gradient boosted decision tree for
    multioutput problems. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import GradientBoostingLabels
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> Y = np.hstack([X > 1.5, X < 1.5]).astype(float)
    >>> Y[::5, 0] = np.nan
    >>> model = GradientBoostingLabels(max_iter=20, validation_fraction=None)
    >>> model.fit(X, Y).predict([[0.0], [3.0]])
    array([[0, 1],
           [1, 0]])
    """

    max_iter: int = parameter(300)
    _: KW_ONLY
    learning_rate: float = parameter(0.1, POSITIVE)
    max_depth: int = parameter(6, AT_LEAST_ONE)
    min_child_weight: float = parameter(0.01, NOT_NEGATIVE)
    l2_regularization: float = parameter(1.0, NOT_NEGATIVE)
    max_bins: int = parameter(64, Interval(Integral, 2, None, closed="left"))
    n_split_labels: int | None = parameter(8, AT_LEAST_ONE, None)
    validation_fraction: float | None = parameter(0.1, Interval(Real, 0, 1, closed="neither"), None)
    n_iter_no_change: int = parameter(20, AT_LEAST_ONE)
    n_jobs: int | None = parameter(None, Integral, None)
    random_state: Any = parameter(0)
    callback: Callable[[Progress], Any] | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        xgboost = require("xgboost", extra="boosting", purpose="GradientBoostingLabels.fit")
        self.prevalence_ = observed_prevalence(labels)
        self._start = log_odds(self.prevalence_).astype(np.float32)
        values = labels.to_dense(unknown=np.nan, unlabeled=0.0).astype(np.float32)
        held = self._held_out(values)
        data = self._matrix(xgboost, X[~held])
        stopping: dict[str, Any] = {}
        callbacks = []
        if self.callback is not None:
            callbacks.append(_telling(xgboost, counting(self.callback, self.max_iter)))
        if held.any():
            stopping = {
                "evals": [(self._matrix(xgboost, X[held]), "held_out")],
                "custom_metric": _observed_log_loss(values[held]),
                "verbose_eval": False,
            }
            callbacks.append(xgboost.callback.EarlyStopping(rounds=self.n_iter_no_change))
        booster = xgboost.train(
            self._settings(labels.n_labels),
            data,
            num_boost_round=self.max_iter,
            obj=self._objective(values[~held]),
            callbacks=callbacks,
            **stopping,
        )
        # text that model files can check before XGBoost reads it
        self._booster_json = bytes(booster.save_raw("json"))
        self.__dict__["booster_"] = booster  # predictions leave the estimator as it is
        self.n_iter_ = self.max_iter
        if held.any():
            self.n_iter_ = booster.best_iteration + 1

    @cached_property
    def booster_(self) -> Any:
        """The model of XGBoost: trees with a vector of log-odds in each leaf."""
        xgboost = require("xgboost", extra="boosting", purpose="GradientBoostingLabels")
        booster = xgboost.Booster({"nthread": 1 if self.n_jobs is None else self.n_jobs})
        booster.load_model(bytearray(self._booster_json))
        return booster

    def _objective(self, values: np.ndarray) -> Any:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        if self.n_split_labels is None or self.n_split_labels >= values.shape[1]:
            return _observed_gradients(values)
        return _sampled_splits(values, self.n_split_labels, rng)

    def _held_out(self, values: np.ndarray) -> np.ndarray:
        """Return which rows are held out; none where they would be few."""
        held = np.zeros(len(values), dtype=bool)
        if self.validation_fraction is None or len(values) < _FEWEST_ROWS_TO_STOP:
            return held
        rng = check_random_state(self.random_state)
        order = rng.permutation(len(values))
        held[order[: max(1, int(self.validation_fraction * len(values)))]] = True
        observed = ~np.isnan(values)
        return held if observed[held].any() and observed[~held].any() else held & False

    def _settings(self, n_labels: int) -> dict[str, Any]:
        settings = {
            "tree_method": "hist",
            "multi_strategy": "multi_output_tree",
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "reg_lambda": self.l2_regularization,
            "max_bin": self.max_bins,
            "base_score": 0.0,
            "disable_default_eval_metric": 1,
            "nthread": 1 if self.n_jobs is None else self.n_jobs,
        }
        return settings | ({"num_target": n_labels} if n_labels > 1 else {})

    def _matrix(self, xgboost: Any, X: Any) -> Any:
        """Features, with the log-odds of the prevalence as the start of every row."""
        start = np.tile(self._start, (X.shape[0], 1))
        return xgboost.DMatrix(X, base_margin=start)

    def _decision_function(self, X: Any) -> np.ndarray:
        xgboost = require("xgboost", extra="boosting", purpose="GradientBoostingLabels")
        margin = self.booster_.predict(
            self._matrix(xgboost, X), output_margin=True, iteration_range=(0, self.n_iter_)
        )
        return margin.reshape(X.shape[0], -1).astype(np.float64)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def __getstate__(self) -> dict:
        # the text says the same
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "booster_"}


def _observed_gradients(values: np.ndarray) -> Callable:
    """Return the gradients and curvatures of the log-loss of the observed entries."""
    known = ~np.isnan(values)
    truth = np.where(known, values, 0).astype(np.float32)

    def gradients(margin: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
        p = expit(margin.reshape(truth.shape))
        return (p - truth) * known, np.maximum(p * (1 - p), _LEAST_CURVATURE) * known

    return gradients


def _sampled_splits(values: np.ndarray, n_split_labels: int, rng: np.random.Generator) -> Any:
    """Return the same gradients, with those of a few labels to split by.

    Label k is drawn with the probability w_k in proportion to its squared gradients, and its
    gradient divided by sqrt(n w_k): squared sums over rows then have the right mean over draws.
    """
    objective = require("xgboost.objective", extra="boosting", purpose="n_split_labels=")
    gradients = _observed_gradients(values)

    class Sampled(objective.TreeObjective):  # type: ignore[name-defined]
        def __call__(self, iteration: int, y_pred: Any, dtrain: Any) -> tuple[Any, Any]:
            return gradients(y_pred, dtrain)

        def split_grad(self, iteration: int, grad: Any, hess: Any) -> tuple[Any, Any]:
            weights = np.square(grad, dtype=np.float64).sum(axis=0) + _LEAST_CURVATURE
            weights /= weights.sum()
            drawn = rng.choice(weights.size, n_split_labels, p=weights)
            split = grad[:, drawn] / np.sqrt(n_split_labels * weights[drawn]).astype(np.float32)
            curvature = np.repeat(hess.mean(axis=1, keepdims=True), n_split_labels, axis=1)
            return np.ascontiguousarray(split), np.ascontiguousarray(curvature)

    return Sampled()


def _observed_log_loss(values: np.ndarray) -> Callable:
    def loss(margin: np.ndarray, _: Any) -> tuple[str, float]:
        return "log_loss", mean_log_loss(expit(margin.reshape(values.shape)), values)

    return loss


def _telling(xgboost: Any, step: Callable[[], None]) -> Any:
    """A callback of XGBoost that calls ``step`` after each tree."""

    class AfterEachTree(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            step()
            return False

    return AfterEachTree()
