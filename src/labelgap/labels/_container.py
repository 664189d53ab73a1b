"""The label matrix of the whole library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import _checks, _csr, _export, _storage
from labelgap.labels._encodings import Encodings
from labelgap.labels._states import State, UnstatedName, ZerosName, unstated_state, zero_state


class Labels(Encodings):
    """A label matrix (rows x labels) in which entries may be missing.

    Every entry is in one :class:`State`: relevant (1), irrelevant (0), unknown (nobody looked) or
    ambiguous (0-or-unknown, the zeros of positive-only data). The *stated* entries are stored as
    one sparse matrix of codes; :attr:`unstated` says what all others mean, so that mostly-zero,
    mostly-unknown and positive-only labels are equally small and nothing has to be densified.

    Instances are immutable and behave as an array of rows: they can be given as ``y`` to
    :func:`sklearn.model_selection.train_test_split`, ``KFold``, ``cross_validate``,
    ``GridSearchCV`` and pipelines, and keep their gaps, names and storage on the way.

    Parameters
    ----------
    entries : sparse matrix of shape (n_rows, n_labels)
        State codes of the stated entries.
    unstated : State or {"irrelevant", "unknown", "ambiguous"}
        What the entries that are not stored mean.
    names : sequence of length n_labels, optional
        Label names.
    unseen : bool array of shape (n_labels,), optional
        Labels that no row could carry (known only through co-occurrence counts, for example):
        all their entries are unknown and none may be stored.

    See Also
    --------
    labelgap.as_labels : accepts whatever encoding the user has.
    """

    # numpy must not take over comparisons and arithmetic by densifying
    __array_ufunc__ = None

    def __init__(
        self,
        entries: Any,
        unstated: State | UnstatedName = State.IRRELEVANT,
        names: Sequence | np.ndarray | None = None,
        unseen: Any = None,
    ) -> None:
        state = unstated_state("unstated", unstated)
        matrix = _checks.check_entries(entries)
        self.entries: sparse.csr_array = _csr.select(matrix, matrix.data != state)
        self.unstated: State = state
        self.names: np.ndarray | None = _checks.check_names(names, matrix.shape[1])
        self.unseen: np.ndarray = _checks.check_unseen(unseen, self.entries)
        self._by_column: sparse.csc_array | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Labels]) -> Labels:
        """The rows of several label matrices, one below the other."""
        if not parts:
            raise ValueError("parts is empty: give at least one label matrix")
        first = parts[0]
        for position, part in enumerate(parts):
            if part.n_labels != first.n_labels or not np.array_equal(part.unseen, first.unseen):
                raise ValueError(f"parts[{position}] has other labels than parts[0]")
            if not _checks.same_names(part.names, first.names):
                raise ValueError(f"parts[{position}] has other label names than parts[0]")
        entries = [part.with_unstated(first.unstated).entries for part in parts]
        return first._like(sparse.vstack(entries, format="csr"))

    # -- what scikit-learn and numpy ask ----------------------------------------------------

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape

    @property
    def n_rows(self) -> int:
        return self.entries.shape[0]

    @property
    def n_labels(self) -> int:
        return self.entries.shape[1]

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, key: Any) -> Labels:
        """Rows, or ``[rows, columns]``; the result always has two dimensions."""
        rows, columns = _checks.split_key(key)
        entries = self.entries
        if rows is not None:
            entries = entries[_checks.as_index(rows, self.n_rows, "row")]
        if columns is None:
            return self._like(entries)
        columns = _checks.as_index(columns, self.n_labels, "label")
        unseen = self.unseen[columns]
        names = (
            None if self.names is None else _checks.check_names(self.names[columns], len(unseen))
        )
        return self._like(entries[:, columns], names=names, unseen=unseen)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Dense int8 array of 1 and 0, or of a float type with NaN for unknown.

        Refused for an integer type when entries are unknown: any number would be read as a class.
        As ``object`` the labels are one object, an array without dimensions. scikit-learn falls
        back on that when it asks for the type of a target, finds it "unknown", takes ``KFold`` for
        a number of folds, and refuses to compute its own metrics.
        """
        if copy is False:
            raise ValueError("labels are stored sparsely: a dense array is always a copy")
        return _export.as_array(self, dtype)

    def __repr__(self) -> str:
        unknown = self.n_rows * self.n_labels - self.n_observed(ambiguous=True)
        parts = [f"{self.n_rows} rows x {self.n_labels} labels", f"{self.n_positives()} relevant"]
        if unknown:
            parts.append(f"{unknown} unknown")
        if self.ambiguous:
            parts.append("zeros ambiguous")
        if self.unseen.any():
            parts.append(f"{int(self.unseen.sum())} labels unseen")
        return f"<Labels: {', '.join(parts)}>"

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_by_column": None}

    # -- what the entries say ----------------------------------------------------------------

    @property
    def ambiguous(self) -> bool:
        """Whether any entry is an ambiguous zero."""
        stored = self._count(State.AMBIGUOUS)
        return bool(stored) or (self.unstated is State.AMBIGUOUS and self._n_unstored() > 0)

    @property
    def has_unknown(self) -> bool:
        """Whether any entry is unknown."""
        stored = self._count(State.UNKNOWN)
        return bool(stored) or (self.unstated is State.UNKNOWN and self._n_unstored() > 0)

    @property
    def has_gaps(self) -> bool:
        """Whether any entry is unknown or ambiguous."""
        return self.has_unknown or self.ambiguous

    def positives(self) -> sparse.csr_array:
        """The relevant entries as a boolean sparse array."""
        return self.where(State.RELEVANT)

    def observed(self, *, ambiguous: bool = False) -> sparse.csr_array:
        """The entries known to be 1 or 0 as a boolean sparse array.

        With ``ambiguous=True`` ambiguous zeros count as observed. When most entries are observed
        the result has about n_rows x n_labels entries; :meth:`where` with ``State.UNKNOWN`` is
        then the small one.
        """
        states = [State.RELEVANT, State.IRRELEVANT, *([State.AMBIGUOUS] if ambiguous else [])]
        return self.where(*states)

    def where(self, *states: State) -> sparse.csr_array:
        """The entries in any of the given states as a boolean sparse array.

        Unstored and unseen entries are written out one by one; beyond 2**30 entries that is
        refused, before any memory is used.
        """
        return _storage.where(self, states)

    def n_positives(self, axis: int | None = None) -> Any:
        """Number of relevant entries; per label with ``axis=0``, per row with ``axis=1``."""
        return self._count(State.RELEVANT, axis)

    def n_observed(self, axis: int | None = None, *, ambiguous: bool = False) -> Any:
        """Number of entries known to be 1 or 0, in all, per label or per row."""
        known = [State.RELEVANT, State.IRRELEVANT, *([State.AMBIGUOUS] if ambiguous else [])]
        count = sum(self._count(state, axis) for state in known)
        if self.unstated in known:
            count = count + self._n_unstored(axis)
        return count

    def states(self, rows: Any = None) -> np.ndarray:
        """Dense int8 array of state codes of some rows (all by default)."""
        part = self if rows is None else self[rows]
        dense = np.full(part.shape, int(part.unstated), dtype=np.int8)
        dense[_csr.rows_of(part.entries), part.entries.indices] = part.entries.data
        dense[:, part.unseen] = State.UNKNOWN
        return dense

    def column(self, label: int, *, ambiguous: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The rows in which one label is known, and its values there.

        Parameters
        ----------
        label : int
        ambiguous : bool
            Whether an ambiguous zero is returned as a 0 or left out.

        Returns
        -------
        rows : int array
        values : int8 array of 0 and 1
        """
        return _storage.column(self, label, ambiguous)

    def equals(self, other: Labels) -> bool:
        """Whether every entry, name and unseen label is the same, however it is stored."""
        return (
            self.shape == other.shape
            and np.array_equal(self.unseen, other.unseen)
            and _checks.same_names(self.names, other.names)
            and _storage.same_entries(self, other)
        )

    # -- other labels from these --------------------------------------------------------------

    def hide(self, rows: Any, columns: Any) -> Labels:
        """The same labels with the entries at these coordinates unknown."""
        return self.with_entries(rows, columns, State.UNKNOWN)

    def with_entries(self, rows: Any, columns: Any, states: Any) -> Labels:
        """The same labels with other states (one, or one per coordinate) at some coordinates."""
        return self._like(_storage.overwrite(self, rows, columns, states))

    def with_unstated(self, unstated: State | UnstatedName) -> Labels:
        """The same entries in other storage: unstored entries are those in this state."""
        state = unstated_state("unstated", unstated)
        if state is self.unstated:
            return self
        return self._like(_storage.restore(self, state), unstated=state)

    def with_zeros(self, zeros: ZerosName) -> Labels:
        """The same labels with every zero known ("irrelevant") or every zero ambiguous."""
        new = zero_state(zeros)
        old = State.AMBIGUOUS if new is State.IRRELEVANT else State.IRRELEVANT
        unstated = new if self.unstated is old else self.unstated
        codes = np.where(self.entries.data == old, np.int8(new), self.entries.data)
        return self._like(_csr.select(self.entries, codes != unstated, codes), unstated=unstated)

    def with_names(self, names: Sequence | np.ndarray | None) -> Labels:
        """The same labels under other names."""
        return self._like(self.entries, names=_checks.check_names(names, self.n_labels))

    def with_unseen(self, unseen: Any) -> Labels:
        """The same labels with more columns unseen; what was stored there is dropped.

        Parameters
        ----------
        unseen : bool array of shape (n_labels,) or positions of labels
        """
        mask = self.unseen.copy()
        mask[_checks.as_index(unseen, self.n_labels, "label")] = True
        keep = ~mask[self.entries.indices]
        return self._like(_csr.select(self.entries, keep), unseen=mask)

    def compact(self) -> Labels:
        """The same labels in the storage with the fewest stated entries."""
        return self.with_unstated(_storage.most_common_unstated(self))

    # -- internals ------------------------------------------------------------------------------

    def _columns(self) -> sparse.csc_array:
        """The entries by column; made once, and not pickled."""
        if self._by_column is None:
            self._by_column = self.entries.tocsc()
        return self._by_column

    def _like(self, entries: sparse.csr_array, **changes: Any) -> Labels:
        """Skips the validation of the public constructor: the entries are known to be good."""
        new = object.__new__(type(self))
        new.entries = _csr.canonical(entries)
        new.unstated = changes.get("unstated", self.unstated)
        new.names = changes.get("names", self.names)
        new.unseen = changes.get("unseen", self.unseen)
        new._by_column = None
        return new

    def _count(self, state: State, axis: int | None = None) -> Any:
        """Entries stored in one state, and those of unseen labels for "unknown"."""
        _check_axis(axis)
        stored = self.entries.data == state
        unseen = self.unseen & (state is State.UNKNOWN)
        if axis is None:
            return int(np.count_nonzero(stored)) + self.n_rows * int(unseen.sum())
        if axis == 0:
            count = np.bincount(self.entries.indices[stored], minlength=self.n_labels)
            return count + unseen * self.n_rows
        before = np.concatenate([[0], np.cumsum(stored)])
        return np.diff(before[self.entries.indptr]) + int(unseen.sum())

    def _n_unstored(self, axis: int | None = None) -> Any:
        """Entries that are not stored, outside the unseen columns."""
        _check_axis(axis)
        seen = self.n_labels - int(self.unseen.sum())
        if axis is None:
            return self.n_rows * seen - self.entries.nnz
        if axis == 1:
            return seen - np.diff(self.entries.indptr)
        stored = np.bincount(self.entries.indices, minlength=self.n_labels)
        return np.where(self.unseen, 0, self.n_rows - stored)


def _check_axis(axis: int | None) -> None:
    if axis not in (None, 0, 1):
        raise ValueError(f"axis={axis!r}: use 0 (per label), 1 (per row) or None (in all)")
