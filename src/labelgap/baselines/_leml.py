"""Low-rank empirical risk minimisation for many labels, some of them missing."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from labelgap.baselines._linear import LinearScores, solve_as_one
from labelgap.fitting import Monitor, Trace
from labelgap.kernels.losses import LOSSES, Loss
from labelgap.kernels.low_rank import thin_svd
from labelgap.kernels.products import (
    Features,
    prepare_features,
    squared_transposed_times,
    times,
    transposed_times,
)
from labelgap.kernels.proximal import backtrack
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.yardsticks._label_prior import log_odds

__all__ = ["LEML"]

_MOST_FACTORS = 100
_MOST_HALVINGS = 30
_ENOUGH = 1e-4
# of a free intercept: a hinge may leave it without any curvature
_LEAST_RIDGE = 1e-8


class Problem(NamedTuple):
    """Features, labels of 0 and 1 (0 where unknown), what is observed, loss and ridge."""

    features: Features
    labels: np.ndarray
    observed: np.ndarray
    loss: Loss
    ridge: float
    intercept: bool


class Place(NamedTuple):
    """W (d, k), H (n_labels, k) and the intercepts b (n_labels,)."""

    W: np.ndarray
    H: np.ndarray
    b: np.ndarray


def scores_at(problem: Problem, place: Place) -> np.ndarray:
    return times(problem.features, place.W) @ place.H.T + place.b


def objective(problem: Problem, place: Place) -> float:
    losses = problem.loss.value(scores_at(problem, place), problem.labels)
    penalty = np.vdot(place.W, place.W) + np.vdot(place.H, place.H)
    return float(losses[problem.observed].sum() + problem.ridge / 2 * penalty)


def feature_slope(problem: Problem, place: Place) -> np.ndarray:
    """Derivative of the objective by W."""
    slopes = problem.observed * problem.loss.slope(scores_at(problem, place), problem.labels)
    return transposed_times(problem.features, slopes @ place.H) + problem.ridge * place.W


def feature_step(problem: Problem, place: Place, n_cg: int) -> Place:
    """W moved along a direction of Newton's method, found by conjugate gradient."""
    features, H, ridge = problem.features, place.H, problem.ridge
    scores = scores_at(problem, place)
    bent = problem.observed * problem.loss.curvature(scores, problem.labels)
    slope = feature_slope(problem, place)

    def product(move: np.ndarray) -> np.ndarray:
        image = bent * (times(features, move) @ H.T)
        return transposed_times(features, image @ H) + ridge * move

    diagonal = squared_transposed_times(features, bent @ (H * H)) + ridge
    move = solve_as_one(product, slope, diagonal, n_steps=n_cg, tol=1e-10)
    image = times(features, move) @ H.T

    def value(step: float) -> float:
        losses = problem.loss.value(scores - step * image, problem.labels)
        W = place.W - step * move
        return float(losses[problem.observed].sum() + ridge / 2 * np.vdot(W, W))

    step, _ = backtrack(value, value(0.0), -float(np.vdot(move, slope)))
    return place._replace(W=place.W - step * move)


def label_step(problem: Problem, place: Place) -> Place:
    """One step of Newton's method for every label, each as long as it improves the label."""
    factors = times(problem.features, place.W)
    both, ridge = place.H, np.full(place.H.shape[1], problem.ridge)
    penalty = ridge
    if problem.intercept:
        factors = np.column_stack([factors, np.ones(len(factors))])
        both = np.column_stack([place.H, place.b])
        ridge, penalty = np.append(ridge, _LEAST_RIDGE), np.append(ridge, 0.0)
    scores = factors @ both.T
    slope = (problem.observed * problem.loss.slope(scores, problem.labels)).T @ factors
    slope += penalty * both
    bent = problem.observed * problem.loss.curvature(scores, problem.labels)
    move = weighted_ridge(bent.T, factors, slope, ridge).z
    both = both - _lengths(problem, factors, both, move, slope, penalty)[:, None] * move
    if problem.intercept:
        return place._replace(H=both[:, :-1], b=both[:, -1])
    return place._replace(H=both)


def _lengths(problem, factors, both, move, slope, penalty) -> np.ndarray:
    """Of the step of every label: 1, or half as often as its own objective asks for."""
    scores, image = factors @ both.T, factors @ move.T
    descent = np.einsum("lk,lk->l", move, slope)

    def values(steps: np.ndarray) -> np.ndarray:
        losses = problem.loss.value(scores - steps * image, problem.labels)
        moved = both - steps[:, None] * move
        squares = np.einsum("lk,k,lk->l", moved, penalty, moved)
        return np.where(problem.observed, losses, 0.0).sum(axis=0) + squares / 2

    start, steps = values(np.zeros(len(both))), np.ones(len(both))
    for _ in range(_MOST_HALVINGS):
        good = values(steps) <= start - _ENOUGH * steps * descent
        if good.all():
            return steps
        steps = np.where(good, steps, steps / 2)
    return np.where(good, steps, 0.0)


