"""Counts from what the labels were given to: rows, streams of items, tables of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.cooccurrence._checks import positions, unique_names
from labelgap.cooccurrence._container import Cooccurrence
from labelgap.cooccurrence._pairs import count_pairs
from labelgap.labels import Labels, as_labels
from labelgap.labels._checks import object_array
from labelgap.labels._tables import _sorted_names
from labelgap.labels._values import is_missing

_TAGS_AT_ONCE = 2**20


def cooccurrence(labels: Labels, seen: Any = None) -> sparse.csr_array:
    """In how many rows two labels are both relevant.

    Parameters
    ----------
    labels : Labels
        Entries that are not known to be relevant do not count.
    seen : int array, optional
        The labels that make the rows of the result; all by default.

    Returns
    -------
    csr_array of int64, shape (n_seen, n_labels)
        ``M[a, b] = sum_n y[n, seen[a]] y[n, b]``. The diagonal (``b == seen[a]``) holds the
        label frequencies.
    """
    positives = labels.positives().astype(np.int64)
    left = positives if seen is None else positives[:, np.asarray(seen)]
    counts = sparse.csr_array(left.T @ positives)
    counts.sort_indices()
    return counts


def count_cooccurrence(
    corpus: Any,
    *,
    seen: Sequence | np.ndarray | None = None,
    all_labels: Sequence | np.ndarray | None = None,
    pairs: tuple[Any, Any, Any] | None = None,
    directional: bool = False,
) -> Cooccurrence:
    """Count how often labels occur together.

    Parameters
    ----------
    corpus : Labels, label matrix, iterable of collections of tags, or table of pairs
        A label matrix is whatever :func:`labelgap.as_labels` accepts; only entries known to be
        relevant count. Any other iterable gives one collection of tags per item (``None`` for
        an item nobody looked at) and is read once, item by item: a generator over a corpus that
        does not fit in memory will do. A tag that an item has twice counts once.
    seen : sequence, optional
        The seen labels, by name; by position for a matrix without names. By default all labels,
        less those that :class:`labelgap.Labels` marks as unseen; for a table of pairs those of
        its first column.
    all_labels : sequence, optional
        The labels to count, in the order of the columns; other tags are passed over. By default
        all there are, sorted for tags.
    pairs : tuple of three column names, optional
        Reads ``corpus`` as a long table with these columns: label, other label, count. Lines of
        the same pair add up, a count that is null is missing, and a pair that is not there has
        the count 0, but for the diagonal: the number of items of a label without a line of its
        own is missing.
    directional : bool, default=False
        For a table of pairs: whether a pair that is there in one order only is left at that,
        with 0 for the other order, or counts for both orders.

    Returns
    -------
    Cooccurrence
    """
    if directional and pairs is None:
        raise ValueError("directional=True belongs to a table of pairs: give its columns as pairs=")
    if pairs is not None:
        return count_pairs(corpus, pairs, seen, all_labels, directional)
    if _is_matrix(corpus):
        return _count_rows(as_labels(corpus), seen, all_labels)
    return _count_stream(corpus, seen, all_labels)


# -- label matrices -----------------------------------------------------------------------------


def _is_matrix(corpus: Any) -> bool:
    if isinstance(corpus, Labels) or sparse.issparse(corpus):
        return True
    if hasattr(corpus, "columns") or hasattr(corpus, "column_names"):
        return True
    return getattr(corpus, "ndim", 1) == 2


def _count_rows(labels: Labels, seen: Any, all_labels: Any) -> Cooccurrence:
    names: Any = range(labels.n_labels) if labels.names is None else labels.names
    if all_labels is not None:
        columns = positions(all_labels, names, "all_labels")
        labels = labels[:, columns]
        names = [names[column] for column in columns]
    rows = np.flatnonzero(~labels.unseen) if seen is None else positions(seen, names, "seen")
    return Cooccurrence(cooccurrence(labels, rows), rows, labels.names)


# -- streams of items ---------------------------------------------------------------------------


def _count_stream(corpus: Iterable, seen: Any, all_labels: Any) -> Cooccurrence:
    if isinstance(corpus, (str, bytes)) or not isinstance(corpus, Iterable):
        raise TypeError(
            f"corpus: expected labels, a matrix, a table or an iterable of collections of tags, "
            f"got {type(corpus).__name__}"
        )
    counter = _StreamCounter(seen, all_labels)
    for place, tags in enumerate(corpus):
        if not is_missing(tags):
            counter.add(place, tags)
    return counter.result()


class _StreamCounter:
    """Counts so far, and the items that are not counted yet."""

    def __init__(self, seen: Any, all_labels: Any) -> None:
        names = [] if all_labels is None else unique_names("all_labels", all_labels).tolist()
        self.is_open = all_labels is None
        self.column_of: dict[Any, int] = {name: column for column, name in enumerate(names)}
        self.seen_columns: np.ndarray | None = None
        if seen is not None:
            if self.is_open:
                self._columns(seen)
            self.seen_columns = positions(seen, list(self.column_of), "seen")
        self.counts = sparse.csr_array((0, len(names)), dtype=np.int64)
        self.waiting: list[list[int]] = []
        self.n_waiting = 0

    def add(self, place: int, tags: Any) -> None:
        if isinstance(tags, (str, bytes)):
            raise ValueError(
                f"corpus[{place}] = {tags!r} is a string, not a collection of tags: split it "
                "first, for example tags.split(',')"
            )
        try:
            columns = self._columns(set(tags))
        except TypeError as error:
            raise ValueError(
                f"corpus[{place}] = {tags!r} is not a collection of tags: give a set or list of "
                "hashable tags, or None for an item nobody looked at"
            ) from error
        self.waiting.append(columns)
        self.n_waiting += len(columns)
        if self.n_waiting >= _TAGS_AT_ONCE:
            self.count()

    def _columns(self, tags: Iterable) -> list[int]:
        """Columns of tags; new ones for those that are new, unless the labels are given."""
        if self.is_open:
            return [self.column_of.setdefault(tag, len(self.column_of)) for tag in tags]
        return [self.column_of[tag] for tag in tags if tag in self.column_of]

    def count(self) -> None:
        """Add the waiting items to the counts."""
        lengths = [len(columns) for columns in self.waiting]
        indices = np.fromiter(chain.from_iterable(self.waiting), np.int64, self.n_waiting)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        ones = np.ones(indices.size, dtype=np.int64)
        shape = (len(lengths), len(self.column_of))
        items = sparse.csr_array((ones, indices, starts), shape=shape)
        left = items if self.seen_columns is None else items[:, self.seen_columns]
        new = sparse.csr_array(left.T @ items)
        self.counts.resize(new.shape)
        self.counts = self.counts + new
        self.waiting, self.n_waiting = [], 0

    def result(self) -> Cooccurrence:
        self.count()
        found = object_array(self.column_of)
        seen = np.arange(found.size) if self.seen_columns is None else self.seen_columns
        counts = Cooccurrence(self.counts, seen, found)
        if not self.is_open:
            return counts
        names = _sorted_names(set(found))
        counts = counts.columns(names)
        return counts.rows(names) if self.seen_columns is None else counts
