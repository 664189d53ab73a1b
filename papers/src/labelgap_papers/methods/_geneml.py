"""A generative model of labels of which a zero may mean that nobody looked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit, xlog1py, xlogy
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.entry_likelihood import LabelTerms, label_terms
from labelgap.kernels.products import (
    Features,
    linear_part,
    prepare_features,
    transposed_times,
    weighted_gram,
    with_intercept,
)
from labelgap.kernels.weighted_ridge import solve_grams, weighted_grams, weighted_ridge
from labelgap.labels import Labels, State
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap.propensity import label_frequency_mode
from labelgap_papers.methods._iterative import Iterative
from labelgap_papers.methods._linear import as_double

_MOST_FACTORS = 100
# rates of exactly 0 or 1 could never be left again
_EDGE = 1e-12


class _Params(NamedTuple):
    """V : (n_labels, k), W : (n_features + 1, k) with the intercept last, mu : (n_labels,)."""

    V: np.ndarray
    W: np.ndarray
    mu: np.ndarray


class _Batch(NamedTuple):
    """Some rows; if they are all, their [X 1]'[X 1] and the Cholesky factor of W's system."""

    rows: slice
    features: Features
    states: np.ndarray
    gram: np.ndarray | None = None
    factor: tuple | None = None


class _Sums(NamedTuple):
    """Weighted means over steps of sums over rows.

    grams, right_side : of every label's regression on U; gram, cross : [X 1]'[X 1], [X 1]'U;
    weight : of all steps together; what is missing to 1 is still the empty start.
    """

    grams: Any
    right_side: Any
    gram: Any
    cross: Any
    weight: float

    def add(self, new: _Sums, step: float) -> _Sums:
        return _Sums(*((1 - step) * old + step * one for old, one in zip(self, new, strict=True)))


@with_parameters
class GenEML(Iterative, LabelGapClassifier):
    """A factor model of labels with label frequencies, whose row factors are regressed on the features.

    A label is recorded if it is relevant and somebody looked [1]_:

        u_i ~ N(W' x_i, 1/lambda_u),   P(y_ij = 1) = mu_j sigmoid(u_i . v_j),

    with normal priors of precision lambda_v and lambda_w for V and W and Beta(a, b) for mu.
    Maximises the log posterior of U, V, W and mu by EM with Polya-Gamma variables.

    Parameters
    ----------
    n_factors : int, default=None
        By default as many as labels, at most 100.
    lambda_u, lambda_v, lambda_w : float, default=0.1
        Prior precisions of row factors, label factors and regression weights.
    fit_label_frequency : bool, default=True
        Whether mu is learned. Without it mu is 1, and every unlabeled zero a zero.
    first_rate : float, default=0.9
        The mu to start from.
    a, b : float, default=1.0
        Of the beta prior of mu, at least 1.
    fit_intercept : bool, default=True
        Whether the regression of U has an intercept, with the precision of the other weights. The
        paper has none.
    batch_rows : int, default=None
        Rows in a step, in the order of the rows; all of them by default.
    step_size, step_power : float, default=1.0, 0.0
        The t-th step, from 0, has the weight ``step_size (1 + t)^(-step_power)`` in the sums over
        rows that V, W and mu are solved from. The default, 1, is EM; smaller parts of the rows
        need a power in (0.5, 1].
    max_iter : int, default=200
        Passes over all rows.
    tol : float, default=1e-05
        Converged when the objective gains less than ``tol`` times its size.
    init : (V, W, mu), default=None
        To start from, of shape (n_labels, n_factors), (n_features, n_factors) with one more row for
        the intercept if there is one, and (n_labels,). By default V is random and W is 0.

    Attributes
    ----------
    row_factors_, label_factors_ : ndarrays of shape (n_samples, n_factors), (n_labels, n_factors)
        U and V.
    label_frequency_ : ndarray of shape (n_labels,)
        mu.
    coef_, intercept_ : ndarrays of shape (n_features, n_factors) and (n_factors,)
        W.
    trace_ : Trace
        Objective of every pass, to be maximised, and how the fit ended.

    Notes
    -----
    Zeros of plain arrays are unlabeled. In :class:`labelgap.Labels` an entry known to be 0 counts
    in full and says nothing of mu, and an unknown one does not count.

    The probability predicted for a new row is that of being relevant, ``sigmoid(W'x . v_j)``;
    times ``label_frequency_`` it is that of being recorded.

    What the rate mu is can only be seen where u stays near W'x: with a small lambda_u the factors
    of a row fit its missing labels too, as zeros, and mu goes to 1.

    Polya-Gamma means and those of the label frequencies are taken anew before each step (U, V, mu),
    so that in one step per pass with weight 1 the objective never falls. With parts of the rows it
    may. The authors'
    code differs in three things: its Polya-Gamma mean is 0 instead of 1/4 at 0; the ridge on V
    fades away, without which V grows without bound; and W is shrunk as if lambda_u were 1.

    References
    ----------
    .. [1] V. Jain, N. Modhe and P. Rai. Scalable generative models for multi-label learning with
       missing labels. ICML, 2017.
    """

    _zeros = "unlabeled"

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    lambda_u: float = parameter(0.1, POSITIVE)
    lambda_v: float = parameter(0.1, POSITIVE)
    lambda_w: float = parameter(0.1, POSITIVE)
    fit_label_frequency: bool = parameter(True)
    first_rate: float = parameter(0.9, Interval(Real, 0, 1, closed="neither"))
    a: float = parameter(1.0, Interval(Real, 1, None, closed="left"))
    b: float = parameter(1.0, Interval(Real, 1, None, closed="left"))
    fit_intercept: bool = parameter(True)
    batch_rows: int | None = parameter(None, AT_LEAST_ONE, None)
    step_size: float = parameter(1.0, Interval(Real, 0, 1, closed="right"))
    step_power: float = parameter(0.0, Interval(Real, 0, 1, closed="both"))
    max_iter: int = parameter(200)
    tol: float = parameter(1e-5)
    init: Any = parameter(None, tuple, list, None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        if not labels.n_observed(unlabeled=True):
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        features, states = prepare_features(as_double(X)), labels.states()
        params = self._start(X.shape[1], labels.n_labels)
        U = np.zeros((labels.n_samples, params.V.shape[1]))
        sums, n_steps = _Sums(0.0, 0.0, 0.0, 0.0, 0.0), 0
        batches = self._batches(features, states)
        monitor = self._monitor()
        for _ in range(self.max_iter):
            for batch in batches:
                step = self.step_size * (1 + n_steps) ** -self.step_power
                params, sums = self._step(U, params, sums, batch, step)
                n_steps += 1
            if monitor.record(self._objective(U, params, features, states)):
                break
        self._keep_trace(monitor)
        self.row_factors_, self.label_factors_, self.label_frequency_ = U, params.V, params.mu
        self.coef_, self.intercept_ = params.W[:-1], params.W[-1]

    def _start(self, n_features: int, n_labels: int) -> _Params:
        n_weights = n_features + int(self.fit_intercept)
        k = self.n_factors or min(n_labels, _MOST_FACTORS)
        if self.init is None:
            V = check_random_state(self.random_state).standard_normal((n_labels, k)) / np.sqrt(k)
            W, mu = np.zeros((n_weights, k)), np.full(n_labels, float(self.first_rate))
        else:
            V, W, mu = (np.array(one, dtype=np.float64) for one in self.init)
            k = V.shape[-1] if self.n_factors is None else self.n_factors
            wanted = (n_labels, k), (n_weights, k), (n_labels,)
            if (V.shape, W.shape, mu.shape) != wanted:
                raise ValueError(
                    f"init has the shapes {V.shape}, {W.shape} and {mu.shape}: give V, W and mu of "
                    f"the shapes {wanted[0]}, {wanted[1]} and {wanted[2]}"
                )
        if not self.fit_intercept:
            W = np.vstack([W, np.zeros(k)])
        return _Params(V, W, mu if self.fit_label_frequency else np.ones(n_labels))

    def _batches(self, features: Features, states: np.ndarray) -> list[_Batch]:
        n = len(states)
        size = min(self.batch_rows or n, n)
        if size == n:
            gram = self._feature_gram(features)
            system = self.lambda_u * gram + self.lambda_w * np.eye(len(gram))
            return [_Batch(slice(0, n), features, states, gram, linalg.cho_factor(system))]
        parts = (slice(first, first + size) for first in range(0, n, size))
        return [_Batch(p, prepare_features(features.rows[p]), states[p]) for p in parts]

    def _step(
        self, U: np.ndarray, params: _Params, sums: _Sums, batch: _Batch, step: float
    ) -> tuple[_Params, _Sums]:
        """Factors of some rows, written into U, and from them V, mu and W in turn."""
        V, W, mu = params
        rows, features, states = batch[:3]
        scale = len(U) / len(states)
        terms = self._terms(U[rows], V, mu, states)
        right_side = terms.kappa @ V + self.lambda_u * linear_part(features, W)
        U[rows] = weighted_ridge(terms.omega, V, right_side, self.lambda_u).z
        terms = self._terms(U[rows], V, mu, states)
        sums = sums.add(self._sums_of(batch, U[rows], terms, scale), step)
        V = _label_factors(sums, self.lambda_v)
        if self.fit_label_frequency:
            terms = self._terms(U[rows], V, mu, states)
            mu = (1 - step) * mu + step * self._rates(mu, terms, states, scale)
        W = np.zeros_like(W)
        W[: len(sums.gram)] = _regression(sums, self.lambda_u, self.lambda_w, batch.factor)
        return _Params(V, W, mu), sums

    def _terms(self, U: np.ndarray, V: np.ndarray, mu: np.ndarray, states: np.ndarray):
        return label_terms(U @ V.T, states, mu if self.fit_label_frequency else None)

    def _sums_of(self, batch: _Batch, U: np.ndarray, terms: LabelTerms, scale: float) -> _Sums:
        gram = self._feature_gram(batch.features) if batch.gram is None else batch.gram
        cross = with_intercept(transposed_times(batch.features, U), U)
        return _Sums(
            grams=scale * weighted_grams(terms.omega.T, U),
            right_side=scale * (terms.kappa.T @ U),
            gram=scale * gram,
            cross=scale * cross[: len(gram)],
            weight=1.0,
        )

    def _feature_gram(self, features: Features) -> np.ndarray:
        """[X 1]'[X 1], or X'X without an intercept."""
        n_weights = features.shape[1] + int(self.fit_intercept)
        gram = weighted_gram(features, np.ones((features.shape[0], 1)))[0]
        return gram[:n_weights, :n_weights]

    def _rates(self, mu: np.ndarray, terms: LabelTerms, states: np.ndarray, scale: float):
        n_ones = (states == State.RELEVANT).sum(axis=0)
        n_unlabeled = (states == State.UNLABELED).sum(axis=0)
        examined, candidates = n_ones + terms.examined, n_ones + n_unlabeled
        prior = (self.a, self.b)
        mode = label_frequency_mode(scale * examined, scale * candidates, prior, otherwise=mu)
        return np.clip(mode, _EDGE, 1 - _EDGE)

    def _objective(
        self, U: np.ndarray, params: _Params, features: Features, states: np.ndarray
    ) -> float:
        V, W, mu = params
        value = self._terms(U, V, mu, states).log_likelihood
        value -= self.lambda_u / 2 * np.square(U - linear_part(features, W)).sum()
        value -= self.lambda_v / 2 * np.square(V).sum() + self.lambda_w / 2 * np.square(W).sum()
        if self.fit_label_frequency:
            value += (xlogy(self.a - 1, mu) + xlog1py(self.b - 1, -mu)).sum()
        return float(value)

    def _decision_function(self, X: Any) -> np.ndarray:
        factors = np.asarray(as_double(X) @ self.coef_) + self.intercept_
        return factors @ self.label_factors_.T

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


def _label_factors(sums: _Sums, lambda_v: float) -> np.ndarray:
    """V of the regressions on U."""
    return solve_grams(sums.grams / sums.weight, sums.right_side / sums.weight, lambda_v).z


def _regression(sums: _Sums, lambda_u: float, lambda_w: float, factor: tuple | None) -> np.ndarray:
    """W of (lambda_u X'X + lambda_w I) W = lambda_u X'U; X'X of all rows never changes."""
    if factor is None:
        matrix = lambda_u * sums.gram / sums.weight
        matrix[np.diag_indices(len(matrix))] += lambda_w
        factor = linalg.cho_factor(matrix)
    return linalg.cho_solve(factor, lambda_u * sums.cross / sums.weight)
