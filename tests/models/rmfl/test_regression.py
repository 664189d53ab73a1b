"""The regression of the row factors: one factorisation, the printed solution, leave-one-out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from labelgap.kernels.neighbors import mean_distance_gamma
from labelgap.models.rmfl._kernel_regression import (
    Spectrum,
    centre,
    dual_regressions,
    invert,
    primal_regressions,
)
from reference import rmfl as slow


@pytest.fixture
def rows(rng):
    return rng.normal(size=(25, 4)), rng.normal(size=(25, 3))


@pytest.mark.parametrize("many_ratios", [False, True])
@pytest.mark.parametrize("ratio", [1e-3, 0.5, 20.0])
def test_dual_is_the_printed_solution(rows, ratio, many_ratios):
    X, U = rows
    K = rbf_kernel(X, gamma=0.3)
    A, b = slow.printed_regression(K, U, ratio)
    regression = dual_regressions(K.copy(), many_ratios)(ratio)
    fit = regression.fit(U)
    np.testing.assert_allclose(fit.coef, A, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(regression.intercept(U, fit.coef), b, atol=1e-8)
    np.testing.assert_allclose(fit.residual, U - K @ A - b, atol=1e-8)
    np.testing.assert_allclose(fit.gram, A.T @ K @ A, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("many_ratios", [False, True])
def test_primal_is_ridge_regression(rows, form, many_ratios):
    X, U = rows
    regression = primal_regressions(form(X), many_ratios)(0.7)
    fit = regression.fit(U)
    ridge = Ridge(alpha=0.7).fit(X, U)
    np.testing.assert_allclose(fit.coef, ridge.coef_.T, atol=1e-10)
    np.testing.assert_allclose(regression.intercept(U, fit.coef), ridge.intercept_, atol=1e-10)
    np.testing.assert_allclose(fit.residual, U - ridge.predict(X), atol=1e-10)
    np.testing.assert_allclose(fit.gram, ridge.coef_ @ ridge.coef_.T, atol=1e-10)


@pytest.mark.parametrize("many_ratios", [False, True])
@pytest.mark.parametrize("form", ["dual", "primal"])
def test_freedom_gives_the_residual_without_the_row(rows, form, many_ratios):
    X, U = rows
    regression = (
        dual_regressions(X @ X.T, many_ratios)
        if form == "dual"
        else primal_regressions(X, many_ratios)
    )(0.4)
    left_out = regression.fit(U).residual / regression.freedom()[:, None]
    for i in (0, 7, 24):
        rest = np.delete(np.arange(25), i)
        # centring belongs to the training rows: the ridge without the row, on all else
        model = Ridge(alpha=0.4).fit(X[rest], U[rest])
        np.testing.assert_allclose(left_out[i], U[i] - model.predict(X[[i]])[0], atol=1e-9)


def test_dual_of_the_linear_kernel_is_primal(rows):
    X, U = rows
    dual, primal = dual_regressions(X @ X.T, False)(0.3), primal_regressions(X, False)(0.3)
    np.testing.assert_allclose(dual.fit(U).residual, primal.fit(U).residual, atol=1e-9)
    np.testing.assert_allclose(dual.fit(U).gram, primal.fit(U).gram, atol=1e-9)
    np.testing.assert_allclose(dual.freedom(), primal.freedom(), atol=1e-9)


def test_a_transform_of_the_target_transforms_the_fit(rows, rng):
    X, U = rows
    G = rng.normal(size=(3, 3))
    regression = primal_regressions(X, False)(0.3)
    turned, again = regression.fit(U).turned(G), regression.fit(U @ G)
    for one, two in zip(turned, again, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 30, 1100])
def test_inverse_and_spectrum_agree_with_numpy(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, min(n, 20)))
    matrix = root @ root.T
    vectors = rng.normal(size=(n, 2))
    expected = np.linalg.inv(matrix + 0.5 * np.eye(n))
    for inverse in (invert(matrix.copy(), 0.5), Spectrum(matrix.copy()).at(0.5)):
        np.testing.assert_allclose(inverse.times(vectors), expected @ vectors, atol=1e-8)
        np.testing.assert_allclose(inverse.diagonal(), expected.diagonal(), atol=1e-8)


@pytest.mark.parametrize("n", [1, 30])
def test_on_a_device_it_is_the_same_inverse(n):
    pytest.importorskip("torch")
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, vectors = root @ root.T, rng.normal(size=(n, 2))
    expected = np.linalg.inv(matrix + 0.5 * np.eye(n))
    for inverse in (invert(matrix.copy(), 0.5, "cpu"), Spectrum(matrix.copy(), "cpu").at(0.5)):
        np.testing.assert_allclose(inverse.times(vectors), expected @ vectors, atol=1e-8)
        np.testing.assert_allclose(inverse.diagonal(), expected.diagonal(), atol=1e-8)
    with pytest.raises(ValueError, match="raise lambda_4"):
        invert(-matrix, 1e-3, "cpu")


def test_the_inverse_takes_the_memory_of_the_matrix(rng):
    root = rng.normal(size=(50, 50))
    matrix = root @ root.T
    inverse = invert(matrix, 1.0)
    assert np.shares_memory(inverse.matrix, matrix)


def test_centring_in_place(rng):
    K = rng.normal(size=(8, 8))
    K += K.T
    H = np.eye(8) - 1 / 8
    expected, means = H @ K @ H, K.mean(axis=0)
    np.testing.assert_allclose(centre(K), means)
    np.testing.assert_allclose(K, expected, atol=1e-12)


def test_width_is_the_mean_distance(rng):
    X = rng.normal(size=(12, 3))
    pairs = [np.linalg.norm(X[i] - X[j]) for i in range(12) for j in range(i)]
    assert mean_distance_gamma(X) == pytest.approx(1 / (2 * np.mean(pairs) ** 2))
    assert mean_distance_gamma(sparse.csr_array(X)) == pytest.approx(mean_distance_gamma(X))
    assert mean_distance_gamma(np.ones((4, 2))) == 1.0


def test_without_centring_it_is_kernel_ridge(rows):
    """On centred targets and a centred kernel the two are the same."""
    X, U = rows
    U = U - U.mean(axis=0)
    K = rbf_kernel(X, gamma=0.3)
    centre(K)
    expected = KernelRidge(alpha=0.6, kernel="precomputed").fit(K, U).dual_coef_
    np.testing.assert_allclose(
        dual_regressions(K.copy(), False)(0.6).fit(U).coef, expected, atol=1e-9
    )
