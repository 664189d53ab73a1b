"""What a protocol gives back: labels with gaps, and the truth behind the gaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels import Labels, State
from labelgap.views import Views

_Coordinates = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class HiddenEntries:
    """Hold labels of which some entries were hidden, and what they were.

    Attributes
    ----------
    labels : Labels
        What a learner may see.
    truth : Labels
        The target for scoring recovery: the true state of every entry that a learner has to
        predict, and unknown for everything it was shown. Metrics skip unknown entries, so
        ``metric(hidden.truth, scores)`` scores the hidden entries and nothing else.
    traceless : bool
        Whether hidden entries look like zeros. Then the truth covers all zeros, since finding
        the hidden ones among them is the task; ``rows`` and ``cols`` list the hidden ones only.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_entries
    >>> hidden = hide_entries(as_labels([[1, 0], [0, 1], [1, 1]]), 0.5, random_state=0)
    >>> hidden.n_hidden == len(hidden.rows)
    True
    """

    labels: Labels
    truth: Labels
    traceless: bool = False

    @cached_property
    def _coordinates(self) -> _Coordinates:
        truth = self.truth
        hidden = truth.positives() if self.traceless else truth.observed(unlabeled=True)
        return coordinates(hidden)

    @property
    def rows(self) -> np.ndarray:
        """Row of each hidden entry."""
        return self._coordinates[0]

    @property
    def cols(self) -> np.ndarray:
        """Label (column) of each hidden entry."""
        return self._coordinates[1]

    @cached_property
    def values(self) -> np.ndarray:
        """True value of each hidden entry: 1 or 0."""
        return (states_at(self.truth, self.rows, self.cols) == State.RELEVANT).astype(np.int8)

    @property
    def n_hidden(self) -> int:
        """Number of hidden entries."""
        if self.traceless:
            return self.truth.n_positives()
        return self.truth.n_observed(unlabeled=True)

    def restore(self) -> Labels:
        """The labels with every hidden entry put back."""
        return overlay(self.labels, self.truth)


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenLabels(HiddenEntries):
    """Hold labels of which whole columns were hidden, with the counts that connect them.

    Attributes
    ----------
    seen, unseen : int arrays
        The columns that kept their entries, and those that were hidden (or unseen before).
    cooccurrence : csr_array of shape (n_seen, n_labels)
        Number of rows in which a seen label (in the order of ``seen``) and any label are both
        relevant, counted before hiding. The diagonal counts the rows of each seen label.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> from labelgap.protocols import hide_labels
    >>> hidden = hide_labels(as_labels([[1, 0, 1], [0, 1, 1], [1, 1, 0]]), 1 / 3, random_state=0)
    >>> hidden.cooccurrence.shape
    (2, 3)
    """

    seen: np.ndarray
    unseen: np.ndarray
    cooccurrence: sparse.csr_array


@dataclass(frozen=True, eq=False)
class HiddenViews:
    """Hold features of which some rows lost some views, and what they were.

    Attributes
    ----------
    X : array or csr_array of shape (n_samples, n_features)
        What a learner may see, with removed views marked as in :mod:`labelgap.views`.
    views : Views
    removed : bool array of shape (n_samples, n_views)
        The views that were removed here; views absent before are not among them.
    blocks : dict from view name to array
        The removed rows of each view, in the order of ``np.flatnonzero(removed[:, view])``.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.generators import make_views
    >>> made = make_views(50, (3, 4), 5, random_state=0)
    >>> np.isnan(made.hidden_views.restore()).any()
    np.False_
    """

    X: Any
    views: Views
    removed: np.ndarray
    blocks: dict[str, Any]

    def restore(self) -> Any:
        """The features with every removed view put back."""
        X = self.X.tolil(copy=True) if sparse.issparse(self.X) else self.X.copy()
        for position, (name, columns) in enumerate(self.views.items()):
            rows = np.flatnonzero(self.removed[:, position])
            if rows.size:
                X[rows, columns] = self.blocks[name]
        return sparse.csr_array(X) if sparse.issparse(X) else X


def coordinates(matrix: sparse.csr_array) -> _Coordinates:
    """Row and column of each stored entry, in row-major order."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return rows, matrix.indices.astype(np.int64)


def states_at(labels: Labels, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """State codes at coordinates."""
    stored_rows, stored_cols = coordinates(labels.entries)
    stored = stored_rows * labels.n_labels + stored_cols
    wanted = np.asarray(rows, dtype=np.int64) * labels.n_labels + cols
    codes = np.where(labels.unseen[cols], State.UNKNOWN, labels.implicit).astype(np.int8)
    if stored.size:
        at = np.minimum(np.searchsorted(stored, wanted), stored.size - 1)
        codes = np.where(stored[at] == wanted, labels.entries.data[at], codes)
    return codes


def overlay(below: Labels, above: Labels) -> Labels:
    """What ``above`` knows, and ``below`` where it does not."""
    stored = below.entries.astype(bool) + above.entries.astype(bool)
    rows, cols = coordinates(stored)
    codes = states_at(above, rows, cols)
    codes = np.where(codes == State.UNKNOWN, states_at(below, rows, cols), codes)
    entries = sparse.csr_array((codes, stored.indices, stored.indptr), shape=below.shape)
    implicit = below.implicit if above.implicit is State.UNKNOWN else above.implicit
    return Labels(entries, implicit, names=below.names, unseen=below.unseen & above.unseen)


def hidden_as_unknown(labels: Labels, rows: np.ndarray, cols: np.ndarray) -> HiddenEntries:
    """Make known entries, each given once, unknown and keep their states."""
    # sums and products of sparse matrices take linear time; sorting coordinates would not
    ones = np.ones(rows.size, dtype=np.int8)
    hidden = sparse.coo_array((ones, (rows, cols)), shape=labels.shape).tocsr()
    stated = labels.entries * hidden
    offset = stated.copy()
    offset.data -= np.int8(labels.implicit)
    truth = hidden * np.int8(labels.implicit) + offset
    shown = labels.entries - stated
    if labels.implicit is not State.UNKNOWN:
        shown = shown + hidden * np.int8(State.UNKNOWN)
    common = {"names": labels.names, "unseen": labels.unseen}
    return HiddenEntries(
        Labels(shown, labels.implicit, **common).compact(), Labels(truth, State.UNKNOWN, **common)
    )