class LEML(LinearScores):
    """Low-rank empirical risk minimisation for multi-label learning [1]_.

    Scores are x W h_j + b_j, a map of low rank, learned from the observed entries alone:

        min  sum over observed (i, j) of loss(y_ij, x_i W h_j + b_j)
             + ridge/2 (||W||^2 + ||H||^2).

    With ``loss="logistic"`` this is the factor model of the seen labels that zero-shot methods
    are compared with (LFM-SL), when its row factors are what the features say:
    :class:`LFMSL` with an infinite ``lambda_u``.

    Parameters
    ----------
    n_factors : int, optional
        Rank; never more than labels or features are used. By default as many as labels, at most
        100.
    loss : {"squared", "logistic", "squared_hinge"}
        (s - y)^2/2 and log(1 + exp(s)) - y s for labels of 0 and 1, or max(0, 1 - y s)^2/2 for
        labels of -1 and 1.
    ridge : float
        With enough factors the penalty is ``ridge`` times the nuclear norm of W H'.
    intercept : bool
        Whether labels have the free intercepts b. The paper has none; without them features
        should carry a constant.
    n_cg : int
        Most steps of conjugate gradient for W in an iteration.
    max_iter : int
    tol : float
        Converged when the objective falls by less than ``tol`` times its size.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every iteration; returning True
        stops.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_labels)
        W H'.
    intercept_ : ndarray of shape (n_labels,)
        b, or zeros.
    feature_map_, label_factors_ : ndarrays of shape (n_features, k) and (n_labels, k)
        W and H.
    slope_, level_ : float
        Of the sigmoid that makes probabilities of scores; 1 and 0 for the logistic loss, whose
        scores are log-odds.
    trace_ : Trace
        Objective of every iteration, to be minimised, and how the fit ended.
    n_iter_ : int
    classes_, n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    An iteration is a step of Newton's method for W, by conjugate gradient, and one for every row
    of H; a line search keeps the objective from increasing. With the squared loss the second is
    exact. The start has the leading singular vectors of X'Y for H, and no randomness.

    Unknown entries are left out. Ambiguous zeros are zeros. Rows without any observed label
    change nothing; a label without any has the score of how often labels are relevant.

    References
    ----------
    .. [1] H.-F. Yu, P. Jain, P. Kar and I. S. Dhillon. Large-scale multi-label learning with
       missing labels. ICML, 2014.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_factors": [Interval(Integral, 1, None, closed="left"), None],
        "loss": [StrOptions(set(LOSSES))],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "intercept": ["boolean"],
        "n_cg": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_factors: int | None = None,
        *,
        loss: str = "squared",
        ridge: float = 1.0,
        intercept: bool = True,
        n_cg: int = 20,
        max_iter: int = 200,
        tol: float = 1e-5,
        callback: Callable | None = None,
    ) -> None:
        self.n_factors = n_factors
        self.loss = loss
        self.ridge = ridge
        self.intercept = intercept
        self.n_cg = n_cg
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        observed = ~np.isnan(Y)
        features, labels = prepare_features(X), np.where(observed, Y, 0.0)
        loss = LOSSES[self.loss]
        problem = Problem(features, labels, observed, loss, float(self.ridge), self.intercept)
        place = self._descend(problem, self._start(problem))
        self.feature_map_ = place.W
        self.label_factors_ = np.zeros((len(seen), place.H.shape[1]))
        self.label_factors_[seen] = place.H
        return place.W @ place.H.T, place.b

    def _start(self, problem: Problem) -> Place:
        """The best directions of the labels for a first step of W."""
        _, n_labels = problem.labels.shape
        d = problem.features.shape[1]
        n_factors = min(self.n_factors or _MOST_FACTORS, n_labels, d)
        b = np.zeros(n_labels)
        if self.intercept:
            place = Place(np.zeros((d, 1)), np.zeros((n_labels, 1)), b)
            for _ in range(5):
                place = label_step(problem, place)
            b = place.b
        scores = np.broadcast_to(b, problem.labels.shape)
        pull = problem.observed * problem.loss.slope(scores, problem.labels)
        directions = thin_svd(transposed_times(problem.features, pull))[2][:n_factors].T
        return Place(np.zeros((d, n_factors)), directions.copy(), b)

    def _descend(self, problem: Problem, place: Place) -> Place:
        monitor = Monitor(self.max_iter, self.tol, self.callback)
        for _ in range(self.max_iter):
            place = feature_step(problem, place, self.n_cg)
            place = label_step(problem, place)
            if monitor.record(objective(problem, place)):
                break
        self.trace_: Trace = monitor.finish()
        self.n_iter_ = self.trace_.n_iter
        return place

    def _unseen_scores(self, frequency: np.ndarray) -> np.ndarray:
        if self.loss == "logistic":
            return log_odds(frequency)
        return 2 * frequency - 1 if self.loss == "squared_hinge" else frequency

    def _calibrate(self, scores: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        return (1.0, 0.0) if self.loss == "logistic" else super()._calibrate(scores, values)
