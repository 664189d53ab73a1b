"""JFSC against numbers from an implementation of its algorithm, with its fault and without."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap.kernels.products import times
from labelgap_papers.kernels.proximal import spectral_norm
from labelgap_papers.kernels.row_sparse import reweight, row_norms
from labelgap_papers.methods import JFSC, _jfsc
from labelgap_papers.methods._linear import cosine_distances


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "jfsc.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "jfsc.npz") as arrays:
        return {"about": about, **arrays}


def parameters(golden):
    stated = golden["about"]["hyper_parameters"]
    weights = {f"lambda_{i}": stated[f"lambda{i}"] for i in range(1, 4)}
    return {**weights, "gamma": stated["gamma"]}


def fitted(golden, **settings):
    model = JFSC(**parameters(golden), fit_intercept=False, tol=0.0, **settings)
    return model.fit(golden["X_train"], golden["Y_train"])


def objective(golden, W, scatter):
    X, Y, p = golden["X_train"], golden["Y_train"], parameters(golden)
    value = row_norms(X @ W - Y).sum() + p["lambda_1"] / 2 * np.trace(golden["R"] @ W.T @ W)
    return value + p["lambda_2"] / 2 * (scatter * W**2).sum() + p["lambda_3"] * np.abs(W).sum()


def unsquared_scatter(X, Y):
    """Deviations from a mean sum up to zero: what is left is the distance of the means."""
    pos, neg = ((X.T @ fraction) / fraction.sum(axis=0) for fraction in (Y, 1 - Y))
    return -Y.sum(axis=0) * (pos - neg) ** 2


def published_curvature(features, W, Y, terms):
    weights = 2 * reweight(times(features, W) - Y)
    X = features.rows
    parts = [spectral_norm(X.T @ (weights[:, None] * X)), spectral_norm(terms.distances)]
    return np.sqrt(3 * (np.square(parts).sum() + terms.scatter.max() ** 2))


@pytest.fixture
def unsquared(monkeypatch):
    monkeypatch.setattr(_jfsc, "fisher_scatter", unsquared_scatter)


@pytest.fixture
def published_steps(monkeypatch):
    monkeypatch.setattr(_jfsc, "start_curvature", published_curvature)


def test_the_terms(golden):
    X, Y = golden["X_train"], golden["Y_train"].astype(float)
    assert_agrees("R", cosine_distances(Y), golden["R"], atol=1e-12)
    assert_agrees("S", unsquared_scatter(X, Y), golden["S_diag"], atol=1e-10)


@pytest.mark.parametrize(("n", "tolerance"), [(1, "it1"), (2, "it1"), (5, "it1"), (50, "it50")])
@pytest.mark.usefixtures("unsquared", "published_steps")
def test_the_iterations_of_the_published_method(golden, n, tolerance):
    model = fitted(golden, max_iter=n, restart=False)
    atol = golden["about"]["tolerance"][tolerance]
    assert_agrees("W", model.coef_, golden[f"it{n}_W"], atol=atol)
    value = objective(golden, model.coef_, golden["S_diag"])
    np.testing.assert_allclose(model.trace_.objective[-1], value, rtol=1e-8)


@pytest.mark.usefixtures("unsquared")
def test_the_converged_point(golden):
    model = fitted(golden, max_iter=5000)
    atol = golden["about"]["tolerance"]["conv_W"]
    assert_agrees("W", model.coef_, golden["conv_W"], atol=atol)
    scores = golden["X_test"] @ model.coef_
    assert_agrees("scores", scores, golden["conv_scores_test"], atol=atol)
    rtol = golden["about"]["tolerance"]["conv_objective"]
    expected = golden["conv_objective_formula"]
    assert_agrees("objective", model.trace_.objective[-1], expected, rtol=rtol)
    assert (np.diff(model.trace_.objective) <= 0).all()


@pytest.mark.usefixtures("unsquared")
def test_lower_than_the_published_method_after_as_many_iterations(golden):
    model = fitted(golden, max_iter=50)
    there = objective(golden, golden["it50_W"], golden["S_diag"])
    assert_ahead("with the fault", model.trace_.objective[-1], there, iterations=50)


def test_squared_deviations_reach_a_lower_objective(golden):
    right = _jfsc.fisher_scatter(golden["X_train"], golden["Y_train"].astype(float))
    model = fitted(golden, max_iter=2000)
    reached = objective(golden, model.coef_, right)
    np.testing.assert_allclose(model.trace_.objective[-1], reached, rtol=1e-8)
    assert_ahead(
        "without the fault, both converged",
        reached,
        objective(golden, golden["conv_W"], right),
        iterations=2000,
    )
