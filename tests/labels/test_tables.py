"""Frames, tag sets and long tables in and out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labelgap import Labels, State, as_labels
from reference.label_states import IMPLICIT, assert_says, label_cases

COMPLETE_OR_UNKNOWN = (State.RELEVANT, State.NEGATIVE, State.UNKNOWN)
ROWS = {"cat": [1, 0, None], "dog": [0, None, 1], "owl": [1, 1, 0]}
CODES = np.array([[1, 2, 1], [2, 3, 1], [3, 1, 2]])


def _frames():
    plain = pd.DataFrame(ROWS)
    yield "pandas float", plain
    for dtype in ("Int8", "boolean", "Float32", "object", "int8[pyarrow]", "bool[pyarrow]"):
        yield f"pandas {dtype}", plain.astype(dtype)
    yield "pandas mixed", plain.astype({"cat": "Int8", "dog": "object", "owl": "int64"})
    yield "pandas shuffled index", plain.set_axis([9, 9, "x"])
    yield "pandas sparse nan", plain.astype(pd.SparseDtype(float, np.nan))
    yield "pandas sparse zero", plain.astype(pd.SparseDtype(float, 0.0))
    yield "polars", pl.DataFrame(ROWS)
    for dtype in (pl.Int8, pl.Boolean, pl.Float32, pl.UInt8):
        yield f"polars {dtype}", pl.DataFrame(ROWS).cast(dtype)
    yield "polars nan", pl.DataFrame(ROWS).cast(pl.Float64).fill_null(np.nan)
    yield "polars object", pl.DataFrame(ROWS, schema=dict.fromkeys(ROWS, pl.Object))
    yield "pyarrow", pa.table(ROWS)


@pytest.mark.parametrize("frame", [pytest.param(f, id=name) for name, f in _frames()])
@pytest.mark.parametrize("read", [Labels.from_frame, as_labels])
def test_every_frame(frame, read):
    labels = read(frame)
    assert_says(labels, CODES)
    assert labels.names.tolist() == ["cat", "dog", "owl"]


def test_big_sparse_frames_stay_sparse():
    positives = sparse.random_array((1000, 300), density=0.01, rng=0) > 0
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(positives))
    labels = Labels.from_frame(frame)
    assert labels.entries.nnz == positives.nnz
    assert labels.equals(Labels.from_sparse(positives))


def test_unnamed_columns_stay_unnamed():
    assert Labels.from_frame(pd.DataFrame([[1, 0]])).names is None
    assert Labels.from_frame(pd.DataFrame([[1, 0]], columns=[3, 4])).names.tolist() == [3, 4]


@given(label_cases(states=COMPLETE_OR_UNKNOWN, with_unseen=False))
@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_frame_round_trips(case):
    codes, labels = case
    assert Labels.from_frame(labels.to_frame()).equals(labels)
    from_polars = Labels.from_frame(labels.to_frame("polars"))
    assert_says(from_polars, codes)
    assert from_polars.names.tolist() == [
        str(name) for name in (range(labels.n_labels) if labels.names is None else labels.names)
    ]


def test_frames_keep_names_of_any_type():
    names = [3, "3", ("a", 1)]
    labels = Labels.from_dense([[1, 0, 1]], names=names)
    assert Labels.from_frame(labels.to_frame()).equals(labels)
    with pytest.raises(ValueError, match=r"names\[1\] = '3' is the name of label 0 too"):
        labels.to_frame("polars")


def test_frames_are_nullable_integers():
    labels = Labels.from_frame(pd.DataFrame(ROWS))
    assert (labels.to_frame().dtypes == "Int8").all()
    assert labels.to_frame("polars").dtypes == [pl.Int8] * 3
    with pytest.raises(ValueError, match="library='spark': use 'pandas' or 'polars'"):
        labels.to_frame("spark")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [0, 1], "b": [1, 2]}), r"column 'b', row 1: value = .*2.* not a label"),
        (pl.DataFrame({"a": [0, 1], "b": [-1, 2]}), r"column 'b', row 0: value = .*-1.*from_sign"),
        (pd.DataFrame({"a": [0, "so"]}), r"column 'a', row 1: value = 'so' is not a label state"),
        (
            pl.DataFrame({"a": ["b;c", "b"], "d": [1, 0]}),
            r"column 'a', row 0: value = 'b;c'.*lists labels, such as 'a;b', is read alone",
        ),
        (pd.DataFrame({"a": [1 + 1e-12]}), r"column 'a', row 0"),
        (
            pd.DataFrame({"a": [0, 3]}).astype(pd.SparseDtype(int, 0)),
            r"column 'a', row 1: value = .*3",
        ),
        (
            pd.DataFrame([[1, 0, 1]], columns=["a", "b", "a"]),
            r"names\[2\] = 'a' is the name of label 0 too.*rename or merge",
        ),
    ],
)
def test_frame_errors(frame, message):
    with pytest.raises(ValueError, match=message):
        Labels.from_frame(frame)


def test_lazy_frames_must_be_collected():
    with pytest.raises(TypeError, match=r"collect\(\) a lazy frame"):
        Labels.from_frame(pl.DataFrame(ROWS).lazy())


# -- tag sets ----------------------------------------------------------------------------------

TAGS = [{"a", "b"}, set(), {"c"}, None]


@pytest.mark.parametrize(
    "tag_sets",
    [
        TAGS,
        tuple(TAGS),
        (tags for tags in TAGS),
        [["b", "a", "a"], (), frozenset("c"), None],
        [np.array(["a", "b"]), {}, {"c": 3}, np.nan],
        pd.Series([["a", "b"], [], ["c"], None]),
        pl.Series([["a", "b"], [], ["c"], None]),
        [["a", "b"], [], ["c"], pd.NA],
    ],
    ids=lambda t: type(t).__name__,
)
def test_tag_sets(tag_sets):
    labels = Labels.from_tag_sets(tag_sets)
    assert labels.names.tolist() == ["a", "b", "c"]
    assert_says(labels, np.array([[1, 1, 2], [2, 2, 2], [2, 2, 1], [3, 3, 3]]))


def test_tag_sets_with_names_and_unlabeled_zeros():
    labels = Labels.from_tag_sets(
        [{"b"}, {1}], names=(name for name in [1, "b", "z"]), zeros="unlabeled"
    )
    assert labels.names.tolist() == [1, "b", "z"]
    assert_says(labels, np.array([[4, 1, 4], [1, 4, 4]]))


def test_mostly_unknown_rows_are_not_stored():
    labels = Labels.from_tag_sets([None] * 50 + [{"a"}, {"b"}])
    assert labels.implicit is State.UNKNOWN
    assert labels.entries.nnz == 4
    assert labels.to_tag_sets() == [None] * 50 + [{"a"}, {"b"}]


@given(st.lists(st.none() | st.sets(st.sampled_from("abcde")), max_size=8))
@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_tag_set_round_trip(tag_sets):
    labels = Labels.from_tag_sets(tag_sets, names=["a", "b", "c", "d", "e"])
    assert labels.to_tag_sets() == tag_sets
    assert labels.with_implicit("unknown").to_tag_sets() == tag_sets


def test_partly_known_rows_are_no_tag_sets():
    labels = Labels.from_dense([[1, 0], [1, np.nan], [0, 0]])
    with pytest.raises(ValueError, match=r"row 1 has unknown entries beside known ones.*to_long"):
        labels.to_tag_sets()


@pytest.mark.parametrize(
    ("tag_sets", "names", "message"),
    [
        ([{"a"}, "b,c"], None, r"tag_sets\[1\] = 'b,c' is a string.*split"),
        ([{"a"}, 3], None, r"tag_sets\[1\] = 3 is not a collection of tags"),
        ([{"a"}, {"b"}], ["a"], r"tag_sets\[1\] has the tag 'b', which is not in names"),
        ([{"a"}], ["a", "b", "a"], r"names\[2\] = 'a' is the name of label 0 too"),
        ([{"a", 1}], None, r"several types and cannot be sorted: .* names="),
    ],
)
def test_tag_set_errors(tag_sets, names, message):
    with pytest.raises(ValueError, match=message):
        Labels.from_tag_sets(tag_sets, names=names)


# -- long tables -------------------------------------------------------------------------------

ITEMS, TAGGED, VALUES = ["y", "x", "y", "x"], ["b", "a", "a", "c"], [1, 0, None, 1]
LONG = np.array([[3, 1, 2], [2, 2, 1]])


@pytest.mark.parametrize(
    "wrap",
    [list, tuple, iter, np.array, lambda c: np.array(c, dtype=object), pd.Series, pl.Series],
    ids=["list", "tuple", "iterator", "str", "object", "pandas", "polars"],
)
def test_long_ids(wrap):
    labels = Labels.from_long(wrap(ITEMS), wrap(TAGGED), VALUES)
    assert labels.names.tolist() == ["a", "b", "c"]
    assert_says(labels, LONG)


@pytest.mark.parametrize(
    "values",
    [
        VALUES,
        iter(VALUES),
        np.array([1, 0, np.nan, 1]),
        np.ma.MaskedArray([1, 0, 9, 1], mask=[0, 0, 1, 0]),
        pd.Series(VALUES, dtype="Int8"),
        pd.Series(VALUES, dtype="boolean"),
        pd.Series(VALUES, dtype=object, index=[7, 7, 8, 9]),
        pl.Series(VALUES),
        pl.Series([True, False, None, True]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_long_values(values):
    assert_says(Labels.from_long(ITEMS, TAGGED, values), LONG)


def test_long_with_integer_ids_and_orders():
    items, tags = np.array([30, 10, 30], dtype=np.int32), np.array([2, 1, 2])
    labels = Labels.from_long(items, tags, item_order=pd.Index([10, 20, 30]), names=[1, 2, 3])
    assert_says(labels, np.array([[1, 2, 2], [2, 2, 2], [2, 1, 2]]))
    first_seen = Labels.from_long(items, tags)
    assert_says(first_seen, np.array([[2, 1], [1, 2]]))
    assert [type(name) for name in first_seen.names] == [int, int]


def test_long_ids_of_several_types_are_not_confused():
    labels = Labels.from_long([1, "1"], ["a", "b"], item_order=[1, "1"])
    assert_says(labels, np.array([[1, 2], [2, 1]]))


@pytest.mark.parametrize("implicit", ["negative", "unknown", "unlabeled"])
def test_what_is_not_in_the_long_table(implicit):
    labels = Labels.from_long(["x", "y"], ["a", "b"], implicit=implicit)
    code = State[implicit.upper()]
    assert_says(labels, np.array([[1, code], [code, 1]]))


@given(label_cases(with_unseen=False, max_rows=5), st.sampled_from(IMPLICIT))
@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_long_round_trip(case, implicit):
    codes, labels = case
    labels = labels.with_implicit(implicit)
    if (labels.entries.data == State.UNLABELED).any():
        with pytest.raises(ValueError, match=r"cannot say 'unlabeled' for single entries"):
            labels.to_long()
        return
    names = range(labels.n_labels) if labels.names is None else labels.names
    other = Labels.from_long(
        *labels.to_long(), item_order=range(len(codes)), names=names, implicit=implicit.name.lower()
    )
    assert_says(other, codes)
    assert other.names.tolist() == list(names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["x", "x"], ["a", "a"], [1, 0]), r"line 1: item 'x', label 'a' was given another value"),
        ((["x", "x"], ["a", "a"], [1, np.nan]), r"line 1: .* in line 0; keep one of them"),
        ((["x", "y"], ["a", "a"], [1, 2]), r"line 1: value = 2.* is not a label state"),
        ((["x", "y"], ["a", "a"], ["1", "0"]), r"line 0: value = '1'"),
        ((["x", None], ["a", "a"]), r"line 1: the item is missing"),
        ((["x", "y"], ["a", np.nan]), r"line 1: the label is missing"),
        ((["x", "y"], ["a"]), r"items, labels and values have 2, 1 and 2 lines"),
        ((["x", "y"], ["a", "b"], [1]), r"have 2, 2 and 1 lines"),
        ((["x", "y"], ["a", "b"], None, ["x"]), r"line 1: unknown item 'y'; add it to item_order"),
        ((["x"], ["a"], None, ["x", "x"]), r"item_order\[1\] = 'x' is there twice"),
        ((["x"], ["b"], None, None, ["a"]), r"line 0: unknown label 'b'; add it to names"),
        ((["x"], ["a"], None, None, ["a", "a"]), r"names\[1\] = 'a' is there twice"),
    ],
)
def test_long_errors(arguments, message):
    arguments = (*arguments, *[None] * (5 - len(arguments)))
    with pytest.raises(ValueError, match=message):
        Labels.from_long(*arguments[:3], item_order=arguments[3], names=arguments[4])


def test_equal_lines_may_repeat():
    labels = Labels.from_long(["x", "x", "x"], ["a", "a", "b"], [1, 1, 0])
    assert_says(labels, np.array([[1, 2]]))
