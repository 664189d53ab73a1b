from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.optimize import minimize

from labelgap import Labels
from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.row_sparse import reweight, row_norms
from labelgap_papers.methods import FSNM, SFUS
from labelgap_papers.methods._sfus import subspace_step


def problem(rng, n=80, d=8, c=4, rank=2, n_used=4):
    """Labels from a few features through a few directions."""
    X = rng.normal(size=(n, d))
    W = np.zeros((d, c))
    W[:n_used] = 2 * rng.normal(size=(n_used, rank)) @ rng.normal(size=(rank, c))
    return X, (X @ W + 0.1 * rng.normal(size=(n, c)) > 0).astype(float)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("n_factors", [1, 2, 4, None, 9])
def test_the_objective_never_gets_worse(rng, form, n_factors):
    X, Y = problem(rng)
    model = SFUS(0.7, 5.0, n_factors=n_factors, max_iter=60, tol=0.0).fit(form(X), Y)
    trace = np.array(model.trace_.objective)
    assert (np.diff(trace) <= 1e-12 * trace[:-1]).all()
    W, Q = model.coef_, model.basis_
    assert Q.shape == (8, {1: 1, 2: 2, 4: 4, None: 2, 9: 4}[n_factors])
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
    value = row_norms(X @ W - Y).sum() + 0.7 * row_norms(W).sum()
    value += 5.0 * np.square(W - Q @ Q.T @ W).sum()
    assert trace[-1] == pytest.approx(value, abs=1e-5)


def test_as_many_factors_as_labels_make_it_fsnm(rng):
    X, Y = problem(rng)
    model = SFUS(0.7, 5.0, n_factors=4, max_iter=50, tol=0.0).fit(X, Y)
    plain = FSNM(0.7, fit_intercept="none", max_iter=51, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)


def test_without_weight_the_subspace_does_nothing(rng):
    X, Y = problem(rng)
    model = SFUS(0.7, 0.0, n_factors=1, max_iter=50, tol=0.0).fit(X, Y)
    plain = FSNM(0.7, fit_intercept="none", max_iter=51, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)


def test_a_heavy_weight_lowers_the_rank(rng):
    X, Y = problem(rng)
    values = [
        np.linalg.svd(SFUS(0.7, beta, n_factors=1, max_iter=200, tol=0.0).fit(X, Y).coef_)[1]
        for beta in (0.0, 1e6)
    ]
    assert values[0][1] > 0.05
    assert values[1][1] < 1e-3


def test_a_step_finds_the_best_subspace(rng):
    """No other Q gives a lower surrogate, by descent from many places."""
    X, Y = problem(rng)
    W0 = rng.normal(size=(8, 4))
    _, Q = subspace_step(prepare_features(X), Y, W0, 0.7, 5.0, 2)
    g, p = reweight(X @ W0 - Y), 0.7 * reweight(W0)
    A, R = X.T @ (g[:, None] * X) + np.diag(p), X.T @ (g[:, None] * Y)

    def surrogate(basis):
        basis = np.linalg.qr(basis.reshape(8, 2))[0]
        return -np.trace(R.T @ linalg.solve(A + 5.0 * (np.eye(8) - basis @ basis.T), R))

    found = [minimize(surrogate, rng.normal(size=16)).fun for _ in range(5)]
    assert surrogate(Q) == pytest.approx(min(found), rel=1e-6)


def test_finds_planted_features(rng):
    X, Y = problem(rng, 300, 30, 6)
    model = SFUS(10.0, 10.0, n_features_to_select=4).fit(X, Y)
    assert set(model.get_support(indices=True)) == {0, 1, 2, 3}


def test_unknown_entries_may_count_as_the_mean(rng):
    X, Y = problem(rng)
    gaps = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    filled = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)
    W, _ = subspace_step(
        prepare_features(X), filled, SFUS(0.7)._first(prepare_features(X), filled), 0.7, 1.0, 2
    )
    model = SFUS(0.7, 1.0, unknown="mean", max_iter=1, tol=0.0).fit(X, gaps)
    np.testing.assert_allclose(model.coef_, W, atol=1e-12)
    unlabeled = SFUS(0.7, max_iter=2, tol=0.0).fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    plain = SFUS(0.7, max_iter=2, tol=0.0).fit(X, Y)
    np.testing.assert_array_equal(unlabeled.coef_, plain.coef_)
