from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.linear_model import Ridge

from labelgap import Labels, LabelWarning
from labelgap_papers.methods import CPLST, PLST


def problem(rng, n=80, d=6, c=7):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    Y = (X @ rng.normal(size=(d, c)) + rng.normal(size=(n, c)) > 0.5).astype(float)
    return X, Y


def objective(X, Y, V, W, alpha, penalise_intercept):
    """Of CPLST, the intercept in the last row of W."""
    Y = Y - Y.mean(axis=0)
    penalised = W if penalise_intercept else W[:-1]
    code = Y @ V
    return (
        np.square(Y - code @ V.T).sum()
        + np.square(X @ W[:-1] + W[-1] - code).sum()
        + alpha * np.square(penalised).sum()
    )


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("n", [80, 5])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_no_other_directions_have_a_lower_objective(rng, form, n, intercept):
    X, Y = problem(rng, n)
    model = CPLST(3, alpha=0.7, fit_intercept=intercept).fit(form(X), Y)
    V, W = model.label_directions_, np.vstack([model.code_coef_, model.code_intercept_])
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-10)
    penalised = intercept == "penalised"
    best = objective(X, Y, V, W, 0.7, penalised)
    # the value at the best W for any V is ||Y||^2 - tr(V'Y'HYV)
    total = np.square(Y - Y.mean(axis=0)).sum()
    assert best == pytest.approx(total - model.importance_.sum(), rel=1e-9)
    for _ in range(50):
        scale = 10.0 ** -rng.uniform(0, 5)
        other = np.linalg.qr(V + scale * rng.normal(size=V.shape))[0]
        moved = W + scale * rng.normal(size=W.shape)
        assert objective(X, Y, other, W @ V.T @ other, 0.7, penalised) >= best - 1e-9
        assert objective(X, Y, V, moved, 0.7, penalised) >= best - 1e-9


@pytest.mark.parametrize("method", [PLST, CPLST])
def test_with_all_directions_it_is_ridge_regression(rng, method):
    X, Y = problem(rng)
    model = method(alpha=2.0, fit_intercept="free").fit(X, Y)
    other = Ridge(2.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, other.coef_.T, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-10)


def test_plst_directions_are_principal_components(rng):
    X, Y = problem(rng)
    model = PLST(3).fit(X, Y)
    values, vectors = np.linalg.svd(Y - Y.mean(axis=0))[1:]
    np.testing.assert_allclose(model.importance_, values[:3] ** 2)
    np.testing.assert_allclose(np.abs(model.label_directions_), np.abs(vectors[:3].T), atol=1e-8)
    assert (model.label_directions_[np.abs(model.label_directions_).argmax(0), range(3)] > 0).all()


def test_features_choose_among_equal_directions(rng):
    """Two groups of identical labels: PLST takes the larger one, CPLST the predictable one."""
    X = rng.normal(size=(4000, 3))
    predictable, noise = X[:, 0] > 0, rng.random(len(X)) < 0.5
    Y = np.column_stack([predictable] * 3 + [noise] * 4).astype(float)
    first = np.array([1.0, 1, 1, 0, 0, 0, 0])[:, None]
    assert subspace_angles(CPLST(1).fit(X, Y).label_directions_, first)[0] < 0.1
    assert subspace_angles(PLST(1).fit(X, Y).label_directions_, first)[0] > 1.4


def test_unknown_entries(rng):
    X, Y = problem(rng)
    hidden = rng.random(Y.shape) < 0.3
    hidden[:3] = True
    gaps = np.where(hidden, np.nan, Y)
    with pytest.warns(LabelWarning, match=f"CPLST needs complete labels: the {hidden[3:].sum()} "):
        silent = CPLST(2).fit(X, gaps)
    zeros = CPLST(2, unknown="negative").fit(X, gaps)
    assert_same_map(silent, zeros)
    assert_same_map(zeros, CPLST(2).fit(X[3:], np.nan_to_num(gaps[3:])))
    means = np.nanmean(gaps, axis=0)
    centred = np.where(hidden, 0, Y - means)[3:]
    directions = CPLST(2, unknown="mean").fit(X, gaps).label_directions_
    hat = np.column_stack([X[3:], np.ones(len(X) - 3)])
    hat = hat @ np.linalg.solve(hat.T @ hat + np.eye(hat.shape[1]), hat.T)
    top = np.linalg.eigh(centred.T @ hat @ centred)[1][:, -2:]
    assert subspace_angles(directions, top).max() < 1e-6


def test_a_label_nobody_looked_at_changes_nothing(rng):
    X, Y = problem(rng)
    alone = CPLST(2).fit(X, Y)
    with pytest.warns(match="no observed entry"):
        both = CPLST(2).fit(X, np.column_stack([Y, np.full(len(Y), np.nan)]))
    np.testing.assert_allclose(both.coef_[:, :-1], alone.coef_)
    np.testing.assert_allclose(both.label_directions_[:-1], alone.label_directions_)
    assert (both.label_directions_[-1] == 0).all()


def assert_same_map(one, other):
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-10)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-10)


def test_unlabeled_zeros_are_zeros_and_nothing_to_learn_is_refused(rng):
    X, Y = problem(rng)
    unlabeled = CPLST(2).fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    assert_same_map(unlabeled, CPLST(2).fit(X, Y))
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        PLST().fit(X, np.full(Y.shape, np.nan))
