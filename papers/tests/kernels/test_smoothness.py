from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.neighbors import nearest_rows
from labelgap_papers.kernels.smoothness import heat_graph, laplacian


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize(("n", "k"), [(12, 3), (2, 5), (1, 2)])
def test_similarities_of_neighbours(rng, form, n, k):
    X = rng.normal(size=(n, 4))
    S = heat_graph(form(X), k).toarray()
    near = nearest_rows(X, k).toarray() > 0
    near |= near.T
    squares = np.array([[np.sum((x - z) ** 2) for z in X] for x in X])
    width = squares[near].mean() if near.any() else 1.0
    np.testing.assert_allclose(S, np.where(near, np.exp(-squares / (2 * width)), 0), atol=1e-12)


def test_rows_that_coincide():
    S = heat_graph(np.zeros((4, 2)), 2)
    assert set(S.data) == {1.0}
    assert S.diagonal().sum() == 0


def test_the_laplacian_measures_differences(rng):
    S = sparse.random_array((9, 9), density=0.4, rng=rng)
    S = S + S.T
    F = rng.normal(size=(9, 3))
    expected = sum(
        value * np.sum((F[i] - F[j]) ** 2) / 2
        for i, j, value in zip(*S.tocoo().coords, S.tocoo().data, strict=True)
    )
    assert np.trace(F.T @ (laplacian(S) @ F)) == pytest.approx(expected)
    np.testing.assert_allclose(laplacian(S).sum(axis=1), 0, atol=1e-12)


def test_an_asymmetric_graph_is_made_symmetric(rng):
    S = sparse.random_array((6, 6), density=0.5, rng=rng)
    np.testing.assert_allclose(laplacian(S).toarray(), laplacian(S.T).toarray())
