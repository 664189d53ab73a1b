from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from labelgap import Labels
from labelgap.fitting import FitWarning
from labelgap.kernels.neighbors import nearest_rows, reconstruction_weights
from labelgap_papers.methods import ML2
from labelgap_papers.methods._ml2 import label_manifold, weighted_regression


def labelled(rng, n=40, d=3, n_labels=3, gaps=0.3):
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) + 0.3 * rng.normal(size=(n, n_labels)) > 0).astype(
        float
    )
    return X, np.where(rng.random(Y.shape) < gaps, np.nan, Y)


def test_the_manifold_is_the_bounded_least_squares_solution(rng):
    X, Y = labelled(rng)
    weights = reconstruction_weights(X, nearest_rows(X, 5), reg=1e-2)
    signed = np.nan_to_num(2 * Y - 1)
    found, values = label_manifold(weights, signed, 0.7, 20_000, 0.0)
    rough = np.eye(len(X)) - weights.toarray()
    assert (found * signed)[signed != 0].min() >= 0.7
    assert (np.diff(values) <= 0).all()
    assert values[-1] == pytest.approx(np.square(rough @ found).sum(), rel=1e-8)
    for column, sign in zip(found.T, signed.T, strict=True):
        bounds = np.where(sign > 0, 0.7, -np.inf), np.where(sign < 0, -0.7, np.inf)
        best = lsq_linear(rough, np.zeros(len(X)), bounds, method="bvls", tol=1e-12)
        assert np.square(rough @ column).sum() == pytest.approx(2 * best.cost, rel=1e-4, abs=1e-6)


def test_weighted_regression_minimises_its_objective(rng):
    X = rng.normal(size=(20, 3))
    K, target, weights = rbf_kernel(X), rng.normal(size=(20, 2)), rng.gamma(1.0, size=20)
    weights[::4] = 0
    dual, level = weighted_regression(K, target, weights)

    def value(dual, level):
        residual = K @ dual + level - target
        return np.vdot(dual, K @ dual) + (weights * np.square(residual).sum(axis=1)).sum()

    best = value(dual, level)
    for _ in range(100):
        assert value(dual + 0.1 * rng.normal(size=dual.shape), level) > best
        assert value(dual, level + 0.1 * rng.normal(size=2)) > best


def test_without_a_tube_it_is_kernel_ridge(rng):
    X, Y = labelled(rng)
    model = ML2(2.0, 0.0, gamma=0.5, max_iter=300, tol=0.0).fit(X, Y)
    numbers = model.label_numbers_ - model.intercept_
    ridge = KernelRidge(alpha=1 / 4, kernel="rbf", gamma=0.5).fit(X, numbers)
    np.testing.assert_allclose(model.dual_coef_, ridge.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_limit_of_the_regression_is_stationary(rng, kernel, form):
    X, Y = labelled(rng)
    tube = 0.4 if kernel == "rbf" else 1.5
    model = ML2(3.0, tube, kernel=kernel, n_neighbors=5, max_iter=400, tol=0.0).fit(form(X), Y)
    assert (np.diff(model.trace_.objective) <= 0).all()
    K = rbf_kernel(X, gamma=model.gamma_) if kernel == "rbf" else X @ X.T
    residual = K @ model.dual_coef_ + model.intercept_ - model.label_numbers_
    distances = np.linalg.norm(residual, axis=1)
    slope = 2 * 3.0 * np.maximum(0, 1 - tube / distances)[:, None] * residual
    assert (slope == 0).all(axis=1).any()
    np.testing.assert_allclose(K @ (model.dual_coef_ + slope), 0, atol=1e-5)
    np.testing.assert_allclose(slope.sum(axis=0), 0, atol=1e-5)
    value = 0.5 * np.vdot(model.dual_coef_, K @ model.dual_coef_)
    value += 3.0 * np.square(np.maximum(0, distances - tube)).sum()
    assert model.trace_.objective[-1] == pytest.approx(value, rel=1e-9)


def test_unknown_labels_follow_their_neighbours(rng):
    cluster = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) * 0.1 + 5 * cluster[:, None]
    truth = np.column_stack([cluster, 1 - cluster]).astype(float)
    hidden = rng.random(truth.shape) < 0.6
    model = ML2(n_neighbors=5, max_iter=2000, tol=1e-7).fit(X, np.where(hidden, np.nan, truth))
    signs = np.sign(model.label_numbers_)
    assert (signs == 2 * truth - 1)[hidden].mean() > 0.95
    assert (model.predict(X) == truth).mean() > 0.95


def test_says_when_it_has_not_converged_and_when_there_is_nothing_to_learn(rng):
    X, Y = labelled(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        ML2(max_iter=2, tol=1e-14).fit(X, Y)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        ML2().fit(X, Labels.from_dense(np.full(Y.shape, np.nan)))
