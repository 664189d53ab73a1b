"""The container itself: construction, indexing and editing errors, warnings, numpy."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from labelgap import Labels, LabelWarning, State, as_labels
from reference.label_states import assert_says

Y = Labels.from_dense([[1, 0, 1], [0, 1, 0]], names=["a", "b", "c"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"entries": [[1, 5]]}, r"entries\[0, 1\] = 5 is not a State code; .*from_dense"),
        ({"entries": [[1.5, 0]]}, r"entries\[0, 0\] = 1.5 is not a State code"),
        ({"entries": [1, 2]}, r"entries must be a sparse matrix of State codes"),
        ({"entries": [[1, 0]], "implicit": "relevant"}, "implicit='relevant': use 'negative'"),
        ({"entries": [[1, 0]], "implicit": State.RELEVANT}, "implicit=<State.RELEVANT"),
        ({"entries": [[1, 0]], "implicit": "nothing"}, "implicit='nothing'"),
        ({"entries": [[1, 0]], "names": ["a"]}, "names has 1 entries for 2 labels: give one"),
        (
            {"entries": [[1, 0]], "names": ["a", "a"]},
            r"names\[1\] = 'a' is the name of label 0 too: .* rename or merge",
        ),
        ({"entries": [[1, 0]], "unseen": [True]}, "unseen must be a boolean array of length 2"),
        ({"entries": [[1, 0]], "unseen": [0, 1]}, "unseen must be a boolean array of length 2"),
        (
            {"entries": [[0, 0], [0, 1]], "unseen": [False, True]},
            r"label 1 is unseen but entries\[1, 1\] is stored; Labels.with_unseen",
        ),
    ],
)
def test_construction_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Labels(**arguments)


def test_entries_stored_twice():
    matrix = sparse.csr_array((np.array([1, 2]), [1, 1], [0, 2]), shape=(1, 2))
    with pytest.raises(ValueError, match=r"entries\[0, 1\] is stored twice"):
        Labels(matrix)


def test_a_string_is_no_list_of_names():
    with pytest.raises(TypeError, match="names='abc' is a string"):
        Labels.from_dense([[1, 0, 1]], names="abc")


@pytest.mark.parametrize("zeros", ["unknown", "no", State.RELEVANT, State.UNKNOWN])
def test_meaning_of_zeros(zeros):
    for make in (Y.with_zeros, lambda zeros: Labels.from_dense([[1, 0]], zeros=zeros)):
        with pytest.raises(ValueError, match=r"use 'negative' .* or 'unlabeled'"):
            make(zeros)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (2, "row 2 is outside: there are 2 rows"),
        (-3, "row -3 is outside"),
        ([0, 5], "row 5 is outside"),
        ([True], "boolean index of length 1 for 2 rows"),
        ([0.5], "use integers, booleans or a slice"),
        ("a", "use integers, booleans or a slice"),
        ([[0, 1]], "index of rows with 2 dimensions"),
        ((0, 1, 2), r"index with \[rows\] or \[rows, columns\]"),
        ((0, 3), "label 3 is outside: there are 3 labels"),
        ((slice(None), ["a"]), "index of labels .* use integers"),
        ((slice(None), [True, False]), "boolean index of length 2 for 3 labels"),
    ],
)
def test_index_errors(key, message):
    with pytest.raises(IndexError, match=message):
        Y[key]


def test_ellipsis_and_frames_as_index():
    for part in (Y[...], Y[..., :], Y[:, ...], Y[:], Y[pd.Series([True, True])]):
        assert part.equals(Y)
    assert Y[..., 0].shape == (2, 1)


def test_a_column_cannot_be_taken_twice_under_one_name():
    with pytest.raises(ValueError, match="label names must be unique"):
        Y[:, [0, 0]]
    assert_says(Y.with_names(None)[:, [0, 0]], np.array([[1, 1], [2, 2]]))


@pytest.mark.parametrize("label", [3, -4])
def test_column_out_of_range(label):
    with pytest.raises(IndexError, match=f"label {label} is outside: there are 3 labels"):
        Y.column(label)


@pytest.mark.parametrize("axis", [2, -1, "rows"])
def test_axis(axis):
    for method in (Y.n_observed, Y.n_positives):
        with pytest.raises(ValueError, match=r"axis=.*: use 0 \(per label\)"):
            method(axis=axis)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([2], [0], State.UNKNOWN), IndexError, r"entry \(2, 0\) is outside \(2, 3\)"),
        (([0, -1], [0, 0], State.UNKNOWN), IndexError, r"entry \(-1, 0\) is outside"),
        (([0], [3], State.UNKNOWN), IndexError, r"entry \(0, 3\) is outside"),
        (([0.5], [0], State.UNKNOWN), IndexError, "rows has the type float64"),
        (([0], [0], 0), ValueError, r"entry \(0, 0\): 0 is not a State"),
        (([0, 1], [0, 1], [1, 9]), ValueError, r"entry \(1, 1\): 9 is not a State"),
        (([0, 0], [1, 1], [1, 2]), ValueError, r"entry \(0, 1\) is given two states"),
        (([0, 1], [0, 1, 2], 1), ValueError, "rows, columns and states have unequal sizes"),
    ],
)
def test_editing_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        Y.with_entries(*arguments)


def test_editing_accepts_numbers_and_repeated_equal_coordinates():
    assert_says(Y.hide(0, 1), np.array([[1, 3, 1], [2, 1, 2]]))
    assert_says(Y.hide([0, 0], 1), np.array([[1, 3, 1], [2, 1, 2]]))
    assert_says(Y.hide([], []), Y.states())


def test_unseen_labels_hold_no_state():
    labels = Y.with_unseen([1])
    assert labels.hide([0], [1]).equals(labels)
    with pytest.raises(ValueError, match=r"entry \(0, 1\): label 1 is unseen"):
        labels.with_entries([0], [1], State.RELEVANT)


def test_unseen_by_position_or_mask():
    by_mask = Y.with_unseen(np.array([False, True, False]))
    assert by_mask.equals(Y.with_unseen([1]))
    assert by_mask.equals(Y.with_unseen(1))
    with pytest.raises(IndexError, match="label 7 is outside"):
        Y.with_unseen([7])


@pytest.mark.parametrize("other", ["n_labels", "names", "unseen"])
def test_concatenate_errors(other):
    part = {"n_labels": Y[:, :2], "names": Y.with_names(None), "unseen": Y.with_unseen(0)}[other]
    with pytest.raises(ValueError, match=r"parts\[1\] has other label"):
        Labels.concatenate([Y, part])


def test_concatenate_nothing():
    with pytest.raises(ValueError, match="parts is empty"):
        Labels.concatenate([])


# -- columns nobody looked at ------------------------------------------------------------------

EMPTY_COLUMN = np.array([[1, np.nan], [0, np.nan]])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Labels.from_dense(EMPTY_COLUMN),
        lambda: Labels.from_signed([[1, 0], [-1, 0]]),
        lambda: Labels.from_sparse(
            sparse.csr_array([[1, 0], [0, 0]]), observed=~np.isnan(EMPTY_COLUMN)
        ),
        lambda: Labels.from_long(["x"], ["a"], names=["a", "b"], implicit="unknown"),
        lambda: as_labels(EMPTY_COLUMN),
    ],
    ids=["dense", "signed", "sparse", "long", "as_labels"],
)
def test_a_label_without_observed_entry_warns(make):
    with pytest.warns(LabelWarning, match=r"label 1.* has no observed entry: .*drop the column"):
        make()


def test_the_warning_names_the_first_and_counts_the_others():
    frame = pd.DataFrame({"a": [1, 0], "b": [None, None], "c": [None, None]}, dtype="Int8")
    with pytest.warns(LabelWarning, match=r"label 1 \('b'\) has no observed entry, nor have 1 oth"):
        Labels.from_frame(frame)


def test_the_warning_points_at_the_caller():
    with pytest.warns(LabelWarning) as caught:
        Labels.from_dense(EMPTY_COLUMN)
    assert caught[0].filename == __file__


def test_labels_warn_when_they_are_used():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = Labels.from_dense(EMPTY_COLUMN)
    with pytest.warns(LabelWarning, match="label 1"):
        as_labels(labels)
    as_labels(labels.with_unseen([1]))
    as_labels(labels[:0])


# -- as_labels -----------------------------------------------------------------------------------


def test_as_labels_returns_labels_unchanged():
    assert as_labels(Y) is Y


@pytest.mark.parametrize(
    "y",
    [
        [[1, 0, 1], [0, 1, 0]],
        np.array([[1, 0, 1], [0, 1, 0]]),
        np.ma.array([[1, 0, 1], [0, 1, 0]]),
        sparse.csr_matrix([[1, 0, 1], [0, 1, 0]]),
        sparse.coo_array([[1, 0, 1], [0, 1, 0]]),
        [{"a", "c"}, {"b"}],
        [["a", "c"], ["b"]],
        pd.Series([["a", "c"], ["b"]]),
        np.array([{"a", "c"}, {"b"}], dtype=object),
    ],
    ids=lambda y: type(y).__name__,
)
def test_as_labels_reads(y):
    np.testing.assert_array_equal(as_labels(y).states(), Y.states())
    assert as_labels(y, zeros="unlabeled").unlabeled


def test_as_labels_checks_the_rows():
    with pytest.raises(ValueError, match="X has 3 rows, y has 2; give one row of labels per row"):
        as_labels(Y, n_samples=3)
    with pytest.raises(ValueError, match="requires y"):
        as_labels(None)
    with pytest.raises(ValueError, match="y is ragged"):
        as_labels([[1, 2], [3]])


# -- numpy ---------------------------------------------------------------------------------------


def test_complete_labels_are_an_array_of_zeros_and_ones():
    array = np.asarray(Y)
    assert array.dtype == np.int8
    np.testing.assert_array_equal(array, [[1, 0, 1], [0, 1, 0]])
    assert np.asarray(Y.with_zeros("unlabeled")).sum() == 3
    assert np.array(Y, dtype=bool).dtype == bool
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(Y, copy=False)


def test_unknown_entries_have_no_number():
    labels = Y.hide([0], [1])
    np.testing.assert_array_equal(np.asarray(labels, dtype=float)[0], [1, np.nan, 1])
    for dtype in (None, int, bool):
        with pytest.raises(ValueError, match=r"unknown entries .* labelgap.metrics"):
            np.asarray(labels, dtype=dtype)


def test_as_object_the_labels_are_one():
    assert np.asarray(Y, dtype=object).shape == ()
    assert np.asarray(Y, dtype=object)[()] is Y


def test_numpy_does_not_densify_by_arithmetic():
    with pytest.raises(TypeError):
        np.ones((2, 3)) + Y


def test_columns_move_and_are_dropped_or_added():
    labels = Labels.from_dense(np.array([[1, 0, np.nan], [0, 1, 1]]), names=["a", "b", "c"])
    moved = labels.with_columns(["c", "new", "a"], absent="unseen")
    np.testing.assert_array_equal(moved.to_dense(), [[np.nan, np.nan, 1], [1, np.nan, 0]])
    listed = Labels.from_tag_sets([{"a"}, {"b"}])
    dropped = listed.with_columns(["b", "new"], absent="drop")
    np.testing.assert_array_equal(dropped.to_dense(), [[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="label 'a' is not among the 2 known labels"):
        listed.with_columns(["b", "new"])
    with pytest.raises(ValueError, match="have no names"):
        Labels.from_dense([[1]]).with_columns(["a"])
