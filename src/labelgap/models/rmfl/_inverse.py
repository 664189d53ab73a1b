"""(M + ratio I)^-1 for a positive semidefinite M: one factorisation, or one for all ratios."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, eigh
from scipy.linalg.lapack import dpotri


class Inverse(Protocol):
    """(M + ratio I)^-1 as what it does to vectors, and its diagonal."""

    def times(self, vectors: np.ndarray) -> np.ndarray: ...

    def diagonal(self) -> np.ndarray: ...


class DenseInverse:
    """The inverse itself, in the memory of M."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._matrix = matrix

    def times(self, vectors: np.ndarray) -> np.ndarray:
        return self._matrix @ vectors

    def diagonal(self) -> np.ndarray:
        return self._matrix.diagonal()


class SpectralInverse:
    """Q diag(1 / (e + ratio)) Q'."""

    def __init__(self, vectors: np.ndarray, values: np.ndarray) -> None:
        self._vectors = vectors
        self._values = values

    def times(self, vectors: np.ndarray) -> np.ndarray:
        return self._vectors @ ((self._vectors.T @ vectors) * self._values[:, None])

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij,j->i", self._vectors, self._vectors, self._values)


class Spectrum:
    """The eigendecomposition of M, which serves every ratio."""

    def __init__(self, matrix: np.ndarray) -> None:
        values, self._vectors = eigh(matrix, overwrite_a=True, check_finite=False, driver="evd")
        self._values = np.maximum(values, 0)

    def at(self, ratio: float) -> SpectralInverse:
        return SpectralInverse(self._vectors, 1 / (self._values + ratio))


def invert(matrix: np.ndarray, ratio: float) -> DenseInverse:
    """By a Cholesky factor, in place: the matrix is used up."""
    np.fill_diagonal(matrix, matrix.diagonal() + ratio)
    # the transposed view has LAPACK's order, so that nothing is copied
    try:
        factor, _ = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise ValueError(
            f"the kernel matrix plus lambda_4 / lambda_3 = {ratio:.3g} on its diagonal is not "
            "positive definite: raise lambda_4, or use a positive semidefinite kernel"
        ) from error
    inverse, _ = dpotri(factor, lower=False, overwrite_c=True)
    _mirror(inverse)
    return DenseInverse(inverse)


def _mirror(matrix: np.ndarray, block: int = 512) -> None:
    """Copy the upper triangle to the lower one, block by block."""
    n = len(matrix)
    for start in range(0, n, block):
        stop = min(n, start + block)
        square = matrix[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
