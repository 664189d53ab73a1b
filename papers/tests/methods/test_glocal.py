from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from labelgap import Labels
from labelgap.fitting import FitWarning
from labelgap.kernels.products import prepare_features
from labelgap_papers.methods import GLOCAL
from labelgap_papers.methods import _glocal_steps as steps

WEIGHTS = steps.Weights(0.7, 0.3, 0.2, 0.4, 0.5, 0.6)


def made(rng, n=30, d=4, n_labels=5, k=3, width=2, n_groups=2, form=np.array):
    X = rng.normal(size=(n, d))
    observed = rng.random((n, n_labels)) < 0.7
    signed = np.where(observed, rng.choice([-1.0, 1.0], size=(n, n_labels)), 0.0)
    groups = rng.integers(n_groups, size=n)
    problem = steps.GLOCALProblem(
        prepare_features(form(X)), signed, observed, groups, n_groups, WEIGHTS
    )
    Z = rng.normal(size=(n_groups, n_labels, width))
    Z /= np.linalg.norm(Z, axis=-1, keepdims=True)
    sizes = ((n, k), (n_labels, k), (d, k))
    return X, problem, steps.GLOCALPlace(*(rng.normal(size=size) for size in sizes), Z)


def written_down(X, problem, place):
    """Term by term."""
    (V, U, W, Z), w = place, problem.weights
    squares = [
        np.square(problem.observed * (problem.signed - V @ U.T)).sum(),
        w.regression * np.square(V - X @ W).sum(),
        w.rows * np.square(V).sum() + w.labels * np.square(U).sum(),
        w.features * np.square(W).sum(),
    ]
    for g in range(problem.n_groups):
        rows = problem.groups == g
        scores = X @ W @ U.T
        correlation = Z[g] @ Z[g].T
        squares.append(w.total * rows.mean() * np.trace(scores @ correlation @ scores.T))
        squares.append(w.local * np.trace(scores[rows] @ correlation @ scores[rows].T))
    return sum(squares) / 2


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_objective_and_its_slopes(rng, form):
    X, problem, place = made(rng, form=form)
    expected = written_down(X, problem, place)
    assert steps.objective(problem, place) == pytest.approx(expected, rel=1e-12)
    slopes = {
        "V": steps.row_slope,
        "U": steps.label_slope,
        "W": steps.feature_slope,
        "Z": steps.direction_slope,
    }
    for name, slope in slopes.items():
        block = getattr(place, name)

        def value(x, name=name, shape=block.shape):
            return written_down(X, problem, place._replace(**{name: x.reshape(shape)}))

        numeric = approx_fprime(block.ravel(), value, 1e-6).reshape(block.shape)
        np.testing.assert_allclose(slope(problem, place), numeric, atol=2e-3)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("with_axes", [True, False])
