"""Bayesian compressed sensing of labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, expit, gammaln
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.array_namespace import (
    array_like,
    array_namespace,
    cholesky,
    cholesky_solve,
    to_numpy,
)
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.kernels.products import (
    Features,
    linear_part,
    times,
    transposed_times,
    weighted_gram,
    with_intercept,
)
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.labels import Labels
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap_papers.methods._iterative import Iterative
from labelgap_papers.methods._linear import as_double, device_if_there, placed

_MOST_FACTORS = 100
_BLOCK_CELLS, _DEVICE_CELLS = 2**22, 2**26


class _BCSRows(NamedTuple):
    """What is believed of some rows.

    y : (n, c), known labels, means of the others; variance : (n, c), zero where known;
    z : (n, k), means; rate : (n, c), second parameter of the gamma beliefs of the precisions;
    log_det, trace : (n,), log |C| and tr(Phi C Phi') for the covariance C of unknown labels.
    """

    y: Any
    variance: Any
    z: Any
    rate: Any
    log_det: Any
    trace: Any


class _Prior(NamedTuple):
    """Phi : (k, c); noise_z, noise_y : variances sigma^2 and chi^2; a, b : of the precisions."""

    Phi: Any
    noise_z: float
    noise_y: float
    a: float
    b: float

    @property
    def variance_z(self) -> float:
        return 1 / (1 / self.noise_z + 1 / self.noise_y)


@with_parameters
class BCS(Iterative, LabelGapClassifier):
    """Bayesian compressed sensing: random projections of sparse labels, predicted linearly [1]_.

    Labels y_i are projected by a random Phi of ``n_factors`` rows. Projections z_i lie near both
    what the features predict and what the labels give, and labels are sparse:

        p(z_i, y_i, alpha_i | x_i, W)  ~
            exp(-||W' x_i - z_i||^2 / (2 noise_z) - ||Phi y_i - z_i||^2 / (2 noise_y))
            prod_j N(y_ij; 0, 1/alpha_ij) Gamma(alpha_ij; a, b)

    with standard normal W. A factorised posterior q(W) q(z) q(y) q(alpha) maximises the lower
    bound on the log evidence, one factor after the other. Labels that are known stay what they
    are; the unknown ones of a row have a joint normal posterior.

    Parameters
    ----------
    n_factors : int, default=None
        Rows of Phi; by default as many as labels, at most 100. Fewer than labels is compression,
        which sparse labels stand better than dense ones.
    noise_z, noise_y : float, default=0.1
        Variances.
    a, b : float, default=0.5, 0.1
        Shape and rate of the gamma prior of the precisions. The smaller, the sparser.
    precision_w : float, default=1.0
        Prior precision of W; 1 in the paper.
    n_predict : int, default=20
        Iterations over a new row's labels and projection at the learned W.
    tol : float, default=0.0001
        Converged when the bound gains less than ``tol`` times its size.
    device : str, default=None
        A device of torch to fit on, and to predict on where it is there; features become dense.
    random_state : int, RandomState, default=None
        For Phi.

    Attributes
    ----------
    projection_ : ndarray of shape (n_factors, n_labels)
        Phi, with normal entries of variance 1/n_factors.
    coef_, intercept_ : ndarrays of shape (n_features, n_factors) and (n_factors,)
        Mean of W.
    slope_, level_ : float
        Of the sigmoid that makes probabilities of posterior means.
    trace_ : Trace
        The bound after every iteration, to be maximised, and how the fit ended.

    Notes
    -----
    Labels are 0 and 1, unknown entries are inferred with the rest, and unlabeled zeros are zeros.
    Rows without any known label are left out. The sigmoid is fitted to the training rows,
    predicted as if their labels were unknown.

    The covariance of a row's labels, diag(alpha) + Phi'Phi/noise_y inverted, is never formed for
    all labels: by Woodbury's identity it takes a system of size ``n_factors`` for each row.

    References
    ----------
    .. [1] A. Kapoor, R. Viswanathan and P. Jain. Multilabel classification using Bayesian
       compressed sensing. NIPS, 2012.
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    noise_z: float = parameter(0.1, POSITIVE)
    noise_y: float = parameter(0.1, POSITIVE)
    a: float = parameter(0.5, POSITIVE)
    b: float = parameter(0.1, POSITIVE)
    precision_w: float = parameter(1.0, POSITIVE)
    n_predict: int = parameter(20, AT_LEAST_ONE)
    max_iter: int = parameter(50)
    tol: float = parameter(1e-4)
    device: str | None = parameter(None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        labelled = np.flatnonzero(labels.n_observed(axis=1, unlabeled=True))
        if not labelled.size:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        known = labels[labelled].to_dense()
        self.projection_ = self._project(labels.n_labels)
        features, values, Phi = placed(self.device, as_double(X[labelled]), known, self.projection_)
        prior = self._prior(Phi)
        regression = _Regression.of(features, prior.noise_z, self.precision_w)
        rows = _first_rows(values, prior)
        monitor = self._monitor()
        for _ in range(self.max_iter):
            W = regression.solve(features, rows.z)
            mean = linear_part(features, W)
            rows = _update_rows(rows, values, mean, prior)
            if monitor.record(_bound(rows, values, mean, prior) + regression.bound(W)):
                break
        self._keep_trace(monitor)
        self.coef_, self.intercept_ = to_numpy(W[:-1]), to_numpy(W[-1])
        observed = ~np.isnan(known)
        scores = to_numpy(self._posterior_means(linear_part(features, W), prior))
        self.slope_, self.level_ = fit_sigmoid(scores[observed], known[observed])

    def _project(self, n_labels: int) -> np.ndarray:
        k = self.n_factors or min(n_labels, _MOST_FACTORS)
        rng = check_random_state(self.random_state)
        return rng.standard_normal((k, n_labels)) / np.sqrt(k)

    def _prior(self, Phi: Any) -> _Prior:
        values = (float(v) for v in (self.noise_z, self.noise_y, self.a, self.b))
        return _Prior(Phi, *values)

    def _posterior_means(self, mean: Any, prior: _Prior) -> Any:
        """Means of the labels of rows of which none is known; ``mean`` is that of z."""
        xp = array_namespace(mean)
        unknown = xp.full_like(mean[:, :1], np.nan) + xp.zeros_like(prior.Phi[:1])
        rows = _first_rows(unknown, prior)._replace(z=mean)
        for _ in range(self.n_predict):
            rows = _update_rows(rows, unknown, mean, prior)
        return rows.y

    def _decision_function(self, X: Any) -> np.ndarray:
        features, coef, intercept, Phi = placed(
            device_if_there(self.device),
            as_double(X),
            self.coef_,
            self.intercept_,
            self.projection_,
        )
        mean = times(features, coef) + intercept
        return self.slope_ * to_numpy(self._posterior_means(mean, self._prior(Phi))) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))


class _Regression(NamedTuple):
    """Beliefs of W given z: covariance A^-1 in every column, A = [X 1]'[X 1]/noise + precision I.

    L : lower factor of A; noise, precision : floats.
    """

    L: Any
    noise: float
    precision: float

    @classmethod
    def of(cls, features: Features, noise: float, precision: float) -> _Regression:
        xp = array_namespace(features.rows)
        ones = array_like(xp, np.ones((features.shape[0], 1)), features.rows)
        matrix = weighted_gram(features, ones)[0] / noise
        matrix = matrix + precision * array_like(xp, np.eye(len(matrix)), matrix)
        L, failed = cholesky(xp, matrix[None])
        if failed is not None:
            raise np.linalg.LinAlgError(
                "the system of W is singular in double precision: scale the features "
                "(StandardScaler), or raise precision_w or noise_z"
            )
        return cls(L[0], noise, precision)

    def solve(self, features: Features, z: Any) -> Any:
        """Mean of W, the intercept in the last row."""
        cross = with_intercept(transposed_times(features, z), z)
        return cholesky_solve(array_namespace(z), self.L, cross / self.noise)

    def bound(self, W: Any) -> float:
        """E[log p(W)] - E[log q(W)], less what its spread takes from the fit of z."""
        xp, (d, k) = array_namespace(W), W.shape
        log_det = 2 * float(xp.sum(xp.log(xp.linalg.diagonal(self.L))))
        volume = d * np.log(self.precision) - log_det
        return float(0.5 * (k * volume - self.precision * float(xp.sum(W**2))))


def _first_rows(known: Any, prior: _Prior) -> _BCSRows:
    """Unknown labels begin at zero, with the mean precision of the prior."""
    xp = array_namespace(known)
    gaps = xp.isnan(known)
    y = xp.where(gaps, 0.0, known)
    spread = prior.b / prior.a
    rate = xp.where(gaps, spread * (prior.a + 0.5), prior.b + 0.5 * y**2)
    nothing = xp.zeros_like(y[:, 0])
    return _BCSRows(y, spread * xp.astype(gaps, y.dtype), y @ prior.Phi.T, rate, nothing, nothing)


def _update_rows(rows: _BCSRows, known: Any, mean: Any, prior: _Prior) -> _BCSRows:
    """Beliefs of unknown labels, then of precisions, then of projections: each the best there is.

    ``mean`` is what the features predict of z.
    """
    xp, Phi = array_namespace(known), prior.Phi
    y, variance, _, rate, log_det, trace = (xp.asarray(part, copy=True) for part in rows)
    gaps = xp.isnan(known)
    open_rows = xp.nonzero(xp.any(gaps, axis=1))[0]
    k, c = Phi.shape
    size = max(1, (_BLOCK_CELLS if xp is np else _DEVICE_CELLS) // (k * max(k, c)))
    for first in range(0, len(open_rows), size):
        part = open_rows[first : first + size]
        gap = gaps[part]
        spread = xp.where(gap, rate[part] / (prior.a + 0.5), 0.0)
        from_known = xp.where(gap, 0.0, y[part]) @ Phi.T
        right_side = rows.z[part] - from_known
        # Woodbury: S - S Phi' M^-1 Phi S with M = Phi S Phi' + noise_y I
        M = weighted_ridge(spread, Phi.T, right_side, prior.noise_y, covariance="full")
        y[part] = xp.where(gap, spread * (M.z @ Phi), y[part])
        shrink = xp.einsum("nkj,kj->nj", M.covariance @ Phi, Phi)
        variance[part] = spread - spread**2 * shrink
        log_spread = xp.sum(xp.log(xp.where(gap, spread, 1.0)), axis=1)
        log_det[part] = log_spread + k * np.log(prior.noise_y) - M.log_det
        trace[part] = prior.noise_y * xp.sum(spread * shrink, axis=1)
    rate = prior.b + 0.5 * (y**2 + variance)
    z = prior.variance_z * (mean / prior.noise_z + y @ Phi.T / prior.noise_y)
    return _BCSRows(y, variance, z, rate, log_det, trace)


def _bound(rows: _BCSRows, known: Any, mean: Any, prior: _Prior) -> float:
    """Lower bound of the log evidence of the rows, without what concerns W alone."""
    xp, (n, k) = array_namespace(known), rows.z.shape
    shape = prior.a + 0.5
    precision, log_precision = shape / rows.rate, digamma(shape) - xp.log(rows.rate)
    entries = 0.5 * log_precision - 0.5 * precision * (rows.y**2 + rows.variance)
    entries += (prior.a - 1) * log_precision - prior.b * precision
    entries -= xp.log(rows.rate)
    constant = prior.a * np.log(prior.b) - gammaln(prior.a) - 0.5 * np.log(2 * np.pi)
    constant += shape + gammaln(shape) + (1 - shape) * digamma(shape)
    n_gaps = int(xp.sum(xp.astype(xp.isnan(known), xp.int64)))
    entropy = 0.5 * (float(rows.log_det.sum()) + n_gaps * (1 + np.log(2 * np.pi)))
    entropy += n * k / 2 * (1 + np.log(2 * np.pi * prior.variance_z))
    error_z = float(xp.sum((mean - rows.z) ** 2)) + n * k * prior.variance_z
    error_y = float(xp.sum((rows.y @ prior.Phi.T - rows.z) ** 2)) + n * k * prior.variance_z
    error_y += float(rows.trace.sum())
    fit = -error_z / (2 * prior.noise_z) - error_y / (2 * prior.noise_y)
    n_entries = known.shape[0] * known.shape[1]
    return float(float(entries.sum()) + n_entries * constant + entropy + fit)
