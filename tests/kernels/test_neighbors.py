from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer

from labelgap.kernels.neighbors import given_graph, nearest_rows, reconstruction_weights
from reference import neighbors as slow


def sets_of(graph):
    return [
        set(graph.indices[a:b].tolist())
        for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)
    ]


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("shape", [(12, 3), (25, 40), (7, 1)])
def test_neighbours_are_the_nearest_other_rows(rng, form, shape):
    X = rng.normal(size=shape)
    graph = nearest_rows(form(X), 4)
    assert sets_of(graph) == slow.nearest_rows(X, 4)
    assert (graph.data == 1).all()


@pytest.mark.parametrize(("n_samples", "n_found"), [(1, 0), (2, 1), (5, 4)])
def test_no_more_neighbours_than_other_rows(rng, n_samples, n_found):
    graph = nearest_rows(rng.normal(size=(n_samples, 3)), 10)
    assert (np.diff(graph.indptr) == n_found).all()


def test_a_row_is_not_its_own_neighbour_among_duplicates():
    X = np.repeat([[1.0, 2.0], [5.0, 5.0]], 4, axis=0)
    graph = nearest_rows(X, 3)
    assert graph.diagonal().sum() == 0
    assert sets_of(graph) == [set(range(4)) - {i} for i in range(4)] + [
        set(range(4, 8)) - {i} for i in range(4, 8)
    ]


def test_distances_may_be_given(rng):
    X = rng.normal(size=(15, 3))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    found = nearest_rows(distances, 5, metric="precomputed")
    assert sets_of(found) == slow.nearest_rows(X, 5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 8))
def test_weights_are_those_of_the_constrained_problem(seed, d, n_neighbors):
    X = np.random.default_rng(seed).normal(size=(14, d))
    graph = nearest_rows(X, n_neighbors)
    expected = slow.reconstruction_weights(X, sets_of(graph), 1e-3)
    for rows, kernel in ((X, False), (sparse.csr_array(X), False), (X @ X.T, True)):
        found = reconstruction_weights(rows, graph, reg=1e-3, kernel=kernel)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.sum(axis=1), 1)


def test_small_blocks_give_the_same_weights(rng, monkeypatch):
    X = rng.normal(size=(30, 4))
    graph = nearest_rows(X, 5)
    whole = reconstruction_weights(X, graph)
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 50)
    np.testing.assert_allclose(reconstruction_weights(X, graph).toarray(), whole.toarray())


def test_rows_on_a_line_are_rebuilt():
    X = np.linspace(0, 1, 11)[:, None] * np.array([1.0, -2.0])
    S = reconstruction_weights(X, nearest_rows(X, 2), reg=1e-9)
    np.testing.assert_allclose(S @ X, X, atol=1e-6)


def test_duplicates_fraction_the_weight():
    X = np.ones((5, 3))
    S = reconstruction_weights(X, nearest_rows(X, 4)).toarray()
    np.testing.assert_allclose(S, (1 - np.eye(5)) / 4)


def test_given_graph_may_have_any_number_of_neighbours(rng):
    X = rng.normal(size=(6, 2))
    chosen = [{1, 2}, {0}, set(), {0, 1, 2, 4, 5}, {3}, {3, 4}]
    graph = sparse.lil_array((6, 6))
    for i, near in enumerate(chosen):
        graph[i, i] = 3.0
        for j in near:
            graph[i, j] = 0.5
    read = given_graph(graph, 6)
    assert sets_of(read) == chosen
    S = reconstruction_weights(X, read).toarray()
    np.testing.assert_allclose(S, slow.reconstruction_weights(X, chosen, 1e-3), atol=1e-9)
    assert S[2, 2] == 1


def test_graph_of_scikit_learn_is_the_same(rng):
    X = rng.normal(size=(20, 3))
    given = KNeighborsTransformer(n_neighbors=4, mode="distance").fit_transform(X)
    assert sets_of(given_graph(given, 20)) == sets_of(nearest_rows(X, 4))


def test_graph_of_other_rows_is_refused():
    with pytest.raises(ValueError, match=r"graph has the shape \(3, 3\).*\(5, 5\)"):
        given_graph(sparse.eye_array(3), 5)


def test_approximate_neighbours_are_mostly_the_nearest(rng):
    pytest.importorskip("pynndescent", reason="pip install 'labelgap[neighbors]'")
    X = rng.normal(size=(400, 5))
    found = sets_of(nearest_rows(X, 10, method="approximate"))
    exact = sets_of(nearest_rows(X, 10))
    shared = [len(a & b) / 10 for a, b in zip(found, exact, strict=True)]
    assert np.mean(shared) > 0.9
    assert all(len(near) == 10 and i not in near for i, near in enumerate(found))


def test_approximate_neighbours_by_a_stand_in(rng, monkeypatch):
    """What nearest-neighbour descent returns is read without the row itself."""
    X = rng.normal(size=(30, 3))

    class NNDescent:
        def __init__(self, X, n_neighbors, random_state):
            distance = np.linalg.norm(X[:, None] - X, axis=2)
            order = np.argsort(distance, axis=1, kind="stable")[:, :n_neighbors]
            self.neighbor_graph = order, np.take_along_axis(distance, order, axis=1)

    module = type(sys)("pynndescent")
    module.NNDescent = NNDescent
    monkeypatch.setitem(sys.modules, "pynndescent", module)
    found = nearest_rows(X, 6, method="approximate")
    assert sets_of(found) == slow.nearest_rows(X, 6)


def test_approximate_distances_make_no_sense(rng):
    with pytest.raises(ValueError, match="method='approximate'"):
        nearest_rows(np.ones((4, 4)), 2, method="approximate", metric="precomputed")