def test_every_step_is_the_best_of_its_block(rng, form, with_axes):
    _, problem, place = made(rng, form=form)
    if with_axes:
        problem = problem._replace(axes=steps.axes_of(problem))
    for step, slope in [
        (steps.row_step, steps.row_slope),
        (steps.label_step, steps.label_slope),
        (steps.feature_step, steps.feature_slope),
    ]:
        moved = step(problem, place)
        np.testing.assert_allclose(slope(problem, moved), 0, atol=1e-8)
        assert steps.objective(problem, moved) < steps.objective(problem, place)
    turned = steps.direction_step(problem, place)
    assert steps.objective(problem, turned) < steps.objective(problem, place)
    np.testing.assert_allclose(np.linalg.norm(turned.Z, axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("shape", [(30, 4), (6, 9)])
@pytest.mark.parametrize(
    "weights", [WEIGHTS, WEIGHTS._replace(local=0.0), WEIGHTS._replace(local=50.0)]
)
def test_matrices_give_the_steps_that_products_give(rng, monkeypatch, form, shape, weights):
    """Also with fewer rows than features, a group without rows, and one row without labels."""
    _, problem, place = made(rng, *shape, n_groups=3, form=form)
    problem.observed[0], problem.signed[0] = False, 0.0
    groups = np.minimum(problem.groups, 1)
    problem = problem._replace(weights=weights, groups=groups)
    fast = problem._replace(axes=steps.axes_of(problem))
    by_matrices = steps.label_step(fast, place), steps.feature_step(fast, place)
    monkeypatch.setattr(steps, "_MOST_ENTRIES", 0)
    assert steps.axes_of(problem) is None
    by_products = steps.label_step(problem, place), steps.feature_step(problem, place)
    np.testing.assert_allclose(by_matrices[0].U, by_products[0].U, atol=1e-8)
    np.testing.assert_allclose(by_matrices[1].W, by_products[1].W, atol=1e-8)


def test_axes_make_the_features_orthogonal(rng, monkeypatch):
    X, problem, _ = made(rng)
    vectors, squares, grams = steps.axes_of(problem)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ X.T @ X @ vectors, np.diag(squares), atol=1e-10)
    for g, gram in enumerate(np.hsplit(grams, 2)):
        turned = X[problem.groups == g] @ vectors
        np.testing.assert_allclose(gram, turned.T @ turned, atol=1e-10)
    monkeypatch.setattr(steps, "_MOST_FEATURES", 3)
    assert steps.axes_of(problem) is None


def test_rows_that_know_all_labels_fraction_one_system(rng):
    _, problem, place = made(rng)
    complete = problem._replace(observed=np.ones_like(problem.observed))
    moved = steps.row_step(complete, place)
    np.testing.assert_allclose(steps.row_slope(complete, moved), 0, atol=1e-10)


def labelled(rng, n=80, d=6, n_labels=5):
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, 2)) @ rng.normal(size=(2, n_labels))
    return X, (scores > 0).astype(float)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_trace_never_rises_and_scores_are_products(rng, form, intercept):
    X, Y = labelled(rng)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = GLOCAL(3, 3, fit_intercept=intercept, max_iter=20, tol=0.0, random_state=0).fit(
        form(X), Y
    )
    assert (np.diff(model.trace_.objective) <= 1e-10).all()
    design = np.column_stack([X, np.ones(len(X))]) if intercept else X
    scores = design @ model.feature_map_ @ model.label_factors_.T
    decided = model.slope_ * scores + model.level_
    np.testing.assert_allclose(model.decision_function(form(X)), decided, atol=1e-10)
    assert model.label_directions_.shape == (3, 5, 3)


@pytest.mark.parametrize("sign", [1, -1])
def test_directions_say_which_labels_go_together(rng, sign):
    """Of two labels that are the same, or opposites, they are opposites, or the same."""
    X, Y = labelled(rng)
    Y = Y[:, :1] if sign == 1 else np.hstack([Y[:, :1], 1 - Y[:, :1]])
    Y = np.hstack([Y, Y])[:, :2]
    model = GLOCAL(2, 1, max_iter=5, tol=0.0, random_state=0).fit(X, Y)
    Z = model.label_directions_[0]
    assert Z[0] @ Z[1] == pytest.approx(-sign)


def test_groups_may_be_given_and_are_checked(rng):
    X, Y = labelled(rng)
    groups = (X[:, 0] > 0).astype(int)
    model = GLOCAL(2, groups=groups, max_iter=2, tol=0.0, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.groups_, groups)
    assert len(model.label_directions_) == 2
    for bad, message in [(groups[:5], "shape"), (groups - 1, "from 0"), (groups * 0.5, "integers")]:
        with pytest.raises(ValueError, match=message):
            GLOCAL(2, groups=bad).fit(X, Y)


def test_starts_are_checked(rng):
    X, Y = labelled(rng)
    V, U, Z = np.ones((80, 2)), np.ones((5, 2)), np.ones((1, 5, 2))
    for bad, message in [
        ((V, U), "2 parts"),
        ((V[:3], U, Z), "init V has the shape"),
        ((V, U * np.nan, Z), "init U has values"),
        ((V, U, Z * 0), "row of zeros"),
    ]:
        with pytest.raises(ValueError, match=message):
            GLOCAL(2, 1, init=bad).fit(X, Y)


def test_says_when_it_has_not_converged_and_when_there_is_nothing_to_learn(rng):
    X, Y = labelled(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        GLOCAL(2, 2, start_iter=0, max_iter=2, tol=1e-12, random_state=0).fit(X, Y)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        GLOCAL().fit(X, Labels.from_dense(np.full(Y.shape, np.nan)))
