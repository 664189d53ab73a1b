"""A map from features to factors by any regressor."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

_N_FOLDS = 5


class FactorMap(NamedTuple):
    """What a regressor says of the factors of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from labelgap.fitting import FactorMap
    >>> X = np.arange(20.0)[:, None]
    >>> found, left_out = FactorMap.learn(Ridge(), X, X**2, seed=0)
    >>> found(X).shape, left_out.shape
    ((20, 1), (20, 1))
    """

    regressor: Any

    @classmethod
    def learn(
        cls, regressor: Any, X: Any, factors: np.ndarray, seed: int
    ) -> tuple[Self, np.ndarray]:
        """Return the map, and what it says of each row when it has learned from others.

        Parameters
        ----------
        regressor : object with ``fit`` and ``predict``
            Of several outputs; it stays as it is.
        X : array or sparse matrix of shape (n_samples, n_features)
        factors : array of shape (n_samples, n_factors)
        seed : int
            Draws the five folds.
        """
        if not hasattr(X, "dtype"):
            raise ValueError("map: rows in blocks have the linear map alone; give X as an array")
        left_out = np.empty(factors.shape)
        folds = KFold(min(_N_FOLDS, len(factors)), shuffle=True, random_state=seed)
        for learned, held in folds.split(factors):
            part = cls(clone(regressor).fit(X[learned], _outputs(factors[learned])))
            left_out[held] = part(X[held])
        return cls(clone(regressor).fit(X, _outputs(factors))), left_out

    def __call__(self, X: Any) -> np.ndarray:
        found = np.asarray(self.regressor.predict(X), dtype=np.float64)
        return found.reshape(X.shape[0], -1)


def _outputs(factors: np.ndarray) -> np.ndarray:
    """One factor as a vector, which regressors expect."""
    return factors[:, 0] if factors.shape[1] == 1 else factors
