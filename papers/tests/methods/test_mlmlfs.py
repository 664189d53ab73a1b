from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.row_sparse import reweight, row_norms
from labelgap_papers.kernels.smoothness import heat_graph, laplacian
from labelgap_papers.methods import FSNM, MLMLFS
from labelgap_papers.methods._mlmlfs import smooth_regression
from reference import mlmlfs as slow


def problem(rng, n=80, d=8, c=4, n_used=3, gaps=0.3):
    X = rng.normal(size=(n, d))
    W = np.vstack([2 * rng.normal(size=(n_used, c)), np.zeros((d - n_used, c))])
    Y = (X @ W > 0).astype(float)
    Y[rng.random(Y.shape) < gaps] = np.nan
    Y[np.isnan(Y).all(axis=1), 0] = 1
    return X, Y


def objective(model, X, Y, lap, alpha, weight, p):
    """Where unknown entries may be anything in [-1, 1], they cost what F exceeds it."""
    W, fitted = 2 * model.coef_, 2 * (X @ model.coef_ + model.intercept_) - 1
    target = np.where(np.isnan(Y), np.clip(fitted, -1, 1), 2 * Y - 1)
    rough = np.trace(fitted.T @ (lap @ fitted))
    return row_norms(fitted - target).sum() + alpha * rough + weight * (row_norms(W) ** p).sum()


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_the_objective_never_gets_worse(rng, form, p, gaps):
    X, Y = problem(rng, gaps=gaps)
    model = MLMLFS(0.1, 0.7, p, max_iter=80, tol=0.0).fit(form(X), Y)
    trace = np.array(model.trace_.objective)
    assert (np.diff(trace) <= 1e-12 * trace[:-1]).all()
    lap = laplacian(heat_graph(X, 5))
    assert trace[-1] == pytest.approx(objective(model, X, Y, lap, 0.1, 0.7, p), rel=1e-4)


def test_complete_labels_and_no_smoothness_are_fsnm(rng):
    X, Y = problem(rng, gaps=0.0)
    model = MLMLFS(0.0, 2.0, max_iter=800, tol=0.0).fit(X, Y)
    # labels of -1 and 1 are twice as far apart, and so are weights
    plain = FSNM(2.0, fit_intercept="free", max_iter=800, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-4)


def test_the_step_is_the_published_one_with_the_identity_in_its_place(rng):
    X, Y = problem(rng, gaps=0.0)
    Y, W0 = 2 * Y - 1, rng.normal(size=(8, 4))
    lap = laplacian(heat_graph(X, 5)).toarray()
    g, p = reweight(X @ W0 - Y), rng.gamma(2.0, size=8)
    found = smooth_regression(prepare_features(X), Y, g, p, 0.3 * X.T @ lap @ X)
    expected = slow.step_map(X, Y, g, p, lap, 0.3, 1.0, fault=False)
    np.testing.assert_allclose(found[:-1], expected, atol=1e-10)
    faulty = slow.step_map(X, Y, g, p, lap, 0.3, 1.0, fault=True)
    assert np.abs(faulty - expected).max() > 1e-3


def test_no_other_place_is_lower(rng):
    """p = 1 makes the problem convex: the end is the minimum, gaps or not."""
    X, Y = problem(rng, 80, 4, 2)
    model = MLMLFS(0.1, 1.0, max_iter=400, tol=0.0).fit(X, Y)
    lap = laplacian(heat_graph(X, 5))
    best = objective(model, X, Y, lap, 0.1, 1.0, 1.0)
    other = MLMLFS()
    for _ in range(300):
        scale = 10.0 ** -rng.uniform(0.5, 4)
        other.coef_ = model.coef_ + scale * rng.normal(size=model.coef_.shape)
        other.intercept_ = model.intercept_ + scale * rng.normal(size=2)
        assert objective(other, X, Y, lap, 0.1, 1.0, 1.0) > best - 1e-4 * best


def test_smoothness_makes_neighbours_alike(rng):
    X, Y = problem(rng)
    lap = laplacian(heat_graph(X, 5))
    rough = []
    for alpha in (0.0, 1.0, 100.0):
        fitted = X @ MLMLFS(alpha, 0.1, max_iter=50, tol=0.0).fit(X, Y).coef_
        rough.append(np.trace(fitted.T @ (lap @ fitted)))
    assert rough[0] > rough[1] > rough[2]


def test_a_given_graph_is_cut_to_the_labelled_rows(rng):
    X, Y = problem(rng)
    graph = heat_graph(X, 5)
    default = MLMLFS(max_iter=5, tol=0.0).fit(X, Y)
    given = MLMLFS(graph=graph, max_iter=5, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(given.coef_, default.coef_, atol=1e-10)
    order = rng.permutation(80)
    unlabelled = np.vstack([Y, np.full((1, 4), np.nan)])
    wider = sparse.block_diag([graph[order][:, order], sparse.csr_array((1, 1))], format="csr")
    more = MLMLFS(graph=wider, max_iter=5, tol=0.0)
    more.fit(np.vstack([X[order], np.zeros((1, 8))]), unlabelled[[*order, 80]])
    np.testing.assert_allclose(more.coef_, default.coef_, atol=1e-10)
    with pytest.raises(ValueError, match=r"graph has the shape \(3, 3\)"):
        MLMLFS(graph=sparse.eye_array(3, format="csr")).fit(X, Y)


def test_finds_planted_features(rng):
    X, Y = problem(rng, 300, 30, 5)
    model = MLMLFS(0.01, 10.0, n_features_to_select=3).fit(X, Y)
    assert set(model.get_support(indices=True)) == {0, 1, 2}
