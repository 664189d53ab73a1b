from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize

from labelgap import LabelWarning
from labelgap.fitting import FitDivergedError
from labelgap_papers.methods import JFSC
from labelgap_papers.methods._jfsc import fisher_scatter
from labelgap_papers.methods._linear import cosine_distances

WEIGHTS = (0.05, 0.004, 1.5)


def labelled(rng, n=60, d=5, c=3):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    truth = rng.normal(size=(d, c))
    noisy = X @ truth + rng.normal(size=(n, c))
    return X, (noisy > noisy.mean(axis=0)).astype(float)


def smooth(X, Y, W, intercept, weights=WEIGHTS):
    """As it is written down."""
    value = sum(np.linalg.norm(x @ W + intercept - y) for x, y in zip(X, Y, strict=True))
    value += weights[0] / 2 * np.trace(cosine_distances(Y) @ W.T @ W)
    return value + weights[1] / 2 * (fisher_scatter(X, Y) * W**2).sum()


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_scatter_is_that_of_the_two_sides(rng, form):
    X, Y = labelled(rng)
    Y = np.column_stack([Y, np.zeros(len(Y)), np.ones(len(Y))])
    found = fisher_scatter(form(X), Y)
    for k in range(3):
        pos, neg = X[Y[:, k] == 1], X[Y[:, k] == 0]
        within = np.square(pos - pos.mean(axis=0)).sum(axis=0)
        within += len(pos) / len(neg) * np.square(neg - neg.mean(axis=0)).sum(axis=0)
        between = len(pos) * (pos.mean(axis=0) - neg.mean(axis=0)) ** 2
        np.testing.assert_allclose(found[:, k], within - between, atol=1e-9)
    assert (found[:, 3:] == 0).all()


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 5), (6, 9)])
def test_the_trace_is_the_objective_and_never_rises(rng, form, intercept, shape):
    X, Y = labelled(rng, *shape)
    model = JFSC(*WEIGHTS, fit_intercept=intercept, max_iter=30, tol=0.0).fit(form(X), Y)
    value = smooth(X, Y, model.coef_, model.intercept_) + WEIGHTS[2] * np.abs(model.coef_).sum()
    assert model.trace_.objective[-1] == pytest.approx(value, rel=1e-6)
    assert (np.diff(model.trace_.objective) <= 0).all()
    assert intercept == bool(model.intercept_.any())


@pytest.mark.parametrize("intercept", [True, False])
def test_without_absolute_values_it_is_a_smooth_minimum(rng, intercept):
    X, Y = labelled(rng)
    weights = (0.05, 0.004, 0.0)
    model = JFSC(*weights, fit_intercept=intercept, max_iter=3000, tol=0.0).fit(X, Y)
    shape = (X.shape[1] + 1, Y.shape[1])

    def value(w):
        w = w.reshape(shape)
        return smooth(X, Y, w[:-1], w[-1] * intercept, weights)

    start = np.vstack([model.coef_, model.intercept_]).ravel()
    best = minimize(value, 0.9 * start, method="BFGS", options={"gtol": 1e-5}).x.reshape(shape)
    np.testing.assert_allclose(model.coef_, best[:-1], atol=1e-4)
    if intercept:
        np.testing.assert_allclose(model.intercept_, best[-1], atol=1e-4)


def test_the_limit_satisfies_the_conditions_of_a_minimum(rng):
    X, Y = labelled(rng)
    model = JFSC(*WEIGHTS, max_iter=3000, tol=0.0).fit(X, Y)
    W = model.coef_

    def value(w):
        return smooth(X, Y, w.reshape(W.shape), model.intercept_)

    slope = approx_fprime(W.ravel(), value, 1e-7).reshape(W.shape)
    used = W != 0
    assert 0 < used.sum() < W.size
    np.testing.assert_allclose(slope[used], -WEIGHTS[2] * np.sign(W[used]), atol=1e-3)
    assert (np.abs(slope[~used]) <= WEIGHTS[2] + 1e-3).all()


def test_features_that_separate_a_label_are_cheap_for_it(rng):
    """Feature 0 separates by distance, feature 1 carries as much with a wide scatter."""
    y = np.repeat([0.0, 1.0], 100)
    tight = np.where(y == 1, 1.0, -1.0) + 0.2 * rng.normal(size=200)
    wide = np.where(y == 1, 1.0, -1.0) + 3 * rng.normal(size=200)
    scatter = fisher_scatter(np.column_stack([tight, wide]), y[:, None])
    assert scatter[0, 0] < 0 < scatter[1, 0]


def test_too_heavy_a_term_has_no_minimum(rng):
    X, Y = labelled(rng)
    with pytest.raises(FitDivergedError):
        JFSC(500.0, 0.0, 0.0, max_iter=20_000, tol=0.0).fit(X, Y)


def test_unknown_entries_are_said_to_be_filled(rng):
    X, Y = labelled(rng)
    gaps = rng.random(Y.shape) < 0.3
    gaps[:, 0] = False
    hidden = np.where(gaps, np.nan, Y)
    settings = {"max_iter": 10, "tol": 0.0}
    with pytest.warns(LabelWarning, match=f"JFSC needs complete labels: the {gaps.sum()} unknown"):
        silent = JFSC(**settings).fit(X, hidden)
    zeros = JFSC(**settings).fit(X, np.where(gaps, 0, Y))
    np.testing.assert_allclose(silent.coef_, zeros.coef_)
    filled = JFSC(unknown="mean", **settings).fit(X, hidden)
    assert np.abs(filled.coef_ - zeros.coef_).max() > 1e-3
