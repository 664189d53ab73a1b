"""Matrix factorisation of labels of which a zero may mean that nobody looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, xlog1py, xlogy
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.products import linear_part, prepare_features
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.labels import Labels, State
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap.propensity import label_frequency_mode
from labelgap_papers.kernels.row_sparse import solve_reweighted
from labelgap_papers.methods._iterative import Iterative
from labelgap_papers.methods._linear import as_double

_MOST_FACTORS = 100
_START_SCALE = 0.1
# rates of exactly 0 or 1 could never be left again
_EDGE = 1e-12


class _Point(NamedTuple):
    """U : (n_samples, k), V : (n_labels, k), mu : (n_labels,)."""

    U: np.ndarray
    V: np.ndarray
    mu: np.ndarray


@with_parameters
class ExpoMF(Iterative, LabelGapClassifier):
    """Exposure matrix factorisation: Gaussian factors, and zeros that count by their label frequency.

    An entry is observed with the label frequency mu_j; what was not observed is
    recorded as 0, and what was looked at is u_i . v_j with Gaussian noise [1]_. Maximises

        sum_{y=1} log(mu_j N(1; s_ij)) + sum_{y=0} log(mu_j N(0; s_ij) + 1 - mu_j)
        - lambda_u/2 ||U||^2 - lambda_v/2 ||V||^2 + sum_j log Beta(mu_j; a, b),

    where N(y; s) is the density of a normal with mean s and variance 1/precision, and
    s_ij = u_i . v_j, by EM.

    Parameters
    ----------
    n_factors : int, default=None
        By default as many as labels, at most 100.
    lambda_u, lambda_v : float, default=0.1
        Prior precisions of the factors of rows and of labels.
    precision : float, default=1.0
        Inverse variance of an entry that was looked at.
    first_rate : float, default=0.5
        The mu to start from.
    a, b : float, default=1.0
        Of the beta prior of mu, at least 1.
    alpha : float, default=1.0
        Weight of the ridge in the regression of U on the features.
    tol : float, default=1e-06
        Converged when the objective gains less than ``tol`` times its size.
    init : (U, V), default=None
        Factors to start from, of shape (n_samples, n_factors) and (n_labels, n_factors); small
        random numbers by default.

    Attributes
    ----------
    row_factors_, label_factors_ : ndarrays of shape (n_samples, n_factors), (n_labels, n_factors)
        U and V; their product has the scores of all training entries, without any features.
    label_frequency_ : ndarray of shape (n_labels,)
        mu.
    coef_, intercept_ : ndarrays of shape (n_features, n_labels) and (n_labels,)
        Scores of new rows.
    slope_, level_ : float
        Of the sigmoid that makes probabilities of those scores.
    trace_ : Trace
        Objective of every iteration, to be maximised, and how the fit ended.

    Notes
    -----
    Zeros of plain arrays are unlabeled. In :class:`labelgap.Labels` an entry known to be 0 counts
    in full and says nothing of mu, and an unknown one does not count; only unlabeled zeros are
    weighed.

    The method itself knows rows by their labels alone. For new rows U is predicted by ridge
    regression on the features, fitted to the training rows when the factors are known; scores
    and their sigmoid are those of such predictions. The sigmoid is fitted with unlabeled zeros as
    zeros, so that it gives the probability that a label is recorded.

    Weights of zeros are computed anew before each of the three steps (rows, labels, rates), which makes
    every step one of EM: the objective never falls. The authors' code has a normal density with
    its constant upside down, which makes zeros count too much.

    References
    ----------
    .. [1] D. Liang, L. Charlin, J. McInerney and D. M. Blei. Modeling user exposure in
       recommendation. WWW, 2016.
    """

    _zeros = "unlabeled"

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    lambda_u: float = parameter(0.1, POSITIVE)
    lambda_v: float = parameter(0.1, POSITIVE)
    precision: float = parameter(1.0, POSITIVE)
    first_rate: float = parameter(0.5, Interval(Real, 0, 1, closed="neither"))
    a: float = parameter(1.0, Interval(Real, 1, None, closed="left"))
    b: float = parameter(1.0, Interval(Real, 1, None, closed="left"))
    alpha: float = parameter(1.0, POSITIVE)
    max_iter: int = parameter(200)
    tol: float = parameter(1e-6)
    init: Any = parameter(None, tuple, list, None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        if not labels.n_observed(unlabeled=True):
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        states, ones = labels.states(), labels.positives().astype(np.float64)
        point = self._start(labels)
        monitor = self._monitor()
        for _ in range(self.max_iter):
            point = self._iterate(point, states, ones)
            if monitor.record(self._objective(point, states)):
                break
        self._keep_trace(monitor)
        self.row_factors_, self.label_factors_, self.label_frequency_ = point
        self._predict_factors(X, states)

    def _start(self, labels: Labels) -> _Point:
        if self.init is None:
            k = self.n_factors or min(labels.n_labels, _MOST_FACTORS)
            rng = check_random_state(self.random_state)
            U = _START_SCALE * rng.standard_normal((labels.n_samples, k))
            V = _START_SCALE * rng.standard_normal((labels.n_labels, k))
        else:
            U, V = (np.array(one, dtype=np.float64) for one in self.init)
            k = V.shape[-1] if self.n_factors is None else self.n_factors
            wanted = (labels.n_samples, k), (labels.n_labels, k)
            if (U.shape, V.shape) != wanted:
                raise ValueError(
                    f"init has the shapes {U.shape} and {V.shape}: give U and V of the shapes "
                    f"{wanted[0]} and {wanted[1]}"
                )
        return _Point(U, V, np.full(labels.n_labels, float(self.first_rate)))

    def _iterate(self, point: _Point, states: np.ndarray, ones: sparse.csr_array) -> _Point:
        U, V, mu = point
        weights = self._seen_weights(point, states)
        U = weighted_ridge(weights, V, ones @ V, self.lambda_u / self.precision).z
        weights = self._seen_weights(_Point(U, V, mu), states)
        V = weighted_ridge(weights.T, U, ones.T @ U, self.lambda_v / self.precision).z
        weights = self._seen_weights(_Point(U, V, mu), states)
        return _Point(U, V, self._rates(mu, weights, states))

    def _seen_weights(self, point: _Point, states: np.ndarray) -> np.ndarray:
        """P(looked at | the record) of every entry, and zero where it is unknown."""
        log_looked, log_zero = self._zero_terms(point)
        posterior = np.exp(log_looked - log_zero)
        known = np.where(states == State.UNKNOWN, 0.0, 1.0)
        return np.where(states == State.UNLABELED, posterior, known)

    def _zero_terms(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        """log(mu N(0; s)) and log(mu N(0; s) + 1 - mu)."""
        looked = np.log(point.mu) + _log_density(point.U @ point.V.T, self.precision)
        return looked, np.logaddexp(looked, np.log1p(-point.mu))

    def _rates(self, mu: np.ndarray, weights: np.ndarray, states: np.ndarray) -> np.ndarray:
        recorded = (states == State.RELEVANT) | (states == State.UNLABELED)
        examined = np.where(recorded, weights, 0.0).sum(axis=0)
        mode = label_frequency_mode(examined, recorded.sum(axis=0), (self.a, self.b), mu)
        return np.clip(mode, _EDGE, 1 - _EDGE)

    def _objective(self, point: _Point, states: np.ndarray) -> float:
        log_zero = self._zero_terms(point)[1]
        error = (states == State.RELEVANT) - point.U @ point.V.T
        entries = _log_density(error, self.precision)
        entries += np.where(states == State.RELEVANT, np.log(point.mu), 0.0)
        entries = np.where(states == State.UNLABELED, log_zero, entries)
        penalty = self.lambda_u * np.square(point.U).sum() + self.lambda_v * (point.V**2).sum()
        prior = xlogy(self.a - 1, point.mu) + xlog1py(self.b - 1, -point.mu)
        return float(entries[states != State.UNKNOWN].sum() - penalty / 2 + prior.sum())

    def _predict_factors(self, X: Any, states: np.ndarray) -> None:
        features = prepare_features(as_double(X))
        known = states != State.UNKNOWN
        penalties = np.append(np.full(X.shape[1], float(self.alpha)), 0.0)
        labelled = known.any(axis=1).astype(np.float64)
        W = solve_reweighted(features, self.row_factors_, labelled, penalties)
        W = W @ self.label_factors_.T
        self.coef_, self.intercept_ = W[:-1], W[-1]
        scores = linear_part(features, W)
        self.slope_, self.level_ = fit_sigmoid(scores[known], (states == State.RELEVANT)[known])

    def _decision_function(self, X: Any) -> np.ndarray:
        scores = np.asarray(as_double(X) @ self.coef_) + self.intercept_
        return self.slope_ * scores + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


def _log_density(error: np.ndarray, precision: float) -> np.ndarray:
    """Log density of a normal with variance 1/precision."""
    return 0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * np.square(error)
