"""Low-rank multi-view matrix completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import StrOptions

from labelgap.fitting import Monitor, Trace
from labelgap.kernels.low_rank import low_rank_path, nuclear_norm, thin_svd
from labelgap.labels import Labels
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap.views import count_factors
from labelgap_papers.kernels.two_thirds import cheapest_factors, factorise
from labelgap_papers.methods._label_completion import CompletionProblem, complete_labels
from labelgap_papers.methods._view_blocks import (
    ViewEmbedding,
    dense_views,
    learn_scaling,
    warn_of_filled_views,
)


@with_parameters
class LRMMC(ViewEmbedding):
    """Low-rank multi-view learning in matrix completion [1]_.

    All views of a row share one vector b; labels and these vectors are then completed together:

        min  sum_v theta_v ||B P_v - X_v||^2 / n + mu ||B||_* + eta sum_v ||P_v||^2
             + gamma ||theta||^2,     theta >= 0, sum_v theta_v = 1,

        min  log-loss of Z_Y + c at the observed labels (mean over them)
             + ||Z_B - B||^2 / (2 n k) + weight ||[Z_Y Z_B]||_*,

    where B is scaled to a root mean square of ``feature_scale`` in the second. Unknown labels are
    left out of the loss. Rows all of whose labels are unknown take part in both steps, as in the
    paper, which has no other way to predict; see Notes for new rows. Views must be complete: absent
    ones, and missing values, are filled with the means of the features, with a warning (as in the
    comparison of [2]_). Unlabeled zeros are zeros.

    Parameters
    ----------
    mu : float, default=0.001
        Weight of the nuclear norm of B. The loss is a mean over rows, the norm grows with them.
    eta : float, default=0.001
        Weight of the squares of P.
    gamma : float or None, default=1.0
        Evens out the weights of the views, which go to the best reproduced view alone for small
        values; None keeps them equal.
    completion : float, default=0.3
        Weight of the nuclear norm in the completion, as a fraction of the smallest one that leaves
        nothing of the labels when they are completed without features. From 1 on labels follow
        features alone; below, they also have directions of their own.
    feature_scale : float, default=10.0
        Root mean square of B in the completion. Labels that follow a direction of B cost less the
        longer B is there: large values make rows without labels follow their features more.
    max_iter : int, default=500
        Iterations of the first problem, and steps of the second.
    n_steps : int, default=20
        Proximal gradient steps for B in each iteration.
    init : "spectral" or array of shape (n_samples, n_factors), default="spectral"
        Where B starts. "spectral" is the global minimum for equal weights, which takes one
        singular value decomposition; with one view or ``gamma=None`` nothing is left to do.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, k)
        B.
    loadings_ : ndarray of shape (k, n_features)
        P of all views, of scaled features.
    view_weights_ : dict from name to float
        theta.
    imputed_ : ndarray of shape (n_samples, n_labels)
        Log-odds of the training rows, observed labels taken into account.
    coef_, intercept_ : ndarrays of shape (k, n_labels) and (n_labels,)
        From vectors to log-odds, for rows without labels.
    trace_, completion_trace_ : Trace
        Objectives of every iteration, to be minimised, and how the two parts ended.

    Notes
    -----
    A new row is treated as one that had been there without labels, for given factors: a nuclear
    norm is half the sum of squares of two factors, ||B||_* = min (||G||^2 + ||H||^2) / 2 over
    B = G H', so that with P and H given the best g is a ridge regression; likewise for Z. At the
    minimum a training row without labels is predicted exactly as it was completed.

    With one view the first problem is that of the authors' implementation, and checked against it.
    The penalty of theta and the form of the second problem (the logistic loss with free intercepts,
    known as MC-b) are a reading of what the method is said to do and not checked against it; so are
    ``completion`` and ``feature_scale``, and the use of the second problem for new rows.

    The implementation of the authors restarts B in every iteration from its best matrix of rank one
    and stops its continuation at a weight below mu that depends on B. Here B goes on from where it
    is, at mu itself, and the objective never increases. From a start other than "spectral" it may
    end in a local minimum, where factors that were shrunk to nothing stay so.

    References
    ----------
    .. [1] M. Liu, Y. Luo, D. Tao, C. Xu and Y. Wen. Low-rank multi-view learning in matrix
       completion for multi-label image classification. AAAI, 2015.
    .. [2] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.
    """

    views: Mapping[str, Any] | None = parameter(None)
    n_factors: int | float = parameter(0.5)
    _: KW_ONLY
    mu: float = parameter(1e-3, POSITIVE)
    eta: float = parameter(1e-3, POSITIVE)
    gamma: float | None = parameter(1.0, POSITIVE, None)
    completion: float = parameter(0.3, POSITIVE)
    feature_scale: float = parameter(10.0, POSITIVE)
    scaling: Literal["balance"] | None = parameter("balance")
    max_iter: int = parameter(500)
    tol: float = parameter(1e-6)
    n_steps: int = parameter(20, AT_LEAST_ONE)
    init: Any = parameter("spectral", StrOptions({"spectral"}), np.ndarray)
    callback: Callable | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        values, there = self._read_views(X, labels)
        k = count_factors(self.n_factors, self.views_)
        warn_of_filled_views(type(self).__name__, values, there)
        self.scaling_ = learn_scaling(values, self.views_, self.scaling)
        problem = LRMMCProblem(
            self.scaling_.filled(values),
            list(self.views_.values()),
            float(self.mu),
            float(self.eta),
            None if self.gamma is None else float(self.gamma),
        )
        monitor = self._monitor()
        factors = descend(problem, self._start(problem, k), monitor, self.n_steps)
        self._keep_trace(monitor)
        self.embedding_, self.loadings_ = factors.B, factors.P
        self.view_weights_ = dict(zip(self.views_, factors.theta.tolist(), strict=True))
        self._complete(factors, labels)
        self._row_map = row_map(problem, factors)
        self._n_features_out = k

    def _start(self, problem: LRMMCProblem, k: int) -> np.ndarray:
        n = len(problem.A)
        if isinstance(self.init, str):
            loss = 1 / (n * len(problem.views))
            return factorise(problem.A, k, loss=loss, mu=problem.mu, eta=problem.eta)[0]
        B = np.array(self.init, dtype=np.float64)
        if B.shape != (n, k):
            raise ValueError(
                f"init has shape {B.shape}: give one row per row of X and one column per factor, "
                f"({n}, {k})"
            )
        if not np.isfinite(B).all():
            raise ValueError("init has infinite or missing entries: use finite numbers")
        return B

    def _complete(self, factors: Factors, labels: Labels) -> None:
        """The second problem, with B scaled."""
        size = float(np.sqrt(np.mean(factors.B**2))) or 1.0
        scale = self.feature_scale / size
        problem = CompletionProblem(labels.to_dense(), factors.B * scale, float(self.completion))
        monitor = self._monitor()
        found = complete_labels(problem, monitor)
        self.completion_trace_: Trace = monitor.finish()
        self.imputed_ = found.log_odds
        self.coef_, self.intercept_ = found.coef * scale, found.intercept

    def _embed(self, X: Any) -> np.ndarray:
        return self.scaling_.filled(dense_views(X, self.views_)[0]) @ self._row_map

    def _decision_function(self, X: Any) -> np.ndarray:
        return self._embed(X) @ self.coef_ + self.intercept_


class LRMMCProblem(NamedTuple):
    """The first problem.

    A : (n, d), all views side by side; views : their columns
    """

    A: np.ndarray
    views: list[slice]
    mu: float
    eta: float
    gamma: float | None

    @property
    def squares(self) -> np.ndarray:
        parts = [self.A[:, view] for view in self.views]
        return np.array([float(np.einsum("ij,ij->", part, part)) for part in parts]) / len(self.A)


class Products(NamedTuple):
    """gram : B'B / n; cross : B'A / n"""

    gram: np.ndarray
    cross: np.ndarray


class Factors(NamedTuple):
    """B : (n, k); P : (k, d), of all views; theta : (n_views,)"""

    B: np.ndarray
    P: np.ndarray
    theta: np.ndarray


def descend(problem: LRMMCProblem, B: np.ndarray, monitor: Monitor, n_steps: int) -> Factors:
    """P, B and theta in turn until the monitor says stop; the objective never increases."""
    n_views = len(problem.views)
    theta = np.full(n_views, 1 / n_views)
    squares, products = problem.squares, products_with(problem, B)
    for _ in range(monitor.max_iter):
        P = step_loadings(problem, products, theta)
        B = step_representation(problem, Factors(B, P, theta), n_steps)
        B, P = balance(problem, B, P)
        products = products_with(problem, B)
        losses = view_losses(problem, squares, products, P)
        if problem.gamma is not None:
            theta = project_on_simplex(-losses / (2 * problem.gamma))
        if monitor.record(objective(problem, Factors(B, P, theta), losses)):
            break
    return Factors(B, P, theta)


def objective(problem: LRMMCProblem, factors: Factors, losses: np.ndarray) -> float:
    value = float(factors.theta @ losses) + problem.mu * nuclear_norm(factors.B)
    value += problem.eta * float(np.vdot(factors.P, factors.P))
    if problem.gamma is not None:
        value += problem.gamma * float(factors.theta @ factors.theta)
    return value


def products_with(problem: LRMMCProblem, B: np.ndarray) -> Products:
    return Products(B.T @ B / len(B), B.T @ problem.A / len(B))


def view_losses(
    problem: LRMMCProblem, squares: np.ndarray, products: Products, P: np.ndarray
) -> np.ndarray:
    """||B P_v - X_v||^2 / n of every view, without a matrix of the size of X_v."""
    losses = squares.copy()
    for position, view in enumerate(problem.views):
        P_v = P[:, view]
        losses[position] -= 2 * float(np.vdot(products.cross[:, view], P_v))
        losses[position] += float(np.vdot(products.gram, P_v @ P_v.T))
    return np.maximum(losses, 0.0)


def step_loadings(problem: LRMMCProblem, products: Products, theta: np.ndarray) -> np.ndarray:
    """P_v = (theta_v B'B / n + eta)^-1 theta_v B'X_v / n."""
    P = np.empty_like(products.cross)
    ridge = problem.eta * np.eye(len(products.gram))
    for view, weight in zip(problem.views, theta, strict=True):
        system = weight * products.gram + ridge
        P[:, view] = linalg.solve(system, weight * products.cross[:, view], assume_a="pos")
    return P


def step_representation(problem: LRMMCProblem, factors: Factors, n_steps: int) -> np.ndarray:
    """Proximal gradient steps from B on sum_v theta_v ||B P_v - X_v||^2 / n + mu ||B||_*."""
    gram, cross = _weighted_products(problem, factors)
    largest = float(linalg.eigvalsh(gram)[-1])
    if largest <= 0:
        return np.zeros_like(factors.B)
    n = len(factors.B)
    path = low_rank_path(
        lambda Z: (2 / n) * (Z @ gram),
        (2 / n) * cross,
        problem.mu,
        factors.B,
        curvature=2 * largest / n,
    )
    *_, last = islice(path, n_steps)
    return last.Z


def balance(problem: LRMMCProblem, B: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps that move one factor at a time are slow to shift weight between the two."""
    return cheapest_factors(B, P, mu=problem.mu, eta=problem.eta)


def row_map(problem: LRMMCProblem, factors: Factors) -> np.ndarray:
    """The linear map from a row of A to its vector, for given P and right factor H of B."""
    _, values, right = thin_svd(factors.B)
    kept = values > 1e-12 * values[:1]
    H = right[kept].T * np.sqrt(values[kept])
    gram, _ = _weighted_products(problem, factors)
    system = H.T @ gram @ H + 0.5 * len(factors.B) * problem.mu * np.eye(H.shape[1])
    to_vector = H @ np.linalg.solve(system, H.T)
    return (factors.P * _per_column(problem, factors.theta)).T @ to_vector


def _weighted_products(problem: LRMMCProblem, factors: Factors) -> tuple[np.ndarray, np.ndarray]:
    """sum_v theta_v P_v P_v' and sum_v theta_v X_v P_v'."""
    weighted = (factors.P * _per_column(problem, factors.theta)).T
    return factors.P @ weighted, problem.A @ weighted


def _per_column(problem: LRMMCProblem, theta: np.ndarray) -> np.ndarray:
    widths = [view.stop - view.start for view in problem.views]
    return np.repeat(theta, widths)


def project_on_simplex(x: np.ndarray) -> np.ndarray:
    """The nearest vector that is not negative and sums to one."""
    ordered = np.sort(x)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    n_positive = int(np.count_nonzero(ordered > excess))
    return np.maximum(x - excess[n_positive - 1], 0.0)
