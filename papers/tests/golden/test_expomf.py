"""ExpoMF against its authors' code, whose normal density has its constant upside down."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy import sparse

from golden.agreement import assert_agrees, assert_ahead
from labelgap import State
from labelgap_papers.methods import ExpoMF, _expomf


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "expomf.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "expomf.npz") as arrays:
        return {"about": about, **arrays}


def estimator(golden, n):
    given = golden["about"]["hyper_parameters"]
    return ExpoMF(
        given["K"],
        lambda_u=given["lambda_theta"],
        lambda_v=given["lambda_beta"],
        precision=given["lambda_y"],
        a=given["a"],
        b=given["b"],
        first_rate=given["init_mu"],
        init=(golden["theta_init"], golden["beta_init"]),
        max_iter=n,
        tol=0.0,
    )


def fitted(golden, n):
    # the reference reads labels alone
    X = np.zeros((len(golden["Y_input"]), 1))
    return estimator(golden, n).fit(X, golden["Y_input"])


def n_iterations(golden, name):
    if name != "conv":
        return int(name.removeprefix("it"))
    return int(re.search(r"conv: (\d+) iterations", golden["about"]["iterations"]).group(1))


def reference_density(error, precision):
    """The fault, and the small number that the reference adds to every density."""
    density = np.sqrt(precision / 2 * np.pi) * np.exp(-precision * error**2 / 2)
    return np.log(density + 1e-8)


def reference_point(golden, name):
    return _expomf._Point(*(golden[f"{name}_{part}"] for part in ("theta", "beta", "mu")))


def states_of(golden):
    """Every zero is unlabeled."""
    return np.where(golden["Y_input"] == 1, State.RELEVANT, State.UNLABELED)


@pytest.mark.parametrize("name", ["it1", "it2", "it5", "it50", "conv"])
def test_with_the_density_of_the_reference(golden, name, monkeypatch):
    monkeypatch.setattr(_expomf, "_log_density", reference_density)
    tolerances = golden["about"]["tolerance"]
    tolerance = tolerances.get(name, tolerances["it50"])
    model = fitted(golden, n_iterations(golden, name))
    for found, part in (
        (model.row_factors_, "theta"),
        (model.label_factors_, "beta"),
        (model.label_frequency_, "mu"),
    ):
        assert_agrees(part, found, golden[f"{name}_{part}"], atol=tolerance)
    if f"{name}_exposure" in golden:
        point = _expomf._Point(model.row_factors_, model.label_factors_, model.label_frequency_)
        exposure = model._seen_weights(point, states_of(golden))
        assert_agrees("exposure", exposure, golden[f"{name}_exposure"], atol=tolerance)


def test_the_right_density_reaches_a_higher_objective(golden):
    theirs, states = reference_point(golden, "conv"), states_of(golden)
    model = estimator(golden, 1)
    reached = model._objective(theirs, states)
    # their end is no stationary point: EM goes on from there
    onwards = model._iterate(theirs, states, sparse.csr_array(golden["Y_input"], dtype=float))
    assert model._objective(onwards, states) > reached + 1e-6
    assert fitted(golden, n_iterations(golden, "it50")).trace_.objective[-1] > reached


@pytest.mark.parametrize("name", ["it5", "it50"])
def test_the_right_density_is_ahead_after_as_many_iterations(golden, name):
    n = n_iterations(golden, name)
    theirs = estimator(golden, 1)._objective(reference_point(golden, name), states_of(golden))
    ours = fitted(golden, n).trace_.objective[-1]
    assert_ahead("all", ours, theirs, iterations=n, higher=True)
