"""LLSF against numbers from an implementation of its algorithm."""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap_papers.kernels.proximal import spectral_norm
from labelgap_papers.methods import LLSF, _llsf
from labelgap_papers.methods._linear import cosine_distances

pytestmark = pytest.mark.filterwarnings("ignore:LLSF has no minimum")
PROBLEMS = ["full", "miss0"]


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "llsf.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "llsf.npz") as arrays:
        return {"about": about, **arrays}


def fitted(golden, name, run, **settings):
    """The reference codes missing entries as zeros and has no intercept."""
    Y = golden["Y_train"].astype(float)
    if name == "miss0":
        Y[golden["mask"] == 0] = np.nan
    parameters = golden["about"]["hyper_parameters"][run]
    model = LLSF(**parameters, fit_intercept=False, unknown="negative", tol=0.0, **settings)
    return model.fit(golden["X_train"], Y)


def objective(golden, name, W, run):
    parameters = golden["about"]["hyper_parameters"][run]
    X, Y = golden["X_train"], golden["Y_train"].astype(float)
    if name == "miss0":
        Y = Y * golden["mask"]
    smooth = 0.5 * np.square(X @ W - Y).sum()
    smooth += parameters["alpha"] / 2 * np.trace(golden[f"{name}_R"] @ W.T @ W)
    return smooth + parameters["beta"] * np.abs(W).sum()


def published_curvature(features, distances, alpha):
    squares = features.largest_eigenvalue**2 + spectral_norm(alpha * distances) ** 2
    return np.sqrt(2 * squares)


@pytest.mark.parametrize("name", PROBLEMS)
def test_distances_of_labels(golden, name):
    Y = golden["Y_train"].astype(float) * (golden["mask"] if name == "miss0" else 1)
    assert_agrees("R", cosine_distances(Y), golden[f"{name}_R"], atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("n", "tolerance"), [(1, "it1"), (2, "it1"), (5, "it1"), (50, "it50")])
def test_the_iterations_of_the_published_method(golden, monkeypatch, name, n, tolerance):
    monkeypatch.setattr(_llsf, "largest_curvature", published_curvature)
    model = fitted(golden, name, "it_runs", max_iter=n, restart=False)
    atol = golden["about"]["tolerance"][tolerance]
    assert_agrees("W", model.coef_, golden[f"{name}_it{n}_W"], atol=atol)


@pytest.mark.parametrize("name", PROBLEMS)
def test_printed_losses_count_coefficients(golden, monkeypatch, name):
    """What the reference prints is another function: squares twice over, and a count."""
    monkeypatch.setattr(_llsf, "largest_curvature", published_curvature)
    parameters = golden["about"]["hyper_parameters"]["it_runs"]
    printed = golden[f"{name}_it50_loss"]
    for n in (1, 2, len(printed)):
        model = fitted(golden, name, "it_runs", max_iter=n, restart=False)
        W = model.coef_
        ours = objective(golden, name, W, "it_runs")
        np.testing.assert_allclose(model.trace_.objective[-1], ours, rtol=1e-10)
        squares = 2 * (ours - parameters["beta"] * np.abs(W).sum())
        counted = squares + parameters["beta"] * np.count_nonzero(W)
        assert_agrees("loss", counted, printed[n - 1], rtol=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_converged_point(golden, name):
    model = fitted(golden, name, "conv_runs", max_iter=8000)
    atol = golden["about"]["tolerance"]["conv_W"]
    assert_agrees("W", model.coef_, golden[f"{name}_conv_W"], atol=atol)
    scores = golden["X_test"] @ model.coef_
    assert_agrees("scores", scores, golden[f"{name}_conv_scores_test"], atol=atol)
    rtol = golden["about"]["tolerance"]["conv_objective"]
    reached = golden[f"{name}_conv_objective_formula"]
    assert_agrees("objective", model.trace_.objective[-1], reached, rtol=rtol)


@pytest.mark.parametrize("name", PROBLEMS)
def test_fewer_iterations_for_the_same_objective(golden, monkeypatch, name):
    restarted = fitted(golden, name, "conv_runs", max_iter=50).trace_.objective
    assert (np.diff(restarted) <= 0).all()
    monkeypatch.setattr(_llsf, "largest_curvature", published_curvature)
    plain = fitted(golden, name, "conv_runs", max_iter=50, restart=False).trace_.objective
    assert restarted[-1] < plain[-1]


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_higher_than_the_reference_after_as_many_iterations(golden, name):
    ours = fitted(golden, name, "it_runs", max_iter=50).trace_.objective
    for n in (5, 50):
        theirs = objective(golden, name, golden[f"{name}_it{n}_W"], "it_runs")
        assert_ahead(name, ours[n - 1], theirs, iterations=n)
