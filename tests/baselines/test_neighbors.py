import numpy as np
import pytest

from labelgap import Labels
from labelgap.baselines import KNeighborsLabels


def by_hand(X, Y, X_new, n_neighbors, weights, smoothing):
    keep = ~np.isnan(Y).all(axis=1)
    X, Y = X[keep], Y[keep]
    n_known, n_ones = (~np.isnan(Y)).sum(axis=0), np.nansum(Y, axis=0)
    pooled = (n_ones.sum() + 0.5) / (n_known.sum() + 1)
    prior = (n_ones + pooled) / (n_known + 1)
    result = np.empty((len(X_new), Y.shape[1]))
    for i, x in enumerate(X_new):
        distance = np.sqrt(((X - x) ** 2).sum(axis=1))
        nearest = np.argsort(distance)[:n_neighbors]
        if weights == "uniform":
            weight = np.ones(n_neighbors)
        elif distance[nearest[0]] == 0:
            weight = (distance[nearest] == 0).astype(float)
        else:
            weight = 1 / distance[nearest]
        weight = weight * n_neighbors / weight.sum()
        for j in range(Y.shape[1]):
            known = ~np.isnan(Y[nearest, j])
            ones = weight[known] @ Y[nearest, j][known] + smoothing * prior[j]
            total = weight[known].sum() + smoothing
            result[i, j] = ones / total if total > 0 else prior[j]
    return result


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("smoothing", [0.0, 1.5])
def test_agrees_with_the_definition(rng, fraction, weights, smoothing):
    X, X_new = rng.standard_normal((40, 3)), rng.standard_normal((9, 3))
    X_new[0] = X[5]
    Y = (rng.random((40, 6)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < fraction] = np.nan
    Y[:2, :] = np.array([[1.0] * 6, [0.0] * 6])
    Y[7] = np.nan
    model = KNeighborsLabels(4, weights=weights, smoothing=smoothing).fit(X, Y)
    expected = by_hand(X, Y, X_new, 4, weights, smoothing)
    np.testing.assert_allclose(model.predict_proba(X_new), expected, atol=1e-12)


def test_a_label_unknown_in_the_neighbourhood_falls_back_to_its_frequency():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    Y = np.array([[1, np.nan], [1, np.nan], [0, 1], [0, 0]])
    model = KNeighborsLabels(2, smoothing=0).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[1, model.prevalence_[1]]])


def test_rows_without_any_observed_entry_are_not_enough():
    Y = np.full((5, 2), np.nan)
    Y[0] = 1
    Y[1] = 0
    with pytest.raises(ValueError, match=r"n_neighbors=3, but only n_samples=2 rows"):
        KNeighborsLabels(3).fit(np.eye(5), Y)


def test_other_metrics_are_passed_on(rng):
    X, Y = rng.random((20, 4)), rng.integers(0, 2, (20, 3))
    a = KNeighborsLabels(3, metric="manhattan").fit(X, Y).predict_proba(X)
    b = KNeighborsLabels(3, metric=lambda u, v: np.abs(u - v).sum()).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(a, b)


def test_big_sparse_labels_are_not_densified_in_fit(rng):
    from scipy import sparse

    positives = sparse.random_array((50, 10**6), density=1e-5, rng=rng) > 0
    model = KNeighborsLabels(3).fit(rng.random((50, 2)), Labels.from_sparse(positives))
    assert model.predict_proba(np.zeros((1, 2))).shape == (1, 10**6)
