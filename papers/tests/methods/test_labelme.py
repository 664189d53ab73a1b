from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar

from labelgap import Labels
from labelgap.fitting import FitWarning
from labelgap.views import from_blocks
from labelgap_papers.methods import LabelMe, _labelme


def two_views(rng, n=60, k=2, noise=0.1):
    hidden = rng.normal(size=(n, k))
    blocks = {
        "a": hidden @ rng.normal(size=(k, 4)) + noise * rng.normal(size=(n, 4)),
        "b": hidden @ rng.normal(size=(k, 6)) + noise * rng.normal(size=(n, 6)),
    }
    X, views = from_blocks(blocks)
    return X, views, (hidden @ rng.normal(size=(k, 3)) > 0.2).astype(float)


def brute_objective(model, X, Y):
    A = model.scaling_.filled(X)
    Z, total = model.embedding_, 0.0
    for view in model.views_.values():
        residual = A[:, view] @ model.projections_[view] - Z
        if model.absent == "ignore":
            residual = residual[~np.isnan(X[:, view]).all(axis=1)]
        total += np.square(residual).sum()
    known = ~np.isnan(Y)
    errors = (Z @ model.coef_ + model.intercept_ - Y)[known]
    squares = np.square(model.projections_).sum() + np.square(model.coef_).sum()
    return total + model.alpha * np.square(errors).sum() + model.ridge * squares


@pytest.mark.parametrize("absent", ["mean", "ignore"])
def test_the_trace_is_the_brute_force_objective_and_never_increases(rng, absent):
    X, views, Y = two_views(rng)
    X[::4, views["b"]] = np.nan
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = LabelMe(views, 2, alpha=0.7, ridge=0.2, absent=absent, max_iter=30, tol=0.0)
    if absent == "mean":
        with pytest.warns(FitWarning, match="15 absent views"):
            model.fit(X, Y)
    else:
        model.fit(X, Y)
    assert (np.diff(model.trace_.objective) <= 1e-10).all()
    assert model.trace_.objective[-1] == pytest.approx(brute_objective(model, X, Y), rel=1e-10)


def test_the_end_is_stationary(rng):
    X, views, Y = two_views(rng, n=25)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = LabelMe(views, 2, alpha=0.7, ridge=0.2, max_iter=1000, tol=0.0).fit(X, Y)
    A = model.scaling_.filled(X)
    Z, W, B, c = model.embedding_, model.projections_, model.coef_, model.intercept_
    errors = np.nan_to_num(Z @ B + c - Y)
    to_Z = 0.7 * errors @ B.T
    for view in views.values():
        residual = A[:, view] @ W[view] - Z
        to_Z = to_Z - residual
        np.testing.assert_allclose(A[:, view].T @ residual + 0.2 * W[view], 0, atol=1e-5)
    np.testing.assert_allclose(to_Z, 0, atol=1e-8)
    np.testing.assert_allclose(0.7 * Z.T @ errors + 0.2 * B, 0, atol=1e-5)
    np.testing.assert_allclose(errors.sum(axis=0), 0, atol=1e-5)


def test_one_label_one_factor_and_one_view_is_a_problem_in_one_number(rng):
    """For a given b, Z drops out and w is a ridge regression: what is left is a curve in b."""
    X = rng.normal(size=(40, 5))
    X -= X.mean(axis=0)
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(float)
    alpha, ridge = 0.6, 0.9

    def least(b):
        fraction = 1 / (1 / alpha + b**2)  # of (x w b - y)^2, after Z is gone
        centred = y - y.mean()
        w = np.linalg.solve(
            fraction * b**2 * X.T @ X + ridge * np.eye(5), fraction * b * X.T @ centred
        )
        return fraction * np.square(b * X @ w - centred).sum() + ridge * (w @ w + b**2)

    expected = minimize_scalar(least, bounds=(1e-6, 20), method="bounded").fun
    model = LabelMe(None, 1, alpha=alpha, ridge=ridge, scaling=None, max_iter=1000, tol=0.0)
    model.fit(X, y[:, None])
    assert model.trace_.objective[-1] == pytest.approx(expected, rel=1e-6)


def test_new_rows_and_rows_without_labels_are_placed_alike(rng):
    X, views, Y = two_views(rng)
    X[1, views["a"]] = np.nan
    Y[:10] = np.nan
    model = LabelMe(views, 2, absent="ignore", max_iter=15, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.transform(X[:10]), model.embedding_[:10], atol=1e-10)
    assert np.abs(model.transform(X[10:]) - model.embedding_[10:]).max() > 1e-3
    A = model.scaling_.filled(X)

    def spread(z, i, names):
        images = [A[i, views[name]] @ model.projections_[views[name]] for name in names]
        return sum(np.square(image - z).sum() for image in images)

    for i, names in ((0, ["a", "b"]), (1, ["b"])):
        best = minimize(spread, np.zeros(2), args=(i, names), tol=1e-12).x
        np.testing.assert_allclose(model.transform(X[[i]])[0], best, atol=1e-5)


