"""The obvious label matrix: a dense array of state codes, and strategies that draw one."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from labelgap import Labels, State

IMPLICIT = (State.NEGATIVE, State.UNKNOWN, State.UNLABELED)


class DenseStates:
    """Every query of :class:`labelgap.Labels`, written on a dense array of codes."""

    def __init__(self, codes: np.ndarray) -> None:
        self.codes = codes

    def where(self, *states: State) -> np.ndarray:
        return np.isin(self.codes, states)

    def observed(self, unlabeled: bool) -> np.ndarray:
        extra = [State.UNLABELED] if unlabeled else []
        return self.where(State.RELEVANT, State.NEGATIVE, *extra)

    def n_observed(self, axis, unlabeled: bool):
        return self.observed(unlabeled).sum(axis=axis)

    def n_positives(self, axis):
        return self.where(State.RELEVANT).sum(axis=axis)

    def column(self, j: int, unlabeled: bool):
        rows = np.flatnonzero(self.observed(unlabeled)[:, j])
        return rows, (self.codes[rows, j] == State.RELEVANT).astype(int)

    def dense(self, unknown, unlabeled) -> np.ndarray:
        value = {1: 1.0, 2: 0.0, 3: unknown, 4: unlabeled}
        return np.array([[value[int(c)] for c in row] for row in self.codes]).reshape(
            self.codes.shape
        )


def store(codes: np.ndarray, implicit: State, unseen: np.ndarray, names=None) -> Labels:
    """Labels with these codes, built through the public constructor alone."""
    stored = np.where((codes == implicit) | unseen, 0, codes)
    return Labels(sparse.csr_array(stored), implicit, names=names, unseen=unseen)


@st.composite
def label_cases(draw, states=tuple(State), with_unseen: bool = True, max_rows=7, max_labels=6):
    """A pair (codes, labels) that say the same, in any storage."""
    shape = (draw(st.integers(0, max_rows)), draw(st.integers(1, max_labels)))
    codes = draw(hnp.arrays(np.int8, shape, elements=st.sampled_from([int(s) for s in states])))
    unseen = np.zeros(shape[1], dtype=bool)
    if with_unseen:
        unseen = draw(hnp.arrays(bool, shape[1], elements=st.sampled_from([False, False, True])))
        codes[:, unseen] = State.UNKNOWN
    named = draw(st.booleans())
    names = [f"label {j}" for j in range(shape[1])] if named else None
    implicit = draw(st.sampled_from(IMPLICIT))
    return codes, store(codes, implicit, unseen, names)


def assert_canonical(labels: Labels) -> None:
    """The invariants that every operation must keep."""
    entries = labels.entries
    assert entries.dtype == np.int8
    assert np.isin(entries.data, [int(state) for state in State]).all()
    assert not (entries.data == labels.implicit).any()
    assert not labels.unseen[entries.indices].any()
    keys = np.repeat(np.arange(labels.n_samples), np.diff(entries.indptr)) * max(labels.n_labels, 1)
    assert (np.diff(keys + entries.indices) > 0).all()


def assert_says(labels: Labels, codes: np.ndarray) -> None:
    assert_canonical(labels)
    assert labels.shape == codes.shape
    np.testing.assert_array_equal(labels.states(), codes)
