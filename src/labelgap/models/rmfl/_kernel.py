"""Kernels: which, how wide, and whether they are ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky
from sklearn.metrics.pairwise import pairwise_kernels

# positive semidefinite whatever the rows are, with scikit-learn's default parameters
_SAFE = {"rbf", "linear", "laplacian", "cosine", "poly", "polynomial", "chi2"}
_ROUNDING = 1e-10


class Kernel(NamedTuple):
    """A kernel of scikit-learn with its parameters."""

    name: str | Callable
    params: Mapping[str, Any]

    def between(self, X: Any, rows: Any) -> np.ndarray:
        """k(x, row), of shape (rows of X, rows of ``rows``)."""
        found = pairwise_kernels(X, rows, metric=self.name, **self.params)
        return found.toarray() if sparse.issparse(found) else np.asarray(found, dtype=np.float64)


def kernel_matrix(kernel: Kernel, X: Any) -> np.ndarray:
    """Of the training rows; X itself when it was precomputed. Checked where it may be no kernel."""
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
    """H K H in the memory of K; returns the means of K's columns."""
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None]
    K += means.mean()
    return means
