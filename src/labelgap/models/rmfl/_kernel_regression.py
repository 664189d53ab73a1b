"""Ridge regression of the row factors on kernels or features, in closed form.

The columns of K (rows x rows) or of X (rows x features) are centred by H = I - 11'/m, which
removes the intercept from the problem:

    dual     A = (H K H + ratio I)^-1 H U        b = mean of the rows of U - K A
    primal   W = (X'H X + ratio I)^-1 X'H U      b = mean of the rows of U - X W

with ratio = lambda_4 / lambda_3. Neither matrix depends on U: it is factored once per fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cholesky, eigh
from scipy.linalg.lapack import dpotri
from sklearn.metrics.pairwise import pairwise_kernels

from labelgap.extras import require
from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.memory import block_size

# positive semidefinite whatever the rows are, with scikit-learn's default parameters
_SAFE = {"rbf", "linear", "laplacian", "cosine", "poly", "polynomial", "chi2"}
_ROUNDING = 1e-10


class FittedRegression(NamedTuple):
    """A regression of some row factors.

    coef : array of shape (n_samples or n_features, n_factors)
    residual : array of shape (n_samples, n_factors). U - T, where T are the fitted values.
    gram : array of shape (n_factors, n_factors). A'K A or W'W; its trace is the size of the model.
    """

    coef: np.ndarray
    residual: np.ndarray
    gram: np.ndarray

    def turned(self, transform: np.ndarray) -> FittedRegression:
        """Return the regression of U times a matrix, which is the regression times that matrix."""
        return FittedRegression(
            self.coef @ transform, self.residual @ transform, transform.T @ self.gram @ transform
        )


class Regression(ABC):
    """What the loop needs of either form; the inverse is that of the centred matrix."""

    def __init__(self, inverse: RidgeInverse, column_means: np.ndarray) -> None:
        self._inverse = inverse
        self._means = column_means

    @abstractmethod
    def fit(self, U: np.ndarray) -> FittedRegression: ...

    @abstractmethod
    def freedom(self) -> np.ndarray:
        """Return 1 - leverage of each row: residual / freedom is the residual when it is left out."""

    def intercept(self, U: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return U.mean(axis=0) - self._means @ coef


class DualRegression(Regression):
    """On a kernel; knows of K only the inverse and the means of its columns.

    Since H K H A = H U - ratio A, the residual is ratio A and A'K A = A'(H U - ratio A): the
    kernel matrix itself is not needed.
    """

    def __init__(self, inverse: RidgeInverse, column_means: np.ndarray, ratio: float) -> None:
        super().__init__(inverse, column_means)
        self._ratio = ratio

    def fit(self, U: np.ndarray) -> FittedRegression:
        centred = U - U.mean(axis=0)
        A = self._inverse.times(centred)
        A -= A.mean(axis=0)  # zero but for rounding
        residual = self._ratio * A
        gram = A.T @ (centred - residual)
        return FittedRegression(A, residual, (gram + gram.T) / 2)

    def freedom(self) -> np.ndarray:
        # I - (smoother) = ratio G H, and G 1 = 1 / ratio
        return self._ratio * self._inverse.diagonal() - 1 / len(self._means)


class PrimalRegression(Regression):
    """On features, dense or sparse."""

    def __init__(self, inverse: RidgeInverse, column_means: np.ndarray, X: Any) -> None:
        super().__init__(inverse, column_means)
        self._X = X

    def fit(self, U: np.ndarray) -> FittedRegression:
        centred = U - U.mean(axis=0)
        W = self._inverse.times(self._X.T @ centred)
        return FittedRegression(W, centred - self._X @ W + self._means @ W, W.T @ W)

    def freedom(self) -> np.ndarray:
        n, d = self._X.shape
        leverage = np.empty(n)
        size = block_size(d, fraction=1 / 8)
        for start in range(0, n, size):
            part = self._X[start : start + size]
            centred = (part.toarray() if hasattr(part, "toarray") else part) - self._means
            found = self._inverse.times(np.ascontiguousarray(centred.T))
            leverage[start : start + size] = np.einsum("nd,dn->n", centred, found)
        return 1 - 1 / n - leverage


def dual_regressions(
    K: np.ndarray, many_ratios: bool, device: str | None = None
) -> Callable[[float], Regression]:
    means = centre(K)
    if many_ratios:
        spectrum = Spectrum(K, device)
        return lambda ratio: DualRegression(spectrum.at(ratio), means, ratio)
    return lambda ratio: DualRegression(invert(K, ratio, device), means, ratio)


def primal_regressions(
    X: Any, many_ratios: bool, device: str | None = None
) -> Callable[[float], Regression]:
    means = np.asarray(X.mean(axis=0)).ravel()
    gram = X.T @ X
    gram = np.ascontiguousarray(gram.toarray() if sparse.issparse(gram) else gram)
    gram -= X.shape[0] * np.outer(means, means)
    if many_ratios:
        spectrum = Spectrum(gram, device)
        return lambda ratio: PrimalRegression(spectrum.at(ratio), means, X)
    return lambda ratio: PrimalRegression(invert(gram, ratio, device), means, X)


class Kernel(NamedTuple):
    """A kernel of scikit-learn with its parameters."""

    name: str | Callable
    params: Mapping[str, Any]

    def between(self, X: Any, rows: Any) -> np.ndarray:
        """Return k(x, row), of shape (rows of X, rows of ``rows``)."""
        found = pairwise_kernels(X, rows, metric=self.name, **self.params)
        return found.toarray() if sparse.issparse(found) else np.asarray(found, dtype=np.float64)


def kernel_matrix(kernel: Kernel, X: Any) -> np.ndarray:
    """Return the kernel of the training rows, which is X if precomputed; checked if it may be none."""
    if kernel.name == "precomputed":
        K = np.array(X, dtype=np.float64, order="C")
    else:
        K = np.ascontiguousarray(kernel.between(X, X))
    if kernel.name not in _SAFE:
        _check_kernel(K, kernel.name)
    return K


def _check_kernel(K: np.ndarray, name: Any) -> None:
    called = f"kernel={name!r}"
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{called}: X must be a square matrix of kernel values of the training rows, not "
            f"{K.shape[0]} x {K.shape[1]}"
        )
    size = max(float(np.abs(K).max(initial=0)), 1e-300)
    if not np.isfinite(size):
        raise ValueError(f"{called}: the kernel matrix has values that are NaN or infinite")
    gap = np.abs(K - K.T)
    if gap.max(initial=0) > 1e-8 * size:
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(
            f"{called}: the kernel matrix is not symmetric, entry ({i}, {j}) is {K[i, j]:.6g} and "
            f"({j}, {i}) is {K[j, i]:.6g}; take (K + K') / 2"
        )
    shifted = K + (_ROUNDING * size * len(K)) * np.eye(len(K))
    try:
        cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise ValueError(
            f"{called}: the kernel matrix is not positive semidefinite, its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(K)[0]:.6g} (largest entry {size:.3g}); clip its negative "
            "eigenvalues to zero, or use another kernel"
        ) from error


def centre(K: np.ndarray) -> np.ndarray:
    """Return centre K in place, H K H, and return the means of its columns."""
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None]
    K += means.mean()
    return means


class RidgeInverse(NamedTuple):
    """(M + ratio I)^-1 as what it does to vectors: a matrix, or Q diag(values) Q'.

    On a device of torch it stays there; what it is multiplied with goes there and comes back.
    """

    matrix: Any
    values: Any = None

    def times(self, vectors: np.ndarray) -> np.ndarray:
        xp = array_namespace(self.matrix)
        there = array_like(xp, vectors, self.matrix)
        if self.values is not None:
            there = (self.matrix.T @ there) * self.values[:, None]
        return to_numpy(self.matrix @ there)

    def diagonal(self) -> np.ndarray:
        if self.values is not None:
            return to_numpy((self.matrix**2) @ self.values)
        return to_numpy(array_namespace(self.matrix).linalg.diagonal(self.matrix))


class Spectrum:
    """The eigendecomposition of M, which serves every ratio."""

    def __init__(self, matrix: np.ndarray, device: str | None = None) -> None:
        if device is None:
            found = eigh(matrix, overwrite_a=True, check_finite=False, driver="evd")
        else:
            torch = _torch()
            found = torch.linalg.eigh(torch.asarray(matrix, device=device))
        self._values, self._vectors = found[0].clip(0), found[1]

    def at(self, ratio: float) -> RidgeInverse:
        return RidgeInverse(self._vectors, 1 / (self._values + ratio))


def invert(matrix: np.ndarray, ratio: float, device: str | None = None) -> RidgeInverse:
    """Return the inverse by a Cholesky factor, in place: the matrix is used up."""
    np.fill_diagonal(matrix, matrix.diagonal() + ratio)
    if device is not None:
        torch = _torch()
        factor, failed = torch.linalg.cholesky_ex(torch.asarray(matrix, device=device))
        if int(failed):
            raise _not_definite(ratio)
        return RidgeInverse(torch.cholesky_inverse(factor))
    # the transposed view has LAPACK's order, so that nothing is copied
    try:
        factor, _ = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise _not_definite(ratio) from error
    inverse, _ = dpotri(factor, lower=False, overwrite_c=True)
    _mirror(inverse)
    return RidgeInverse(inverse)


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
