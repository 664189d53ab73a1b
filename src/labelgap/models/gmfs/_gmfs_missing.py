"""Which zeros are missing labels.

P(relevant | y = 0) = (1 - theta) sigma / (1 - theta sigma) asks for the sigma that everything but
the entry itself gives: with factors that were fitted to the zero as well, the zero would count
twice. Taking entry j out of the ridge regression of a row with precision matrix A leaves

    b . v = (m - h kappa') / (1 - omega h),   of variance h / (1 - omega h),

with m = b . v, h = b' A^-1 b and kappa' = kappa - omega a before; averaged over that variance,
sigma is sigmoid(psi / sqrt(1 + pi/8 variance)), nearly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.labels import Labels, State
from labelgap.memory import block_size
from labelgap.models.gmfs._gmfs_em import GMFSParams, entry_terms
from labelgap.propensity import unlabeled_posterior


class LikelyMissing(NamedTuple):
    """The most probable missing labels, the most probable first.

    rows, columns : positions; labels : names of the columns; probability : P(relevant | y = 0).
    """

    rows: np.ndarray
    columns: np.ndarray
    labels: np.ndarray
    probability: np.ndarray


class KnownRows(ABC):
    """Rows of a fitted model, some at a time."""

    labels: Labels

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def parts(self) -> Iterator[slice]:
        """Return slices of rows whose largest arrays fit the memory."""

    @abstractmethod
    def examined(self, part: slice) -> np.ndarray:
        """Return P(examined | the record): 1 where a label is known, 0 where it is unknown."""

    @abstractmethod
    def relevance(self, part: slice) -> np.ndarray:
        """Return P(relevant) of every entry, given everything but the entry."""

    @abstractmethod
    def missing_label_proba(self, part: slice) -> np.ndarray:
        """Return P(relevant | y = 0) at the unlabeled zeros, NaN elsewhere."""

    def likely_missing(self, top: int, classes: Any) -> LikelyMissing:
        """Return the ``top`` entries, found some rows at a time."""
        best = np.empty((0, 3))
        for part in self.parts():
            probability = self.missing_label_proba(part)
            rows, columns = np.nonzero(~np.isnan(probability))
            found = np.column_stack([probability[rows, columns], rows + part.start, columns])
            best = _largest(np.vstack([best, _largest(found, top)]), top)
        order = np.lexsort((best[:, 2], best[:, 1], -best[:, 0]))
        rows, columns = best[order, 1].astype(np.intp), best[order, 2].astype(np.intp)
        return LikelyMissing(rows, columns, np.asarray(classes)[columns], best[order, 0])


@dataclass(frozen=True, eq=False)
class FittedRows(KnownRows):
    """Rows with their factors v and what their features say of these, (n, c) each, and labels."""

    lambda_v: float
    params: GMFSParams
    factors: np.ndarray
    means: np.ndarray
    labels: Labels

    def __len__(self) -> int:
        return len(self.factors)

    def parts(self) -> Iterator[slice]:
        c, n_labels = self.factors.shape[1], self.labels.n_labels
        size = block_size(max(c * c, n_labels))
        return (slice(start, min(start + size, len(self))) for start in range(0, len(self), size))

    def states(self, part: slice) -> np.ndarray:
        return self.labels.states(part)

    def theta(self, part: slice) -> np.ndarray:
        """Return the propensities."""
        propensities = self.params.propensities
        values = np.ones((1, 1)) if propensities is None else propensities.rows(part)
        return np.broadcast_to(values, (part.stop - part.start, self.labels.n_labels))

    def examined(self, part: slice) -> np.ndarray:
        states = self.states(part)
        terms = entry_terms(states, self.factors[part], self.params, part)
        return 2 * np.abs(terms.kappa)

    def without_own(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of psi at every entry, given everything but the entry."""
        params, V = self.params, self.factors[part]
        B, a = params.factors, params.bias
        terms = entry_terms(self.states(part), V, params, part)
        right = (terms.kappa - terms.omega * a) @ B + self.lambda_v * self.means[part]
        found = weighted_ridge(terms.omega, B, right, self.lambda_v, covariance="full")
        c = B.shape[1]
        outer = (B[:, :, None] * B[:, None, :]).reshape(len(B), c * c)
        h = found.covariance.reshape(len(V), c * c) @ outer.T
        left = np.maximum(1 - terms.omega * h, 1e-3)
        mean = (found.z @ B.T - h * (terms.kappa - terms.omega * a)) / left + a
        return mean, h / left

    def relevance(self, part: slice) -> np.ndarray:
        return expit(self._log_odds(part))

    def _log_odds(self, part: slice) -> np.ndarray:
        psi, variance = self.without_own(part)
        return psi / np.sqrt(1 + np.pi / 8 * variance)

    def missing_label_proba(self, part: slice) -> np.ndarray:
        unlabeled = self.states(part) == State.UNLABELED
        psi = self._log_odds(part)
        return np.where(unlabeled, unlabeled_posterior(psi, self.theta(part)), np.nan)


def _largest(found: np.ndarray, top: int) -> np.ndarray:
    if len(found) <= top:
        return found
    return found[np.argpartition(-found[:, 0], top - 1)[:top]]


class ExaminedProbability:
    """P(examined | the record) of every entry, computed for the rows that are asked for.

    An object of shape (n_samples, n_labels) that holds the factors of the rows and their labels as
    they are stored: 1 where a label is known, 0 where it is unknown, in between at unlabeled zeros.
    ``examined[rows]`` is a dense array for a slice of rows, one row or an array of positions;
    :func:`numpy.asarray` makes all of it.
    """

    ndim = 2

    def __init__(self, rows: KnownRows) -> None:
        self._rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._rows), self._rows.labels.n_labels

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> np.ndarray:
        if isinstance(rows, slice) and rows.step in (None, 1):
            return self._rows.examined(slice(*rows.indices(len(self))))
        wanted = np.arange(len(self))[rows]
        parts = [self._rows.examined(slice(i, i + 1)) for i in np.atleast_1d(wanted)]
        found = np.vstack(parts) if parts else np.empty((0, self.shape[1]))
        return found[0] if np.ndim(wanted) == 0 else found

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Return slices of rows with their values, all rows in order."""
        for part in self._rows.parts():
            yield part, self._rows.examined(part)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("probabilities are computed when asked for: an array is always a copy")
        return np.vstack([values for _, values in self.blocks()]).astype(dtype or float)

    def __repr__(self) -> str:
        n, n_labels = self.shape
        return f"<ExaminedProbability of {n} rows x {n_labels} labels>"
