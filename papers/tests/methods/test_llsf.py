from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso

from labelgap import Labels, LabelWarning
from labelgap.fitting import FitWarning
from labelgap_papers.methods import LLSF
from labelgap_papers.methods._linear import cosine_distances
from reference.proximal import symmetric_sylvester


def problem(rng, n=60, d=7, c=4):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    truth = rng.normal(size=(d, c)) * (rng.random((d, c)) < 0.5)
    return X, (X @ truth + 0.3 * rng.normal(size=(n, c)) > X.mean() + 0.5).astype(float)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_distances_it_is_the_lasso(rng, intercept):
    X, Y = problem(rng)
    model = LLSF(0.0, 2.0, fit_intercept=intercept, max_iter=20_000, tol=1e-15).fit(X, Y)
    lasso = Lasso(2.0 / len(X), fit_intercept=intercept, tol=1e-14, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(model.coef_, lasso.coef_.T, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, lasso.intercept_, atol=1e-6)
    assert (model.coef_ == 0).any()


@pytest.mark.parametrize("intercept", [True, False])
def test_without_absolute_values_it_solves_a_sylvester_equation(rng, intercept):
    X, Y = problem(rng)
    model = LLSF(0.3, 0.0, fit_intercept=intercept, max_iter=20_000, tol=0.0).fit(X, Y)
    m = X.mean(axis=0) if intercept else 0
    expected = symmetric_sylvester((X - m).T @ (X - m), 0.3 * cosine_distances(Y), (X - m).T @ Y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-7)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [60, 5])
def test_the_trace_is_the_objective_and_never_rises(rng, form, intercept, n):
    X, Y = problem(rng, n=n)
    settings = {"fit_intercept": intercept, "max_iter": 40, "tol": 0.0}
    alpha = 0.1 if n == 60 else 0.0
    model = LLSF(alpha, 0.7, **settings).fit(form(X), Y)
    W = model.coef_
    value = 0.5 * np.square(X @ W + model.intercept_ - Y).sum() + 0.7 * np.abs(W).sum()
    value += alpha / 2 * np.trace(cosine_distances(Y) @ W.T @ W)
    assert model.trace_.objective[-1] == pytest.approx(value, rel=1e-10)
    assert (np.diff(model.trace_.objective) <= 0).all()
    assert intercept or (model.intercept_ == 0).all()


def lost(progress):
    return progress.objective < -1e6


def test_an_alpha_without_a_minimum_is_named(rng):
    X, Y = problem(rng)
    X = X - X.mean(axis=0)
    distances = cosine_distances(Y)
    most = np.linalg.eigvalsh(X.T @ X)[0] / -np.linalg.eigvalsh(distances)[0]
    with pytest.warns(FitWarning, match=f"largest alpha with one is {most:.3g}"):
        beyond = LLSF(1.1 * most, max_iter=30_000, tol=0.0, callback=lost).fit(X, Y)
    assert beyond.trace_.outcome == "stopped"
    LLSF(0.9 * most, max_iter=5, tol=0.0).fit(X, Y)


def test_what_unknown_entries_count_as(rng):
    X, Y = problem(rng)
    gaps = rng.random(Y.shape) < 0.3
    gaps[:, 0] = False
    hidden = np.where(gaps, np.nan, Y)
    settings = {"max_iter": 10, "tol": 0.0}
    means = np.nanmean(hidden, axis=0)
    zeros = LLSF(unknown="negative", **settings).fit(X, hidden)
    np.testing.assert_allclose(zeros.coef_, LLSF(**settings).fit(X, np.where(gaps, 0, Y)).coef_)
    filled = LLSF(unknown="mean", **settings).fit(X, hidden)
    assert np.abs(filled.coef_ - zeros.coef_).max() > 1e-3
    np.testing.assert_allclose(
        filled.intercept_ + X.mean(axis=0) @ filled.coef_, np.where(gaps, means, Y).mean(axis=0)
    )
    with pytest.warns(LabelWarning, match=f"{gaps.sum()} unknown entries") as record:
        silent = LLSF(**settings).fit(X, hidden)
    assert len(record) == 1
    assert record[0].filename == __file__
    np.testing.assert_array_equal(silent.coef_, zeros.coef_)


def test_distances_of_empty_labels(rng):
    Y = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]], dtype=float)
    expected = np.array([[0, 1, 0.5, 1], [1, 0, 1, 1], [0.5, 1, 0, 1], [1, 1, 1, 0]])
    np.testing.assert_allclose(cosine_distances(Y), expected, atol=1e-12)


def test_nothing_to_learn_and_no_convergence(rng):
    X, Y = problem(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        LLSF(max_iter=2, tol=1e-14).fit(X, Y)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        LLSF().fit(X, Labels.from_dense(np.full(Y.shape, np.nan)))
