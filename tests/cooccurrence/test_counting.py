from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labelgap import Labels
from labelgap.cooccurrence import _count_cooccurrence, count_cooccurrence
from reference.cooccurrence import count_pairs

TAGS = list("abcdef")
ITEMS = [{"a", "b"}, {"b", "c", "d"}, set(), {"a", "b", "c"}, {"d"}, {"a", "b"}]


@given(
    items=st.lists(st.sets(st.sampled_from(TAGS)), max_size=20),
    seen=st.lists(st.sampled_from(TAGS), unique=True),
)
def test_counts_are_those_of_a_loop(items, seen):
    expected = count_pairs(items, seen, TAGS)
    for corpus in (items, iter(items), [list(tags) * 2 for tags in items]):
        counts = count_cooccurrence(corpus, seen=seen, all_labels=TAGS)
        np.testing.assert_array_equal(counts.dense(), expected)
        assert list(counts.names) == TAGS
        assert list(counts.seen_names) == seen


@given(items=st.lists(st.sets(st.sampled_from(TAGS)), max_size=20))
def test_labels_that_are_not_listed_are_found(items):
    found = sorted(set().union(*items))
    counts = count_cooccurrence(items)
    assert list(counts.names) == list(counts.seen_names) == found
    np.testing.assert_array_equal(counts.dense(), count_pairs(items, found, found))


def test_a_stream_is_counted_in_parts(monkeypatch):
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 3)
    waiting = []
    monkeypatch.setattr(
        _count_cooccurrence._StreamCounter,
        "count",
        _recording(_count_cooccurrence._StreamCounter.count, waiting),
    )
    counts = count_cooccurrence((tags for tags in ITEMS * 50), seen=["c", "a"])
    assert max(waiting) <= 5
    assert len(waiting) > 50
    np.testing.assert_array_equal(counts.dense(), 50 * count_pairs(ITEMS, "ca", "abcd"))


def _recording(count, waiting):
    def counted(self):
        waiting.append(self.n_waiting)
        count(self)

    return counted


def test_seen_labels_that_no_item_has():
    counts = count_cooccurrence(ITEMS, seen=["z", "a", "y"])
    assert list(counts.names) == ["a", "b", "c", "d", "y", "z"]
    np.testing.assert_array_equal(counts.dense(), count_pairs(ITEMS, "zay", "abcdyz"))


def test_tags_outside_are_passed_over_and_items_nobody_looked_at_too():
    counts = count_cooccurrence([*ITEMS, None, {"x", "a"}], all_labels=["b", "a"])
    np.testing.assert_array_equal(counts.dense(), count_pairs([*ITEMS, {"a"}], "ba", "ba"))


def test_label_matrices_of_every_kind():
    dense = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1]])
    expected = dense.T @ dense
    frame = pd.DataFrame(dense, columns=list("abc"))
    labels = Labels.from_dense(dense)
    for corpus in (dense, sparse.csr_matrix(dense), frame, pl.from_pandas(frame), labels):
        np.testing.assert_array_equal(count_cooccurrence(corpus).dense(), expected)
    by_position = count_cooccurrence(dense, seen=[2, 0])
    np.testing.assert_array_equal(by_position.dense(), expected[[2, 0]])
    np.testing.assert_array_equal(by_position.seen, [2, 0])
    by_name = count_cooccurrence(frame, seen=["c"], all_labels=["c", "a"])
    np.testing.assert_array_equal(by_name.dense(), expected[2:, [2, 0]])
    assert list(by_name.names) == ["c", "a"]


def test_entries_that_are_not_known_to_be_relevant_do_not_count():
    y = np.array([[1, 1, np.nan], [1, np.nan, 1], [1, 1, 0]])
    counts = count_cooccurrence(y)
    np.testing.assert_array_equal(counts.dense(), [[3, 2, 1], [2, 2, 0], [1, 0, 1]])
    labels = Labels.from_dense(y).with_unseen([1])
    np.testing.assert_array_equal(count_cooccurrence(labels).seen, [0, 2])


PAIRS = pd.DataFrame(
    {"x": ["a", "a", "b", "c", "a"], "y": ["a", "b", "b", "b", "b"], "n": [5, 2, 4, 1, 1]}
)
COLUMNS = ("x", "y", "n")


