"""Counts of entries by score, and features on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from imputers.test_ridge_imputer import left_out, small, with_unknown
from labelgap import State
from labelgap.auditing import _score_counts as counting
from labelgap.auditing import feature_rows
from labelgap.auditing._score_counts import silent
from labelgap.imputers import RidgeImputer


def by_label(model, X, labels):
    scores = left_out(model, X, labels)
    for start in range(0, labels.n_labels, 2):
        columns = slice(start, min(start + 2, labels.n_labels))
        yield slice(0, labels.n_samples), columns, scores[:, columns]


@pytest.mark.parametrize("blocks_of", [RidgeImputer.left_out_blocks, by_label])
def test_every_entry_is_counted(blocks_of, monkeypatch):
    X, labels = small(n=50, seed=2)
    labels = with_unknown(labels).with_zeros("unlabeled")
    model = RidgeImputer().fit(X, labels)
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 8 * 7)
    rows, columns, was_zero = np.array([0, 4]), np.array([1, 2]), np.array([True, False])
    blocks = blocks_of(model, X, labels)
    counts = counting.count_scores(blocks, labels, silent, (rows, columns, was_zero))
    scores, states = left_out(model, X, labels), labels.states()
    states[rows, columns] = 0
    bins = counting.bins_of(scores)
    assert counts.decided[1, bins[0, 1]] == counts.decided.sum() == 1
    for found, state in (
        (counts.relevant, State.RELEVANT),
        (counts.zero, State.UNLABELED),
        (counts.unknown, State.UNKNOWN),
    ):
        expected = np.zeros_like(found)
        for i, j in zip(*np.nonzero(states == state), strict=True):
            expected[j, bins[i, j]] += 1
        np.testing.assert_array_equal(found, expected)
    assert counts.halves[1, 1].sum() == (states[1::2] == State.RELEVANT).sum()
    assert counts.halves[0, 0].sum() == (states[0::2] == State.UNLABELED).sum() + 1


def test_bins_cover_all_scores():
    assert counting.bins_of(np.array([-9.0, 9.0])).tolist() == [0, counting.N_BINS - 1]
    centres = counting.bin_centres()
    np.testing.assert_array_equal(counting.bins_of(centres), np.arange(counting.N_BINS))


def test_dense_features_are_standardised_and_constant_ones_vanish():
    X = np.column_stack([np.arange(10.0), np.full(10, 5.0), np.arange(10.0) ** 2])
    rows = feature_rows(X, names=["a", "b", "c"])
    assert (rows.scaled[:, 1] == 0).all()
    np.testing.assert_allclose(rows.scaled.std(axis=0)[[0, 2]], 1 / np.sqrt(3))


def test_what_an_item_lacks_is_no_reason():
    rng = np.random.default_rng(0)
    words = (rng.random((40, 6)) < 0.3) * 1.0
    words[:, 5] = rng.normal(size=40)
    dense, stored = feature_rows(words), feature_rows(sparse.csr_array(words))
    for row in range(40):
        at, contributions = dense.contributions(row, np.ones(6))
        assert (
            at.tolist()
            == np.flatnonzero(words[row]).tolist()
            == stored.contributions(row, np.ones(6))[0].tolist()
        )
        np.testing.assert_allclose(contributions, dense.scaled[row, at])


def test_many_features_are_projected_and_contributions_refer_to_them(monkeypatch):
    monkeypatch.setattr("labelgap.auditing._audit_input._MOST_FEATURES", 5)
    monkeypatch.setattr("labelgap.auditing._audit_input._N_COMPONENTS", 3)
    X = sparse.csr_array(np.random.default_rng(0).random((20, 8)))
    rows = feature_rows(X, random_state=0)
    weights = np.array([1.0, -2.0, 0.5])
    at, contributions = rows.contributions(4, weights)
    assert rows.inputs.shape == (20, 3)
    np.testing.assert_allclose(contributions.sum(), rows.inputs[4] @ weights)
    assert at.tolist() == list(range(8))


def test_names_must_match():
    with pytest.raises(ValueError, match="feature_names has 1 names, X has 2 columns"):
        feature_rows(np.ones((3, 2)), names=["a"])
