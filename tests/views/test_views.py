"""One matrix with named groups of columns, and views that a row may lack."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import train_test_split

from labelgap.views import Views, from_blocks, present, to_blocks

# -- views ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "views",
    [
        {"a": 2, "b": 3},
        {"a": np.int64(2), "b": 3},
        {"a": (0, 2), "b": [2, 5]},
        {"a": slice(0, 2), "b": slice(2, 5, 1)},
        {"a": 2, "b": slice(2, 5)},
        Views({"a": 2, "b": 3}),
    ],
)
def test_groups(views):
    views = Views(views)
    assert dict(views) == {"a": slice(0, 2), "b": slice(2, 5)}
    assert views.widths == {"a": 2, "b": 3}
    assert (views.n_columns, len(views), list(views)) == (5, 2, ["a", "b"])
    assert repr(views) == "Views(a=0:2, b=2:5)"
    assert views == Views({"a": (0, 2), "b": (2, 5)})
    assert pickle.loads(pickle.dumps(views)) == views


def test_groups_may_leave_columns_out():
    views = Views({"a": (1, 2), "b": (4, 6)})
    X = np.arange(14.0).reshape(2, 7)
    np.testing.assert_array_equal(to_blocks(X, views)["b"], X[:, 4:6])


@pytest.mark.parametrize(
    ("views", "error", "message"),
    [
        ({}, ValueError, "views is empty: name at least one view"),
        ([("a", 2)], TypeError, "views: expected a mapping from names to columns, got list"),
        ({"a": 2, "b": (1, 3)}, ValueError, "view 'b' starts at column 1, before the end"),
        ({"b": (2, 4), "a": (0, 2)}, ValueError, "view 'a' starts at column 0, before the end"),
        ({"a": 0}, ValueError, "view 'a' has the columns 0:0: it needs at least one"),
        ({"a": (3, 2)}, ValueError, "view 'a' has the columns 3:2"),
        ({"a": (-1, 2)}, ValueError, "view 'a' has the columns -1:2"),
        ({"a": slice(0, 4, 2)}, ValueError, "view 'a': .* needs a start, a stop and no step"),
        ({"a": slice(None, 4)}, ValueError, "view 'a': .* needs a start"),
        ({"a": "ab"}, ValueError, "view 'a': 'ab' is not a width"),
        ({"a": (0.5, 2)}, ValueError, "is not a width"),
        ({"a": (0, 1, 2)}, ValueError, "is not a width"),
        ({"a": None}, ValueError, "view 'a': None is not a width"),
    ],
)
def test_group_errors(views, error, message):
    with pytest.raises(error, match=message):
        Views(views)


def test_unknown_views_are_named():
    with pytest.raises(KeyError, match="no view 'c'; the views are a, b"):
        Views({"a": 1, "b": 1})["c"]


def test_groups_must_fit_the_matrix():
    with pytest.raises(ValueError, match="view 'b' ends at column 5, but X has 4 columns"):
        to_blocks(np.zeros((2, 4)), {"a": 2, "b": 3})


# -- blocks ------------------------------------------------------------------------------------

WRAPS = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "list": lambda block: block.tolist(),
}


def _toarray(block):
    return block.toarray() if sparse.issparse(block) else np.asarray(block)


@given(
    st.integers(0, 2**31),
    st.tuples(*[st.sampled_from(sorted(WRAPS))] * 3),
    st.integers(1, 6),
)
def test_round_trip(seed, wraps, n_samples):
    rng = np.random.default_rng(seed)
    values = {
        name: rng.integers(0, 3, size=(n_samples, w)) / 2
        for name, w in {"a": 3, "b": 1, "c": 4}.items()
    }
    there = {name: rng.random(n_samples) < 0.6 for name in values}
    blocks = {
        name: WRAPS[wrap](block) for (name, block), wrap in zip(values.items(), wraps, strict=True)
    }
    X, views = from_blocks(blocks, present=there)
    any_sparse = any(wrap in ("csr", "csc", "coo") for wrap in wraps)
    assert sparse.issparse(X) == any_sparse
    assert X.shape == (n_samples, 8)
    mask = np.column_stack(list(there.values()))
    np.testing.assert_array_equal(present(X, views), mask)
    back = to_blocks(X, views)
    for name, block in values.items():
        np.testing.assert_array_equal(_toarray(back[name])[there[name]], block[there[name]])
    again, _ = from_blocks(back)
    np.testing.assert_array_equal(_toarray(again), _toarray(X))
    np.testing.assert_array_equal(present(again, views), mask)


def test_a_list_of_blocks_gets_numbered_names():
    X, views = from_blocks([np.ones((2, 1)), np.zeros((2, 2))])
    assert dict(views) == {"view0": slice(0, 1), "view1": slice(1, 3)}
    blocks = list(to_blocks(X, views).values())
    np.testing.assert_array_equal(blocks[1], np.zeros((2, 2)))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_float32_stays(wrap):
    blocks = {"a": wrap(np.eye(2, dtype=np.float32)), "b": np.eye(2, dtype=np.float32)}
    X, _ = from_blocks(blocks, present={"a": np.array([True, False])})
    assert X.dtype == np.float32


def test_the_callers_blocks_are_left_alone():
    dense, stored = np.eye(2), sparse.csr_array(np.eye(2))
    mask = np.array([False, True])
    from_blocks({"a": dense}, present={"a": mask})
    from_blocks({"a": stored}, present={"a": mask})
    np.testing.assert_array_equal(dense, np.eye(2))
    np.testing.assert_array_equal(stored.toarray(), np.eye(2))


def test_values_of_absent_rows_are_ignored():
    block = np.array([[np.nan, np.inf, 3.0], [1.0, 2.0, 3.0]])
    for wrap in (np.asarray, sparse.csr_array):
        X, views = from_blocks({"a": wrap(block)}, present={"a": np.array([False, True])})
        assert present(X, views).ravel().tolist() == [False, True]
    assert sparse.csr_array(X).nnz == 4


def test_a_missing_measurement_is_no_missing_view():
    block = np.array([[np.nan, 2.0], [np.nan, np.nan], [0.0, 0.0]])
    for other in (np.ones((3, 1)), sparse.csr_array(np.ones((3, 1)))):
        X, views = from_blocks({"a": block, "b": other})
        assert present(X, views)[:, 0].tolist() == [True, False, True]


def test_nullable_frames():
    frame = pd.DataFrame({"p": [1, None], "q": [2, None]}, dtype="Int64")
    X, views = from_blocks({"a": frame, "b": np.ones((2, 1))})
    assert present(X, views).tolist() == [[True, True], [False, True]]


def test_frames_split_into_frames():
    frame = pd.DataFrame({"p": [1.0, np.nan], "q": [2.0, np.nan], "r": [1.0, 2.0]})
    views = Views({"a": 2, "b": 1})
    assert list(to_blocks(frame, views)["a"].columns) == ["p", "q"]
    assert present(frame, views).tolist() == [[True, True], [False, True]]
    assert present(pl.from_pandas(frame), views).tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_splitting_keeps_the_marks(container):
    rng = np.random.default_rng(0)
    blocks = {"a": rng.random((40, 3)), "b": rng.random((40, 2))}
    there = {name: rng.random(40) < 0.5 for name in blocks}
    X, views = from_blocks(blocks, present=there)
    mask = present(X, views)
    if container is not np.asarray:
        X, views = from_blocks({"a": sparse.csr_array(blocks["a"]), "b": blocks["b"]}, there)
        X = container(X)
    X_train, X_test, mask_train, mask_test = train_test_split(X, mask, random_state=0)
    np.testing.assert_array_equal(present(X_train, views), mask_train)
    np.testing.assert_array_equal(present(X_test, views), mask_test)


def test_stored_zeros_do_not_change_what_is_present():
    X = sparse.csr_array((np.array([np.nan, 0.0]), [0, 1], [0, 2]), shape=(1, 2))
    views = Views({"a": 2})
    before = present(X, views)
    X.eliminate_zeros()
    np.testing.assert_array_equal(present(X, views), before)


@pytest.mark.parametrize(
    ("blocks", "there", "message"),
    [
        ({}, None, "blocks is empty"),
        ([], None, "blocks is empty"),
        ({"a": np.ones((2, 1)), "b": np.ones((3, 1))}, None, "view 'b' has 3 rows, view 'a' has 2"),
        ({"a": np.ones(3)}, None, r"view 'a' has shape \(3,\): a view is a matrix"),
        ({"a": np.ones((2, 0))}, None, "view 'a' has the columns 0:0"),
        ({"a": np.ones((2, 1))}, {"b": [True, True]}, "present names 'b', which is not one"),
        ({"a": np.ones((2, 1))}, {"a": [True]}, r"present\['a'\] must be a boolean array of len"),
        ({"a": np.ones((2, 1))}, {"a": [1, 0]}, r"present\['a'\] must be a boolean array"),
        (
            {"a": np.full((2, 2), np.nan)},
            {"a": [False, True]},
            "view 'a', row 1 is present but holds nothing but missing values: fill one in",
        ),
        (
            {"a": np.array([[1.0, 1.0], [np.nan, 0.0]]), "b": sparse.csr_array(np.ones((2, 1)))},
            None,
            "view 'a', row 1 is present .* a sparse matrix does not tell from a missing view",
        ),
    ],
)
def test_block_errors(blocks, there, message):
    with pytest.raises(ValueError, match=message):
        from_blocks(blocks, present=there)
