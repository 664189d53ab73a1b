"""Low-rank empirical risk minimisation for many labels, some of them missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.low_rank import thin_svd
from labelgap.kernels.probabilities import log_odds
from labelgap.kernels.products import (
    Features,
    squared_transposed_times,
    times,
    transposed_times,
)
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.losses import LOSSES, Loss
from labelgap_papers.kernels.proximal import backtrack, inner
from labelgap_papers.methods._linear import LinearScores, placed, solve_as_one

_MOST_FACTORS = 100
_MOST_HALVINGS = 30
_ENOUGH = 1e-4
# of a free intercept: a hinge may leave it without any curvature
_LEAST_RIDGE = 1e-8


class LEMLProblem(NamedTuple):
    """Features, labels of 0 and 1 (0 where unknown), what is observed, loss and ridge."""

    features: Features
    labels: Any
    observed: Any
    loss: Loss
    ridge: float
    intercept: bool

    @property
    def is_least_squares(self) -> bool:
        """Whether every entry has the curvature 1, so that labels need no system of their own."""
        return self.loss.is_quadratic and bool(self.observed.all())


class LEMLPlace(NamedTuple):
    """W (d, k), H (n_labels, k) and the intercepts b (n_labels,)."""

    W: Any
    H: Any
    b: Any


def scores_at(problem: LEMLProblem, place: LEMLPlace) -> Any:
    return times(problem.features, place.W) @ place.H.T + place.b


def objective(problem: LEMLProblem, place: LEMLPlace) -> float:
    losses = problem.loss.value(scores_at(problem, place), problem.labels)
    penalty = inner(place.W, place.W) + inner(place.H, place.H)
    return float((problem.observed * losses).sum()) + problem.ridge / 2 * penalty


def feature_slope(problem: LEMLProblem, place: LEMLPlace) -> Any:
    """Derivative of the objective by W."""
    slopes = problem.observed * problem.loss.slope(scores_at(problem, place), problem.labels)
    return transposed_times(problem.features, slopes @ place.H) + problem.ridge * place.W


def _bend(problem: LEMLProblem, scores: Any, H: Any) -> tuple[Callable[[Any], Any], Any]:
    """What the curvature of the losses makes of row factors (n, k), and its diagonal."""
    if problem.is_least_squares:
        gram = H.T @ H
        every_row = array_namespace(scores).ones_like(scores[:, :1])
        return lambda image: image @ gram, every_row * (H * H).sum(0)
    bent = problem.observed * problem.loss.curvature(scores, problem.labels)
    return lambda image: (bent * (image @ H.T)) @ H, bent @ (H * H)


def feature_step(problem: LEMLProblem, place: LEMLPlace, n_cg: int) -> LEMLPlace:
    """W moved along a direction of Newton's method, found by conjugate gradient."""
    features, H, ridge = problem.features, place.H, problem.ridge
    scores = scores_at(problem, place)
    slope = feature_slope(problem, place)
    pulled, curvatures = _bend(problem, scores, H)

    def product(move: Any) -> Any:
        return transposed_times(features, pulled(times(features, move))) + ridge * move

    diagonal = squared_transposed_times(features, curvatures) + ridge
    move = solve_as_one(product, slope, diagonal, n_steps=n_cg, tol=1e-10)
    image = times(features, move) @ H.T

    def value(step: float) -> float:
        losses = problem.loss.value(scores - step * image, problem.labels)
        W = place.W - step * move
        return float((problem.observed * losses).sum()) + ridge / 2 * inner(W, W)

    step, _ = backtrack(value, value(0.0), -inner(move, slope))
    return place._replace(W=place.W - step * move)


def label_step(problem: LEMLProblem, place: LEMLPlace) -> LEMLPlace:
    """One step of Newton's method for every label, each as long as it improves the label."""
    xp, k = array_namespace(place.H), place.H.shape[1]
    factors, both = times(problem.features, place.W), place.H
    ridge = penalty = array_like(xp, [problem.ridge] * k, both)
    if problem.intercept:
        factors = xp.concat([factors, xp.ones_like(factors[:, :1])], axis=1)
        both = xp.concat([both, place.b[:, None]], axis=1)
        ridge = array_like(xp, [problem.ridge] * k + [_LEAST_RIDGE], both)
        penalty = array_like(xp, [problem.ridge] * k + [0.0], both)
    scores = factors @ both.T
    slope = (problem.observed * problem.loss.slope(scores, problem.labels)).T @ factors
    slope += penalty * both
    if problem.is_least_squares:
        gram = factors.T @ factors + ridge * array_like(xp, np.eye(len(ridge)), factors)
        move = xp.linalg.solve(gram, slope.T).T
    else:
        bent = problem.observed * problem.loss.curvature(scores, problem.labels)
        move = weighted_ridge(bent.T, factors, slope, ridge).z
    both = both - _lengths(problem, factors, both, move, slope, penalty)[:, None] * move
    if problem.intercept:
        return place._replace(H=both[:, :-1], b=both[:, -1])
    return place._replace(H=both)


