"""The model of all labels at once, its scores and what is counted from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels, State
from labelgap.audit import _tally
from labelgap.audit._codes import label_codes
from labelgap.audit._joint import _fit, _gram, fit_joint, refit_joint
from labelgap.audit._rows import feature_rows
from reference import joint_ridge as slow


def silent(stage, done, total):
    pass


def small(seed=0, n=30, d=4, n_labels=3, layout=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    dense = (X[:, :n_labels] + 0.3 * rng.normal(size=(n, n_labels)) > 0.5).astype(float)
    return layout(X), Labels.from_dense(dense)


def with_unknown(labels, share=0.3, seed=1):
    rows, columns = np.nonzero(np.random.default_rng(seed).random(labels.shape) < share)
    return labels.hide(rows, columns)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_scores_are_left_out_regressions(layout):
    X, labels = small(layout=layout)
    rows = feature_rows(X)
    model = fit_joint(rows, labels, np.random.default_rng(0), silent)
    inputs = rows.inputs.toarray() if sparse.issparse(rows.inputs) else rows.inputs
    Y = labels.to_dense()
    Z = np.hstack([np.ones((30, 1)), inputs, Y])
    penalty = np.repeat([30e-6, *model.penalties], [1, 4, 3])
    expected = Y - slow.left_out_residuals(Z, penalty)[:, 5:]
    np.testing.assert_allclose(model.scores(slice(None)), expected, atol=1e-9)
    blocks = np.vstack([scores for _, scores in model.blocks()])
    np.testing.assert_array_equal(blocks, model.scores(slice(None)))


def test_a_row_has_no_part_in_its_own_scores():
    X, labels = small()
    rows = feature_rows(X, scale=False)
    model = fit_joint(rows, labels, np.random.default_rng(0), silent)
    others = np.delete(np.arange(30), 7)
    new = refit_joint(model, others).new_scores(np.array([7]))
    np.testing.assert_allclose(new, model.scores(np.array([7])), atol=1e-9)


def test_storage_of_labels_does_not_matter():
    X, labels = small(n=60)
    labels = with_unknown(labels)
    rows = feature_rows(X)
    scores = []
    for storage in ("irrelevant", "unknown"):
        codes = label_codes(labels.with_unstated(storage))
        scores.append(_fit(rows, codes, _gram(rows, codes), (3.0, 2.0)).scores(slice(None)))
    # the intercept, which makes up for the shift, is penalised a little
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


def test_unknown_entries_hold_the_mean():
    _, labels = small()
    labels = with_unknown(labels)
    codes = label_codes(labels)
    expected = labels.to_dense()
    mean = np.nanmean(expected, axis=0)
    np.testing.assert_allclose(
        codes.matrix.toarray() - codes.shift, np.where(np.isnan(expected), mean, expected)
    )


def test_an_entry_has_no_part_in_its_own_score():
    X, labels = small()
    labels = with_unknown(labels)
    row, label = np.argwhere(labels.states() == State.IRRELEVANT)[0]
    rows = feature_rows(X)
    before = fit_joint(rows, labels, np.random.default_rng(0), silent)
    # the same frequency, so that what stands in for the unknown stays what it was
    turned = before.codes.matrix.tolil()
    turned[row, label] = 1 - before.codes.shift[label]
    codes = replace(before.codes, matrix=sparse.csr_array(turned))
    after = _fit(rows, codes, _gram(rows, codes), before.penalties)
    at = np.array([row])
    np.testing.assert_allclose(after.scores(at)[0, label], before.scores(at)[0, label], atol=1e-9)


def test_unknown_entries_are_recovered():
    X, full = small(n=400, seed=3)
    labels = with_unknown(full)
    model = fit_joint(feature_rows(X), labels, np.random.default_rng(0), silent)
    unknown = labels.states() == State.UNKNOWN
    right = (model.scores(slice(None)) > 0.5) == (full.to_dense() == 1)
    assert right[unknown].mean() > 0.8


def test_the_tally_counts_every_entry_and_finds_the_largest_scores(monkeypatch):
    X, labels = small(n=50, seed=2)
    labels = with_unknown(labels).with_zeros("ambiguous")
    model = fit_joint(feature_rows(X), labels, np.random.default_rng(0), silent)
    monkeypatch.setattr("labelgap.audit._joint._BLOCK_CELLS", 8 * 7)  # seven rows at a time
    rows, columns, was_zero = np.array([0, 4]), np.array([1, 2]), np.array([True, False])
    tally = _tally.take_tally(model, labels, 6, silent, (rows, columns, was_zero))
    scores, states = model.scores(slice(None)), labels.states()
    states[rows, columns] = 0
    bins = _tally.bins_of(scores)
    assert tally.decided[1, bins[0, 1]] == tally.decided.sum() == 1
    for found, state in (
        (tally.relevant, State.RELEVANT),
        (tally.zero, State.AMBIGUOUS),
        (tally.unknown, State.UNKNOWN),
    ):
        expected = np.zeros_like(found)
        for i, j in zip(*np.nonzero(states == state), strict=True):
            expected[j, bins[i, j]] += 1
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tally.row_zero.sum(axis=1), (states == 4).sum(axis=1))
    np.testing.assert_array_equal(tally.row_unknown.sum(axis=1), (states == 3).sum(axis=1))
    assert tally.halves[1, 1].sum() == (states[1::2] == State.RELEVANT).sum()
    assert tally.halves[0, 0].sum() == (states[0::2] == State.AMBIGUOUS).sum() + 1
    for found, state in ((tally.best_zero, 4), (tally.best_unknown, 3)):
        largest = np.sort(scores[states == state])[::-1][:6]
        np.testing.assert_array_equal(found.scores, largest)
        np.testing.assert_array_equal(scores[found.rows, found.labels], largest)


def test_bins_cover_all_scores():
    assert _tally.bins_of(np.array([-9.0, 9.0])).tolist() == [0, _tally.N_BINS - 1]
    centres = _tally.bin_centres()
    np.testing.assert_array_equal(_tally.bins_of(centres), np.arange(_tally.N_BINS))


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
        at, pulls = dense.pulls(row, np.ones(6))
        assert (
            at.tolist()
            == np.flatnonzero(words[row]).tolist()
            == stored.pulls(row, np.ones(6))[0].tolist()
        )
        np.testing.assert_allclose(pulls, dense.scaled[row, at])


def test_many_features_are_projected_and_pulls_refer_to_them(monkeypatch):
    monkeypatch.setattr("labelgap.audit._rows._MOST_FEATURES", 5)
    monkeypatch.setattr("labelgap.audit._rows._N_COMPONENTS", 3)
    X = sparse.csr_array(np.random.default_rng(0).random((20, 8)))
    rows = feature_rows(X, random_state=0)
    weights = np.array([1.0, -2.0, 0.5])
    at, pulls = rows.pulls(4, weights)
    assert rows.inputs.shape == (20, 3)
    np.testing.assert_allclose(pulls.sum(), rows.inputs[4] @ weights)
    assert at.tolist() == list(range(8))


def test_names_must_match():
    with pytest.raises(ValueError, match="feature_names has 1 names, X has 2 columns"):
        feature_rows(np.ones((3, 2)), names=["a"])
