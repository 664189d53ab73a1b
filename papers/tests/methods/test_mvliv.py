from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from labelgap import Labels
from labelgap.views import from_blocks
from labelgap_papers.methods import MVLIV, _mvliv


def shared_subspace(rng, n=90, k=2, noise=0.0):
    """Two views of the same k hidden numbers; a third of the rows lack each."""
    hidden = rng.normal(size=(n, k))
    blocks = {
        "a": hidden @ rng.normal(size=(k, 5)) + noise * rng.normal(size=(n, 5)),
        "b": hidden @ rng.normal(size=(k, 7)) + noise * rng.normal(size=(n, 7)),
    }
    kind = np.arange(n) % 3
    X, views = from_blocks(blocks, {"a": kind != 1, "b": kind != 2})
    Y = (hidden @ rng.normal(size=(k, 3)) > 0.2).astype(float)
    return X, views, Y, np.hstack(list(blocks.values()))


def brute_objective(X, V, U, ridge):
    residual = np.where(np.isnan(X), 0.0, V @ U.T - np.nan_to_num(X))
    return np.square(residual).sum() + ridge * (np.square(V).sum() + np.square(U).sum())


def test_complete_views_have_a_closed_form(rng):
    """Singular values of X lowered by the ridge, half of each in either factor."""
    X, Y = rng.normal(size=(40, 8)), (rng.random((40, 2)) < 0.5).astype(float)
    model = MVLIV({"a": 3, "b": 5}, 3, ridge=1.5, scaling=None, max_iter=600, tol=0.0).fit(X, Y)
    left, values, right = np.linalg.svd(X, full_matrices=False)
    expected = (left[:, :3] * np.maximum(values[:3] - 1.5, 0)) @ right[:3]
    np.testing.assert_allclose(model.embedding_ @ model.loadings_.T, expected, atol=1e-8)
    least = np.square(values[3:]).sum() + (1.5**2 + 2 * 1.5 * (values[:3] - 1.5)).sum()
    assert model.trace_.objective[-1] == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize("single_gaps", [False, True])
def test_the_trace_is_the_brute_force_objective_and_never_increases(rng, single_gaps):
    X, views, Y, _ = shared_subspace(rng, noise=0.5)
    if single_gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
        Y = Y[: len(X)]
    model = MVLIV(views, 3, ridge=0.3, max_iter=25, tol=0.0).fit(X, Y)
    assert (np.diff(model.trace_.objective) <= 1e-12).all()
    scaled = model.scaling_.scaled(X)
    # the vectors are the best for the last loadings, those of the trace one step behind
    value = brute_objective(scaled, model.embedding_, model.loadings_, 0.3)
    assert value <= model.trace_.objective[-1] * (1 + 1e-12)
    values, there = _mvliv.dense_views(X, model.views_)
    gappy = _mvliv.read_gappy(model.scaling_.scaled(values), there, model.views_)
    V, U = model.embedding_, model.loadings_
    found = _mvliv.squared_loss(gappy, V, U, _mvliv.column_crosses(gappy, V))
    penalty = 0.3 * (np.square(V).sum() + np.square(U).sum())
    assert found + penalty == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("single_gaps", [False, True])
def test_the_end_is_stationary(rng, single_gaps):
    X, views, Y, _ = shared_subspace(rng, n=30, noise=0.5)
    if single_gaps:
        X[0, 0] = X[5, 8] = X[6, 2] = np.nan
    model = MVLIV(views, 2, ridge=0.3, max_iter=600, tol=0.0).fit(X, Y)
    scaled, V, U = model.scaling_.scaled(X), model.embedding_, model.loadings_
    residual = np.where(np.isnan(scaled), 0.0, V @ U.T - np.nan_to_num(scaled))
    np.testing.assert_allclose(residual @ U + 0.3 * V, 0, atol=1e-8)
    np.testing.assert_allclose(residual.T @ V + 0.3 * U, 0, atol=1e-6)


