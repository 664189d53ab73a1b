"""Small problems with gaps, and fits put together by hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelgap.labels import as_labels
from labelgap.models.rmfl import RMFL
from labelgap.models.rmfl._rmfl_features import PreparedRows, prepare
from labelgap.models.rmfl._rmfl_labels import SignedLabels, signed_targets
from labelgap.models.rmfl._rmfl_objective import RMFLFactors, RMFLPenalties, RMFLProblem


class Data(NamedTuple):
    X: np.ndarray
    Y: np.ndarray  # NaN where unknown
    truth: np.ndarray
    X_new: np.ndarray
    Y_new: np.ndarray


def data(
    n_samples=40, n_features=4, n_labels=5, missing=0.4, seed=0, n_new=20, unexplained=0.0
) -> Data:
    """Correlated labels that depend on the features through two directions.

    With ``unexplained``, on something else too, which all labels of a row fraction.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples + n_new, n_features))
    hidden = np.tanh(X @ rng.normal(size=(n_features, 2)))
    if unexplained:
        hidden += unexplained * rng.normal(size=hidden.shape)
    scores = hidden @ rng.normal(size=(2, n_labels)) + 0.2 * rng.normal(size=(len(X), n_labels))
    truth = (scores > 0.1).astype(float)
    Y = truth[:n_samples].copy()
    gaps = rng.random(Y.shape) < missing
    gaps[np.arange(n_samples), np.arange(n_samples) % n_labels] = False  # one is known of every row
    Y[gaps] = np.nan
    return Data(X[:n_samples], Y, truth[:n_samples], X[n_samples:], truth[n_samples:])


class Case(NamedTuple):
    problem: RMFLProblem
    start: RMFLFactors
    prepared: PreparedRows
    targets: SignedLabels


def case(
    drawn: Data, penalties=(0.7, 0.5, 1.3, 0.4, 0.2), n_factors=3, width=2, seed=1, **settings
) -> Case:
    """A problem and a random start, without the estimator."""
    loop = {name: settings.pop(name) for name in ("solver", "n_cg") if name in settings}
    model = RMFL(**settings)
    prepared = prepare(model, drawn.X, 0)
    penalties = RMFLPenalties(*penalties)
    targets = signed_targets(as_labels(drawn.Y))
    regression = prepared.regression(penalties.lambda_4 / penalties.lambda_3)
    problem = RMFLProblem(targets, prepared.weights, regression, penalties, **loop)
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(drawn.Y.shape[1], width))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    U = rng.normal(size=(len(drawn.X), n_factors))
    return Case(problem, problem.begin(U, Z), prepared, targets)


def fitted(drawn: Data, **settings) -> RMFL:
    """A fit with a fixed number of iterations."""
    return RMFL(**{"max_iter": 30, "tol": 0, "random_state": 0, **settings}).fit(drawn.X, drawn.Y)
