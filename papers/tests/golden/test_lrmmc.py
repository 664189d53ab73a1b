"""The first stage of lrMMC against numbers from an implementation of its authors' algorithm.

The reference starts the steps for B in every round from its best matrix of rank one, with weights
of the nuclear norm that fall by a factor until one is not above mu: that one, and not mu, is what
it minimises with. Both are written here, in place of the right step, to compare numbers.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap.fitting import Monitor
from labelgap.kernels.low_rank import nuclear_norm, shrink_singular_values, thin_svd
from labelgap_papers.methods import LRMMC, _lrmmc


@pytest.fixture(scope="module")
def golden(golden_dir):
    about = json.loads((golden_dir / "lrmmc.json").read_text(encoding="utf-8"))
    with np.load(golden_dir / "lrmmc.npz") as arrays:
        return {"about": about, **arrays}


def problem(golden, mu=None):
    settings = golden["about"]["hyper_parameters"]
    A = golden["A"]
    return _lrmmc.LRMMCProblem(
        A, [slice(0, A.shape[1])], mu or settings["mu"], settings["eta"], gamma=None
    )


def objective(golden, B, P, mu=None):
    p = problem(golden, mu)
    losses = _lrmmc.view_losses(p, p.squares, _lrmmc.products_with(p, B), P)
    return _lrmmc.objective(p, _lrmmc.Factors(B, P, np.ones(1)), losses)


class Continuation:
    """The reference's steps for B; ``mu`` is the weight it ended with."""

    def __init__(self, golden):
        settings = golden["about"]["hyper_parameters"]
        self.factor = settings["red_factor"]
        self.tolerance = settings["inner_tolerance"]
        self.mu = np.nan

    def __call__(self, p, factors, n_steps):
        left, values, right = thin_svd(factors.B)
        B = values[0] * np.outer(left[:, 0], right[0])
        before = np.inf
        self.mu = self.factor * values[0]
        while True:
            B, before = self.settle(p.A, factors.P, B, before)
            if self.mu <= p.mu:
                return B
            self.mu *= self.factor

    def settle(self, A, P, B, before):
        n = len(A)
        step = n / (2 * np.linalg.norm(P, 2) ** 2)
        while True:
            gradient = (2 / n) * (B @ P - A) @ P.T
            found, norm = shrink_singular_values(B - step * gradient, step * self.mu)
            if norm == 0:
                return B, before
            B = found
            value = self.mu * norm + np.square(B @ P - A).sum() / n
            small = not np.isfinite(before) or abs(before - value) < self.tolerance * abs(before)
            before = value
            if small:
                return B, before


@pytest.fixture
def faulty(golden, monkeypatch):
    steps = Continuation(golden)
    monkeypatch.setattr(_lrmmc, "step_representation", steps)
    monkeypatch.setattr(_lrmmc, "balance", lambda p, B, P: (B, P))
    return steps


@pytest.mark.parametrize("key", ["it1", "it2", "it5", "conv"])
def test_with_the_faults_it_is_the_reference(golden, faulty, key):
    tolerances = golden["about"]["tolerance"]
    tolerance = tolerances.get(key, tolerances["it1"])
    expected = golden[f"{key}_obj"]
    found = _lrmmc.descend(problem(golden), golden["B_init"], Monitor(len(expected), 0.0), 1)
    assert_agrees("B", found.B, golden[f"{key}_B"], atol=tolerance)
    assert_agrees("P", found.P, golden[f"{key}_P"], atol=tolerance)
    value = objective(golden, found.B, found.P, faulty.mu)
    assert_agrees("objective", value, expected[-1], rtol=tolerance)


def test_rounds_from_the_same_start_never_increase_the_objective(golden):
    monitor = Monitor(len(golden["it5_obj"]), 0.0)
    _lrmmc.descend(problem(golden), golden["B_init"], monitor, 200)
    values = monitor.trace.objective
    theirs = objective(golden, golden["it1_B"], golden["it1_P"])
    assert_ahead("the same start", values[0], theirs, iterations=1)
    assert (np.diff(values) <= 0).all()


def test_the_default_start_is_below_the_reference_at_its_end(golden):
    settings = golden["about"]["hyper_parameters"]
    B, P = golden["conv_B"], golden["conv_P"]
    loss = np.square(B @ P - golden["A"]).sum() / len(B) + settings["eta"] * np.square(P).sum()
    # the weight that the reference ended with, from the value that it printed
    mu_there = (golden["conv_obj"][-1] - loss) / nuclear_norm(B)
    assert settings["red_factor"] < mu_there / settings["mu"] <= 1 + 1e-9
    Y = (golden["A"][:, :2] > 0).astype(float)
    for mu in (settings["mu"], mu_there):
        model = LRMMC(
            None,
            settings["nbK"],
            mu=mu,
            eta=settings["eta"],
            scaling=None,
            max_iter=1,
            tol=0.0,
        ).fit(golden["A"], Y)
        value = model.trace_.objective[-1] - model.gamma  # theta is 1
        for key in ("it1", "it2", "it5", "conv"):
            theirs = objective(golden, golden[f"{key}_B"], golden[f"{key}_P"], mu)
            assert_ahead(f"one round against {key}", value, theirs, iterations=1)