@pytest.mark.parametrize("table", [PAIRS, pl.from_pandas(PAIRS)], ids=["pandas", "polars"])
def test_pairs_count_for_both_orders_unless_both_are_there(table):
    counts = count_cooccurrence(table, pairs=COLUMNS)
    assert list(counts.names) == list("abc")
    assert list(counts.seen_names) == list("abc")
    # the number of items with c is not in the table
    np.testing.assert_array_equal(counts.dense(), [[5, 3, 0], [3, 4, 1], [0, 1, np.nan]])
    one_way = count_cooccurrence(table, pairs=COLUMNS, directional=True)
    np.testing.assert_array_equal(one_way.dense(), [[5, 3, 0], [0, 4, 0], [0, 1, np.nan]])


def test_pairs_in_both_orders_are_kept_apart():
    both = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "n": [5, 2]})
    counts = count_cooccurrence(both, pairs=COLUMNS)
    np.testing.assert_array_equal(counts.dense(), [[np.nan, 5], [2, np.nan]])


def test_pairs_with_chosen_labels_and_nulls():
    table = PAIRS.astype({"n": "Int64"})
    table.loc[3, "n"] = pd.NA
    counts = count_cooccurrence(table, pairs=COLUMNS, seen=["b"], all_labels=["c", "b", "a"])
    np.testing.assert_array_equal(counts.dense(), [[np.nan, 4, 3]])
    by_default = count_cooccurrence(PAIRS, pairs=COLUMNS, all_labels=["a", "b"])
    assert list(by_default.seen_names) == ["a", "b"]


def test_the_table_of_an_earlier_count_gives_it_back():
    counts = count_cooccurrence(ITEMS, seen=["a", "c"])
    entries = counts.counts.tocoo()
    table = pd.DataFrame(
        {
            "seen": counts.seen_names[entries.row],
            "label": counts.names[entries.col],
            "count": entries.data,
        }
    )
    again = count_cooccurrence(table, pairs=("seen", "label", "count"))
    np.testing.assert_array_equal(again.dense(), counts.dense())
    assert list(again.seen_names) == ["a", "c"]


@pytest.mark.parametrize(
    ("corpus", "arguments", "error", "message"),
    [
        ([{"a"}, "b,c"], {}, ValueError, r"corpus\[1\] = 'b,c' is a string"),
        ([{"a"}, 3], {}, ValueError, r"corpus\[1\] = 3 is not a collection"),
        ([["a", ["b"]]], {}, ValueError, r"corpus\[0\] = .* is not a collection"),
        ("abc", {}, TypeError, "expected labels, a matrix, a table or an iterable"),
        (3, {}, TypeError, "got int"),
        (ITEMS, {"seen": ["z"], "all_labels": ["a"]}, ValueError, r"seen\[0\] = 'z'"),
        (ITEMS, {"seen": ["a", "a"]}, ValueError, r"seen\[1\] = 'a' is there twice"),
        (ITEMS, {"seen": "ab"}, TypeError, "seen='ab' is a string"),
        (np.eye(2), {"seen": [2]}, ValueError, r"seen\[0\] = 2 is not a label"),
        (ITEMS, {"directional": True}, ValueError, "belongs to a table of pairs"),
        (ITEMS, {"pairs": COLUMNS}, TypeError, "pairs= names columns of a table"),
        (PAIRS, {"pairs": ("x", "y", "z")}, ValueError, "the table has 'x', 'y', 'n'"),
        (PAIRS.assign(n=-1), {"pairs": COLUMNS}, ValueError, "line 0 .*'a' with 'a': -1 is not"),
        (PAIRS.assign(n=0.5), {"pairs": COLUMNS}, ValueError, "line 0 .*0.5 is not a count"),
        (PAIRS.assign(n="two"), {"pairs": COLUMNS}, ValueError, "line 0.* = 'two' is not a count"),
        (PAIRS.assign(x=None), {"pairs": COLUMNS}, ValueError, "line 0: the label is missing"),
    ],
)
def test_errors_name_place_and_remedy(corpus, arguments, error, message):
    with pytest.raises(error, match=message):
        count_cooccurrence(corpus, **arguments)
