from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.validation import _is_arraylike

from labelgap.cooccurrence import Cooccurrence

M = np.array([[4, 2, 1, 0], [2, 3, 0, 2]])


def named(**changes) -> Cooccurrence:
    return Cooccurrence(**{"counts": sparse.csr_array(M), "names": list("abcd")} | changes)


def test_what_it_says_about_itself():
    counts = named()
    assert (counts.n_seen, counts.n_labels) == (2, 4)
    np.testing.assert_array_equal(counts.seen, [0, 1])
    np.testing.assert_array_equal(counts.unseen, [2, 3])
    assert list(counts.seen_names) == ["a", "b"]
    assert list(counts.unseen_names) == ["c", "d"]
    np.testing.assert_array_equal(counts.seen_counts(), [4, 3])
    np.testing.assert_array_equal(counts.dense(), M)
    assert not counts.has_missing
    assert counts.observed.all()
    assert counts.counts.dtype == np.int64


def test_missing_counts_are_neither_zero_nor_kept():
    mask = np.zeros((2, 4), dtype=bool)
    mask[0, 0] = mask[1, 2] = mask[1, 3] = True
    counts = named(missing=mask)
    np.testing.assert_array_equal(counts.observed, ~mask)
    np.testing.assert_array_equal(counts.dense(), np.where(mask, np.nan, M))
    np.testing.assert_array_equal(counts.dense(missing=-1)[mask], -1)
    np.testing.assert_array_equal(counts.seen_counts(), [np.nan, 3])
    assert "3 counts missing" in repr(counts)


def test_values_behind_the_mask_are_never_read():
    values = M.astype(float)
    values[1, 3] = -7.5
    mask = np.zeros((2, 4), dtype=bool)
    mask[1, 3] = True
    counts = named(counts=sparse.csr_array(values), missing=mask)
    np.testing.assert_array_equal(counts.dense(0)[1], [2, 3, 0, 0])


def test_seen_labels_anywhere_among_the_columns():
    counts = named(seen=[3, 1])
    np.testing.assert_array_equal(counts.unseen, [0, 2])
    assert list(counts.seen_names) == ["d", "b"]
    np.testing.assert_array_equal(counts.seen_counts(), [0, 3])


def test_rows_choose_and_order_seen_labels():
    swapped = named().rows(["b", "a"])
    np.testing.assert_array_equal(swapped.dense(), M[::-1])
    np.testing.assert_array_equal(swapped.seen, [1, 0])
    np.testing.assert_array_equal(swapped.seen_counts(), [3, 4])
    one = named().rows(["b"])
    assert list(one.unseen_names) == ["a", "c", "d"]


def test_columns_choose_and_order_labels_and_drop_rows_with_them():
    mask = np.zeros((2, 4), dtype=bool)
    mask[1, 3] = True
    some = named(missing=mask).columns(["d", "b"])
    np.testing.assert_array_equal(some.dense(), [[np.nan, 3]])
    np.testing.assert_array_equal(some.seen, [1])
    assert list(some.names) == ["d", "b"]


def test_labels_without_names_are_chosen_by_column():
    plain = named(names=None)
    np.testing.assert_array_equal(plain.columns([2, 1, 0]).dense(), M[:, [2, 1, 0]])
    np.testing.assert_array_equal(plain.columns([2, 1, 0]).seen, [2, 1])
    np.testing.assert_array_equal(plain.rows([1]).dense(), M[1:])


def test_choices_that_do_not_exist():
    with pytest.raises(ValueError, match="no row for the label 'c'"):
        named().rows(["c"])
    with pytest.raises(ValueError, match=r"no label 'x': its 4 labels are 'a', 'b', 'c', \.\.\."):
        named().columns(["a", "x"])
    with pytest.raises(ValueError, match="'a' is there twice"):
        named().columns(["a", "a"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-3, r"cooccurrence\['b', 'c'\] = -3.0 is negative: counts are 0, 1, 2"),
        (0.25, r"cooccurrence\['b', 'c'\] = 0.25 is not a count: .* not a fraction or similarity"),
        (np.inf, r"cooccurrence\['b', 'c'\] = inf is infinite"),
        (-np.inf, r"cooccurrence\['b', 'c'\] = -inf is negative"),
        (1e300, "too large to be exact"),
    ],
)
def test_values_that_are_not_counts(value, message):
    values = M.astype(float)
    values[1, 2:] = value, -1
    with pytest.raises(ValueError, match=message):
        named(counts=sparse.csr_array(values))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": list("abc")}, "names has 3 entries for 4 labels"),
        ({"names": list("abca")}, r"names\[3\] = 'a' is the name of label 0 too"),
        ({"seen": [0, 4]}, r"seen\[1\] = 4 is not a column: there are 4 labels"),
        ({"seen": [2, 2]}, r"seen\[1\] = 2 is there twice"),
        ({"seen": [0, 1, 2]}, "give the column of each of the 2 rows"),
        ({"seen": [0.0, 1.0]}, "give the column of each of the 2 rows"),
        ({"missing": np.zeros((2, 3), dtype=bool)}, r"missing has shape \(2, 3\)"),
        ({"counts": sparse.csr_array(M.T)}, "more rows than columns"),
        ({"counts": sparse.csr_array(M * 1j)}, "has the type complex"),
    ],
)
def test_parts_that_do_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        named(**changes)
    with pytest.raises(TypeError, match="go through as_cooccurrence"):
        named(counts=M)


def test_nothing_of_the_input_is_shared_and_nothing_can_be_set():
    given = sparse.csr_array(M)
    counts = named(counts=given)
    given.data[:] = 9
    np.testing.assert_array_equal(counts.dense(), M)
    with pytest.raises(AttributeError):
        counts.seen = np.array([0])


def test_entries_stored_twice_add_up():
    coordinates = ([0, 0, 1], [1, 1, 0])
    counts = Cooccurrence(sparse.coo_array((np.array([1, 2, 5]), coordinates), shape=(2, 2)))
    np.testing.assert_array_equal(counts.dense(), [[0, 3], [5, 0]])


def test_scikit_learn_does_not_take_it_for_an_array():
    assert not _is_arraylike(named())
    assert not hasattr(named(), "__getitem__")


def test_survives_pickling():
    copy = pickle.loads(pickle.dumps(named(seen=[3, 1])))
    np.testing.assert_array_equal(copy.dense(), M)
    assert list(copy.seen_names) == ["d", "b"]


def test_no_labels_at_all():
    empty = Cooccurrence(sparse.csr_array((0, 0), dtype=np.int64))
    assert empty.seen_counts().size == empty.unseen.size == 0
    assert empty.dense().shape == (0, 0)