def test_absent_views_of_a_planted_subspace_are_recovered(rng):
    X, views, Y, whole = shared_subspace(rng)
    model = MVLIV(views, 2, ridge=1e-6, scaling=None, max_iter=1000, tol=0.0).fit(X, Y)
    filled = model.impute_views(X)
    np.testing.assert_allclose(filled, whole, atol=2e-2)
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(filled[observed], X[observed])


def test_rows_are_placed_by_the_views_they_have(rng):
    X, views, Y, _ = shared_subspace(rng, noise=0.3)
    X[3, 1] = np.nan
    model = MVLIV(views, 2, max_iter=20, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)
    scaled = model.scaling_.scaled(X)
    for i in (0, 1, 2, 3):
        seen = ~np.isnan(scaled[i])

        def loss(v, i=i, seen=seen):
            residual = v @ model.loadings_[seen].T - scaled[i, seen]
            return np.square(residual).sum() + 0.1 * np.square(v).sum()

        best = minimize(loss, np.zeros(2), tol=1e-12).x
        np.testing.assert_allclose(model.embedding_[i], best, atol=1e-5)


def test_labels_are_ridge_regressions_on_the_subspace(rng):
    X, views, Y, _ = shared_subspace(rng, noise=0.3)
    hidden = rng.random(Y.shape) < 0.3
    gaps = np.where(hidden, np.nan, Y)
    skip = MVLIV(views, 2, penalty=0.7, max_iter=20, tol=0.0).fit(X, gaps)
    V = skip.embedding_ / np.sqrt(np.mean(skip.embedding_**2))
    for j in range(3):
        known = ~hidden[:, j]
        expected = Ridge(0.7).fit(V[known], Y[known, j])
        fitted = skip.embedding_ @ skip.coef_[:, j] + skip.intercept_[j]
        np.testing.assert_allclose(fitted, expected.predict(V), atol=1e-7)
    negative = MVLIV(views, 2, unknown="negative", max_iter=20, tol=0.0).fit(X, gaps)
    filled = MVLIV(views, 2, max_iter=20, tol=0.0).fit(X, np.where(hidden, 0.0, Y))
    np.testing.assert_allclose(negative.coef_, filled.coef_, atol=1e-12)


def test_labels_of_rows_without_any_are_predicted(rng):
    X, views, Y, _ = shared_subspace(rng, n=300, noise=0.05)
    seen = np.where(rng.random(Y.shape) < 0.4, np.nan, Y)
    seen[200:] = np.nan
    model = MVLIV(views, 2).fit(X, seen)
    assert (model.predict(X[200:]) == Y[200:]).mean() > 0.9


def test_sparse_views_with_marks(rng):
    X, views, Y, _ = shared_subspace(rng)
    blocks, there = {}, {}
    for name, view in views.items():
        there[name] = ~np.isnan(X[:, view]).all(axis=1)
        blocks[name] = sparse.csr_array(np.nan_to_num(X[:, view]))
    marked, _ = from_blocks(blocks, there)
    dense = MVLIV(views, 2, max_iter=5, tol=0.0).fit(X, Y)
    found = MVLIV(views, 2, max_iter=5, tol=0.0).fit(marked, Y)
    np.testing.assert_allclose(
        dense.decision_function(X), found.decision_function(marked), atol=1e-10
    )


def test_more_factors_than_columns(rng):
    X, Y = rng.normal(size=(30, 3)), (rng.random((30, 2)) < 0.5).astype(float)
    model = MVLIV(None, 5, max_iter=10, tol=0.0).fit(X, Y)
    assert model.transform(X).shape == (30, 5)
    assert np.isfinite(model.decision_function(X)).all()


def test_bad_input(rng):
    X, views, Y, _ = shared_subspace(rng)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        MVLIV(views, 2).fit(X, Labels.from_dense(np.full((90, 3), np.nan)))
    with pytest.raises(ValueError, match="'a' is absent in every row"):
        MVLIV(views, 2).fit(np.column_stack([np.full((90, 5), np.nan), np.ones((90, 7))]), Y)
    X[7] = np.nan
    with pytest.raises(ValueError, match="row 7 has no view"):
        MVLIV(views, 2).fit(X, Y)
