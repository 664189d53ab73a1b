"""Many logistic regressions at once: each is the one scikit-learn finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.logistic import LogisticTargets, fit_logistic
from labelgap.kernels.products import prepare_features


def problem(rng, n=80, d=6, k=5):
    X = rng.normal(size=(n, d))
    probabilities = rng.random((n, k))
    weights = rng.random((n, k)) * (rng.random((n, k)) < 0.7)
    return X, LogisticTargets(probabilities, weights)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def objective_of(X, targets, C, W):
    scores = X @ W[:-1] + W[-1]
    losses = np.logaddexp(0, scores) - targets.probabilities * scores
    return 0.5 * np.square(W[:-1]).sum(axis=0) + C * (targets.weights * losses).sum(axis=0)


def one_by_one(X, targets, C, own=None):
    """The slow way: a general minimiser for every label."""
    n_labels = targets.probabilities.shape[1]
    found = np.zeros((X.shape[1] + 1, n_labels))
    for j in range(n_labels):
        free = np.ones(X.shape[1] + 1, dtype=bool)
        if own is not None and own[j] >= 0:
            free[own[j]] = False

        def objective(some, j=j, free=free):
            w = np.zeros(free.size)
            w[free] = some
            z = X @ w[:-1] + w[-1]
            losses = np.logaddexp(0, z) - targets.probabilities[:, j] * z
            return 0.5 * w[:-1] @ w[:-1] + C * targets.weights[:, j] @ losses

        found[free, j] = minimize(objective, np.zeros(free.sum()), tol=1e-12).x
    return found


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_soft_targets_and_weights(rng, C, form):
    X, targets = problem(rng)
    W, n_iter = fit_logistic(prepare_features(form(X)), targets, C, tol=1e-8)
    np.testing.assert_allclose(W, one_by_one(X, targets, C), atol=1e-4)
    assert n_iter.max() < 20


def test_a_label_does_not_use_its_own_feature(rng):
    X, targets = problem(rng)
    own = np.array([2, -1, 0, 5, -1])
    W, _ = fit_logistic(prepare_features(X), targets._replace(own=own), 1.0, tol=1e-8)
    assert W[2, 0] == W[0, 2] == W[5, 3] == 0
    np.testing.assert_allclose(W, one_by_one(X, targets, 1.0, own), atol=1e-4)


def test_known_labels_are_scikit_learns(rng):
    X = rng.normal(size=(120, 4))
    Y = (X @ rng.normal(size=(4, 3)) + rng.logistic(size=(120, 3)) > 0.5).astype(float)
    W, _ = fit_logistic(prepare_features(X), LogisticTargets(Y, np.ones_like(Y)), 3.0, tol=1e-9)
    for j in range(3):
        model = LogisticRegression(C=3.0, tol=1e-10, max_iter=1000).fit(X, Y[:, j])
        np.testing.assert_allclose(W[:-1, j], model.coef_[0], atol=1e-6)
        np.testing.assert_allclose(W[-1, j], model.intercept_[0], atol=1e-6)


def test_every_label_has_its_own_penalty(rng):
    X, targets = problem(rng, k=3)
    C = np.array([0.1, 1.0, 10.0])
    W, _ = fit_logistic(prepare_features(X), targets, C, tol=1e-9)
    for j in range(3):
        one = LogisticTargets(targets.probabilities[:, [j]], targets.weights[:, [j]])
        alone, _ = fit_logistic(prepare_features(X), one, C[j], tol=1e-9)
        np.testing.assert_allclose(W[:, [j]], alone, atol=1e-8)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_more_steps_never_raise_the_objective(rng, most):
    X, targets = problem(rng, d=30)
    X = 20 * X  # far from where Newton's steps are safe
    features = prepare_features(X)
    fewer, _ = fit_logistic(features, targets, 100.0, max_iter=most)
    more, _ = fit_logistic(features, targets, 100.0, max_iter=most + 1)
    before = objective_of(X, targets, 100.0, fewer)
    after = objective_of(X, targets, 100.0, more)
    assert (after <= before * (1 + 1e-12)).all()


def test_separable_labels_stay_finite(rng):
    X = np.vstack([np.eye(3), -np.eye(3)])
    Y = np.repeat([[1.0], [0.0]], 3, axis=0)
    W, _ = fit_logistic(prepare_features(X), LogisticTargets(Y, np.ones_like(Y)), 1e6)
    assert np.isfinite(W).all()
    assert ((X @ W[:-1] + W[-1] > 0) == (Y == 1)).all()


def test_another_library(rng):
    torch = pytest.importorskip("torch")
    X, targets = problem(rng)
    own = np.array([2, -1, 0, 5, -1])
    expected, _ = fit_logistic(prepare_features(X), targets._replace(own=own), 0.5)
    there = LogisticTargets(
        torch.asarray(targets.probabilities), torch.asarray(targets.weights), own
    )
    W, _ = fit_logistic(prepare_features(torch.asarray(X)), there, 0.5)
    np.testing.assert_allclose(to_numpy(W), expected, atol=1e-9)


def test_rows_drawn_for_rare_labels_lead_to_the_same_minimum(rng):
    X = sparse.random_array((3000, 60), density=0.1, rng=rng, format="csr")
    Y = np.asarray((X[:, :4].toarray() > [0.5, 0.9, 0.97, 0.99]) * 1.0)
    C = np.array([1.0, 10.0, 100.0, 1000.0])
    targets = LogisticTargets(Y, np.ones_like(Y))
    drawn, n_iter = fit_logistic(prepare_features(X), targets, C, tol=1e-7)
    exact, _ = fit_logistic(prepare_features(X.toarray()), targets, C, tol=1e-7)
    np.testing.assert_allclose(drawn, exact, atol=1e-3 * np.abs(exact).max())
    assert n_iter.max() < 40