def _lengths(problem, factors, both, move, slope, penalty) -> Any:
    """Of the step of every label: 1, or half as often as its own objective asks for."""
    xp = array_namespace(both)
    scores, image = factors @ both.T, factors @ move.T
    descent = (move * slope).sum(1)

    def values(steps: Any) -> Any:
        losses = problem.loss.value(scores - steps * image, problem.labels)
        moved = both - steps[:, None] * move
        return (problem.observed * losses).sum(0) + (moved * moved) @ penalty / 2

    steps = xp.ones_like(descent)
    start = values(0 * steps)
    for _ in range(_MOST_HALVINGS):
        good = values(steps) <= start - _ENOUGH * steps * descent
        if bool(good.all()):
            return steps
        steps = xp.where(good, steps, steps / 2)
    return good * steps


@with_parameters
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
    n_factors : int, default=None
        Rank; never more than labels or features are used. By default as many as labels, at most
        100.
    loss : {"squared", "logistic", "squared_hinge"}, default="squared"
        (s - y)^2/2 and log(1 + exp(s)) - y s for labels of 0 and 1, or max(0, 1 - y s)^2/2 for
        labels of -1 and 1.
    ridge : float, default=1.0
        With enough factors the penalty is ``ridge`` times the nuclear norm of W H'.
    n_cg : int, default=20
        Most steps of conjugate gradient for W in an iteration.

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

    Notes
    -----
    An iteration is a step of Newton's method for W, by conjugate gradient, and one for every row
    of H; a line search keeps the objective from increasing. With the squared loss the second is
    exact. The start has the leading singular vectors of X'Y for H, and no randomness.

    Unknown entries are left out. Unlabeled zeros are zeros. Rows without any observed label
    change nothing; a label without any has the score of how often labels are relevant.

    References
    ----------
    .. [1] H.-F. Yu, P. Jain, P. Kar and I. S. Dhillon. Large-scale multi-label learning with
       missing labels. ICML, 2014.
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    loss: str = parameter("squared", StrOptions(set(LOSSES)))
    ridge: float = parameter(1.0, POSITIVE)
    fit_intercept: bool = parameter(True)
    n_cg: int = parameter(20, AT_LEAST_ONE)
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        observed = ~np.isnan(Y)
        features, known, there = placed(self.device, X, np.where(observed, Y, 0.0), observed)
        loss = LOSSES[self.loss]
        problem = LEMLProblem(features, known, there, loss, float(self.ridge), self.fit_intercept)
        W, H, b = map(to_numpy, self._descend(problem, self._start(problem)))
        self.feature_map_ = W
        self.label_factors_ = np.zeros((len(seen), H.shape[1]))
        self.label_factors_[seen] = H
        return W @ H.T, b

    def _start(self, problem: LEMLProblem) -> LEMLPlace:
        """The best directions of the labels for a first step of W."""
        xp, labels = array_namespace(problem.labels), problem.labels
        n_labels, d = labels.shape[1], problem.features.shape[1]
        n_factors = min(self.n_factors or _MOST_FACTORS, n_labels, d)
        b = xp.zeros_like(labels[0])
        if self.fit_intercept:
            nothing = xp.zeros_like(labels[:1])
            place = LEMLPlace(array_like(xp, np.zeros((d, 1)), labels), nothing.T, b)
            for _ in range(5):
                place = label_step(problem, place)
            b = place.b
        pull = problem.observed * problem.loss.slope(xp.zeros_like(labels) + b, labels)
        # on the processor, whose singular vectors have the same signs everywhere
        directions = thin_svd(to_numpy(transposed_times(problem.features, pull)))[2][:n_factors].T
        W = array_like(xp, np.zeros((d, n_factors)), labels)
        return LEMLPlace(W, array_like(xp, directions.copy(), labels), b)

    def _descend(self, problem: LEMLProblem, place: LEMLPlace) -> LEMLPlace:
        monitor = self._monitor()
        for _ in range(self.max_iter):
            place = feature_step(problem, place, self.n_cg)
            place = label_step(problem, place)
            if monitor.record(objective(problem, place)):
                break
        self._keep_trace(monitor)
        return place

    def _unseen_scores(self, frequency: np.ndarray) -> np.ndarray:
        if self.loss == "logistic":
            return log_odds(frequency)
        return 2 * frequency - 1 if self.loss == "squared_hinge" else frequency

    def _calibrate(self, scores: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        return (1.0, 0.0) if self.loss == "logistic" else super()._calibrate(scores, values)
