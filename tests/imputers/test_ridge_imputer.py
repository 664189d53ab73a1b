"""Ridge regressions of all labels at once, each row left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels, State
from labelgap.fitting import ArrayRows, StoredFeatures
from labelgap.imputers import RidgeImputer
from labelgap.imputers._ridge_regressions import label_codes
from reference import joint_ridge as slow


def small(seed=0, n=30, d=4, n_labels=3, layout=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    dense = (X[:, :n_labels] + 0.3 * rng.normal(size=(n, n_labels)) > 0.5).astype(float)
    return layout(X), Labels.from_dense(dense)


def with_unknown(labels, fraction=0.3, seed=1):
    rows, columns = np.nonzero(np.random.default_rng(seed).random(labels.shape) < fraction)
    return labels.hide(rows, columns)


def left_out(model, X, labels):
    return np.vstack([scores for _, _, scores in model.left_out_blocks(X, labels)])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_scores_are_left_out_regressions(layout):
    X, labels = small(layout=layout)
    model = RidgeImputer().fit(X, labels)
    dense = X.toarray() if sparse.issparse(X) else X
    Y = labels.to_dense()
    Z = np.hstack([np.ones((30, 1)), dense, Y])
    penalty = np.repeat([30e-6, *model.penalties_], [1, 4, 3])
    expected = Y - slow.left_out_residuals(Z, penalty)[:, 5:]
    np.testing.assert_allclose(left_out(model, X, labels), expected, atol=1e-9)


def test_a_row_has_no_part_in_its_own_scores():
    X, labels = small()
    model = RidgeImputer().fit(X, labels)
    new = model.held_out_scores(X, labels, np.delete(np.arange(30), 7), np.array([7]))
    np.testing.assert_allclose(new[0], left_out(model, X, labels)[7], atol=1e-9)


def test_storage_of_labels_does_not_matter():
    X, labels = small(n=60)
    labels = with_unknown(labels)
    scores = []
    for storage in ("negative", "unknown"):
        stored = labels.with_implicit(storage)
        scores.append(left_out(RidgeImputer(3.0, 2.0).fit(X, stored), X, stored))
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
    row, label = np.argwhere(labels.states() == State.NEGATIVE)[0]
    model = RidgeImputer(3.0, 2.0).fit(X, labels)
    codes, at = label_codes(labels), np.array([row])
    before = model.regressions_.left_out(X[at], codes.take(at))[0, label]
    # the same prevalence, so that what stands in for the unknown stays what it was
    changed = codes.matrix.tolil()
    changed[row, label] = 1 - codes.shift[label]
    codes = codes._replace(matrix=sparse.csr_array(changed))
    model._solve(model._sums(X, codes), X, model.penalties_)
    after = model.regressions_.left_out(X[at], codes.take(at))[0, label]
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_unknown_entries_are_recovered():
    X, full = small(n=400, seed=3)
    labels = with_unknown(full)
    model = RidgeImputer().fit(X, labels)
    unknown = labels.states() == State.UNKNOWN
    right = (left_out(model, X, labels) > 0.5) == (full.to_dense() == 1)
    assert right[unknown].mean() > 0.8
    columns = np.column_stack(list(model.columns(X, labels)))
    assert ((columns > 0.5) == (full.to_dense() == 1))[unknown].mean() > 0.8


@pytest.mark.parametrize("storage", ["negative", "unknown"])
def test_columns_of_new_rows_are_those_of_the_regressions(storage):
    X, labels = small(n=60)
    labels = with_unknown(labels)
    model = RidgeImputer(3.0, 2.0).fit(X[:40], labels[:40], wanted=np.array([2, 0]))
    columns = list(model.columns(X[40:], labels[40:].with_implicit(storage)))
    first = model.weights(2)
    codes = label_codes(labels[40:], like=label_codes(labels[:40])).matrix.toarray()
    fitted = X[40:] @ first[0] + codes @ first[1]
    offset = model.columns(np.zeros((1, 4)), labels[[0]].hide([0, 0, 0], [0, 1, 2]))
    assert len(columns) == 2
    inside = (columns[0] > 0) & (columns[0] < 1)
    steps = columns[0][inside] - fitted[inside] / model.codes_.shrinkage[2]
    np.testing.assert_allclose(steps, steps[0], atol=1e-6)
    assert next(offset).shape == (1,)


def many(n=400, n_labels=6, seed=0):
    """Labels that stand beside each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    first = X[:, :1] + rng.normal(size=(n, n_labels)) > 1
    return X, Labels.from_dense((first | (rng.random((n, 1)) < 0.1)).astype(float))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("storage", ["complete", "negative", "unknown"])
def test_regressions_on_all_cooccurring_labels_are_the_joint_ones(layout, storage):
    X, labels = many()
    if storage != "complete":
        labels = with_unknown(labels, 0.05).with_implicit(storage)
    X = layout(X)
    joint = RidgeImputer(3.0, 2.0).fit(X, labels)
    few = RidgeImputer(3.0, 2.0, n_cooccurring=5).fit(X, labels)
    expected, found = left_out(joint, X, labels), left_out(few, X, labels)
    if storage == "complete":
        np.testing.assert_allclose(found, expected, atol=0.02)  # leverages are those of a diagonal
        for ours, theirs in zip(few.weights(2), joint.weights(2), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
    else:  # unknown entries count as zeros among the inputs
        assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.98


def test_sparse_regressions_leave_the_row_out():
    X, labels = many()
    model = RidgeImputer(3.0, 2.0, n_cooccurring=5).fit(X, labels)
    now, codes = left_out(model, X, labels), label_codes(labels)
    rows = np.flatnonzero(labels.n_positives(axis=1))[:8]
    fitted = model.regressions_.predict(X[rows], codes.take(rows), np.arange(6))
    new = np.vstack(
        [
            model.held_out_scores(X, labels, np.delete(np.arange(400), row), np.array([row]))
            for row in rows
        ]
    )
    assert np.abs(new - now[rows]).mean() < 0.6 * np.abs(fitted - now[rows]).mean()


@pytest.mark.parametrize("n_cooccurring", [None, 3])
def test_features_may_lie_in_blocks(n_cooccurring):
    X, labels = many()
    stored = StoredFeatures(ArrayRows(X, labels, block_rows=150))
    assert stored.labels.equals(labels)
    there, here = (
        RidgeImputer(n_cooccurring=n_cooccurring).fit(features, labels) for features in (stored, X)
    )
    assert there.penalties_ == here.penalties_
    np.testing.assert_allclose(
        left_out(there, stored, labels), left_out(here, X, labels), atol=1e-9
    )
    some, rows = np.arange(0, 400, 3), np.array([1, 5, 399])
    np.testing.assert_allclose(
        there.held_out_scores(stored, labels, some, rows),
        here.held_out_scores(X, labels, some, rows),
        atol=1e-9,
    )
