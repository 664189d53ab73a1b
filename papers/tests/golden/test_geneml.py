"""GenEML against its authors' code, whose three faults are switched on here."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.special import expit

from golden.agreement import assert_agrees, assert_ahead
from labelgap import State
from labelgap.kernels.entry_likelihood import LabelTerms
from labelgap.kernels.products import prepare_features
from labelgap.kernels.weighted_ridge import solve_grams
from labelgap_papers.methods import GenEML, _geneml


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "geneml.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "geneml.npz") as arrays:
        return {"about": about, **arrays}


def estimator(golden, mode, n, **settings):
    given = golden["about"]["hyper_parameters"]
    if mode == "lr":
        words = golden["about"]["iterations"]
        size, power = re.search(r"gamma_t = ([\d.]+) \(1\+t\)\^-([\d.]+)", words).groups()
        settings |= {"step_size": float(size), "step_power": float(power)}
    return GenEML(
        given["K"],
        lambda_u=given["lam_u"],
        lambda_v=given["lam_v"],
        lambda_w=given["lam_w"],
        a=given["a"],
        b=given["b"],
        fit_label_frequency=mode != "noobs",
        fit_intercept=False,
        init=(golden["V_init"], golden["W_init"].T, golden["mu_init"]),
        max_iter=n,
        tol=0.0,
        **settings,
    )


def fitted(golden, mode, n):
    return estimator(golden, mode, n).fit(golden["X_train"], golden["Y_input"])


def reference_terms(psi, states, theta=None):
    """E[omega] is 0 at 0, and small numbers are added here and there."""
    theta = 1.0 if theta is None else theta
    negative = expit(-np.clip(psi, -20, 20))
    looked = theta * negative / (theta * negative + 1 - theta + 1e-8)
    weight = np.where(states == State.RELEVANT, 1.0, looked)
    omega = weight * 0.5 * np.tanh(psi / 2) / (1e-8 + psi)
    kappa = np.where(states == State.RELEVANT, 0.5, -0.5) * weight
    looked_at = np.where(states == State.UNLABELED, weight, 0.0).sum(axis=0)
    return LabelTerms(kappa, omega, 0.0, looked_at)


def fading_ridge(sums, lambda_v):
    """The ridge on V stands in the start of the sums alone."""
    return solve_grams(sums.grams, sums.right_side, (1 - sums.weight) * lambda_v).z


def shrunk_regression(sums, lambda_u, lambda_w, factor):
    """The ridge on W lacks lambda_u."""
    return np.linalg.solve(sums.gram + lambda_w * np.eye(len(sums.gram)), sums.cross)


@pytest.fixture
def faults(monkeypatch):
    monkeypatch.setattr(_geneml, "label_terms", reference_terms)
    monkeypatch.setattr(_geneml, "_label_factors", fading_ridge)
    monkeypatch.setattr(_geneml, "_regression", shrunk_regression)


COUNTS = {"g1": (1, 2, 5, 50), "lr": (1, 2, 5, 50), "noobs": (1, 2, 5)}


@pytest.mark.parametrize(("mode", "n"), [(m, n) for m, ns in COUNTS.items() for n in ns])
@pytest.mark.usefixtures("faults")
def test_with_the_faults_of_the_reference(golden, mode, n):
    tolerances = golden["about"]["tolerance"]
    tolerance = tolerances[f"it{n}"] if n != 2 else tolerances["it1"]
    model = fitted(golden, mode, n)
    found = {
        "U": model.row_factors_,
        "V": model.label_factors_,
        "W": model.coef_.T,
        "mu": model.label_frequency_,
    }
    for name, value in found.items():
        expected = golden[f"{mode}_it{n}_{name}"]
        assert_agrees(name, value, expected, atol=tolerance)
    if f"{mode}_it{n}_scores" in golden:
        probability = model.predict_proba(golden["X_test"])
        expected = golden[f"{mode}_it{n}_scores"]
        assert_agrees("scores", probability, expected, atol=tolerance)
        recorded = golden[f"{mode}_it{n}_scores_mu"]
        assert_agrees("scores x mu", probability * model.label_frequency_, recorded, atol=tolerance)


def objective(golden, mode, n):
    U, V, W, mu = (golden[f"{mode}_it{n}_{name}"] for name in ("U", "V", "W", "mu"))
    params = _geneml._Params(V, np.vstack([W.T, np.zeros(len(W))]), mu)
    features = prepare_features(golden["X_train"])
    states = np.where(golden["Y_input"] == 1, State.RELEVANT, State.UNLABELED).astype(np.int8)
    return estimator(golden, mode, 1)._objective(U, params, features, states)


@pytest.mark.parametrize("mode", ["g1", "noobs"])
def test_without_the_faults_the_objective_is_higher(golden, mode):
    ours = fitted(golden, mode, max(COUNTS[mode])).trace_.objective
    assert (np.diff(ours) > -1e-9 * np.abs(ours[:-1])).all()
    for n in COUNTS[mode]:
        theirs = objective(golden, mode, n)
        assert_ahead(mode, ours[n - 1], theirs, iterations=n, higher=True)


def test_without_its_ridge_the_reference_grows_without_bound(golden):
    sizes = [np.abs(golden[f"g1_it{n}_V"]).max() for n in (50, 500, 2000)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert np.abs(fitted(golden, "g1", 500).label_factors_).max() < sizes[-1]
