from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from labelgap import LabelWarning
from labelgap.cooccurrence import Cooccurrence, as_cooccurrence

M = np.array([[4.0, 2, 1, 0], [2, 3, 0, np.nan]])
NAMES = ["sun", "sea", "tree", "snow"]
FRAME = pd.DataFrame(M, index=NAMES[:2], columns=NAMES).astype({"sun": int, "sea": "Int64"})


def alike(counts: Cooccurrence, names=NAMES) -> None:
    np.testing.assert_array_equal(counts.dense(), M)
    np.testing.assert_array_equal(counts.seen, [0, 1])
    assert (counts.names is None) if names is None else list(counts.names) == names


@pytest.fixture(autouse=True)
def _snow_is_alone():
    """Snow co-occurs with nothing here; only the last test is about that."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the unseen label .* co-occurs with no", LabelWarning)
        yield


def test_frames_of_every_library():
    alike(as_cooccurrence(FRAME))
    columns = {"label": NAMES[:2], **{name: [*map(_or_none, FRAME[name])] for name in NAMES}}
    alike(as_cooccurrence(pl.DataFrame(columns)))
    alike(as_cooccurrence(pa.table(columns)))
    alike(as_cooccurrence(FRAME.reset_index()))
    alike(as_cooccurrence(FRAME.astype(object).where(FRAME.notna(), None)))


def _or_none(value):
    return None if pd.isna(value) else int(value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_matrices_without_names(dtype):
    alike(as_cooccurrence(M.astype(dtype)), None)
    alike(as_cooccurrence(M.tolist()), None)
    alike(as_cooccurrence(pd.DataFrame(M)), None)
    alike(as_cooccurrence(np.ma.MaskedArray(np.nan_to_num(M, nan=-5), mask=np.isnan(M))), None)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_matrices_with_a_mask(form):
    observed = ~np.isnan(M)
    filled = np.nan_to_num(M, nan=7)
    for mask in (observed, sparse.csr_matrix(observed)):
        alike(as_cooccurrence(form(filled), observed=mask, label_names=NAMES))
    alike(
        as_cooccurrence(form(filled[:, :3])).columns([0, 1, 2]) and as_cooccurrence(form(M)), None
    )


def test_names_given_to_counts_without_any():
    alike(as_cooccurrence(M, label_names=NAMES))
    alike(as_cooccurrence(M, label_names=NAMES, seen_names=NAMES[:2]))
    square = as_cooccurrence(M[:, :2], seen_names=["x", "y"])
    assert list(square.names) == ["x", "y"]
    elsewhere = as_cooccurrence(M[:, [2, 1, 3, 0]], seen=[3, 1], label_names=list("abcd"))
    assert list(elsewhere.seen_names) == ["d", "b"]
    as_mask = as_cooccurrence(M[::-1, [2, 1, 3, 0]], seen=np.array([False, True, False, True]))
    np.testing.assert_array_equal(as_mask.seen, [1, 3])


def test_names_decide_the_order():
    order = ["sea", "sun"]
    shuffled = FRAME.loc[order, ["snow", "sea", "tree", "sun"]]
    alike(as_cooccurrence(shuffled, seen_names=NAMES[:2], label_names=NAMES))
    counts = as_cooccurrence(FRAME, seen_names=order)
    np.testing.assert_array_equal(counts.dense(), M[::-1])
    assert list(counts.names) == NAMES


def test_a_square_table_loses_the_rows_of_unseen_labels():
    square = pd.DataFrame(np.full((4, 4), 9), index=NAMES, columns=NAMES).astype(float)
    square.loc[NAMES[:2]] = M
    alike(as_cooccurrence(square, seen_names=NAMES[:2]))


def test_a_cooccurrence_stays_what_it_is():
    counts = as_cooccurrence(FRAME)
    assert as_cooccurrence(counts) is counts
    np.testing.assert_array_equal(as_cooccurrence(counts, seen_names=["sea"]).dense(), M[1:])
    with pytest.raises(ValueError, match="part of a Cooccurrence"):
        as_cooccurrence(counts, seen=[0, 1])


@pytest.mark.parametrize(
    ("given", "arguments", "message"),
    [
        (FRAME, {"seen_names": ["sun", "sky"]}, "no label 'sky'"),
        (FRAME, {"seen_names": ["sun", "tree"]}, "no row for the label 'tree'"),
        (FRAME, {"label_names": [*NAMES, "sky"]}, "no label 'sky'"),
        (FRAME, {"label_names": NAMES[:3]}, "has the label 'snow', which is not among"),
        (FRAME, {"seen": [0, 1]}, "the rows have names"),
        (FRAME.rename(index={"sea": "sky"}), {}, "row 1 is the label 'sky', which has no column"),
        (FRAME.rename(index={"sea": "sun"}), {}, "row 1 has the name 'sun' of row 0 too"),
        (
            FRAME.rename(columns={"sea": "sun"}),
            {},
            r"columns of cooccurrence\[1\] = 'sun' is there twice",
        ),
        (M, {"seen_names": ["sun", "sea"]}, "columns without names, .*give label_names"),
        (M[:, :2], {"seen_names": ["sun"]}, "seen_names has 1 names for .* 2 rows"),
        (M, {"label_names": NAMES[:3]}, "label_names has 3 names for .* 4 columns"),
        (M, {"label_names": NAMES, "seen_names": ["sun", "tree"]}, "row 1 .*'tree'.* but 'sea'"),
        (M, {"observed": np.ones((2, 3))}, r"observed has shape \(2, 3\)"),
        (FRAME, {"label_names": [*NAMES, "sun"]}, r"label_names\[4\] = 'sun' is there twice"),
        (M[0], {}, r"cooccurrence has shape \(4,\)"),
        (M.T, {}, "more rows than columns"),
        (None, {}, "cooccurrence is missing"),
        (FRAME.astype(object).replace(1, "one"), {}, r"\['sun', 'tree'\] = 'one' is not a count"),
        (FRAME * -1, {}, r"cooccurrence\['sun', 'sun'\] = -4.0 is negative"),
        (FRAME / 2, {}, r"cooccurrence\['sun', 'tree'\] = 0.5 is not a count"),
        (M + np.inf, {}, r"cooccurrence\[0, 0\] = inf is infinite"),
    ],
)
def test_errors_name_place_and_remedy(given, arguments, message):
    with pytest.raises(ValueError, match=message):
        as_cooccurrence(given, **arguments)


def test_lazy_frames_are_refused():
    with pytest.raises(TypeError, match="collect"):
        as_cooccurrence(pl.DataFrame({"a": [1]}).lazy())


def test_asymmetric_seen_blocks_are_used_as_given():
    directed = np.array([[9, 5, 1], [3, 9, 1]])
    with pytest.warns(LabelWarning, match="'a' with 'b' 5, 'b' with 'a' 3 is the largest"):
        counts = as_cooccurrence(directed, label_names=list("abc"))
    np.testing.assert_array_equal(counts.dense(), directed)
    moved = directed[:, [2, 0, 1]]
    with pytest.warns(LabelWarning, match="1 with 2 5, 2 with 1 3"):
        as_cooccurrence(moved, seen=[1, 2])


def test_a_missing_count_is_not_asymmetric():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_cooccurrence(np.array([[9, 5, 1], [np.nan, 9, 1]]))


def test_labels_that_co_occur_with_nothing_are_named():
    with pytest.warns(LabelWarning, match=r"'c' co-occurs with no seen label, nor do 1 others"):
        as_cooccurrence(np.array([[2, 1, 0, np.nan]]), label_names=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # a seen label without company is no matter
        as_cooccurrence(np.array([[2, 0, 1], [0, 0, 0]]))
