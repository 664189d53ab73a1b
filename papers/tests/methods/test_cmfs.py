"""CMFS: optimality conditions, special cases with a known answer, and planted features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.linear_model import Ridge

from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.kernels.smoothness import laplacian
from labelgap_papers.methods import CMFS
from labelgap_papers.methods._cmfs import (
    CMFSParams,
    CMFSProblem,
    Graphs,
    _to_unit_range,
    nonnegative_row_norms,
    some_steps,
)


def data(rng, n=60, d=8, c=4, rank=2):
    U = rng.gamma(1.0, size=(n, rank))
    X = U @ rng.gamma(1.0, size=(rank, d)) + 0.1 * rng.random((n, d))
    Y = U @ rng.gamma(1.0, size=(rank, c))
    return X, (np.median(Y, axis=0) < Y).astype(float)


def random_graph(rng, n):
    return laplacian(np.triu(rng.random((n, n)) < 0.2, 1) * rng.random((n, n)))


def problem(rng, graphs=0.3, gamma=0.7, ridge=0.2, gaps=0.2, k=2, alpha=2.0):
    X, Y = data(rng)
    Y[rng.random(Y.shape) < gaps] = np.nan
    laps = Graphs(*(graphs * random_graph(rng, n) for n in (len(X), X.shape[1], Y.shape[1])))
    made = CMFSProblem(prepare_features(X), Y, laps, alpha, gamma, ridge)
    sizes = (len(X), X.shape[1], Y.shape[1])
    return made, CMFSParams(*(rng.random((size, k)) for size in sizes))


def slow_objective(made, params):
    X, Y = made.features.rows, made.Y
    U, P, B = params
    known = ~np.isnan(Y)
    total = np.square(X - U @ P.T).sum() + made.alpha * np.square((Y - U @ B.T)[known]).sum()
    total += sum(np.trace(F.T @ (lap @ F)) for lap, F in zip(made.graphs, params, strict=True))
    return total + made.gamma * np.linalg.norm(P, axis=1).sum() + made.ridge * np.square(U).sum()


def converged(made, params, n=800):
    for _ in range(n):
        params = made.sweep(params)
    return params


def slopes(made, params, step=1e-6):
    """Gradients of the objective without the row norms, by central differences."""
    smooth = made._replace(gamma=0.0)
    found = []
    for i, F in enumerate(params):
        slope = np.zeros_like(F)
        for place in np.ndindex(F.shape):
            ends = []
            for sign in (1, -1):
                moved = F.copy()
                moved[place] += sign * step
                ends.append(slow_objective(smooth, [*params[:i], moved, *params[i + 1 :]]))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return found


def test_the_objective_of_a_problem(rng):
    made, params = problem(rng)
    assert made.objective(params) == pytest.approx(slow_objective(made, params), rel=1e-12)
    thin = made._replace(features=prepare_features(sparse.csr_array(made.features.rows)))
    assert thin.objective(params) == pytest.approx(slow_objective(made, params), rel=1e-12)


def test_the_optimality_conditions_at_the_end(rng):
    """No feasible direction goes down: Karush-Kuhn-Tucker, with gradients by differences."""
    made, params = problem(rng, gamma=6.0)
    made.features.rows[:, -2:] *= 0.02  # features that are not worth their norm
    params = converged(made, params)
    slope_u, slope_p, slope_b = slopes(made, params)
    for F, slope in ((params.U, slope_u), (params.B, slope_b)):
        assert np.abs(np.minimum(F, slope)).max() < 1e-3
    lengths = row_norms(params.P)
    kept = lengths > 0
    assert kept.any()
    assert not kept.all()
    full = slope_p[kept] + made.gamma * params.P[kept] / lengths[kept, None]
    assert np.abs(np.minimum(params.P[kept], full)).max() < 1e-3
    pull = np.linalg.norm(np.maximum(-slope_p[~kept], 0), axis=1)
    assert (pull <= made.gamma + 1e-3).all()


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_no_sweep_gets_worse(rng, gaps):
    made, params = problem(rng, gaps=gaps)
    values = [made.objective(params)]
    for _ in range(100):
        params = made.sweep(params)
        values.append(made.objective(params))
        assert all((F >= 0).all() for F in params)
    assert (np.diff(values) <= 1e-11 * values[0]).all()
    assert values[-1] < 0.5 * values[0]


def test_the_row_norms_have_a_closed_form():
    """One row at a time: what is negative goes, the rest is drawn towards zero or vanishes."""
    prox = nonnegative_row_norms(2.0)
    z, penalty = prox(np.array([[3.0, 4.0, -7.0], [0.3, 0.4, -1.0], [-1.0, -1.0, 0.0]]), 0.5)
    np.testing.assert_allclose(z, [[2.4, 3.2, 0], [0, 0, 0], [0, 0, 0]])
    assert penalty == pytest.approx(2.0 * 4.0)


def test_features_of_orthogonal_factors_have_a_closed_form(rng):
    """With U'U = c I and no graph, P is X'U/c, what is negative of it gone, and shrunk."""
    U = np.kron(np.eye(3), np.ones((5, 1)))
    X = rng.normal(size=(15, 6))
    expected = nonnegative_row_norms(3.0)(X.T @ U / 5, 1 / (2 * 5))[0]
    assert (expected[row_norms(expected) > 0] > 0).any()
    prox = nonnegative_row_norms(3.0)
    found = some_steps(np.zeros((6, 3)), U.T @ U, sparse.csr_array((6, 6)), X.T @ U, prox)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_without_penalties_it_is_a_factorisation_of_both_side_by_side(rng):
    made, params = problem(rng, graphs=0.0, gamma=0.0, ridge=0.0, gaps=0.0, alpha=4.0)
    both = np.hstack([made.features.rows, 2.0 * made.Y])
    found = NMF(2, init="nndsvda", tol=1e-10, max_iter=5000)
    U, H = found.fit_transform(both), found.components_.T
    theirs = np.square(both - U @ H.T).sum()
    start = CMFSParams(U, H[:8], H[8:] / 2.0)
    assert made.objective(start) == pytest.approx(theirs)
    assert made.objective(converged(made, start, 50)) == pytest.approx(theirs, rel=1e-6)
    assert made.objective(converged(made, params, 500)) == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("n_factors", [1, None, 9])
def test_the_objective_of_a_fit_never_gets_worse(rng, form, n_factors):
    X, Y = data(rng)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    model = CMFS(2.0, 0.5, n_factors=n_factors, max_iter=60, tol=0.0).fit(form(X - 0.5), Y)
    trace = np.array(model.trace_.objective)
    assert len(trace) == 60
    assert (np.diff(trace) <= 1e-11 * trace[0]).all()


def test_unknown_labels_do_not_pull(rng):
    """A label that is hidden in half of the rows ends where the known half puts it."""
    X, Y = data(rng, n=400, c=3)
    gaps = Y.copy()
    hidden = rng.random(len(Y)) < 0.5
    gaps[hidden, 0] = np.nan
    negative = np.where(np.isnan(gaps), 0.0, gaps)
    settings = {"alpha": 10.0, "gamma": 0.01, "ridge": 0.01, "n_factors": 2}
    fitted = [CMFS(**settings).fit(X, labels) for labels in (Y, gaps, negative)]
    means = [(m.row_factors_ @ m.label_factors_.T)[hidden, 0].mean() for m in fitted]
    assert means[1] == pytest.approx(means[0], rel=0.15)
    assert means[2] < 0.7 * means[0]


def test_finds_planted_features(rng):
    """Features that follow the factors of the labels against features that follow nothing."""
    n, d, n_used = 400, 30, 6
    group = rng.integers(0, 3, n)
    U = np.eye(3)[group]
    Y = U[:, [0, 0, 1, 1, 2, 2]] * (rng.random((n, 6)) < 0.9)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.5)
    X[:, :n_used] = U[:, [0, 0, 1, 1, 2, 2]] * (0.7 + 0.3 * rng.random((n, n_used)))
    model = CMFS(gamma=20.0, n_features_to_select=n_used).fit(X, Y)
    assert set(model.get_support(indices=True)) == set(range(n_used))
    assert model.scores_[:n_used].min() > 1.5 * model.scores_[n_used:].max()


def test_predictions_are_a_ridge_regression_on_weighted_features(rng):
    X, Y = data(rng)
    model = CMFS(gamma=3.0, max_iter=30, tol=0.0).fit(X, Y)
    unit = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    fraction = model.scores_ / model.scores_.max()
    expected = Ridge(1.0).fit(unit * fraction, Y).predict(unit * fraction)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, expected, atol=1e-9)


def test_the_scale_of_a_feature_does_not_matter(rng):
    X, Y = data(rng)
    scores = CMFS(max_iter=30, tol=0.0).fit(X, Y).scores_
    moved = CMFS(max_iter=30, tol=0.0).fit(X * 7.0 - 3.0, Y)
    np.testing.assert_allclose(moved.scores_, scores, rtol=1e-8)


def test_sparse_features_that_start_at_zero_stay_sparse(rng):
    X = rng.random((30, 5)) * (rng.random((30, 5)) < 0.4)
    thin, low, width = _to_unit_range(sparse.csr_array(X))
    full = _to_unit_range(X)
    assert sparse.issparse(thin)
    np.testing.assert_allclose(thin.toarray(), full[0])
    np.testing.assert_array_equal(low, full[1])
    np.testing.assert_array_equal(width, full[2])
    assert not sparse.issparse(_to_unit_range(sparse.csr_array(X - 0.5))[0])
