"""RMFL: what is minimised, and the steps of which none increases it.

With R the observed entries, Y in {+1, -1}, S the reconstruction weights of the rows and f the
regression of the row factors on the features,

    1/2 |R o (Y - U V')|^2 + lambda_1/2 |U - S U|^2 + lambda_2/2 tr(V'Z Z'V)
      + lambda_3/2 |U - f(X)|^2 + lambda_4/2 |f|^2 + ridge/2 |V|^2,     rows of Z of length one.

This is eq. 8 of the paper and a ridge on V, without which nothing keeps V from growing while U
shrinks.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from labelgap.kernels.coordinate_descent import row_sweeps
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import unpack, weighted_grams, weighted_ridge
from labelgap.models.rmfl._kernel_regression import FittedRegression, Regression
from labelgap.models.rmfl._rmfl_labels import SignedLabels

MOST_UNKNOWNS = 20_000
_FLOOR = 1e-12
_SWEEPS = 3
_MOST_STEPS = 1000
_LEAST_FRACTION = 1e-4


class RMFLPenalties(NamedTuple):
    """The weights of the terms, in the order of the formula."""

    lambda_1: float
    lambda_2: float
    lambda_3: float
    lambda_4: float
    ridge_v: float


class RMFLFactors(NamedTuple):
    """The unknowns: rows U, labels V, label directions Z, and the regression of U."""

    U: np.ndarray
    V: np.ndarray
    Z: np.ndarray
    fit: FittedRegression


class RMFLTerms(NamedTuple):
    """The six terms of the objective, weights included."""

    loss: float
    rows: float
    labels: float
    regression: float
    size: float
    ridge: float


class RMFLProblem:
    """SignedLabels, weights and features of one fit, and the steps on them.

    targets : SignedLabels
    weights : csr_array of shape (n_samples, n_samples). Reconstruction weights S.
    regression : Regression. For the ratio lambda_4 / lambda_3.
    penalties : RMFLPenalties
    solver : {"cg", "exact"}, default="cg"
    n_cg : int, default=10. Steps of conjugate gradient for each side and iteration.
    """

    def __init__(
        self,
        targets: SignedLabels,
        weights: Any,
        regression: Regression,
        penalties: RMFLPenalties,
        solver: Literal["cg", "exact"] = "cg",
        n_cg: int = 10,
    ) -> None:
        self.targets = targets
        self.regression = regression
        self.penalties = penalties
        self.solver = solver
        self.n_cg = n_cg
        self._difference = difference_matrix(weights)
        self._rows = Coupling(self._difference, penalties.lambda_1, penalties.lambda_3)

    def begin(self, U: np.ndarray, Z: np.ndarray) -> RMFLFactors:
        """Return all unknowns from a start of two of them."""
        V = np.zeros((Z.shape[0], U.shape[1]))
        start = RMFLFactors(U, V, Z, self.regression.fit(U))
        return start._replace(V=self._solve_labels(start))

    def step(self, now: RMFLFactors) -> RMFLFactors:
        """Every unknown once: U, V, Z, the regression, and the scale they have in common."""
        now = now._replace(U=self._solve_rows(now))
        now = now._replace(V=self._solve_labels(now))
        if self.penalties.lambda_2 > 0:
            now = now._replace(Z=row_sweeps(now.V, now.Z, _SWEEPS))
        now = now._replace(fit=self.regression.fit(now.U))
        return self._balance(now)

    def objective(self, now: RMFLFactors) -> float:
        return float(sum(self.terms(now)))

    def terms(self, now: RMFLFactors) -> RMFLTerms:
        """Return each term of the objective."""
        penalties = self.penalties
        error = now.U @ now.V.T
        if self.targets.observed is not None:
            error *= self.targets.observed
        error -= self.targets.signed
        return RMFLTerms(
            _half_square(error),
            penalties.lambda_1 * _half_square(self._difference @ now.U),
            penalties.lambda_2 * _half_square(now.Z.T @ now.V),
            penalties.lambda_3 * _half_square(now.fit.residual),
            penalties.lambda_4 * float(np.trace(now.fit.gram)) / 2,
            penalties.ridge_v * _half_square(now.V),
        )

    # -- steps ------------------------------------------------------------------------------------

    def _solve_rows(self, now: RMFLFactors) -> np.ndarray:
        fitted = now.U - now.fit.residual
        right_side = self.targets.signed @ now.V + self.penalties.lambda_3 * fitted
        system = FactorSystem(now.V, self.targets.observed, self._rows, right_side)
        return solve(system, now.U, self.solver, self.n_cg)

    def _solve_labels(self, now: RMFLFactors) -> np.ndarray:
        observed = self.targets.observed
        coupling = Coupling(now.Z.T, self.penalties.lambda_2, self.penalties.ridge_v)
        right_side = self.targets.signed.T @ now.U
        system = FactorSystem(now.U, None if observed is None else observed.T, coupling, right_side)
        return solve(system, now.V, self.solver, self.n_cg)

    def _balance(self, now: RMFLFactors) -> RMFLFactors:
        """Move size between the two sides, which leaves U V' and every prediction as they are.

        (U, V) and (U G^-T, V G) differ in the penalties only, tr(G^-1 Q G^-T) + tr(G'P G) with the
        matrices Q and P below. Both depend on M = G G' alone, and M P M = Q at the minimum. By
        alternation alone it takes hundreds of iterations to get there.
        """
        penalties = self.penalties
        if penalties.ridge_v == 0:
            return now  # nothing but the number of iterations holds V back
        difference, residual = self._difference @ now.U, now.fit.residual
        Q = penalties.lambda_1 * difference.T @ difference + penalties.lambda_4 * now.fit.gram
        Q += penalties.lambda_3 * residual.T @ residual
        projected = now.Z.T @ now.V
        P = penalties.lambda_2 * projected.T @ projected + penalties.ridge_v * now.V.T @ now.V
        G = balancing_transform(Q, P, now.V.T @ now.V)
        if G is None:
            return now
        inverse = np.linalg.inv(G).T
        return RMFLFactors(now.U @ inverse, now.V @ G, now.Z, now.fit.turned(inverse))


def impute_rows(
    targets: SignedLabels,
    V: np.ndarray,
    fitted: np.ndarray,
    lambda_3: float,
    neighbors: tuple[Any, float] | None = None,
) -> np.ndarray:
    """Return row factors from observed labels and fitted values, all else being fixed.

    ``neighbors`` are reconstruction weights and lambda_1; without them every row is by itself.
    """
    nobody = sparse.csr_array((len(fitted), len(fitted)))
    weights, lambda_1 = (nobody, 0.0) if neighbors is None else neighbors
    coupling = Coupling(difference_matrix(weights), lambda_1, lambda_3)
    system = FactorSystem(V, targets.observed, coupling, targets.signed @ V + lambda_3 * fitted)
    return solve(system, fitted, "exact" if coupling.separable else "cg", _MOST_STEPS, 1e-10)


def balancing_transform(Q: np.ndarray, P: np.ndarray, gram: np.ndarray) -> np.ndarray | None:
    """Return G that minimises tr(G^-1 Q G^-T) + tr(G'P G), with G'(gram)G diagonal; None if no gain.

    Directions that only one of the two penalises (a constant column of U costs nothing) have no
    minimum: both matrices get a small multiple of the identity.
    """
    k = len(Q)
    sizes = np.trace(Q) / k, np.trace(P) / k
    if min(sizes) <= 0:
        return None
    smooth_Q, smooth_P = (
        matrix + _LEAST_FRACTION * size * np.eye(k)
        for matrix, size in zip((Q, P), sizes, strict=True)
    )
    root = _power(smooth_P, 0.5)
    inverse_root = _power(smooth_P, -0.5)
    M = inverse_root @ _power(root @ smooth_Q @ root, 0.5) @ inverse_root
    half = _power(M, 0.5)
    G = half @ np.linalg.eigh(half @ gram @ half)[1]
    inverse = np.linalg.inv(G)
    after = np.trace(inverse @ Q @ inverse.T) + np.trace(G.T @ P @ G)
    return G if after < np.trace(Q) + np.trace(P) else None


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, Q = np.linalg.eigh((matrix + matrix.T) / 2)
    return (Q * np.maximum(values, 1e-300) ** exponent) @ Q.T


def _half_square(matrix: np.ndarray) -> float:
    return 0.5 * float(np.vdot(matrix, matrix))


def held_out_scores(now: RMFLFactors, regression: Regression) -> np.ndarray:
    """Return scores of the training rows, each from the regression without that row.

    The factors of the rows are kept: with u_i - f(x_i) the residual and h_i the leverage, leaving
    row i out changes its residual to (u_i - f(x_i)) / (1 - h_i).
    """
    freedom = np.maximum(regression.freedom(), 1e-12)
    return (now.U - now.fit.residual / freedom[:, None]) @ now.V.T


class Coupling:
    """The positive semidefinite matrix weight root'root + ridge I over rows or over labels.

    For rows lambda_1 (I - S)'(I - S) + lambda_3 I, with :func:`difference_matrix` as the root; for
    labels lambda_2 Z Z' + ridge_v I.
    """

    def __init__(self, root: Any, weight: float, ridge: float) -> None:
        self.separable = weight == 0
        self._root = root
        self._weight = weight
        self._ridge = ridge

    def times(self, M: np.ndarray) -> np.ndarray:
        if self.separable:
            return self._ridge * M
        return self._weight * (self._root.T @ (self._root @ M)) + self._ridge * M

    def diagonal(self) -> np.ndarray:
        squares = np.asarray((self._root * self._root).sum(axis=0)).ravel()
        return self._weight * squares + self._ridge

    def matrix(self) -> sparse.csr_array:
        gram = sparse.csr_array(self._root.T @ self._root)
        return sparse.csr_array(self._weight * gram + self._ridge * sparse.eye_array(gram.shape[0]))


def difference_matrix(weights: Any) -> sparse.csr_array:
    """Return I - S."""
    return sparse.csr_array(sparse.eye_array(weights.shape[0], format="csr") - weights)


class FactorSystem(NamedTuple):
    """The linear system of U or of V: one form, with the roles of rows and labels swapped.

        (sum_j R_ij f_j f_j') m_i + sum_i' C_ii' m_i' = b_i       for every i

    where f are the factors of the other side, R says which entries are observed, and C couples the
    unknown factors with each other: neighbours for rows, the learned correlation for labels.

    factors : array of shape (n_other, n_factors). Of the other side.
    observed : array of shape (n, n_other) or None. Ones at observed entries; None when all are.
    coupling : Coupling
    right_side : array of shape (n, n_factors)
    """

    factors: np.ndarray
    observed: np.ndarray | None
    coupling: Coupling
    right_side: np.ndarray

    def times(self, M: np.ndarray) -> np.ndarray:
        """Return the left side at M."""
        F = self.factors
        if self.observed is None:
            data = M @ (F.T @ F)
        else:
            predicted = M @ F.T
            predicted *= self.observed
            data = predicted @ F
        return data + self.coupling.times(M)

    def diagonal(self) -> np.ndarray:
        """Of the matrix over all unknowns, of shape (n, n_factors)."""
        squares = self.factors**2
        data = squares.sum(axis=0) if self.observed is None else self.observed @ squares
        return data + self.coupling.diagonal()[:, None]


def solve(
    system: FactorSystem,
    start: np.ndarray,
    solver: Literal["cg", "exact"],
    n_steps: int,
    tol: float = 0.0,
) -> np.ndarray:
    """Return factors that solve the system, or come nearer to it than ``start``."""
    if solver == "exact":
        return _solve_separate(system) if system.coupling.separable else _solve_coupled(system)
    diagonal = system.diagonal()
    diagonal = np.where(diagonal > 0, diagonal, 1.0).reshape(-1, 1)

    def product(direction: np.ndarray) -> np.ndarray:
        return system.times(direction.reshape(start.shape)).reshape(-1, 1)

    rest = (system.right_side - system.times(start)).reshape(-1, 1)
    correction = conjugate_gradient(product, rest, diagonal, n_steps=n_steps, tol=tol)
    return start + correction.reshape(start.shape)


def _solve_separate(system: FactorSystem) -> np.ndarray:
    """Every row by itself; a floor keeps the least solution where nothing was observed."""
    ridge = np.maximum(system.coupling.diagonal(), _floor(system))
    k = system.factors.shape[1]
    if system.observed is None:
        gram = system.factors.T @ system.factors
        values, Q = np.linalg.eigh(gram)
        return ((system.right_side @ Q) / (values + ridge[:, None])) @ Q.T
    each = np.repeat(ridge[:, None], k, axis=1)
    return weighted_ridge(system.observed, system.factors, system.right_side, each).z


def _solve_coupled(system: FactorSystem) -> np.ndarray:
    n, k = system.right_side.shape
    if n * k > MOST_UNKNOWNS:
        raise ValueError(
            f"solver='exact': {n} x {k} factors are coupled, more than {MOST_UNKNOWNS} unknowns; "
            "use solver='cg', or set lambda_1 (rows) or lambda_2 (labels) to zero"
        )
    shape = (n, len(system.factors))
    observed = np.ones(shape) if system.observed is None else system.observed
    blocks = unpack(weighted_grams(observed, system.factors), k)
    blocks = blocks + _floor(system) * np.eye(k)
    data = sparse.bsr_array((blocks, np.arange(n), np.arange(n + 1)), shape=(n * k, n * k))
    matrix = data + sparse.kron(system.coupling.matrix(), sparse.eye_array(k))
    return splu(matrix.tocsc()).solve(system.right_side.ravel()).reshape(n, k)


def _floor(system: FactorSystem) -> float:
    return _FLOOR * max(float((system.factors**2).sum()), 1e-12)
