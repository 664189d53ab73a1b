from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.linear_model import Lasso

from labelgap_papers.methods import LSML

WEIGHTS = (0.8, 0.6, 3.0, 0.3)


def labelled(rng, n=50, d=6, c=4):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    truth = rng.normal(size=(d, c))
    return X, (X @ truth + rng.normal(size=(n, c)) > (X @ truth).mean(axis=0)).astype(float)


def smooth(X, Y, W, C, intercept, symmetric, weights=WEIGHTS):
    """As it is written down, with the best intercept."""
    residual = X @ W - Y @ C
    if intercept:
        residual = residual - residual.mean(axis=0)
    value = 0.5 * np.square(residual).sum() + weights[0] / 2 * np.square(Y @ C - Y).sum()
    for i, j in np.ndindex(C.shape):
        if symmetric:
            value += weights[3] * C[i, j] / 2 * np.square(W[:, i] - W[:, j]).sum()
        else:
            value += weights[3] * C[i, j] * (W[:, i] @ W[:, i] - W[:, i] @ W[:, j])
    return value


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("shape", [(50, 6), (5, 9)])
def test_the_trace_is_the_objective_and_never_rises(rng, form, intercept, symmetric, shape):
    X, Y = labelled(rng, *shape)
    settings = {"fit_intercept": intercept, "symmetric": symmetric, "max_iter": 30, "tol": 0.0}
    model = LSML(*WEIGHTS, **settings).fit(form(X), Y)
    W, C = model.coef_, model.label_coef_
    value = smooth(X, Y, W, C, intercept, symmetric)
    value += WEIGHTS[1] * np.abs(W).sum() + WEIGHTS[2] * C.sum()
    assert model.trace_.objective[-1] == pytest.approx(value, rel=1e-9)
    assert (np.diff(model.trace_.objective) <= 0).all()
    assert (C >= 0).all()
    residual = X @ W + model.intercept_ - Y @ C
    np.testing.assert_allclose(residual.mean(axis=0) * intercept, 0, atol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_limit_is_stationary_in_both_blocks(rng, intercept, symmetric):
    X, Y = labelled(rng)
    settings = {"fit_intercept": intercept, "symmetric": symmetric, "max_iter": 4000, "tol": 0.0}
    model = LSML(*WEIGHTS, **settings).fit(X, Y)
    W, C = model.coef_, model.label_coef_

    def along_w(w):
        return smooth(X, Y, w.reshape(W.shape), C, intercept, symmetric)

    def along_c(c):
        return smooth(X, Y, W, c.reshape(C.shape), intercept, symmetric)

    slope = approx_fprime(W.ravel(), along_w, 1e-7).reshape(W.shape)
    used = W != 0
    np.testing.assert_allclose(slope[used], -WEIGHTS[1] * np.sign(W[used]), atol=1e-4)
    assert (np.abs(slope[~used]) <= WEIGHTS[1] + 1e-4).all()
    slope = approx_fprime(C.ravel(), along_c, 1e-7).reshape(C.shape) + WEIGHTS[2]
    used = C > 0
    assert used.any()
    assert not used.all()
    np.testing.assert_allclose(slope[used], 0, atol=1e-4)
    assert (slope[~used] >= -1e-4).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_labels_held_to_themselves_give_the_lasso(rng, intercept):
    """A heavy lambda_1 makes C the identity."""
    X, Y = labelled(rng)
    settings = {"fit_intercept": intercept, "max_iter": 3000, "tol": 0.0}
    model = LSML(1e7, 2.0, 0.0, 0.0, **settings).fit(X, Y)
    np.testing.assert_allclose(model.label_coef_, np.eye(Y.shape[1]), atol=1e-5)
    lasso = Lasso(2.0 / len(X), fit_intercept=intercept, tol=1e-12, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(model.coef_, lasso.coef_.T, atol=1e-4)


def test_a_heavy_penalty_on_label_coefficients_leaves_nothing(rng):
    X, Y = labelled(rng)
    model = LSML(lambda_3=1e6, fit_intercept=False, max_iter=500, tol=0.0).fit(X, Y)
    assert (model.label_coef_ == 0).all()
    assert (model.coef_ == 0).all()


def test_a_label_is_completed_by_one_that_implies_it(rng):
    """Every row with label 0 has label 1, which is not stated for half of them."""
    X, _ = labelled(rng, n=400)
    first = (X[:, 0] > X[:, 0].mean()).astype(float)
    Y = np.column_stack([first, first, (X[:, 1] > X[:, 1].mean()).astype(float)])
    hidden = (rng.random(400) < 0.5) & (first == 1)
    Y[hidden, 1] = np.nan
    model = LSML(0.1, 0.1, 0.1, 1e-3, max_iter=2000).fit(X, Y)
    completed = np.nan_to_num(Y) @ model.label_coef_
    assert completed[hidden, 1].mean() > 3 * completed[first == 0, 1].mean()
    assert model.label_coef_[0, 1] > model.label_coef_[2, 1]


def test_unknown_entries_are_zeros_and_unseen_labels_have_no_part(rng):
    X, Y = labelled(rng)
    gaps = rng.random(Y.shape) < 0.3
    gaps[:, 0] = False
    settings = {"max_iter": 10, "tol": 0.0}
    zeros = LSML(**settings).fit(X, np.where(gaps, 0, Y))
    unknown = LSML(**settings).fit(X, np.where(gaps, np.nan, Y))
    np.testing.assert_allclose(unknown.coef_, zeros.coef_)
    with pytest.warns(match="no observed entry"):
        wider = LSML(**settings).fit(X, np.column_stack([np.full(len(Y), np.nan), Y]))
    whole = LSML(**settings).fit(X, Y)
    np.testing.assert_allclose(wider.label_coef_[1:, 1:], whole.label_coef_)
    assert (wider.label_coef_[0] == 0).all()
    assert (wider.coef_[:, 0] == 0).all()
