"""Input that is wrong, or strange."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from labelgap import RMFL, Labels, LabelWarning
from models.rmfl.problems import data, fitted


def test_a_row_without_a_label_is_fitted_from_the_others():
    drawn = data()
    Y = drawn.Y.copy()
    Y[[3, 8]] = np.nan
    with pytest.warns(LabelWarning, match="row 3 and 1 others have no observed label.*neighbours"):
        model = fitted(drawn._replace(Y=Y))
    assert np.isfinite(model.row_factors_).all()
    scores = model.row_factors_[[3, 8]] @ model.label_factors_.T
    # neither zero nor far from what the features say
    assert np.abs(scores).max() > 0.05
    np.testing.assert_allclose(scores, model.decision_function(drawn.X[[3, 8]]), atol=0.5)


def test_a_row_without_a_label_changes_nothing_without_neighbours_and_slack():
    """Without lambda_1 an unlabelled row follows the regression, and the regression it."""
    drawn = data(missing=0.2)
    Y = drawn.Y.copy()
    Y[0] = np.nan
    settings = {"lambda_1": 0, "lambda_2": 0, "max_iter": 400, "n_cg": 30, "lambda_4": 1.0}
    with pytest.warns(LabelWarning):
        model = fitted(drawn._replace(Y=Y), gamma=0.2, **settings)
    residual = model.row_factors_[0] - (model.coef_.T @ _kernel(drawn, 0) + model.intercept_)
    np.testing.assert_allclose(residual, 0, atol=1e-3)
    rest = fitted(drawn._replace(X=drawn.X[1:], Y=drawn.Y[1:]), gamma=0.2, **settings)
    np.testing.assert_allclose(
        model.decision_function(drawn.X_new), rest.decision_function(drawn.X_new), atol=0.02
    )


def _kernel(drawn, row):
    return np.exp(-0.2 * ((drawn.X - drawn.X[row]) ** 2).sum(axis=1))


@pytest.mark.parametrize("solver", ["cg", "exact"])
@pytest.mark.parametrize(("lambda_2", "ridge_v"), [(0.5, 1.0), (0, 1.0), (0.5, 0), (0, 0)])
def test_a_label_without_an_entry_is_said(lambda_2, ridge_v, solver):
    drawn = data()
    Y = drawn.Y.copy()
    Y[:, 2] = np.nan
    settings = {"lambda_2": lambda_2, "ridge_v": ridge_v, "solver": solver, "max_iter": 20}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = Labels.from_dense(Y, names=list("abcde"))
        model = RMFL(3, tol=0, random_state=0, **settings).fit(drawn.X, labels)
    said = [str(w.message) for w in caught if issubclass(w.category, LabelWarning)]
    assert any("label 'c' has no observed entry" in text and "lambda_2" in text for text in said)
    scores = model.decision_function(drawn.X_new)
    assert np.isfinite(scores).all()
    if lambda_2 == 0:
        np.testing.assert_allclose(scores[:, 2], 0, atol=1e-8)


def test_nothing_observed_at_all():
    drawn = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        with pytest.raises(ValueError, match="no observed entry"):
            RMFL().fit(drawn.X, np.full(drawn.Y.shape, np.nan))


def test_duplicate_rows():
    drawn = data()
    X = np.repeat(drawn.X[:4], 10, axis=0)
    model = fitted(drawn._replace(X=X), n_neighbors=5)
    assert np.isfinite(model.decision_function(drawn.X_new)).all()
    np.testing.assert_allclose(model._weights.sum(axis=1), 1)


def test_all_rows_equal():
    drawn = data()
    model = fitted(drawn._replace(X=np.ones_like(drawn.X)))
    scores = model.decision_function(np.ones((3, 4)))
    np.testing.assert_allclose(scores, scores[[0, 0, 0]], atol=1e-12)
    frequency = np.nanmean(drawn.Y, axis=0)
    assert np.corrcoef(scores[0], frequency)[0, 1] > 0.9


def test_two_rows():
    model = fitted(data(n_samples=2, missing=0))
    assert np.isfinite(model.decision_function(data().X_new)).all()


def test_an_indefinite_kernel_is_refused():
    drawn = data()
    K = drawn.X @ drawn.X.T
    K -= 2 * np.eye(len(K))
    with pytest.raises(ValueError, match=r"not positive semidefinite.*eigenvalue is -2.*clip"):
        RMFL(kernel="precomputed").fit(K, drawn.Y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        RMFL(kernel=lambda a, b: -float(a @ b)).fit(drawn.X, drawn.Y)


def test_rounding_is_no_indefinite_kernel():
    drawn = data()
    root = np.random.default_rng(0).normal(size=(40, 3))
    model = RMFL(kernel="precomputed", max_iter=5, tol=0).fit(root @ root.T, drawn.Y)
    assert np.isfinite(model.coef_).all()


def test_a_kernel_that_is_not_symmetric_is_refused():
    drawn = data()
    K = drawn.X @ drawn.X.T
    K[4, 7] += 1
    with pytest.raises(ValueError, match=r"not symmetric, entry \((4, 7|7, 4)\)"):
        RMFL(kernel="precomputed").fit(K, drawn.Y)


def test_a_kernel_that_is_not_square_is_refused():
    drawn = data()
    with pytest.raises(ValueError, match=r"square matrix.*40 x 4"):
        RMFL(kernel="precomputed").fit(drawn.X, drawn.Y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.0, "kernel_params": {"gamma": 2.0}}, "gamma is given twice"),
        ({"gamma": 1.0, "kernel": "linear"}, "gamma=1.0 is of no use"),
        ({"approximation": "random_features", "kernel": "linear"}, "use 'nystroem'"),
        ({"graph": sparse.eye_array(7)}, r"graph has the shape \(7, 7\)"),
        ({"init": (np.ones((3, 3)), np.ones((5, 2)))}, r"init U has the shape \(3, 3\)"),
        ({"init": (np.ones((40, 5)), np.ones((4, 2)))}, r"init Z has the shape \(4, 2\)"),
        ({"init": (np.ones((40, 5)), np.zeros((5, 2)))}, "row of zeros"),
        ({"init": (np.full((40, 5), np.nan), np.ones((5, 2)))}, "init U has values"),
        ({"init": (1, 2, 3)}, "pair of arrays"),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(data(), **settings)


def test_an_approximation_of_a_precomputed_kernel_is_refused():
    drawn = data()
    with pytest.raises(ValueError, match=r"approximation='nystroem'.*precomputed"):
        RMFL(kernel="precomputed", approximation="nystroem").fit(drawn.X @ drawn.X.T, drawn.Y)


def test_exact_solves_of_large_coupled_systems_are_refused():
    drawn = data(n_samples=4100)
    with pytest.raises(ValueError, match=r"solver='exact'.*use solver='cg'"):
        fitted(drawn, solver="exact", kernel="linear", max_iter=1)
