"""Making the views non-negative and equally heavy.

The squared error of a view grows with the square of its values and with its width, so that a view
of 4096 counts drowns one of 100 shares. Scaled views have rows of mean squared length 1 each.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.views import ViewGroups

ScalingName = Literal["balance", "range"]


class Scaling(NamedTuple):
    """Features become ``max(0, (x - shift) * factor)``, column by column.

    shift, factor : (n_features,)
    fill : (n_features,), mean of the scaled feature where it is observed
    clip : whether values below the shift are possible (and become 0) or refused
    """

    shift: np.ndarray
    factor: np.ndarray
    fill: np.ndarray
    clip: bool

    def restore(self, scaled: np.ndarray, columns: slice) -> np.ndarray:
        """Scaled values of some columns in the units they came in."""
        return scaled / self.factor[columns] + self.shift[columns]


class ColumnFacts(NamedTuple):
    """Per column, over the rows in which it is observed."""

    n_observed: np.ndarray
    least: np.ndarray
    largest: np.ndarray
    total: np.ndarray
    squares: np.ndarray


def learn_scaling(
    X: Any, groups: ViewGroups, there: np.ndarray, option: ScalingName | None
) -> Scaling:
    """Shift and factor of every column, from the observed values of the training rows."""
    facts = column_facts(X, groups, there)
    ones = np.ones(X.shape[1])
    shift, factor = np.zeros(X.shape[1]), ones.copy()
    if option == "range":
        shift = facts.least
        width = facts.largest - facts.least
        factor = np.divide(1.0, width, out=ones.copy(), where=width > 0)
    if option is not None:
        squares = facts.squares - 2 * shift * facts.total + shift**2 * facts.n_observed
        for position, columns in enumerate(groups.values()):
            length = (squares[columns] * factor[columns] ** 2).sum() / there[:, position].sum()
            if length > 0:
                factor[columns] /= np.sqrt(length)
    mean = np.divide(
        facts.total, facts.n_observed, out=np.zeros_like(ones), where=facts.n_observed > 0
    )
    return Scaling(shift, factor, np.maximum(mean - shift, 0.0) * factor, option == "range")


def column_facts(X: Any, groups: ViewGroups, there: np.ndarray) -> ColumnFacts:
    facts = ColumnFacts(*(np.zeros(X.shape[1]) for _ in ColumnFacts._fields))
    for position, columns in enumerate(groups.values()):
        block = X[:, columns][np.flatnonzero(there[:, position])]
        found = _sparse_facts(block) if sparse.issparse(block) else _dense_facts(block)
        for whole, part in zip(facts, found, strict=True):
            whole[columns] = part
    return facts


def _dense_facts(block: np.ndarray) -> ColumnFacts:
    gaps = np.isnan(block)
    if not gaps.any():
        squares = np.einsum("ij,ij->j", block, block, dtype=np.float64)
        total = block.sum(axis=0, dtype=np.float64)
        count = np.full(block.shape[1], len(block))
        return ColumnFacts(count, block.min(axis=0), block.max(axis=0), total, squares)
    count = (~gaps).sum(axis=0)
    some = count > 0
    least = np.where(some, np.where(gaps, np.inf, block).min(axis=0), 0.0)
    largest = np.where(some, np.where(gaps, -np.inf, block).max(axis=0), 0.0)
    values = np.where(gaps, 0.0, block).astype(np.float64)
    return ColumnFacts(count, least, largest, values.sum(axis=0), np.square(values).sum(axis=0))


def _sparse_facts(block: Any) -> ColumnFacts:
    columns = sparse.csc_array(block)
    n_rows, n_columns = columns.shape
    place = np.repeat(np.arange(n_columns), np.diff(columns.indptr))
    gap = np.isnan(columns.data)
    values, place_of = columns.data[~gap].astype(np.float64), place[~gap]
    count = n_rows - np.bincount(place[gap], minlength=n_columns)
    stored = np.bincount(place_of, minlength=n_columns)
    least, largest = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    np.minimum.at(least, place_of, values)
    np.maximum.at(largest, place_of, values)
    has_zero = stored < count
    least = np.where(has_zero, np.minimum(least, 0.0), least)
    largest = np.where(has_zero, np.maximum(largest, 0.0), largest)
    empty = count == 0
    least[empty] = largest[empty] = 0.0
    total = np.bincount(place_of, values, minlength=n_columns)
    return ColumnFacts(
        count, least, largest, total, np.bincount(place_of, values**2, minlength=n_columns)
    )
