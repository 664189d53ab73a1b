"""(M + ratio I)^-1 for a positive semidefinite M: one factorisation, or one for all ratios."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, eigh
from scipy.linalg.lapack import dpotri

from labelgap._extras import require


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


class DeviceInverse:
    """An inverse that stays on a device; what it is multiplied with goes there and comes back."""

    def __init__(self, inverse: DenseInverse | SpectralInverse, torch: Any, device: str) -> None:
        self._inverse = inverse
        self._torch = torch
        self._device = device

    def times(self, vectors: np.ndarray) -> np.ndarray:
        there = self._torch.asarray(vectors, device=self._device)
        return self._inverse.times(there).cpu().numpy()  # type: ignore[attr-defined]

    def diagonal(self) -> np.ndarray:
        return self._inverse.diagonal().cpu().numpy()  # type: ignore[attr-defined]


class Spectrum:
    """The eigendecomposition of M, which serves every ratio."""

    def __init__(self, matrix: np.ndarray, device: str | None = None) -> None:
        self._device = device
        self._vectors: Any
        if device is None:
            values, self._vectors = eigh(matrix, overwrite_a=True, check_finite=False, driver="evd")
        else:
            torch = _torch()
            found, self._vectors = torch.linalg.eigh(torch.asarray(matrix, device=device))
            values = found.cpu().numpy()
        self._values = np.maximum(values, 0)

    def at(self, ratio: float) -> Inverse:
        values = 1 / (self._values + ratio)
        if self._device is None:
            return SpectralInverse(self._vectors, values)
        torch = _torch()
        there = torch.asarray(values, device=self._device)
        return DeviceInverse(_SpectralOnDevice(self._vectors, there), torch, self._device)


class _SpectralOnDevice(SpectralInverse):
    def diagonal(self) -> Any:
        return (self._vectors**2) @ self._values


def invert(matrix: np.ndarray, ratio: float, device: str | None = None) -> Inverse:
    """By a Cholesky factor, in place: the matrix is used up."""
    np.fill_diagonal(matrix, matrix.diagonal() + ratio)
    if device is not None:
        return _invert_on(device, matrix, ratio)
    # the transposed view has LAPACK's order, so that nothing is copied
    try:
        factor, _ = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise _not_definite(ratio) from error
    inverse, _ = dpotri(factor, lower=False, overwrite_c=True)
    _mirror(inverse)
    return DenseInverse(inverse)


def _invert_on(device: str, matrix: np.ndarray, ratio: float) -> DeviceInverse:
    torch = _torch()
    factor, failed = torch.linalg.cholesky_ex(torch.asarray(matrix, device=device))
    if int(failed):
        raise _not_definite(ratio)
    return DeviceInverse(DenseInverse(torch.cholesky_inverse(factor)), torch, device)


def _torch() -> Any:
    return require("torch", extra="gpu", purpose="device=")


def _not_definite(ratio: float) -> ValueError:
    return ValueError(
        f"the kernel matrix plus lambda_4 / lambda_3 = {ratio:.3g} on its diagonal is not "
        "positive definite: raise lambda_4, or use a positive semidefinite kernel"
    )


def _mirror(matrix: np.ndarray, block: int = 512) -> None:
    """Copy the upper triangle to the lower one, block by block."""
    n = len(matrix)
    for start in range(0, n, block):
        stop = min(n, start + block)
        square = matrix[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
