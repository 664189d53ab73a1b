from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels
from labelgap_papers.methods import MLkNN, _mlknn


def by_hand(X, Y, x, label, k, s):
    """P(label | x) from loops over rows; Y has NaN where unknown."""

    def carriers(point, candidates):
        order = sorted(candidates, key=lambda i: ((X[i] - point) ** 2).sum())
        return sum(Y[i, label] == 1 for i in order[:k])

    everyone = range(len(X))
    counts = [carriers(X[i], [j for j in everyone if j != i]) for i in everyone]
    joint = []
    for value in (0, 1):
        rows = [i for i in everyone if Y[i, label] == value]
        known = [i for i in everyone if not np.isnan(Y[i, label])]
        prior = (s + len(rows)) / (2 * s + len(known))
        same = sum(counts[i] == carriers(x, everyone) for i in rows)
        joint.append(prior * (s + same) / (s * (k + 1) + len(rows)))
    return joint[1] / sum(joint)


@pytest.mark.parametrize("gaps", [0.0, 0.4])
@pytest.mark.parametrize(("k", "s"), [(1, 1.0), (4, 0.3)])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_counts_as_by_hand(rng, form, k, s, gaps):
    X, Y = rng.normal(size=(25, 3)), (rng.random((25, 3)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < gaps] = np.nan
    new = rng.normal(size=(6, 3))
    found = MLkNN(k, smoothing=s).fit(form(X), Y).predict_proba(form(new))
    expected = [[by_hand(X, Y, x, label, k, s) for label in range(3)] for x in new]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_counts_are_distributions(rng):
    X, Y = rng.normal(size=(60, 3)), (rng.random((60, 4)) < 0.4).astype(float)
    model = MLkNN(7).fit(X, Y)
    assert model.likelihood_.shape == (2, 4, 8)
    np.testing.assert_allclose(model.likelihood_.sum(axis=2), 1)
    many = MLkNN(7, smoothing=1e9).fit(X, Y)
    np.testing.assert_allclose(many.predict_proba(X), 0.5, atol=1e-6)


def test_labels_without_structure_get_their_prior(rng, monkeypatch):
    """A row among its own neighbours would find structure in noise."""
    X, Y = rng.normal(size=(3000, 2)), (rng.random((3000, 1)) < 0.5).astype(float)
    new = rng.normal(size=(200, 2))
    spread = MLkNN(5).fit(X, Y).predict_proba(new).std()
    assert spread < 0.05

    def with_itself(search):
        return search.kneighbors(search._fit_X, return_distance=False)

    monkeypatch.setattr(_mlknn, "_neighbors_in_training", with_itself)
    assert MLkNN(5).fit(X, Y).predict_proba(new).std() > 3 * spread


def test_finds_clusters_in_spite_of_gaps(rng):
    cluster = rng.integers(4, size=400)
    X = 6 * np.eye(4)[cluster] + rng.normal(size=(400, 4))
    Y = (np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])[cluster]).astype(float)
    gaps = np.where(rng.random(Y.shape) < 0.5, np.nan, Y)
    assert (MLkNN().fit(X, gaps).predict(X) == Y).mean() > 0.99


def test_unobserved_labels_unlabeled_zeros_and_too_few_rows(rng):
    X, Y = rng.normal(size=(30, 3)), (rng.random((30, 2)) < 0.4).astype(float)
    plain = MLkNN(5).fit(X, Y).predict_proba(X)
    unlabeled = MLkNN(5).fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    np.testing.assert_array_equal(unlabeled.predict_proba(X), plain)
    with pytest.warns(match="no observed entry"):
        both = MLkNN(5).fit(X, np.column_stack([Y, np.full(30, np.nan)]))
    np.testing.assert_allclose(both.predict_proba(X)[:, :2], plain)
    np.testing.assert_allclose(both.predict_proba(X)[:, 2], 0.5)
    with pytest.raises(ValueError, match="n_neighbors=30, but n_samples=30"):
        MLkNN(30).fit(X, Y)
