"""Settings for which the result is known by other means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from labelgap import RMFL
from labelgap.kernels.neighbors import mean_distance_gamma
from models.rmfl.problems import data, fitted
from reference import rmfl as slow

RATIO = 0.3


def kernel_ridge(drawn, targets, ratio=RATIO):
    """Kernel ridge with an intercept, by the paper's formula, for new rows."""
    gamma = mean_distance_gamma(drawn.X)
    A, b = slow.printed_regression(rbf_kernel(drawn.X, gamma=gamma), targets, ratio)
    return rbf_kernel(drawn.X_new, drawn.X, gamma=gamma) @ A + b


def free(n_factors, max_iter, **settings):
    """No manifolds; small lambda_3 and lambda_4 with a ratio that is not small.

    Without lambda_1, lambda_2 and a ridge, multiplying lambda_3 and lambda_4 by c is the same as
    dividing U by the root of c and multiplying V by it: where alternation drifts to in the long
    run, small weights are from the start.
    """
    return {
        "n_factors": n_factors,
        "lambda_1": 0,
        "lambda_2": 0,
        "lambda_3": 1e-8,
        "lambda_4": RATIO * 1e-8,
        "ridge_v": 0,
        "max_iter": max_iter,
        **settings,
    }


@pytest.mark.parametrize("init", ["labels", "random"])
@pytest.mark.parametrize("solver", ["cg", "exact"])
def test_with_a_factor_per_label_it_is_kernel_ridge_per_label(init, solver):
    drawn = data(missing=0.0)
    model = fitted(drawn, **free(5, 100, init=init, solver=solver, n_cg=20))
    expected = kernel_ridge(drawn, 2 * drawn.truth - 1)
    np.testing.assert_allclose(model.decision_function(drawn.X_new), expected, atol=1e-3)


@pytest.mark.parametrize("init", ["labels", "random"])
@pytest.mark.parametrize("n_factors", [1, 2, 3])
def test_with_fewer_factors_it_is_kernel_ridge_on_the_svd(init, n_factors):
    drawn = data(missing=0.0, n_labels=6, seed=2)
    model = fitted(drawn, **free(n_factors, 600, init=init, n_cg=20))
    U, s, Vt = np.linalg.svd(2 * drawn.truth - 1, full_matrices=False)
    low_rank = (U[:, :n_factors] * s[:n_factors]) @ Vt[:n_factors]
    np.testing.assert_allclose(
        model.decision_function(drawn.X_new), kernel_ridge(drawn, low_rank), atol=1e-3
    )


def test_the_drift_without_a_ridge_leads_there_too():
    """From lambda_3 = 1 the label factors grow without end, and the result nears the limit."""
    drawn = data(missing=0.0)
    expected = kernel_ridge(drawn, 2 * drawn.truth - 1)
    gaps, sizes = [], []
    for max_iter in (20, 200, 2000):
        model = fitted(drawn, **free(5, max_iter, lambda_3=1.0, lambda_4=RATIO))
        gaps.append(np.abs(model.decision_function(drawn.X_new) - expected).max())
        sizes.append(np.linalg.norm(model.label_factors_))
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]
    assert sizes[0] < sizes[1] < sizes[2]


def test_scales_of_both_sides_are_one_setting():
    """lambda_1, lambda_3, lambda_4 times c and the ridge over c change no prediction."""
    drawn = data()
    settings = {"lambda_2": 0, "max_iter": 300, "n_cg": 30}
    one = fitted(drawn, lambda_1=0.5, lambda_3=1, lambda_4=0.2, ridge_v=2, **settings)
    two = fitted(drawn, lambda_1=5, lambda_3=10, lambda_4=2, ridge_v=0.2, **settings)
    scores = [model.decision_function(drawn.X_new) for model in (one, two)]
    np.testing.assert_allclose(*scores, atol=1e-4)


def test_all_starts_reach_the_same_objective_without_a_label_manifold():
    drawn = data()
    ends = [
        fitted(drawn, lambda_2=0, max_iter=400, init="random", random_state=seed).trace_.objective[
            -1
        ]
        for seed in range(4)
    ]
    np.testing.assert_allclose(ends, ends[0], rtol=1e-3)


def test_more_factors_than_labels_are_as_many_as_labels():
    drawn = data()
    wide, narrow = (fitted(drawn, n_factors=k, width=3) for k in (50, 5))
    assert wide.label_factors_.shape == (5, 5)
    np.testing.assert_array_equal(
        wide.decision_function(drawn.X_new), narrow.decision_function(drawn.X_new)
    )


def test_dual_and_primal_are_one_model():
    """The linear kernel on features, and as a precomputed matrix."""
    drawn = data(n_features=3)
    settings = {"lambda_3": 1.0, "max_iter": 30, "tol": 0, "random_state": 0}
    primal = RMFL(kernel="linear", **settings).fit(drawn.X, drawn.Y)
    K = drawn.X @ drawn.X.T
    dual = RMFL(kernel="precomputed", **settings).fit(K, drawn.Y)
    assert (primal.form_, dual.form_) == ("primal", "dual")
    np.testing.assert_allclose(
        primal.decision_function(drawn.X_new),
        dual.decision_function(drawn.X_new @ drawn.X.T),
        atol=1e-6,
    )


def test_a_full_nystroem_approximation_is_the_kernel():
    drawn = data()
    exact = fitted(drawn)
    approximate = fitted(drawn, approximation="nystroem", n_components=40)
    assert approximate.approximation_error_ < 1e-9
    assert exact.approximation_error_ is None
    np.testing.assert_allclose(
        approximate.decision_function(drawn.X_new), exact.decision_function(drawn.X_new), atol=1e-5
    )


@pytest.mark.parametrize("approximation", ["nystroem", "random_features"])
def test_the_stated_error_falls_with_more_components(approximation):
    drawn = data(n_samples=120)
    exact = fitted(drawn).decision_function(drawn.X_new)
    errors, gaps = [], []
    for n_components in (5, 40, 110):
        model = fitted(drawn, approximation=approximation, n_components=n_components)
        design = model._features(drawn.X)
        K = rbf_kernel(drawn.X, gamma=model.gamma_)
        expected = np.linalg.norm(K - design @ design.T) / np.linalg.norm(K)
        assert model.approximation_error_ == pytest.approx(expected)
        errors.append(expected)
        gaps.append(np.abs(model.decision_function(drawn.X_new) - exact).max())
    assert errors[0] > errors[1] > errors[2]
    assert gaps[0] > gaps[2]
