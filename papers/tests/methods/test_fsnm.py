from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor

from labelgap import Labels
from labelgap.fitting import FitWarning
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.methods import FSNM


def problem(rng, n=60, d=8, c=3, n_used=3):
    """Labels from the first features alone; some rows are wrong on purpose."""
    X = rng.normal(size=(n, d))
    W = np.vstack([2 * rng.normal(size=(n_used, c)), np.zeros((d - n_used, c))])
    Y = (X @ W > 0).astype(float)
    Y[: n // 10] = 1 - Y[: n // 10]
    return X, Y


def objective(model, X, Y, alpha):
    residual = np.nan_to_num(X @ model.coef_ + model.intercept_ - Y)
    penalty = row_norms(model.coef_).sum()
    if model.fit_intercept == "penalised":
        penalty += np.linalg.norm(model.intercept_)
    return row_norms(residual).sum() + alpha * penalty


@pytest.mark.parametrize("intercept", ["penalised", "free", "none"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("n", [60, 6])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_objective_never_gets_worse(rng, form, n, gaps, intercept):
    X, Y = problem(rng, n)
    Y[rng.random(Y.shape) < gaps] = np.nan
    Y[:, 0] = np.nan_to_num(Y[:, 0])
    model = FSNM(0.7, fit_intercept=intercept, max_iter=60, tol=0.0).fit(form(X), Y)
    trace = np.array(model.trace_.objective)
    assert len(trace) == model.n_iter_ == 60
    assert (np.diff(trace) <= 1e-12 * trace[:-1]).all()
    assert trace[-1] == pytest.approx(objective(model, X, Y, 0.7), abs=1e-6)
    np.testing.assert_array_equal(model.scores_, row_norms(model.coef_))
    if intercept == "none":
        assert (model.intercept_ == 0).all()


def test_one_label_is_a_linear_program(rng):
    """With one label norms are absolute values: sum |r_i| + alpha (sum |w_f| + |b|)."""
    X, Y = problem(rng, 40, 5, 1)
    model = FSNM(2.0, max_iter=3000, tol=0.0).fit(X, Y)
    design = np.column_stack([X, np.ones(len(X))])
    n, d = design.shape
    costs = np.concatenate([np.zeros(d), np.full(d, 2.0), np.ones(n)])
    above = np.hstack([np.eye(d), -np.eye(d), np.zeros((d, n))])
    below = np.hstack([-np.eye(d), -np.eye(d), np.zeros((d, n))])
    right = np.hstack([design, np.zeros((n, d)), -np.eye(n)])
    left = np.hstack([-design, np.zeros((n, d)), -np.eye(n)])
    best = linprog(
        costs,
        np.vstack([above, below, right, left]),
        np.concatenate([np.zeros(2 * d), Y[:, 0], -Y[:, 0]]),
        bounds=(None, None),
    )
    assert objective(model, X, Y, 2.0) == pytest.approx(best.fun, rel=1e-6)


def test_a_free_intercept_is_median_regression(rng):
    X, Y = problem(rng, 50, 4, 1)
    model = FSNM(1.5, fit_intercept="free", max_iter=3000, tol=0.0).fit(X, Y)
    # scikit-learn minimises the mean of |r| / 2
    other = QuantileRegressor(alpha=1.5 / (2 * len(X))).fit(X, Y[:, 0])
    loss = np.abs(X @ other.coef_ + other.intercept_ - Y[:, 0]).sum()
    expected = loss + 1.5 * np.abs(other.coef_).sum()
    assert objective(model, X, Y, 1.5) == pytest.approx(expected, rel=1e-6)


def test_the_gradient_certifies_the_minimum(rng):
    """Used rows balance loss and penalty; for empty ones the pull of the loss is below alpha."""
    X, Y = problem(rng, 200, 10, 4)
    alpha = 12.0
    model = FSNM(alpha, max_iter=3000, tol=0.0).fit(X, Y)
    residual = X @ model.coef_ + model.intercept_ - Y
    pull = X.T @ (residual / row_norms(residual)[:, None])
    used = model.scores_ > 1e-6
    assert 0 < used.sum() < 10
    direction = model.coef_[used] / model.scores_[used, None]
    np.testing.assert_allclose(pull[used], -alpha * direction, atol=1e-4)
    assert (row_norms(pull[~used]) <= alpha + 1e-6).all()


def test_finds_planted_features_in_spite_of_wrong_rows(rng):
    X, Y = problem(rng, 300, 30, 5)
    model = FSNM(20.0, n_features_to_select=3).fit(X, Y)
    assert set(model.get_support(indices=True)) == {0, 1, 2}
    assert set(model.ranking_[:3]) == {0, 1, 2}
    np.testing.assert_array_equal(model.transform(X), X[:, :3])


@pytest.mark.parametrize(("wanted", "n"), [(None, 4), (1, 1), (8, 8), (0.3, 2), (0.01, 1)])
def test_how_many_features_are_kept(rng, wanted, n):
    X, Y = problem(rng)
    assert FSNM(n_features_to_select=wanted, max_iter=3, tol=0.0).fit(X, Y).get_support().sum() == n


def test_only_observed_entries_count(rng):
    """The minimum does not depend on how unknown entries are filled on the way."""
    X, Y = problem(rng, 80, 4, 2)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[:3] = np.nan
    model = FSNM(1.0, fit_intercept="free", max_iter=4000, tol=0.0).fit(X, Y)
    best = objective(model, X, Y, 1.0)
    for _ in range(200):
        moved = FSNM(1.0, fit_intercept="free")
        scale = 10.0 ** -rng.uniform(1, 4)
        moved.coef_ = model.coef_ + scale * rng.normal(size=model.coef_.shape)
        moved.intercept_ = model.intercept_ + scale * rng.normal(size=2)
        assert objective(moved, X, Y, 1.0) > best - 1e-6


def test_a_label_nobody_looked_at_changes_nothing(rng):
    X, Y = problem(rng)
    alone = FSNM(max_iter=10, tol=0.0).fit(X, Y)
    with pytest.warns(match="no observed entry"):
        both = FSNM(max_iter=10, tol=0.0).fit(X, np.column_stack([Y, np.full(len(Y), np.nan)]))
    np.testing.assert_allclose(both.scores_, alone.scores_)
    assert (both.coef_[:, -1] == 0).all()


def test_unlabeled_zeros_are_zeros(rng):
    X, Y = problem(rng)
    plain = FSNM(max_iter=5, tol=0.0).fit(X, Y)
    unlabeled = FSNM(max_iter=5, tol=0.0).fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    np.testing.assert_array_equal(plain.coef_, unlabeled.coef_)


def test_constant_and_repeated_features_are_no_trouble(rng):
    X, Y = problem(rng)
    X = np.column_stack([X, np.zeros(len(X)), np.full(len(X), 3.0), X[:, 0]])
    model = FSNM(0.5, max_iter=100, tol=0.0).fit(X, Y)
    assert np.isfinite(model.scores_).all()
    assert model.scores_[8] == 0
    assert model.scores_[0] == pytest.approx(model.scores_[10], rel=1e-6)


def test_endings_and_bad_input(rng):
    X, Y = problem(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        FSNM(max_iter=2, tol=1e-12).fit(X, Y)
    assert FSNM(max_iter=2000, tol=1e-7).fit(X, Y).trace_.outcome == "converged"
    stopped = FSNM(callback=lambda progress: progress.iteration == 3, tol=0.0).fit(X, Y)
    assert (stopped.trace_.outcome, stopped.n_iter_) == ("stopped", 4)
    with pytest.raises(ValueError, match="n_features_to_select=9 is more than n_features=8"):
        FSNM(n_features_to_select=9).fit(X, Y)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        FSNM().fit(X, np.full(Y.shape, np.nan))
