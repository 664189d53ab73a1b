from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from labelgap import Labels
from labelgap_papers.methods import FastTag


def labelled(rng, n=25, d=4, n_labels=3):
    X = rng.normal(size=(n, d)) + 1
    Y = (X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0).astype(float)
    return X, Y


def lost_tags(Y, B, noise):
    """E ||Y - Y~ B||^2 over all ways to lose tags."""
    total = 0.0
    for lost in product([0, 1], repeat=Y.shape[1]):
        fraction = np.prod([noise if gone else 1 - noise for gone in lost])
        total += fraction * np.square(Y - (Y * (1 - np.array(lost))) @ B).sum()
    return total


def objective(X, Y, W, b, B, ridge, weight, noise):
    value = np.square(X @ W + b - Y @ B).sum() + ridge * np.square(W).sum()
    return value + weight * lost_tags(Y, B, noise)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(25, 4), (6, 9)])
def test_all_derivatives_are_zero(rng, form, intercept, shape):
    X, Y = labelled(rng, *shape)
    settings = (0.7, 2.0, 0.3)
    model = FastTag(*settings, fit_intercept=intercept).fit(form(X), Y)
    parts = [model.coef_, model.intercept_, model.label_coef_]

    def value(flat):
        W, b, B = (
            piece.reshape(part.shape)
            for piece, part in zip(
                np.split(flat, np.cumsum([part.size for part in parts])[:-1]), parts, strict=True
            )
        )
        return objective(X, Y, W, b * intercept, B, *settings)

    flat = np.concatenate([part.ravel() for part in parts])
    np.testing.assert_allclose(approx_fprime(flat, value, 1e-6), 0, atol=2e-3)


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_the_steps_of_the_paper_taken_in_turns_lead_there(rng, noise):
    X, Y = labelled(rng)
    ridge, weight = 0.5, 1.5
    S = Y.T @ Y
    Q = (1 - noise) ** 2 * S + np.diag(noise * (1 - noise) * S.diagonal())
    B = np.zeros_like(S)
    for _ in range(3000):
        W = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ Y @ B)
        B = np.linalg.solve(weight * Q + S, weight * (1 - noise) * S + Y.T @ X @ W)
    model = FastTag(ridge, weight, noise, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.label_coef_, B, atol=1e-8)
    np.testing.assert_allclose(model.coef_, W, atol=1e-8)


def test_a_heavy_weight_without_noise_leaves_tags_as_they_are(rng):
    X, Y = labelled(rng)
    model = FastTag(0.5, 1e9, 0.0, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.label_coef_, np.eye(3), atol=1e-6)
    ridge = np.linalg.solve(X.T @ X + 0.5 * np.eye(4), X.T @ Y)
    np.testing.assert_allclose(model.coef_, ridge, atol=1e-6)


def test_a_tag_that_goes_with_another_is_completed(rng):
    X, _ = labelled(rng, n=400)
    first = (X[:, 0] > 1).astype(float)
    Y = np.column_stack([first, first, rng.integers(2, size=400)])
    hidden = (rng.random(400) < 0.5) & (first == 1)
    Y[hidden, 1] = np.nan
    model = FastTag().fit(X, Y)
    completed = np.nan_to_num(Y) @ model.label_coef_
    assert completed[hidden, 1].mean() > 3 * completed[first == 0, 1].mean()
    assert model.label_coef_[0, 1] > 3 * abs(model.label_coef_[2, 1])


def test_layers_go_on_from_completed_tags(rng):
    X, Y = labelled(rng)
    once = FastTag(fit_intercept=False).fit(X, Y)
    twice = FastTag(n_layers=2, fit_intercept=False).fit(X, Y)
    assert np.abs(once.label_coef_ - twice.label_coef_).max() > 1e-3
    ridge = np.linalg.solve(X.T @ X + np.eye(4), X.T @ Y @ twice.label_coef_)
    np.testing.assert_allclose(twice.coef_, ridge, atol=1e-9)


def test_unknown_entries_are_zeros_and_there_must_be_something_to_learn(rng):
    X, Y = labelled(rng)
    gaps = rng.random(Y.shape) < 0.3
    gaps[:, 0] = False
    unknown = FastTag().fit(X, np.where(gaps, np.nan, Y))
    zeros = FastTag().fit(X, np.where(gaps, 0, Y))
    np.testing.assert_allclose(unknown.coef_, zeros.coef_)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        FastTag().fit(X, Labels.from_dense(np.full(Y.shape, np.nan)))
