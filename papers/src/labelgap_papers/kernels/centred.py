"""Products with features less their column means, which sparse features survive."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["CentredFeatures"]


class CentredFeatures:
    """X less its means (or X itself), as far as least squares needs it.

    The Gram matrix is computed once where it is not larger than X; otherwise products go through
    X, which is never copied.

    X : array or CSR matrix of shape (n, d), in double precision
    centre : bool, default=True. Whether the means are taken off.

    centred : bool
    means : array of shape (d,). Zero without centring.
    """

    def __init__(self, X: Any, *, centre: bool = True) -> None:
        self.X = X
        self.centred = centre
        n, d = X.shape
        self.means = np.asarray(X.mean(axis=0)).ravel() if centre else np.zeros(d)
        self._gram = self._full_gram() if d <= n else None

    def gram_times(self, W: np.ndarray) -> np.ndarray:
        """(X - m)'(X - m) W for W of shape (d, k)."""
        if self._gram is not None:
            return self._gram @ W
        return self._less_means(np.asarray(self.X.T @ np.asarray(self.X @ W)), W)

    def cross(self, Y: np.ndarray) -> np.ndarray:
        """(X - m)' Y for Y of shape (n, k)."""
        return np.asarray(self.X.T @ Y) - np.outer(self.means, Y.sum(axis=0))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """Of (X - m)'(X - m)."""
        eigenvalues = np.linalg.eigvalsh(self._smaller_gram())
        return float(max(eigenvalues[-1], 0.0)) if eigenvalues.size else 0.0

    @cached_property
    def smallest_eigenvalue(self) -> float:
        """Of (X - m)'(X - m): zero where there are fewer rows than features."""
        if self._gram is None:
            return 0.0
        return float(max(np.linalg.eigvalsh(self._gram)[0], 0.0)) if self._gram.size else 0.0

    def ridge(self, Y: np.ndarray, penalty: float) -> np.ndarray:
        """((X - m)'(X - m) + penalty I)^-1 (X - m)' Y."""
        small = self._smaller_gram()
        small[np.diag_indices(len(small))] += penalty
        if self._gram is not None:
            return np.linalg.solve(small, self.cross(Y))
        return self.cross(np.linalg.solve(small, Y - Y.mean(axis=0) * self.centred))

    def _less_means(self, product: np.ndarray, W: np.ndarray) -> np.ndarray:
        return product - self.X.shape[0] * np.outer(self.means, self.means @ W)

    def _full_gram(self) -> np.ndarray:
        gram = _dense(self.X.T @ self.X)
        return gram - self.X.shape[0] * np.outer(self.means, self.means)

    def _smaller_gram(self) -> np.ndarray:
        """(X - m)'(X - m), or (X - m)(X - m)' where that is smaller: the same eigenvalues."""
        if self._gram is not None:
            return self._gram.copy()
        kernel = _dense(self.X @ self.X.T)
        if self.centred:
            kernel = kernel - kernel.mean(axis=0)
            kernel = kernel - kernel.mean(axis=1)[:, None]
        return kernel


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
