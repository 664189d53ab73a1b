"""Counts from what the labels were given to: rows, streams of items, tables of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from labelgap.cooccurrence._as_cooccurrence import read_numbers
from labelgap.cooccurrence._cooccurrence import Cooccurrence, positions, unique_names
from labelgap.labels import Labels, as_labels
from labelgap.labels.states import is_missing, object_array, read_ids, sorted_names
from labelgap.memory import block_size


def cooccurrence_matrix(labels: Labels, seen: Any = None) -> sparse.csr_array:
    """Return in how many rows two labels are both relevant.

    Parameters
    ----------
    labels : Labels
        Entries that are not known to be relevant do not count.
    seen : int array, default=None
        The labels that make the rows of the result; all by default.

    Returns
    -------
    csr_array of int64, shape (n_seen, n_labels)
        ``M[a, b] = sum_n y[n, seen[a]] y[n, b]``. The diagonal (``b == seen[a]``) holds the
        number of items of each label.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.cooccurrence import cooccurrence_matrix
    >>> cooccurrence_matrix(as_labels([[1, 1], [1, 0]])).toarray()
    array([[2, 1],
           [1, 1]])
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
    seen : sequence, default=None
        The seen labels, by name; by position for a matrix without names. By default all labels,
        less those that :class:`labelgap.Labels` marks as unseen; for a table of pairs those of
        its first column.
    all_labels : sequence, default=None
        The labels to count, in the order of the columns; other tags are passed over. By default
        all there are, sorted for tags.
    pairs : tuple of three column names, default=None
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

    See Also
    --------
    as_cooccurrence : Reads counts that you have.

    Examples
    --------
    >>> from labelgap.cooccurrence import count_cooccurrence
    >>> counts = count_cooccurrence([{"sea", "beach"}, {"sea"}], seen=["sea"])
    >>> counts.names.tolist(), counts.dense().tolist()
    (['beach', 'sea'], [[1.0, 2.0]])
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
    return Cooccurrence(cooccurrence_matrix(labels, rows), rows, labels.names)


# -- streams of items ---------------------------------------------------------------------------


def _count_stream(corpus: Iterable, seen: Any, all_labels: Any) -> Cooccurrence:
    if isinstance(corpus, (str, bytes)) or not isinstance(corpus, Iterable):
        raise TypeError(
            f"corpus: expected labels, a matrix, a table or an iterable of collections of tags, "
            f"got {type(corpus).__name__}"
        )
    counter = _StreamCounter(seen, all_labels)
    for item, tags in enumerate(corpus):
        if not is_missing(tags):
            counter.add(item, tags)
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

    def add(self, item: int, tags: Any) -> None:
        if isinstance(tags, (str, bytes)):
            raise ValueError(
                f"corpus[{item}] = {tags!r} is a string, not a collection of tags: split it "
                "first, for example tags.split(',')"
            )
        try:
            columns = self._columns(set(tags))
        except TypeError as error:
            raise ValueError(
                f"corpus[{item}] = {tags!r} is not a collection of tags: give a set or list of "
                "hashable tags, or None for an item nobody looked at"
            ) from error
        self.waiting.append(columns)
        self.n_waiting += len(columns)
        if self.n_waiting >= block_size(1, fraction=1 / 128):
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
        every = object_array(self.column_of)
        seen = np.arange(every.size) if self.seen_columns is None else self.seen_columns
        counts = Cooccurrence(self.counts, seen, every)
        if not self.is_open:
            return counts
        names = sorted_names(set(every))
        counts = counts.columns(names)
        return counts.rows(names) if self.seen_columns is None else counts


# -- tables of pairs ------------------------------------------------------------------------------


def count_pairs(
    table: Any, pairs: tuple[Any, Any, Any], seen: Any, all_labels: Any, directional: bool
) -> Cooccurrence:
    """Return counts from a long table with a line per pair of labels."""
    left, right, counts = _pair_columns(table, pairs)
    if all_labels is None:
        all_labels = sorted_names({*left, *right, *(() if seen is None else seen)})
    names = unique_names("all_labels", all_labels)
    column_of = {name: column for column, name in enumerate(names)}
    if seen is None:
        seen = [label for label in dict.fromkeys(left) if label in column_of]
    rows = positions(seen, names, "seen")
    kept = [k for k in range(len(left)) if left[k] in column_of and right[k] in column_of]
    first = np.array([column_of[left[k]] for k in kept], dtype=np.int64)
    second = np.array([column_of[right[k]] for k in kept], dtype=np.int64)
    values = counts[kept]
    n = len(names)
    if not directional:
        one_way = ~np.isin(second * n + first, first * n + second)
        mirrored = second[one_way], first[one_way]
        first, second = np.append(first, mirrored[0]), np.append(second, mirrored[1])
        values = np.append(values, values[one_way])
    square = sparse.csr_array((values, (first, second)), shape=(n, n))
    no_diagonal = np.flatnonzero(~np.isin(rows, first[first == second]))
    gaps = (np.ones(no_diagonal.size, dtype=bool), (no_diagonal, rows[no_diagonal]))
    missing = sparse.csr_array(gaps, shape=(len(rows), n))
    return Cooccurrence(square[rows], rows, names, missing)


def _pair_columns(table: Any, pairs: tuple[Any, Any, Any]) -> tuple[list, list, np.ndarray]:
    if not (hasattr(table, "columns") or hasattr(table, "column_names")):
        raise TypeError(
            f"corpus: pairs= names columns of a table, got {type(table).__name__}; give a pandas, "
            "polars or pyarrow table"
        )
    frame = nw.from_native(table, eager_only=True)
    if len(pairs) != 3 or any(name not in frame.columns for name in pairs):
        raise ValueError(
            f"pairs={pairs!r}: name the columns of label, other label and count; the table has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    left, right = (read_ids(frame[name].to_list(), "label") for name in pairs[:2])
    column = np.empty((len(left), 1), dtype=object)
    column[:, 0] = frame[pairs[2]].to_list()
    counts = read_numbers(column, lambda line, _: f"line {line}")[:, 0]
    _check_lines(left, right, counts)
    return left, right, counts


def _check_lines(left: list, right: list, counts: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        good = np.isnan(counts) | ((counts >= 0) & (counts < np.inf) & (counts % 1 == 0))
    bad = np.flatnonzero(~good)
    if bad.size:
        line = int(bad[0])
        raise ValueError(
            f"line {line} of the pairs, {left[line]!r} with {right[line]!r}: {counts[line]:g} is "
            "not a count; counts are 0, 1, 2, ..., and null where nobody counted"
        )
