"""What labels that are known say of the others: Gaussian conditioning on correlated residuals.

With p the probabilities of a row and z_k = (y_k - p_k) / s_k, s_k^2 = p_k (1 - p_k), the standardised
residuals, let C be their correlations in rows that the model did not learn from. Given the labels K
of a row, the best linear prediction of the others is

    E[y_j | y_K] = p_j + s_j C_jK (C_KK + lambda I)^-1 z_K.

It needs no more than out-of-fold probabilities, and so serves every model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from labelgap.labels import Labels

# chosen on yeast and rcv1subset1, with and without gaps
_RIDGE = 0.5
_LEAST_SPREAD = 0.2
_PRIOR_ROWS = 50
_NEVER = 1e-3
_ROWS_AT_ONCE = 10_000


class ResidualCorrelation(NamedTuple):
    """Second moments of standardised residuals of all pairs of labels, (n_labels, n_labels)."""

    moments: np.ndarray

    @classmethod
    def fit(cls, out_of_fold: np.ndarray, labels: Labels) -> Self:
        """Estimate the moments from rows in which both labels are known, shrunk to zero.

        Unlabeled zeros count as zeros, as for the probabilities of being recorded: without them the
        residuals that are left would all be positive.
        """
        n_labels = labels.n_labels
        products, counts = np.zeros((n_labels, n_labels)), np.zeros((n_labels, n_labels))
        for begin in range(0, labels.n_samples, _ROWS_AT_ONCE):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            values = labels[rows].to_dense(unknown=np.nan, unlabeled=0.0, dtype=np.float32)
            z = _residuals(out_of_fold[rows], values)
            known = (~np.isnan(values)).astype(np.float32)
            products += z.T @ z
            counts += known.T @ known if labels.has_unknown else len(z)
        return cls(products / (counts + _PRIOR_ROWS))

    def update(self, probabilities: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the probabilities given the known labels (NaN where unknown), which stay 0 and 1."""
        found = probabilities + spread(probabilities) * self.expected(probabilities, known)
        return np.where(np.isnan(known), np.clip(found, _NEVER, 1 - _NEVER), known)

    def expected(
        self, probabilities: np.ndarray, known: np.ndarray, *, left_out: bool = False
    ) -> np.ndarray:
        """Return standardised residuals as expected from the known labels of the row.

        With ``left_out`` those of known labels are expected from the others: z - A^-1 z / diag A^-1,
        A = C_KK + lambda I.
        """
        found = np.zeros_like(probabilities, dtype=np.float64)
        z = _residuals(probabilities, known)
        for rows, given in _same_given(known):
            part = self.moments[np.ix_(given, given)] + _RIDGE * np.eye(given.size)
            solved = np.linalg.solve(part, z[np.ix_(rows, given)].T).T
            found[rows] = solved @ self.moments[given]
            if left_out:
                own = np.diag(np.linalg.inv(part))
                found[np.ix_(rows, given)] = z[np.ix_(rows, given)] - solved / own
        return found

    def information(self, probabilities: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return how much variance of the labels each answer would take away, 0 where known.

        The answer for k takes s_k^2 from k itself and, of every other label j,
        s_j^2 C_jk|K^2 / (C_kk|K + lambda), with C given what is known already.
        """
        variance = probabilities * (1 - probabilities)
        gains = np.empty_like(probabilities)
        for rows, given in _same_given(known, with_none=True):
            left = self.moments
            if given.size:
                part = self.moments[np.ix_(given, given)] + _RIDGE * np.eye(given.size)
                left = left - self.moments[:, given] @ np.linalg.solve(part, self.moments[given])
            explained = left**2 / (np.maximum(np.diag(left), 0) + _RIDGE)
            np.fill_diagonal(explained, 1.0)
            open_variance = np.where(np.isnan(known[rows]), variance[rows], 0.0)
            gains[rows] = open_variance @ explained
        return np.where(np.isnan(known), gains, 0.0)


def spread(probabilities: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each label, at least 0.2."""
    return np.maximum(np.sqrt(probabilities * (1 - probabilities)), _LEAST_SPREAD)


def _residuals(probabilities: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Standardised residuals, 0 where the label is unknown."""
    z = (values - probabilities) / spread(probabilities)
    return np.where(np.isnan(values), 0.0, z)


def _same_given(
    known: np.ndarray, *, with_none: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows in which the same labels are given, and these labels."""
    patterns, group = np.unique(~np.isnan(known), axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        if pattern.any() or with_none:
            yield np.flatnonzero(group.ravel() == k), np.flatnonzero(pattern)