def test_every_step_is_a_minimum(rng):
    """No small move of the vectors, or of the labels' regressions, is better than the step."""
    Y = (rng.random((20, 3)) < 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    views = [
        _labelme.View(np.arange(20), rng.normal(size=(20, 4))),
        _labelme.View(np.arange(0, 20, 2), rng.normal(size=(10, 3))),
    ]
    problem = _labelme.LabelMeProblem(views, 20, Y, 0.7, 0.3)
    maps = [_labelme.RidgeMap(view.features, 0.3) for view in views]
    of_views = _labelme.step_images(problem, maps, rng.normal(size=(20, 2)))
    at = _labelme.step_vectors(problem, of_views, rng.normal(size=(2, 3)), rng.normal(size=3))
    least = _labelme.objective(problem, at)
    B, c = _labelme.step_labels(problem, at.Z)
    then = at._replace(B=B, c=c)
    lower = _labelme.objective(problem, then)
    assert lower < least
    for _ in range(20):
        move = 1e-3 * rng.normal(size=(20, 2))
        assert _labelme.objective(problem, at._replace(Z=at.Z + move)) > least
        other = then._replace(B=B + 1e-3 * rng.normal(size=(2, 3)), c=c + 1e-3 * rng.normal(size=3))
        assert _labelme.objective(problem, other) > lower
    scaled = _labelme.balance(problem, then)
    best = _labelme.objective(problem, scaled)
    assert best < lower
    for t in (0.99, 1.01):
        images = [t * image for image in scaled.images]
        square = t**2 * scaled.square
        other = scaled._replace(images=images, square=square, Z=t * scaled.Z, B=scaled.B / t)
        assert _labelme.objective(problem, other) > best


@pytest.mark.parametrize("shape", [(20, 5), (8, 20)])
@pytest.mark.parametrize("empty", [[], [1, 4]])
def test_ridge_regressions_by_rows_and_by_columns(rng, shape, empty):
    A, Z = rng.normal(size=shape), rng.normal(size=(shape[0], 3))
    A[empty] = 0.0
    expected = np.linalg.solve(A.T @ A + 0.3 * np.eye(shape[1]), A.T @ Z)
    ridge_map = _labelme.RidgeMap(A, 0.3)
    np.testing.assert_allclose(ridge_map.weights(Z), expected, atol=1e-10)
    image, square = ridge_map.image(Z)
    np.testing.assert_allclose(image, A @ expected, atol=1e-10)
    assert square == pytest.approx(np.square(expected).sum(), rel=1e-10)


def test_labels_of_rows_without_any_are_predicted(rng):
    X, views, Y = two_views(rng, n=300)
    seen = np.where(rng.random(Y.shape) < 0.4, np.nan, Y)
    seen[200:] = np.nan
    model = LabelMe(views, 2).fit(X, seen)
    assert (model.predict(X[200:]) == Y[200:]).mean() > 0.9


def test_a_view_of_noise_does_less_harm_than_alone(rng):
    X, views, Y = two_views(rng, n=300)
    noise = rng.normal(size=(300, 4))
    noisy = np.column_stack([noise, X[:, views["b"]]])
    both = LabelMe(views, 2).fit(noisy[:200], Y[:200]).score(noisy[200:], Y[200:])
    alone = LabelMe(None, 2).fit(noise[:200], Y[:200]).score(noise[200:], Y[200:])
    assert both > alone + 0.05


def test_sparse_views_with_marks(rng):
    X, views, Y = two_views(rng)
    there = {"b": np.arange(60) % 4 > 0}
    blocks = {name: sparse.csr_array(X[:, view]) for name, view in views.items()}
    marked, _ = from_blocks(blocks, there)
    X[~there["b"], views["b"]] = np.nan
    dense = LabelMe(views, 2, absent="ignore", max_iter=5, tol=0.0).fit(X, Y)
    found = LabelMe(views, 2, absent="ignore", max_iter=5, tol=0.0).fit(marked, Y)
    np.testing.assert_allclose(
        dense.decision_function(X), found.decision_function(marked), atol=1e-10
    )


def test_bad_input(rng):
    X, views, Y = two_views(rng)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        LabelMe(views, 2).fit(X, Labels.from_dense(np.full((60, 3), np.nan)))
    X[3] = np.nan
    with pytest.raises(ValueError, match="row 3 has no view"):
        LabelMe(views, 2).fit(X, Y)
