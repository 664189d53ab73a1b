"""What an audit starts from: checked labels under their names, items by their ids, features."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labelgap.audit._decisions import Decisions, apply_decisions
from labelgap.audit._rows import FeatureRows
from labelgap.labels import Labels, State, as_labels

__all__ = ["Given", "Zeros", "check_given"]

Zeros = Literal["auto", "irrelevant", "ambiguous"]

_FEWEST_POSITIVE = 5


@dataclass(frozen=True, eq=False)
class Given:
    """Labels, and what is known about them beforehand.

    Attributes
    ----------
    labels : Labels
        With ambiguous zeros where zeros are in question.
    names, items : label names, and ids of the rows, as strings
    modelled : int array
        Positions of the labels that can be learned: at least 5 items carry them, and one does not.
    decided : (rows, columns, was_zero)
        Entries that people decided, and which of them were ambiguous zeros before.
    n_decisions : int
    stated_ambiguous : bool
        Whether the labels came with ambiguous zeros.
    """

    labels: Labels
    names: list[str]
    items: np.ndarray
    modelled: np.ndarray
    decided: tuple[np.ndarray, np.ndarray, np.ndarray]
    n_decisions: int
    stated_ambiguous: bool

    @property
    def part(self) -> Labels:
        """The labels that can be learned."""
        return self.labels[:, self.modelled]

    @property
    def part_names(self) -> list[str]:
        return [self.names[j] for j in self.modelled]

    @property
    def decided_part(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Decided entries of the labels that can be learned, by their positions among these."""
        place = np.full(self.labels.n_labels, -1)
        place[self.modelled] = np.arange(self.modelled.size)
        rows, columns, was_zero = self.decided
        kept = place[columns] >= 0
        return rows[kept], place[columns[kept]], was_zero[kept]


def check_given(X: Any, Y: Any, item_ids: Any, zeros: Zeros, decisions: Decisions | None) -> Given:
    """Validate, say which zeros are in question, and take in what people decided."""
    if zeros not in ("auto", "irrelevant", "ambiguous"):
        raise ValueError(f"zeros={zeros!r}: use 'auto', 'irrelevant' or 'ambiguous'")
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = as_labels(Y, n_rows=n_rows)
    if labels.n_rows != n_rows:
        raise ValueError(f"X has {n_rows} rows and Y has {labels.n_rows}: give one per item")
    names = range(labels.n_labels) if labels.names is None else labels.names
    labels = labels.with_names([str(name) for name in names])
    stated = labels.ambiguous
    if zeros != "auto":
        labels = labels.with_zeros(zeros)
    elif not labels.has_gaps:
        labels = labels.with_zeros("ambiguous")
    items = _check_items(item_ids, n_rows)
    none = np.empty(0, dtype=np.intp)
    decided, n_decisions = (none, none, np.empty(0, dtype=bool)), 0
    if decisions is not None and decisions.decisions:
        before, labels = labels, apply_decisions(labels, decisions, items)
        places = _places(labels, decisions, items)
        decided = (*places, states_at(before, *places) == State.AMBIGUOUS)
        n_decisions = len(decisions.decisions)
    ones = labels.n_positives(axis=0)
    known = labels.n_observed(axis=0, ambiguous=True)
    modelled = np.flatnonzero((ones >= _FEWEST_POSITIVE) & (ones < known))
    if not modelled.size:
        raise ValueError(
            f"no label can be learned: each needs {_FEWEST_POSITIVE} items that carry it and one "
            f"known not to; the most frequent is carried by {int(ones.max(initial=0))}. Give more "
            "items, or join labels"
        )
    assert labels.names is not None
    return Given(labels, labels.names.tolist(), items, modelled, decided, n_decisions, stated)


def fingerprint(rows: FeatureRows, given: Given) -> str:
    """SHA-256 of ids, scaled features and labels."""
    digest = hashlib.sha256("\n".join([*given.items, *given.names]).encode())
    entries = given.labels.entries
    parts = [entries.indptr.astype(np.int64), entries.indices.astype(np.int64), entries.data]
    if sparse.issparse(rows.scaled):
        parts += [rows.scaled.indptr.astype(np.int64), rows.scaled.indices.astype(np.int64)]
        parts.append(rows.scaled.data)
    else:
        parts.append(np.ascontiguousarray(rows.scaled))
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _check_items(item_ids: Sequence[Any] | np.ndarray | None, n_rows: int) -> np.ndarray:
    if item_ids is None:
        return np.arange(n_rows).astype(str).astype(object)
    items = np.array([str(one) for one in item_ids], dtype=object)
    if items.size != n_rows:
        raise ValueError(f"item_ids has {items.size} ids, X has {n_rows} rows: give one per item")
    first: dict[str, int] = {}
    for row, item in enumerate(items):
        if item in first:
            raise ValueError(
                f"item_ids[{row}] is {item!r} like item_ids[{first[item]}]: ids must differ"
            )
        first[item] = row
    return items


def states_at(labels: Labels, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Codes of single entries."""
    stated = np.asarray(labels.entries[rows, columns]).ravel()
    return np.where(stated == 0, labels.unstated, stated)


def _places(
    labels: Labels, decisions: Decisions, items: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    assert labels.names is not None
    row_of = {item: row for row, item in enumerate(items)}
    column_of = {name: column for column, name in enumerate(labels.names)}
    pairs = decisions.last()
    rows = np.array([row_of[item] for item, _ in pairs], dtype=np.intp)
    return rows, np.array([column_of[label] for _, label in pairs], dtype=np.intp)
