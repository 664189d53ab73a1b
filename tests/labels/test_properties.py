"""Every query and every operation agrees with a dense array of states, in every storage."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgap import Labels, State
from reference.label_states import (
    IMPLICIT,
    DenseStates,
    assert_canonical,
    assert_says,
    label_cases,
    store,
)


@given(label_cases())
def test_states_and_shape(case):
    codes, labels = case
    assert_says(labels, codes)
    assert (len(labels), labels.n_samples, labels.n_labels) == (len(codes), *codes.shape)
    assert labels.ndim == 2


@given(label_cases(), st.booleans(), st.sampled_from([None, 0, 1]))
def test_counts(case, unlabeled, axis):
    codes, labels = case
    model = DenseStates(codes)
    observed = labels.n_observed(axis=axis, unlabeled=unlabeled)
    np.testing.assert_array_equal(observed, model.n_observed(axis, unlabeled))
    np.testing.assert_array_equal(labels.n_positives(axis=axis), model.n_positives(axis))


@given(label_cases(), st.sets(st.sampled_from(list(State)), min_size=1))
def test_where(case, states):
    codes, labels = case
    found = labels.where(*states)
    assert found.dtype == bool
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), DenseStates(codes).where(*states))


@given(label_cases(), st.booleans())
def test_positives_and_observed(case, unlabeled):
    codes, labels = case
    model = DenseStates(codes)
    np.testing.assert_array_equal(labels.positives().toarray(), model.where(State.RELEVANT))
    observed = labels.observed(unlabeled=unlabeled)
    np.testing.assert_array_equal(observed.toarray(), model.observed(unlabeled))


@given(label_cases(), st.booleans())
def test_column(case, unlabeled):
    codes, labels = case
    for j in range(-labels.n_labels, labels.n_labels):
        rows, values = labels.column(j, unlabeled=unlabeled)
        expected_rows, expected = DenseStates(codes).column(j, unlabeled)
        np.testing.assert_array_equal(rows, expected_rows)
        np.testing.assert_array_equal(values, expected)


@given(label_cases())
def test_flags(case):
    codes, labels = case
    assert labels.unlabeled == (codes == State.UNLABELED).any()
    assert labels.has_unknown == (codes == State.UNKNOWN).any()
    assert labels.has_gaps == np.isin(codes, (State.UNKNOWN, State.UNLABELED)).any()


@given(label_cases(), st.sampled_from([np.float64, np.float32]))
def test_dense_export(case, dtype):
    codes, labels = case
    dense = labels.to_dense(unknown=np.nan, unlabeled=0.5, dtype=dtype)
    assert dense.dtype == dtype
    np.testing.assert_array_equal(dense, DenseStates(codes).dense(np.nan, 0.5))


@given(label_cases(), st.sampled_from(IMPLICIT))
def test_other_storage_says_the_same(case, implicit):
    codes, labels = case
    other = labels.with_implicit(implicit)
    assert other.implicit is implicit
    assert_says(other, codes)
    assert labels.equals(other)
    assert other.equals(labels)


@given(label_cases())
def test_compact_stores_least(case):
    codes, labels = case
    compact = labels.compact()
    assert_says(compact, codes)
    assert compact.entries.nnz == min(labels.with_implicit(u).entries.nnz for u in IMPLICIT)


@given(label_cases(), st.data())
def test_equals_sees_every_change(case, data):
    codes, labels = case
    free = np.argwhere(np.broadcast_to(~labels.unseen, codes.shape))
    if not len(free):
        return
    i, j = free[data.draw(st.integers(0, len(free) - 1))]
    changed = codes.copy()
    changed[i, j] = data.draw(st.sampled_from([s for s in State if s != codes[i, j]]))
    other = store(changed, data.draw(st.sampled_from(IMPLICIT)), labels.unseen, labels.names)
    assert not labels.equals(other)
    assert not other.equals(labels)


def test_equals_sees_names_shape_and_unseen():
    labels = Labels.from_dense([[1, 0], [0, 1]])
    assert not labels.equals(labels.with_names(["a", "b"]))
    assert not labels.with_names(["a", "c"]).equals(labels.with_names(["a", "b"]))
    assert not labels.equals(labels[:1])
    assert not labels.with_unseen([0]).equals(labels)


ROW_KEYS = st.one_of(
    st.slices(6),
    st.lists(st.integers(-6, 5), max_size=9),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.integers(-6, 5),
)


@given(st.data(), st.sampled_from(IMPLICIT), ROW_KEYS, st.sampled_from([list, np.array]))
def test_rows(data, implicit, key, container):
    codes, labels = _six_by_five(data, implicit)
    expected = codes[_positions(key, 6)]
    key = container(key) if isinstance(key, list) else key
    assert_says(labels[key], expected)
    assert_says(labels[key, ...], expected)
    assert_says(labels[key, :], expected)
    assert labels[key].names.tolist() == labels.names.tolist()


COLUMN_KEYS = st.one_of(
    st.slices(5),
    st.lists(st.integers(-5, 4), max_size=5, unique_by=lambda j: j % 5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.integers(-5, 4),
)


@given(st.data(), st.sampled_from(IMPLICIT), ROW_KEYS, COLUMN_KEYS)
def test_rows_and_columns(data, implicit, rows, columns):
    codes, labels = _six_by_five(data, implicit)
    at = _positions(columns, 5)
    part = labels[rows, np.array(columns) if isinstance(columns, list) else columns]
    assert_says(part, codes[_positions(rows, 6)][:, at])
    assert part.names.tolist() == labels.names[at].tolist()
    np.testing.assert_array_equal(part.unseen, labels.unseen[at])


def _six_by_five(data, implicit):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    codes = rng.integers(1, 5, size=(6, 5)).astype(np.int8)
    unseen = rng.random(5) < 0.2
    codes[:, unseen] = State.UNKNOWN
    return codes, store(codes, implicit, unseen, list("abcde"))


def _positions(key, size):
    if isinstance(key, list):
        key = np.array(key) if key else np.array(key, dtype=int)
    return np.atleast_1d(np.arange(size)[key])


@given(label_cases(), st.integers(1, 4), st.data())
def test_concatenate_undoes_slicing(case, n_parts, data):
    codes, labels = case
    bounds = np.linspace(0, len(codes), n_parts + 1).astype(int)
    parts = [
        labels[start:stop].with_implicit(data.draw(st.sampled_from(IMPLICIT)))
        for start, stop in itertools.pairwise(bounds)
    ]
    whole = Labels.concatenate(parts)
    assert_says(whole, codes)
    assert whole.equals(labels)


@given(label_cases(with_unseen=False, max_rows=6), st.data())
def test_with_entries(case, data):
    codes, labels = case
    if not codes.size:
        return
    cells = data.draw(st.lists(st.integers(0, codes.size - 1), max_size=8, unique=True))
    states = data.draw(
        st.lists(st.sampled_from(list(State)), min_size=len(cells), max_size=len(cells))
    )
    rows, columns = np.divmod(np.array(cells, dtype=int), codes.shape[1])
    expected = codes.copy()
    expected[rows, columns] = [int(state) for state in states]
    assert_says(labels.with_entries(rows, columns, states), expected)
    expected = codes.copy()
    expected[rows, columns] = State.UNKNOWN
    assert_says(labels.hide(rows, columns), expected)
    assert_says(labels, codes)


@given(label_cases(), st.sampled_from(["negative", "unlabeled"]))
def test_with_zeros(case, zeros):
    codes, labels = case
    state = State[zeros.upper()]
    expected = np.where(np.isin(codes, (State.NEGATIVE, State.UNLABELED)), state, codes)
    assert_says(labels.with_zeros(zeros), expected.astype(np.int8))


@given(label_cases(), st.data())
def test_with_unseen_adds_columns(case, data):
    codes, labels = case
    more = np.array(data.draw(st.lists(st.integers(0, labels.n_labels - 1))), dtype=int)
    changed = labels.with_unseen(more)
    expected = codes.copy()
    expected[:, more] = State.UNKNOWN
    assert_says(changed, expected)
    assert changed.unseen[more].all()
    assert (changed.unseen >= labels.unseen).all()


@given(label_cases())
def test_pickle_and_copy(case):
    codes, labels = case
    if labels.n_labels:
        labels.column(0)
    for other in (pickle.loads(pickle.dumps(labels)), copy.deepcopy(labels), copy.copy(labels)):
        assert other.equals(labels)
        assert_says(other, codes)
        assert other.implicit is labels.implicit


@given(label_cases(max_rows=5))
def test_iteration_gives_rows(case):
    codes, labels = case
    rows = list(labels)
    assert len(rows) == len(codes)
    for row, expected in zip(rows, codes, strict=True):
        np.testing.assert_array_equal(row.states()[0], expected)


@given(label_cases())
def test_repr_counts_what_is_there(case):
    codes, labels = case
    text = repr(labels)
    assert f"{codes.shape[0]} rows x {codes.shape[1]} labels" in text
    assert f"{(codes == State.RELEVANT).sum()} relevant" in text
    n_unknown = (codes == State.UNKNOWN).sum()
    assert (f", {n_unknown} unknown" in text) == (n_unknown > 0)
    assert ("zeros unlabeled" in text) == (codes == State.UNLABELED).any()


def test_a_label_matrix_owns_its_arrays():
    from scipy import sparse

    positives = sparse.csr_array(np.array([[1, 0], [1, 1]], dtype=np.int8))
    unseen = np.zeros(2, dtype=bool)
    read = Labels.from_sparse(positives)
    made = Labels(positives, unseen=unseen)
    exported = read.positives()
    for matrix in (positives, exported):
        matrix.data[:2] = 0
        matrix.eliminate_zeros()
    unseen[:] = True
    for labels in (read, made):
        assert_canonical(labels)
        np.testing.assert_array_equal(labels.states(), [[1, 2], [1, 1]])


def test_states_of_some_rows():
    labels = Labels.from_dense([[1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(labels.states([2, 0]), [[1, 1], [1, 2]])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_degenerate_shapes(shape):
    labels = Labels.from_dense(np.zeros(shape))
    assert labels.shape == shape
    assert labels.n_observed() == 0
    assert labels.n_observed(axis=0).shape == shape[1:]
    assert labels.n_observed(axis=1).shape == shape[:1]
    assert labels.with_implicit("unknown").equals(labels)
    assert labels.observed().shape == shape
    assert labels.to_tag_sets() == [set()] * shape[0]
    assert "0 relevant" in repr(labels)
