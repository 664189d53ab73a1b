"""The label matrix of the whole library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import state_matrix
from labelgap.labels._label_encodings import Encodings
from labelgap.labels.states import (
    ImplicitName,
    State,
    ZerosName,
    check_names,
    implicit_state,
    same_names,
    texts_of_names,
    zero_state,
)


class Labels(Encodings):
    """A label matrix (rows x labels) in which entries may be missing.

    Every entry is in one :class:`State`: relevant (1), irrelevant (0), unknown (not annotated) or
    unlabeled (a zero of positive-only data, which may be a missing label). One sparse matrix
    stores codes; :attr:`implicit` says what all other entries mean, so that mostly-zero,
    mostly-unknown and positive-only labels are equally small and never have to be dense.

    Instances are immutable and behave as an array of rows: give them as ``y`` to
    :func:`sklearn.model_selection.train_test_split`, ``KFold``, ``cross_validate``,
    ``GridSearchCV`` and pipelines; they keep their gaps, names and storage on the way.

    Parameters
    ----------
    entries : sparse matrix of shape (n_samples, n_labels)
        State codes of the stored entries.
    implicit : State or {"negative", "unknown", "unlabeled"}, default=State.NEGATIVE
        What the entries that are not stored mean.
    names : sequence of length n_labels, default=None
        Label names.
    unseen : bool array of shape (n_labels,), default=None
        Labels that no row could carry (known only through co-occurrence counts, for example):
        all their entries are unknown and none may be stored.

    Attributes
    ----------
    texts : ndarray of shape (n_labels,) or None
        Definitions of the labels, see :meth:`with_text`.

    See Also
    --------
    labelgap.as_labels : accepts whatever encoding you have.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import Labels
    >>> labels = Labels.from_dense([[1, 0, np.nan], [0, 1, 1]], names=["a", "b", "c"])
    >>> labels.n_observed(axis=0)
    array([2, 2, 1])
    >>> labels[1:, [0, 2]].to_dense()
    array([[0., 1.]])
    """

    # numpy must not take over comparisons and arithmetic by densifying
    __array_ufunc__ = None

    def __init__(
        self,
        entries: Any,
        implicit: State | ImplicitName = State.NEGATIVE,
        names: Sequence | np.ndarray | None = None,
        unseen: Any = None,
    ) -> None:
        state = implicit_state("implicit", implicit)
        matrix = state_matrix.check_entries(entries)
        self.entries: sparse.csr_array = state_matrix.select(matrix, matrix.data != state)
        self.implicit: State = state
        self.names: np.ndarray | None = check_names(names, matrix.shape[1])
        self.unseen: np.ndarray = state_matrix.check_unseen(unseen, self.entries)
        self.texts: np.ndarray | None = None
        self._by_column: sparse.csc_array | None = None

    @classmethod
    def concatenate(cls, parts: Sequence[Labels]) -> Labels:
        """Return the rows of several label matrices, one below the other."""
        if not parts:
            raise ValueError("parts is empty: give at least one label matrix")
        first = parts[0]
        for position, part in enumerate(parts):
            if part.n_labels != first.n_labels or not np.array_equal(part.unseen, first.unseen):
                raise ValueError(f"parts[{position}] has other labels than parts[0]")
            if not same_names(part.names, first.names):
                raise ValueError(f"parts[{position}] has other label names than parts[0]")
        entries = [part.with_implicit(first.implicit).entries for part in parts]
        return first._like(sparse.vstack(entries, format="csr"))

    # -- what scikit-learn and numpy ask ----------------------------------------------------

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape

    @property
    def n_samples(self) -> int:
        return self.entries.shape[0]

    @property
    def n_labels(self) -> int:
        return self.entries.shape[1]

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, key: Any) -> Labels:
        """Return rows, or ``[rows, columns]``; the result always has two dimensions."""
        rows, columns = state_matrix.split_key(key)
        entries = self.entries
        if rows is not None:
            entries = entries[state_matrix.as_index(rows, self.n_samples, "row")]
        if columns is None:
            return self._like(entries)
        columns = state_matrix.as_index(columns, self.n_labels, "label")
        unseen = self.unseen[columns]
        names = None if self.names is None else check_names(self.names[columns], len(unseen))
        texts = None if self.texts is None else self.texts[columns]
        return self._like(entries[:, columns], names=names, unseen=unseen, texts=texts)

    def __repr__(self) -> str:
        unknown = self.n_samples * self.n_labels - self.n_observed(unlabeled=True)
        parts = [
            f"{self.n_samples} rows x {self.n_labels} labels",
            f"{self.n_positives()} relevant",
        ]
        if unknown:
            parts.append(f"{unknown} unknown")
        if self.unlabeled:
            parts.append("zeros unlabeled")
        if self.unseen.any():
            parts.append(f"{int(self.unseen.sum())} labels unseen")
        return f"<Labels: {', '.join(parts)}>"

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_by_column": None}

    # -- what the entries say ----------------------------------------------------------------

    @property
    def unlabeled(self) -> bool:
        """Whether any entry is an unlabeled zero."""
        stored = self._count(State.UNLABELED)
        return bool(stored) or (self.implicit is State.UNLABELED and self._n_unstored() > 0)

    @property
    def has_unknown(self) -> bool:
        """Whether any entry is unknown."""
        stored = self._count(State.UNKNOWN)
        return bool(stored) or (self.implicit is State.UNKNOWN and self._n_unstored() > 0)

    @property
    def has_gaps(self) -> bool:
        """Whether any entry is unknown or unlabeled."""
        return self.has_unknown or self.unlabeled

    def positives(self) -> sparse.csr_array:
        """Return the relevant entries as a boolean sparse array."""
        return self.where(State.RELEVANT)

    def observed(self, *, unlabeled: bool = False) -> sparse.csr_array:
        """Return the entries known to be 1 or 0 as a boolean sparse array.

        With ``unlabeled=True`` unlabeled zeros count as observed. When most entries are observed
        the result has about n_samples x n_labels entries; :meth:`where` with ``State.UNKNOWN`` is
        then the small one.
        """
        states = [State.RELEVANT, State.NEGATIVE, *([State.UNLABELED] if unlabeled else [])]
        return self.where(*states)

    def where(self, *states: State) -> sparse.csr_array:
        """Return the entries in any of the given states as a boolean sparse array.

        Unstored and unseen entries are written out one by one; beyond 2**30 entries that is
        refused, before any memory is used.
        """
        entries = self.entries
        keep = np.isin(entries.data, states)
        ones = np.ones(entries.nnz, dtype=bool)
        columns = np.zeros(self.n_labels, dtype=bool)
        if self.implicit in states:
            columns |= ~self.unseen
        if State.UNKNOWN in states:
            columns |= self.unseen
        if not columns.any():
            return state_matrix.select(entries, keep, ones)
        unstored = self.n_samples * int(columns.sum()) - int(
            np.count_nonzero(columns[entries.indices])
        )
        state_matrix.refuse_large(int(keep.sum()) + unstored, "the entries in this state")
        return state_matrix.fill(entries, keep, ones, columns, True)

    def n_positives(self, axis: int | None = None) -> Any:
        """Count the relevant entries; per label with ``axis=0``, per row with ``axis=1``."""
        return self._count(State.RELEVANT, axis)

    def n_observed(self, axis: int | None = None, *, unlabeled: bool = False) -> Any:
        """Count the entries known to be 1 or 0, in all, per label or per row."""
        known = [State.RELEVANT, State.NEGATIVE, *([State.UNLABELED] if unlabeled else [])]
        count = sum(self._count(state, axis) for state in known)
        if self.implicit in known:
            count = count + self._n_unstored(axis)
        return count

    def states(self, rows: Any = None) -> np.ndarray:
        """Return the state codes of some rows (all by default) as a dense int8 array."""
        part = self if rows is None else self[rows]
        dense = np.full(part.shape, int(part.implicit), dtype=np.int8)
        dense[state_matrix.rows_of(part.entries), part.entries.indices] = part.entries.data
        dense[:, part.unseen] = State.UNKNOWN
        return dense

    def column(self, label: int, *, unlabeled: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in which one label is known, and its values there.

        Parameters
        ----------
        label : int
            Position of the label.
        unlabeled : bool, default=True
            Whether an unlabeled zero is returned as a 0 or left out.

        Returns
        -------
        rows : int array
        values : int8 array of 0 and 1
        """
        if not -self.n_labels <= label < self.n_labels:
            raise IndexError(f"label {label} is outside: there are {self.n_labels} labels")
        label = int(label) % self.n_labels
        if self._by_column is None:
            # made once, and not pickled
            self._by_column = self.entries.tocsc()
        by_column = self._by_column
        start, stop = by_column.indptr[label : label + 2]
        rows, codes = by_column.indices[start:stop], by_column.data[start:stop]
        known = [State.RELEVANT, State.NEGATIVE, *([State.UNLABELED] if unlabeled else [])]
        if self.implicit in known and not self.unseen[label]:
            full = np.full(self.n_samples, int(self.implicit), dtype=np.int8)
            full[rows] = codes
            rows, codes = np.arange(self.n_samples), full
        keep = np.isin(codes, known)
        return rows[keep].astype(np.intp), (codes[keep] == State.RELEVANT).astype(np.int8)

    def equals(self, other: Labels) -> bool:
        """Return whether every entry, name and unseen label is the same, however it is stored."""
        return (
            self.shape == other.shape
            and np.array_equal(self.unseen, other.unseen)
            and same_names(self.names, other.names)
            and state_matrix.same_entries(self, other)
        )

    # -- other labels from these --------------------------------------------------------------

    def hide(self, rows: Any, columns: Any) -> Labels:
        """Return the same labels with the entries at these coordinates unknown."""
        return self.with_entries(rows, columns, State.UNKNOWN)

    def with_entries(self, rows: Any, columns: Any, states: Any) -> Labels:
        """Return the same labels with other states (one, or one per coordinate) at coordinates."""
        return self._like(state_matrix.overwrite(self, rows, columns, states))

    def with_implicit(self, implicit: State | ImplicitName) -> Labels:
        """Return the same entries in other storage: those in this state are not stored."""
        state = implicit_state("implicit", implicit)
        if state is self.implicit:
            return self
        return self._like(state_matrix.restore(self, state), implicit=state)

    def with_zeros(self, zeros: ZerosName) -> Labels:
        """Return the same labels with every zero known ("negative") or every zero unlabeled."""
        new = zero_state(zeros)
        old = State.UNLABELED if new is State.NEGATIVE else State.NEGATIVE
        implicit = new if self.implicit is old else self.implicit
        codes = np.where(self.entries.data == old, np.int8(new), self.entries.data)
        return self._like(
            state_matrix.select(self.entries, codes != implicit, codes), implicit=implicit
        )

    def with_names(self, names: Sequence | np.ndarray | None) -> Labels:
        """Return the same labels under other names."""
        return self._like(self.entries, names=check_names(names, self.n_labels))

    def with_columns(self, names: Sequence | np.ndarray, *, absent: str = "error") -> Labels:
        """Return the same labels in the order of ``names``.

        Parameters
        ----------
        names : sequence
            Names of labels. A label that these rows do not mention has the implicit state in all of
            them.
        absent : {"error", "drop", "unseen"}, default="error"
            "error" refuses labels that are not among ``names``, and "drop" leaves them out. "unseen"
            leaves them out as well, and marks labels that these rows do not mention as unseen.

        Returns
        -------
        Labels

        Examples
        --------
        >>> from labelgap import Labels
        >>> Labels.from_tag_sets([{"sky"}, {"sea"}]).with_columns(["sky", "land", "sea"]).to_dense()
        array([[1., 0., 0.],
               [0., 0., 1.]])
        """
        if self.names is None:
            raise ValueError("these labels have no names: give them with with_names")
        if same_names(self.names, check_names(names, len(names))):
            return self
        target = {name: j for j, name in enumerate(names)}
        columns = np.array([target.get(name, -1) for name in self.names], dtype=np.int64)
        strangers = np.flatnonzero(columns < 0)
        if strangers.size and absent == "error":
            raise ValueError(
                f"label {self.names[strangers[0]]!r} is not among the {len(names)} known labels; "
                "leave it out, or learn it first"
            )
        moved = columns[self.entries.indices]
        keep, rows = moved >= 0, state_matrix.rows_of(self.entries)
        entries = sparse.csr_array(
            (self.entries.data[keep], (rows[keep], moved[keep])), (self.n_samples, len(names))
        )
        unseen = np.full(len(names), absent == "unseen")
        unseen[columns[columns >= 0]] = self.unseen[columns >= 0]
        return Labels(entries, self.implicit, names=names, unseen=unseen)

    def with_text(self, texts: Sequence[str] | Mapping[Any, str] | None) -> Labels:
        """Return the same labels with a text each, such as a definition.

        What learns from texts uses them in place of the names.

        Parameters
        ----------
        texts : sequence of n_labels texts, mapping from names to texts, or None
            A mapping may leave labels out, which then have their name; None removes the texts.

        Examples
        --------
        >>> from labelgap import Labels
        >>> labels = Labels.from_dense([[1, 0]], names=["use::chat", "use::edit"])
        >>> list(labels.with_text({"use::chat": "Talking to people"}).texts)
        ['Talking to people', None]
        """
        return self._like(self.entries, texts=texts_of_names(texts, self.names, self.n_labels))

    def with_unseen(self, unseen: Any) -> Labels:
        """Return the same labels with more columns unseen; what was stored there is dropped.

        Parameters
        ----------
        unseen : bool array of shape (n_labels,) or positions of labels
            The columns.
        """
        mask = self.unseen.copy()
        mask[state_matrix.as_index(unseen, self.n_labels, "label")] = True
        keep = ~mask[self.entries.indices]
        return self._like(state_matrix.select(self.entries, keep), unseen=mask)

    def compact(self) -> Labels:
        """Return the same labels in the storage with the fewest stored entries."""
        return self.with_implicit(state_matrix.most_common_implicit(self))

    # -- internals ------------------------------------------------------------------------------

    def _like(self, entries: sparse.csr_array, **changes: Any) -> Labels:
        """Skips the validation of the public constructor: the entries are known to be good."""
        new = object.__new__(type(self))
        new.entries = state_matrix.canonical(entries)
        new.implicit = changes.get("implicit", self.implicit)
        new.names = changes.get("names", self.names)
        new.unseen = changes.get("unseen", self.unseen)
        new.texts = changes.get("texts", self.texts)
        new._by_column = None
        return new

    def _count(self, state: State, axis: int | None = None) -> Any:
        """Entries stored in one state, and those of unseen labels for "unknown"."""
        if axis not in (None, 0, 1):
            raise ValueError(f"axis={axis!r}: use 0 (per label), 1 (per row) or None (in all)")
        stored = self.entries.data == state
        unseen = self.unseen & (state is State.UNKNOWN)
        if axis is None:
            return int(np.count_nonzero(stored)) + self.n_samples * int(unseen.sum())
        if axis == 0:
            count = np.bincount(self.entries.indices[stored], minlength=self.n_labels)
            return count + unseen * self.n_samples
        before = np.concatenate([[0], np.cumsum(stored)])
        return np.diff(before[self.entries.indptr]) + int(unseen.sum())

    def _n_unstored(self, axis: int | None = None) -> Any:
        """Entries that are not stored, outside the unseen columns."""
        seen = self.n_labels - int(self.unseen.sum())
        if axis is None:
            return self.n_samples * seen - self.entries.nnz
        if axis == 1:
            return seen - np.diff(self.entries.indptr)
        stored = np.bincount(self.entries.indices, minlength=self.n_labels)
        return np.where(self.unseen, 0, self.n_samples - stored)
