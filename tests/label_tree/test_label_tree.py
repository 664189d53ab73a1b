"""The label tree: clusters, what nodes learn of gaps, and what it predicts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels, ProbabilisticLabelTree, as_labels
from labelgap.fitting import ArrayRows
from labelgap.label_tree._label_clusters import (
    _fewer,
    cluster_labels,
    level_edges,
    positive_means,
)
from labelgap.label_tree._node_targets import label_targets, node_targets
from labelgap.metrics import precision_at_k

N_LABELS = 96


@pytest.fixture(scope="module")
def topics():
    """Rows with features of two labels each, out of 96, on a third of 200 features of noise."""
    rng = np.random.default_rng(0)
    own = rng.random((N_LABELS, 200)) * (rng.random((N_LABELS, 200)) < 0.08)
    chosen = rng.integers(N_LABELS, size=(900, 2))
    Y = np.zeros((900, N_LABELS))
    np.put_along_axis(Y, chosen, 1.0, axis=1)
    noise = rng.random((900, 200)) * (rng.random((900, 200)) < 0.05)
    X = sparse.csr_array(Y @ own + noise)
    return X[:700], Y[:700], X[700:], Y[700:]


@pytest.fixture(scope="module")
def model(topics):
    return ProbabilisticLabelTree(max_leaf=8).fit(*topics[:2])


@pytest.mark.parametrize(
    ("n_labels", "sizes"), [(64, []), (65, [2]), (4000, [64]), (100_000, [64, 2048])]
)
def test_levels_have_at_most_64_children(n_labels, sizes):
    edges = level_edges(n_labels, 64)
    assert [edge.size - 1 for edge in edges] == sizes
    for above, below in itertools.pairwise(edges):
        assert np.isin(above, below).all()
    if sizes:
        assert np.diff(edges[-1]).max() <= 64
        assert np.ptp(np.diff(edges[-1])) <= 1


def test_similar_labels_share_a_branch():
    rng = np.random.default_rng(1)
    theme = np.repeat(np.arange(4), 8)
    X = sparse.csr_array(np.eye(4)[theme[rng.integers(32, size=400)]])
    positives = np.array(X.todense()) @ np.eye(4)[theme].T > 0
    means = positive_means(X, sparse.csr_array(positives))
    order = cluster_labels(means, 8, np.random.RandomState(0))
    assert np.array_equal(np.sort(order), np.arange(32))
    assert all(np.unique(part).size == 1 for part in theme[order].reshape(4, 8))


def test_what_nodes_learn_of_unknown_labels():
    nan = np.nan
    labels = as_labels(np.array([[1, 0, 0, 0], [nan, 0, nan, nan], [0, 0, 1, nan], [nan, 1, 0, 0]]))
    prevalence = np.array([0.5, 0.3, 0.2, 0.1])
    above = node_targets(labels, np.arange(4), np.array([0, 2, 4]), prevalence, 3.0)
    place_of = np.arange(4)
    costs = above.costs(np.arange(4), slice(0, 2), place_of)
    np.testing.assert_allclose(costs, [[3, -1], [-0.5, -0.72], [-1, 3], [3, -1]], rtol=1e-5)
    below = label_targets(labels, np.array([3, 0, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0]))
    costs = below.costs(np.array([1, 2]), slice(0, 4), np.array([-1, 0, 1, -1]))
    np.testing.assert_allclose(costs, [[0, 0, -1, 0], [0, -1, -1, 3]])


def test_it_finds_the_labels(topics, model):
    _, _, X, Y = topics
    assert precision_at_k(Y, model.predict_proba(X), k=1) > 0.9


def test_best_labels_are_those_of_all_probabilities(topics, model):
    X = topics[2]
    probabilities = model.predict_proba(X)
    labels, found = model.predict_topk(X, k=4)
    expected = np.sort(probabilities, axis=1)[:, ::-1][:, :4]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(probabilities, labels, axis=1), found, rtol=1e-5)


def test_all_labels_can_be_asked_for(topics, model):
    labels, _ = model.predict_topk(topics[2][:3], k=N_LABELS)
    assert all(np.array_equal(np.sort(row), np.arange(N_LABELS)) for row in labels)


def test_probabilities_of_rows_left_out_are_calibrated(topics, model):
    _, _, X, Y = topics
    assert abs(model.predict_proba(X).mean() - Y.mean()) < 0.3 * Y.mean()


def test_threads_find_the_same(topics, model):
    other = ProbabilisticLabelTree(max_leaf=8, n_jobs=2).fit(*topics[:2])
    np.testing.assert_array_equal(other.predict_proba(topics[2]), model.predict_proba(topics[2]))


def test_more_trees_and_fewer_coefficients(topics, model):
    X, Y, X_new, Y_new = topics
    forest = ProbabilisticLabelTree(max_leaf=8, n_trees=3).fit(X, Y)
    assert not np.array_equal(forest.trees_[0].order, forest.trees_[1].order)
    assert precision_at_k(Y_new, forest.predict_proba(X_new), k=1) > 0.9
    pruned = ProbabilisticLabelTree(max_leaf=8, prune=0.3).fit(X, Y)
    sizes = [sum(level.weights.nnz for level in one.trees_[0].levels) for one in (model, pruned)]
    assert sizes[1] < sizes[0] / 2


def test_unknown_entries_are_no_zeros(topics):
    """Labels lose half of their entries, positives above all: as zeros they would mislead."""
    X, Y, X_new, Y_new = topics
    rng = np.random.default_rng(3)
    hidden = rng.random(Y.shape) < np.where(Y == 1, 0.7, 0.2)
    unknown, zeros = np.where(hidden, np.nan, Y), np.where(hidden, 0.0, Y)
    found = [
        precision_at_k(
            Y_new,
            ProbabilisticLabelTree(max_leaf=8, positive_weight=1).fit(X, part).predict_proba(X_new),
            k=1,
        )
        for part in (unknown, zeros)
    ]
    assert found[0] > found[1]


def test_labels_of_one_value_keep_their_prevalence():
    X, Y = np.eye(4), np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]])
    model = ProbabilisticLabelTree().fit(X, Y)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1:], np.tile(model.prevalence_[1:], (4, 1))
    )


def test_rare_labels_weigh_more(topics):
    X, Y = topics[:2]
    weights = ProbabilisticLabelTree(max_iter=1).fit(X, Y).positive_weight_
    counts = Y.sum(axis=0)
    assert weights[counts.argmin()] > weights[counts.argmax()]


@pytest.mark.parametrize(
    ("given", "message"),
    [([1.0, 2.0], "one for each of the 3 labels"), ([1.0, 0.0, 1.0], r"positive_weight\[1\]")],
)
def test_wrong_weights(given, message):
    with pytest.raises(ValueError, match=message):
        ProbabilisticLabelTree(positive_weight=given).fit(np.eye(4), np.eye(4)[:, :3])


def test_mostly_unknown_labels():
    """What is not stored may be unknown."""
    rng = np.random.default_rng(4)
    Y = np.where(rng.random((60, 5)) < 0.3, rng.integers(2, size=(60, 5)), np.nan)
    stored = Labels.from_dense(Y).with_implicit("unknown")
    X = rng.normal(size=(60, 4))
    models = [ProbabilisticLabelTree().fit(X, labels) for labels in (Y, stored)]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


def test_rows_in_blocks_give_the_same_tree(topics, model):
    X, Y, X_new, _ = topics
    stored = ProbabilisticLabelTree(max_leaf=8).fit(ArrayRows(X, Y, block_rows=150))
    best = model.predict_topk(X_new, 3)
    for parts in (X_new, ArrayRows(X_new, np.zeros((200, 1)), block_rows=60)):
        for expected, found in zip(best, stored.predict_topk(parts, 3), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_means_of_some_rows_stand_for_those_of_all():
    carried = sparse.csr_array(np.ones((3, 10)) * (np.arange(10) < [[1], [4], [10]]))
    counts = np.diff(_fewer(carried, 8).indptr)
    assert counts.tolist() == [1, 3, 3]
    assert _fewer(carried, 15) is carried


def test_the_strength_is_chosen_by_rows_left_out():
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.random((600, 300)) * (rng.random((600, 300)) < 0.2))
    signal = (X[:, :12].toarray() > 0.0) * 1.0
    noise = (rng.random((600, 12)) < 0.2) * 1.0
    strengths = [ProbabilisticLabelTree(max_leaf=16).fit(X, Y).C_ for Y in (signal, noise)]
    assert strengths[0] > strengths[1]
