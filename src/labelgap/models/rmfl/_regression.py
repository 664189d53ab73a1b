"""Ridge regression of the row factors on kernels or features, in closed form.

The columns of K (rows x rows) or of X (rows x features) are centred by H = I - 11'/m, which
removes the intercept from the problem:

    dual     A = (H K H + ratio I)^-1 H U        b = mean of the rows of U - K A
    primal   W = (X'H X + ratio I)^-1 X'H U      b = mean of the rows of U - X W

with ratio = lambda_4 / lambda_3. Neither matrix depends on U: it is factored once per fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from labelgap.models.rmfl._inverse import Inverse

_BLOCK_CELLS = 2**24


class Fit(NamedTuple):
    """A regression of some row factors.

    Attributes
    ----------
    coef : array of shape (n_rows or n_features, n_factors)
    residual : array of shape (n_rows, n_factors)
        U - T, where T are the fitted values.
    gram : array of shape (n_factors, n_factors)
        A'K A or W'W; its trace is the size of the model.
    """

    coef: np.ndarray
    residual: np.ndarray
    gram: np.ndarray

    def turned(self, transform: np.ndarray) -> Fit:
        """The regression of U times a matrix, which is the regression times that matrix."""
        return Fit(
            self.coef @ transform, self.residual @ transform, transform.T @ self.gram @ transform
        )


class Regression(Protocol):
    """What the loop needs of either form."""

    def fit(self, U: np.ndarray) -> Fit: ...

    def intercept(self, U: np.ndarray, coef: np.ndarray) -> np.ndarray: ...

    def freedom(self) -> np.ndarray:
        """1 - leverage of each row: residual / freedom is the residual when it is left out."""
        ...


class DualRegression:
    """On a kernel; knows of K only the inverse and the means of its columns.

    Since H K H A = H U - ratio A, the residual is ratio A and A'K A = A'(H U - ratio A): the
    kernel matrix itself is not needed.
    """

    def __init__(self, inverse: Inverse, ratio: float, column_means: np.ndarray) -> None:
        self._inverse = inverse
        self._ratio = ratio
        self._means = column_means

    def fit(self, U: np.ndarray) -> Fit:
        centred = U - U.mean(axis=0)
        A = self._inverse.times(centred)
        A -= A.mean(axis=0)  # zero but for rounding
        residual = self._ratio * A
        gram = A.T @ (centred - residual)
        return Fit(A, residual, (gram + gram.T) / 2)

    def intercept(self, U: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return U.mean(axis=0) - self._means @ coef

    def freedom(self) -> np.ndarray:
        # I - (smoother) = ratio G H, and G 1 = 1 / ratio
        return self._ratio * self._inverse.diagonal() - 1 / len(self._means)


class PrimalRegression:
    """On features, dense or sparse."""

    def __init__(self, inverse: Inverse, X: Any, column_means: np.ndarray) -> None:
        self._inverse = inverse
        self._X = X
        self._means = column_means

    def fit(self, U: np.ndarray) -> Fit:
        centred = U - U.mean(axis=0)
        W = self._inverse.times(self._X.T @ centred)
        return Fit(W, centred - self._X @ W + self._means @ W, W.T @ W)

    def intercept(self, U: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return U.mean(axis=0) - self._means @ coef

    def freedom(self) -> np.ndarray:
        n, d = self._X.shape
        leverage = np.empty(n)
        size = max(1, _BLOCK_CELLS // d)
        for start in range(0, n, size):
            part = self._X[start : start + size]
            centred = (part.toarray() if hasattr(part, "toarray") else part) - self._means
            found = self._inverse.times(np.ascontiguousarray(centred.T))
            leverage[start : start + size] = np.einsum("nd,dn->n", centred, found)
        return 1 - 1 / n - leverage
