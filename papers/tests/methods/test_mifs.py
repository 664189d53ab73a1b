from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.row_sparse import reweight, row_norms
from labelgap_papers.kernels.smoothness import heat_graph, laplacian
from labelgap_papers.methods import MIFS
from labelgap_papers.methods._mifs import MIFSParams, MIFSProblem
from reference import mifs as slow


def problem(rng, n=80, d=8, c=4, rank=2, n_used=4):
    X = rng.normal(size=(n, d))
    W = np.zeros((d, c))
    W[:n_used] = 2 * rng.normal(size=(n_used, rank)) @ rng.normal(size=(rank, c))
    return X, (X @ W + 0.1 * rng.normal(size=(n, c)) > 0).astype(float)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("n_factors", [1, 2, None, 9])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_objective_never_gets_worse(rng, form, n_factors, ridge):
    X, Y = problem(rng)
    model = MIFS(2.0, 0.3, 0.7, ridge=ridge, n_factors=n_factors, max_iter=60, tol=0.0)
    trace = np.array(model.fit(form(X), Y).trace_.objective)
    assert len(trace) == 60
    assert (np.diff(trace) <= 1e-12 * trace[:-1]).all()


def test_every_step_ends_where_its_gradient_vanishes(rng):
    X, Y = problem(rng)
    lap = laplacian(heat_graph(X, 5))
    made = MIFSProblem(prepare_features(X), Y, lap, 2.0, 0.3, 0.7, 0.0)
    W, V, B = MIFSParams(rng.normal(size=(8, 2)), rng.normal(size=(80, 2)), rng.normal(size=(2, 4)))
    D, weights = reweight(W), (2.0, 0.3, 0.7)
    V = made.row_factors(MIFSParams(W, V, B))
    assert np.abs(slow.gradients(X, Y, lap, W, V, B, D, *weights)[0]).max() < 1e-6
    B = made.label_factors(V)
    assert np.abs(slow.gradients(X, Y, lap, W, V, B, D, *weights)[1]).max() < 1e-9
    W = made.feature_map(W, V)
    assert np.abs(slow.gradients(X, Y, lap, W, V, B, D, *weights)[2]).max() < 1e-9


def test_the_objective_of_a_problem(rng):
    X, Y = problem(rng)
    lap = laplacian(heat_graph(X, 5))
    params = MIFSParams(rng.normal(size=(8, 2)), rng.normal(size=(80, 2)), rng.normal(size=(2, 4)))
    made = MIFSProblem(prepare_features(X), Y, lap, 2.0, 0.3, 0.7, 1.5)
    expected = slow.objective(X, Y, lap, *params, 2.0, 0.3, 0.7) + 1.5 * (params.B**2).sum()
    assert made.objective(params) == pytest.approx(expected)


def test_without_a_ridge_nothing_fixes_the_scale(rng):
    """(cV, cW, B/c) keeps the labels and sends every penalty to zero with c."""
    X, Y = problem(rng)
    lap = laplacian(heat_graph(X, 5))
    params = MIFSParams(rng.normal(size=(8, 2)), rng.normal(size=(80, 2)), rng.normal(size=(2, 4)))
    small = MIFSParams(params.W / 1e4, params.V / 1e4, params.B * 1e4)
    free = MIFSProblem(prepare_features(X), Y, lap, 2.0, 0.3, 0.7, 0.0)
    labels = 2.0 * np.square(Y - params.V @ params.B).sum()
    assert free.objective(small) == pytest.approx(labels, rel=1e-3)
    assert free.objective(params) > 1.1 * labels
    assert free._replace(ridge=0.1).objective(small) > 1e6


def test_finds_planted_features(rng):
    X, Y = problem(rng, 300, 30, 6)
    model = MIFS(gamma=30.0, n_features_to_select=4).fit(X, Y)
    assert set(model.get_support(indices=True)) == {0, 1, 2, 3}
    assert model.scores_.shape == (30,)
    assert row_norms(model.coef_)[:4].min() > row_norms(model.coef_)[4:].max()
