"""Dense arrays in and out: NaN, masks, objects, signed coding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labelgap import Labels, State
from reference.label_states import assert_says, label_cases

GAPS = [[1, 0, np.nan], [0, np.nan, 1], [1, 1, 0]]
CODES = np.array([[1, 2, 3], [2, 3, 1], [1, 1, 2]], dtype=np.int8)
MASK = np.isnan(GAPS)
FILLED = np.where(MASK, 7, GAPS).astype(int)


@pytest.mark.parametrize(
    "array",
    [
        GAPS,
        np.array(GAPS),
        np.array(GAPS, dtype=np.float32),
        np.array(GAPS, dtype=np.float16),
        np.asfortranarray(GAPS),
        np.array([[1, 0, None], [0, None, 1], [1, 1, 0]], dtype=object),
        [[True, False, None], [False, None, True], [True, True, False]],
        np.array([[1, 0, pd.NA], [0, np.nan, True], [1.0, np.int8(1), np.bool_(False)]], object),
        np.ma.MaskedArray(FILLED, mask=MASK),
        np.ma.MaskedArray(FILLED.astype(float), mask=MASK),
        np.ma.MaskedArray(np.where(MASK, "?", FILLED.astype(object)), mask=MASK),
        np.ma.MaskedArray(GAPS, mask=[[False] * 3, [False, True, False], [False] * 3]),
    ],
    ids=lambda a: f"{type(a).__name__}-{getattr(a, 'dtype', '')}",
)
def test_every_dense_encoding_of_gaps(array):
    assert_says(Labels.from_dense(array), CODES)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, object])
def test_complete_arrays(dtype):
    labels = Labels.from_dense(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert_says(labels, np.array([[1, 2], [2, 1]]))
    assert not labels.has_gaps
    assert labels.implicit is State.NEGATIVE


def test_unlabeled_zeros():
    labels = Labels.from_dense(GAPS, zeros="unlabeled")
    assert_says(labels, np.where(CODES == 2, 4, CODES))
    assert labels.implicit is State.UNLABELED


def test_a_number_may_mean_unknown():
    assert_says(Labels.from_dense(np.where(MASK, -1, GAPS).astype(int), unknown=-1), CODES)


@pytest.mark.parametrize("unknown", [0, 1, True])
def test_the_number_for_unknown_must_be_free(unknown):
    with pytest.raises(ValueError, match=r"unknown=.* is the code of a known label"):
        Labels.from_dense([[1, 0]], unknown=unknown)


def test_the_more_frequent_of_zero_and_unknown_is_not_stored():
    assert Labels.from_dense([[np.nan, np.nan, 1, 0, np.nan]] * 2 + [[1] * 5]).implicit is (
        State.NEGATIVE
    )
    mostly = Labels.from_dense([[np.nan, np.nan, 1, 0], [0, 1, np.nan, np.nan], [np.nan] * 4])
    assert mostly.implicit is State.UNKNOWN
    assert mostly.entries.nnz == 4


@given(label_cases(states=(State.RELEVANT, State.NEGATIVE, State.UNKNOWN), with_unseen=False))
@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_dense_round_trips(case):
    codes, labels = case
    names = labels.names
    for other in (
        Labels.from_dense(labels.to_dense(), names=names),
        Labels.from_dense(labels.to_dense(dtype=np.float32), names=names),
        Labels.from_dense(labels.to_dense(unknown=-1, dtype=np.int8), names=names, unknown=-1),
        Labels.from_dense(labels.to_dense(unknown=None, dtype=object), names=names),
        Labels.from_dense(labels.to_masked(), names=names),
        Labels.from_dense(np.asarray(labels, dtype=float), names=names),
        Labels.from_signed(labels.to_signed(), names=names),
        Labels.from_signed(labels.to_signed(as_sparse=True), names=names),
        Labels.from_signed(labels.to_signed(dtype=float), names=names),
    ):
        assert_says(other, codes)
        assert other.equals(labels)


SIGNED = np.array([[1, -1, 0], [-1, 0, 1], [1, 1, -1]])


@pytest.mark.parametrize(
    "array",
    [
        SIGNED,
        SIGNED.tolist(),
        SIGNED.astype(np.float32),
        SIGNED.astype(object),
        np.ma.MaskedArray(np.where(SIGNED == 0, 5, SIGNED), mask=SIGNED == 0),
        np.where(SIGNED == 0, np.nan, SIGNED),
        sparse.csr_matrix(SIGNED),
        sparse.csr_array(SIGNED),
        sparse.csc_array(SIGNED),
        sparse.coo_matrix(SIGNED.astype(float)),
        sparse.dok_array(SIGNED),
    ],
    ids=lambda a: f"{type(a).__name__}-{getattr(a, 'dtype', '')}",
)
def test_signed_coding(array):
    assert_says(Labels.from_signed(array), CODES)


def test_signed_sparse_with_stored_zeros_and_unsorted_indices():
    data, columns = np.array([0, 1, -1, 1]), np.array([2, 0, 1, 0])
    matrix = sparse.csr_array((data, columns, [0, 3, 4]), shape=(2, 3))
    with pytest.warns(UserWarning, match="label 2 has no observed entry"):
        labels = Labels.from_signed(matrix)
    assert_says(labels, np.array([[1, 2, 3], [1, 3, 3]]))


def test_signed_frames_keep_their_names():
    frame = pd.DataFrame(SIGNED, columns=["a", "b", "c"])
    assert Labels.from_signed(frame).names.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_signed_values_are_checked(wrap):
    with pytest.raises(ValueError, match=r"y\[1, 0\] = .*2.* is not a signed label: use \+1"):
        Labels.from_signed(wrap([[1, 0], [2, 3]]))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([[0, 1], [2, 3]], r"y\[1, 0\] = .*2.* is not a label state: labels are 1"),
        ([[0, 1], [1, -1]], r"y\[1, 1\] = .*-1.* signed labels .* Labels.from_signed"),
        ([[0, 1], [0.5, 1]], r"y\[1, 0\] = .*0\.5"),
        ([[0, 1 + 1e-12]], r"y\[0, 1\]"),
        ([[0, np.inf]], r"y\[0, 1\] = .*inf"),
        ([["yes", "no"]], r"y\[0, 0\] = 'yes' is not a label state"),
        ([["1", "0"]], r"y\[0, 0\] = '1' is not a label state"),
        (np.array([[1, object()]], dtype=object), r"y\[0, 1\] = <object"),
        (np.array([["1970-01-01"]], dtype="datetime64[D]"), "y has the type datetime64"),
        ([[1 + 2j, 0]], "Complex data not supported"),
    ],
)
def test_values_that_are_no_state(array, message):
    with pytest.raises(ValueError, match=message):
        Labels.from_dense(array)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1, 0, 1], r"y has 1 dimension\(s\), shape \(3,\).*y.reshape\(-1, 1\)"),
        (np.zeros((2, 2, 2)), r"y has 3 dimension"),
        (3, r"y has 0 dimension"),
        ([[1, 0], [1]], r"y is ragged.*from_tag_sets"),
    ],
)
def test_shapes(array, message):
    with pytest.raises(ValueError, match=message):
        Labels.from_dense(array)


def test_a_sparse_matrix_is_not_dense():
    with pytest.raises(TypeError, match="from_sparse"):
        Labels.from_dense(sparse.csr_array([[1, 0]]))


def test_dense_export_refuses_values_the_type_cannot_hold():
    labels = Labels.from_dense(GAPS)
    for dtype, unknown in [(np.int8, np.nan), (bool, -1), (np.uint8, -1), (np.int8, 0.5)]:
        with pytest.raises(ValueError, match=r"unknown=.* cannot be stored as"):
            labels.to_dense(unknown=unknown, dtype=dtype)
    complete = labels.with_entries(*np.nonzero(MASK), State.NEGATIVE)
    assert complete.to_dense(dtype=bool).sum() == 4


@pytest.mark.parametrize("method", ["to_signed", "to_masked", "to_frame"])
def test_exports_without_a_word_for_unlabeled_refuse_it(method):
    labels = Labels.from_dense(GAPS, zeros="unlabeled")
    with pytest.raises(ValueError, match=rf"{method} would lose .* with_zeros\('negative'\)"):
        getattr(labels, method)()
    getattr(labels.with_zeros("negative"), method)()


@given(st.integers(0, 2**31))
def test_dense_of_any_storage_order(seed):
    rng = np.random.default_rng(seed)
    array = rng.choice([0.0, 1.0, np.nan], size=(8, 6))
    array[0] = 0
    by_rows = Labels.from_dense(array[::-1])
    assert Labels.from_dense(array)[::-1].equals(by_rows)
    assert Labels.from_dense(array[:, ::2]).equals(Labels.from_dense(array)[:, ::2])
