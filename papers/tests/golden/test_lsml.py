"""LSML against numbers from an implementation of its algorithm, with its fault and without."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap_papers.kernels.proximal import spectral_norm
from labelgap_papers.methods import LSML, _lsml


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "lsml.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "lsml.npz") as arrays:
        return {"about": about, **arrays}


def parameters(golden):
    stated = golden["about"]["hyper_parameters"]
    weights = {f"lambda_{i}": stated[f"lambda{i}"] for i in range(1, 5)}
    return {**weights, "rho": stated["rho"]}


def fitted(golden, **settings):
    """The reference has no intercept and takes C as it is for a similarity."""
    Y = np.where(golden["mask"] == 1, golden["Y_train"], np.nan)
    settings = {"fit_intercept": False, "symmetric": False, "tol": 0.0, **settings}
    return LSML(**parameters(golden), **settings).fit(golden["X_train"], Y)


def objective(golden, W, C):
    X, Y, p = golden["X_train"], golden["Y_input"].astype(float), parameters(golden)
    value = 0.5 * np.square(X @ W - Y @ C).sum()
    value += p["lambda_1"] / 2 * np.square(Y @ C - Y).sum()
    value += p["lambda_2"] * np.abs(W).sum() + p["lambda_3"] * np.abs(C).sum()
    laplacian = np.diag(C.sum(axis=1)) - C
    return value + p["lambda_4"] * np.trace(W @ laplacian @ W.T)


@pytest.fixture
def forgetful(monkeypatch):
    """The step in C without the slope of the last term."""
    monkeypatch.setattr(_lsml, "laplacian_slope", lambda problem, W: 0.0)


@pytest.fixture
def published_steps(monkeypatch):
    """One bound for the curvatures of both blocks, from C before its step."""
    bounds = []

    def bound(problem, C):
        parts = [
            problem.features.largest_eigenvalue,
            spectral_norm(problem.cross),
            spectral_norm(problem.fitted + problem.lambda_1 * problem.moments),
            problem.lambda_4 * spectral_norm(_lsml.two_laplacians(problem, C)),
        ]
        bounds.append(np.sqrt(2 * np.square(parts).sum()))
        return bounds[-1]

    monkeypatch.setattr(_lsml, "label_curvature", bound)
    monkeypatch.setattr(_lsml, "feature_curvature", lambda problem, C: bounds[-1])
    return bounds


def assert_reached(golden, model, name, tolerance):
    for array, found in (("W", model.coef_), ("C", model.label_coef_)):
        assert_agrees(array, found, golden[f"{name}_{array}"], atol=tolerance)


@pytest.mark.parametrize(("n", "tolerance"), [(1, "it1"), (2, "it1"), (5, "it1"), (50, "it50")])
@pytest.mark.usefixtures("forgetful")
def test_the_iterations_of_the_published_method(golden, published_steps, n, tolerance):
    model = fitted(golden, max_iter=n, restart=False)
    assert_reached(golden, model, f"it{n}", golden["about"]["tolerance"][tolerance])
    assert_agrees("curvature", published_steps[-1], golden[f"it{n}_Lip"], rtol=1e-12)
    value = objective(golden, model.coef_, model.label_coef_)
    np.testing.assert_allclose(model.trace_.objective[-1], value, rtol=1e-10)


@pytest.mark.usefixtures("forgetful")
def test_back_tracking_keeps_the_first_bound(golden, monkeypatch):
    for name in ("label_curvature", "feature_curvature"):
        monkeypatch.setattr(_lsml, name, lambda problem, C: float(golden["bt_it5_Lip"]))
    model = fitted(golden, max_iter=5, restart=False)
    assert_reached(golden, model, "bt_it5", golden["about"]["tolerance"]["it1"])


@pytest.mark.usefixtures("forgetful", "published_steps")
def test_the_limit_of_the_published_method(golden):
    model = fitted(golden, max_iter=20_000, restart=False)
    assert_reached(golden, model, "conv", golden["about"]["tolerance"]["conv"])
    rtol = golden["about"]["tolerance"]["conv_objective"]
    expected = golden["conv_objective_formula"]
    assert_agrees("objective", model.trace_.objective[-1], expected, rtol=rtol)


def test_the_right_slope_reaches_a_lower_objective_where_its_term_is_heavy(golden, monkeypatch):
    Y = np.where(golden["mask"] == 1, golden["Y_train"], np.nan)
    settings = {**parameters(golden), "lambda_4": 10.0, "fit_intercept": False, "tol": 0.0}
    model = LSML(**settings, max_iter=1500)
    right = model.fit(golden["X_train"], Y).trace_.objective[-1]
    monkeypatch.setattr(_lsml, "laplacian_slope", lambda problem, W: 0.0)
    model.set_params(restart=False).fit(golden["X_train"], Y)
    assert right < 0.999 * model.trace_.objective[-1]


def test_the_right_slope_reaches_an_objective_as_low(golden):
    model = fitted(golden, max_iter=5000)
    reached = objective(golden, model.coef_, model.label_coef_)
    assert (np.diff(model.trace_.objective) <= 0).all()
    rtol = golden["about"]["tolerance"]["conv_objective"]
    assert reached <= golden["conv_objective_formula"] * (1 + rtol)
    at_reference = objective(golden, golden["conv_W"], golden["conv_C"])
    np.testing.assert_allclose(at_reference, golden["conv_objective_formula"], rtol=1e-10)


def test_lower_than_the_published_method_after_as_many_iterations(golden):
    model = fitted(golden, max_iter=50)
    for n in (5, 50):
        there = objective(golden, golden[f"it{n}_W"], golden[f"it{n}_C"])
        assert_ahead("all", model.trace_.objective[n - 1], there, iterations=n)
