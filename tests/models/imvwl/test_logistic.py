from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from labelgap.kernels.masked_targets import MaskedTarget
from labelgap.models.imvwl._imvwl import _INTERCEPT_PRECISION, fit_predictor


@pytest.fixture
def problem(rng):
    V = rng.gamma(1.0, size=(200, 4))
    Y = (V @ rng.normal(size=(4, 5)) + rng.normal(size=(200, 5)) > 1).astype(float)
    mask = rng.random(Y.shape) < 0.6
    return V, Y, mask


def fitted(V, Y, mask, C, prior):
    ones = Y if mask is None else Y * mask
    target = MaskedTarget(sparse.csr_array(ones), mask)
    return fit_predictor(V, V.std(axis=0), target, C, np.asarray(prior, dtype=float))


@pytest.mark.parametrize("C", [10.0, 0.1])
def test_the_gradient_vanishes(problem, C):
    V, Y, mask = problem
    prior = np.full(5, -1.0)
    found = fitted(V, Y, mask, C, prior)
    error = mask * (1 / (1 + np.exp(-found.log_odds(V))) - Y)
    features = (V - V.mean(axis=0)) / V.std(axis=0)
    np.testing.assert_allclose(features.T @ error + found.coef / C, 0, atol=1e-6)
    shrunk = _INTERCEPT_PRECISION * (found.intercept - prior)
    np.testing.assert_allclose(error.sum(axis=0) + shrunk, 0, atol=1e-6)


def test_agrees_with_scikit_learn_where_everything_is_observed(problem):
    V, Y, _ = problem
    found = fitted(V, Y, None, 0.5, np.zeros(5))
    features = (V - V.mean(axis=0)) / V.std(axis=0)
    for label in range(5):
        theirs = LogisticRegression(C=0.5, tol=1e-8).fit(features, Y[:, label])
        np.testing.assert_allclose(found.coef[:, label], theirs.coef_[0], atol=5e-3)
        np.testing.assert_allclose(found.intercept[label], theirs.intercept_[0], atol=5e-3)


def test_separable_and_unknown_labels_stay_finite(problem):
    V, Y, mask = problem
    Y[:, 0], Y[:, 1], mask[:, 2] = 1.0, V[:, 0] > 1, False
    found = fitted(V, Y, mask, 1e3, [2.0, 0.0, -3.0, 0.0, 0.0])
    assert np.isfinite(found.log_odds(V)).all()
    np.testing.assert_allclose(found.log_odds(V)[:, 2], -3.0)
    assert found.log_odds(V)[:, 0].min() > 2


def test_a_constant_coordinate_does_no_harm(problem):
    V, Y, mask = problem
    V[:, 1] = 0.0
    found = fitted(V, Y, mask, 1.0, np.zeros(5))
    np.testing.assert_allclose(found.coef[1], 0, atol=1e-12)
