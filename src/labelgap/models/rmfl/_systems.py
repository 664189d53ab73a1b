"""The linear systems of U and V: one form, with the roles of rows and labels swapped.

    (sum_j R_ij f_j f_j') m_i + sum_i' C_ii' m_i' = b_i       for every i

where f are the factors of the other side, R says which entries are observed, and C couples the
unknown factors with each other: neighbours for rows, the learned correlation for labels.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import unpack, weighted_grams, weighted_ridge

MOST_UNKNOWNS = 20_000
_FLOOR = 1e-12


class Coupling(Protocol):
    """A positive semidefinite matrix C over rows or over labels."""

    separable: bool  # whether it is diagonal

    def times(self, M: np.ndarray) -> np.ndarray: ...

    def diagonal(self) -> np.ndarray: ...

    def matrix(self) -> Any: ...


class RowCoupling:
    """lambda_1 (I - S)'(I - S) + lambda_3 I."""

    def __init__(self, weights: Any, lambda_1: float, lambda_3: float) -> None:
        self.separable = lambda_1 == 0
        self._difference = difference_matrix(weights)
        self._lambdas = lambda_1, lambda_3

    def times(self, M: np.ndarray) -> np.ndarray:
        lambda_1, lambda_3 = self._lambdas
        if self.separable:
            return lambda_3 * M
        return lambda_1 * (self._difference.T @ (self._difference @ M)) + lambda_3 * M

    def diagonal(self) -> np.ndarray:
        lambda_1, lambda_3 = self._lambdas
        squares = self._difference.multiply(self._difference).sum(axis=0)
        return lambda_1 * np.asarray(squares).ravel() + lambda_3

    def matrix(self) -> sparse.csr_array:
        lambda_1, lambda_3 = self._lambdas
        laplacian = self._difference.T @ self._difference
        return lambda_1 * laplacian + lambda_3 * sparse.eye_array(laplacian.shape[0])


class LabelCoupling:
    """lambda_2 Z Z' + ridge I."""

    def __init__(self, Z: np.ndarray, lambda_2: float, ridge: float) -> None:
        self.separable = lambda_2 == 0
        self._Z = Z
        self._lambda_2 = lambda_2
        self._ridge = ridge

    def times(self, M: np.ndarray) -> np.ndarray:
        if self.separable:
            return self._ridge * M
        return self._lambda_2 * (self._Z @ (self._Z.T @ M)) + self._ridge * M

    def diagonal(self) -> np.ndarray:
        return self._lambda_2 * (self._Z * self._Z).sum(axis=1) + self._ridge

    def matrix(self) -> sparse.csr_array:
        dense = self._lambda_2 * (self._Z @ self._Z.T) + self._ridge * np.eye(len(self._Z))
        return sparse.csr_array(dense)


def difference_matrix(weights: Any) -> sparse.csr_array:
    """I - S."""
    return sparse.csr_array(sparse.eye_array(weights.shape[0], format="csr") - weights)


class System(NamedTuple):
    """One side's problem.

    Attributes
    ----------
    factors : array of shape (n_other, n_factors)
        Of the other side.
    observed : array of shape (n, n_other) or None
        Ones at observed entries; None when all are.
    coupling : Coupling
    right_side : array of shape (n, n_factors)
    """

    factors: np.ndarray
    observed: np.ndarray | None
    coupling: Coupling
    right_side: np.ndarray

    def times(self, M: np.ndarray) -> np.ndarray:
        """The left side at M."""
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
    system: System,
    start: np.ndarray,
    solver: Literal["cg", "exact"],
    n_steps: int,
    tol: float = 0.0,
) -> np.ndarray:
    """Factors that solve the system, or come nearer to it than ``start``."""
    if solver == "exact":
        return _solve_separate(system) if system.coupling.separable else _solve_coupled(system)
    diagonal = system.diagonal()
    diagonal = np.where(diagonal > 0, diagonal, 1.0).reshape(-1, 1)

    def product(direction: np.ndarray) -> np.ndarray:
        return system.times(direction.reshape(start.shape)).reshape(-1, 1)

    rest = (system.right_side - system.times(start)).reshape(-1, 1)
    correction = conjugate_gradient(product, rest, diagonal, n_steps=n_steps, tol=tol)
    return start + correction.reshape(start.shape)


def _solve_separate(system: System) -> np.ndarray:
    """Every row by itself; a floor keeps the least solution where nothing was observed."""
    ridge = np.maximum(system.coupling.diagonal(), _floor(system))
    k = system.factors.shape[1]
    if system.observed is None:
        gram = system.factors.T @ system.factors
        values, Q = np.linalg.eigh(gram)
        return ((system.right_side @ Q) / (values + ridge[:, None])) @ Q.T
    each = np.repeat(ridge[:, None], k, axis=1)
    return weighted_ridge(system.observed, system.factors, system.right_side, each).z


def _solve_coupled(system: System) -> np.ndarray:
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


def _floor(system: System) -> float:
    return _FLOOR * max(float((system.factors**2).sum()), 1e-12)
