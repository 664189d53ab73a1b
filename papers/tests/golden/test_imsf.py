"""iMSF against numbers from an implementation of its authors' algorithm, one label at a time."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap_papers.kernels import proximal
from labelgap_papers.methods import IMSF

LOSSES = {"least": "squared", "logistic": "logistic"}


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "imsf.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "imsf.npz") as arrays:
        return {"about": about, **arrays}


def data(golden):
    """Features with NaN for absent views, and the columns of the views."""
    X, edges = golden["X_train"].copy(), golden["view_edges"].tolist()
    views = {f"view{v}": pair for v, pair in enumerate(pairwise(edges))}
    for v, (start, stop) in enumerate(views.values()):
        X[golden["view_available"][:, v] == 0, start:stop] = np.nan
    return X, views


def labels_of(golden):
    return sorted({int(re.match(r"label(\d+)_", key).group(1)) for key in golden if key[-1] == "x"})


def fitted(golden, label, loss, **settings):
    X, views = data(golden)
    Y = (golden["Y_train"][:, [label]] > 0).astype(float)
    alpha = golden["about"]["hyper_parameters"]["z"]
    return IMSF(views, alpha, loss=LOSSES[loss], tol=0.0, **settings).fit(X, Y)


def in_their_order(golden, label, model):
    """Weights and intercepts of all patterns in the order of the files."""
    weights, intercepts = [], []
    for pattern in golden[f"label{label}_patterns"].astype(bool):
        place = np.flatnonzero((model.patterns_ == pattern).all(axis=1))[0]
        columns = model._columns(pattern)
        weights.append(model.coef_[place, columns, 0])
        intercepts.append(model.intercept_[place, 0])
    return np.concatenate(weights), np.array(intercepts)


def compare(golden, key, label, model, tolerance):
    weights, intercepts = in_their_order(golden, label, model)
    assert_agrees("x", weights, golden[f"{key}_x"], atol=tolerance)
    if f"{key}_c" in golden:
        assert_agrees("c", intercepts, golden[f"{key}_c"], atol=tolerance)


def step_with_ratio(smooth, prox, origin, curvature, search):
    """The reference's search: a curvature that is too small becomes the one along the step.

    The curvature along the next step is often the same number; rounding must not double it.
    """
    while True:
        x, penalty = prox(origin.x - origin.gradient / curvature, 1 / curvature)
        found, along = smooth.moved(origin, x)
        if along <= curvature * (1 + 1e-9):
            return found, found.value + penalty, curvature
        curvature = max(2 * curvature, along)


def test_the_patterns(golden):
    for label in labels_of(golden):
        model = fitted(golden, label, "least", max_iter=1)
        expected = golden[f"label{label}_patterns"].astype(bool)
        used = model.patterns_[model.modelled_[:, 0]]
        assert sorted(map(tuple, used)) == sorted(map(tuple, expected))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_first_iterations(golden, monkeypatch, loss, n):
    monkeypatch.setattr(proximal, "_step", step_with_ratio)
    tolerances = golden["about"]["tolerance"]
    tolerance = tolerances["it5"] if n == 5 else tolerances["it1"]
    for label in labels_of(golden):
        key = f"label{label}_{loss}_it{n}"
        model = fitted(golden, label, loss, max_iter=n, restart=False)
        compare(golden, key, label, model, tolerance)
        expected = golden[f"{key}_fun"][:n]
        assert_agrees("objective", model.trace_.objective, expected, rtol=tolerance)
        assert_agrees("curvature", model.curvature_, golden[f"{key}_L"][-1], rtol=tolerance)


def largest_curvature(golden, loss, model):
    """The constant that the steps need, from the features of each pattern."""
    X, _ = data(golden)
    scaled, there = model.scaling_.scaled(X), golden["view_available"].astype(bool)
    found = []
    for pattern in model.patterns_:
        A = scaled[(there == pattern).all(axis=1)][:, model._columns(pattern)]
        if loss == "logistic":
            A = np.column_stack([A, np.ones(len(A))]) / np.sqrt(4 * len(A))
        found.append(np.linalg.norm(A, 2) ** 2)
    return max(found)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_converged_point(golden, loss):
    tolerances = golden["about"]["tolerance"]
    for label in labels_of(golden):
        key = f"label{label}_{loss}_conv"
        model = fitted(golden, label, loss, max_iter=max(2000, int(golden[f"{key}_nit"])))
        compare(golden, key, label, model, tolerances["conv_x"])
        reached, expected = model.trace_.objective[-1], golden[f"{key}_fun"][-1]
        assert_agrees("objective", reached, expected, rtol=tolerances["conv_fun"])
        n = int(golden[f"{key}_nit"])
        assert_ahead(f"label {label}, {loss}", reached, expected, iterations=n, slack=1e-11)
        assert (np.diff(model.trace_.objective) <= 0).all()
        assert model.curvature_ <= 2 * largest_curvature(golden, loss, model)


def test_steps_of_the_reference_become_too_short(golden):
    """Rounding makes its test fail in the end, again and again, where no step can need that."""
    excess = []
    for loss in LOSSES:
        for label in labels_of(golden):
            enough = largest_curvature(golden, loss, fitted(golden, label, loss, max_iter=1))
            excess.append(golden[f"label{label}_{loss}_conv_L"][-1] / (2 * enough))
    assert max(excess) > 1
