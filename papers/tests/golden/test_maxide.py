"""Maxide against numbers from an implementation of its authors' algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from golden.agreement import assert_agrees, assert_ahead
from labelgap.kernels.low_rank import nuclear_norm
from labelgap_papers.methods import Maxide


@pytest.fixture(scope="module")
def golden(golden_dir):
    with np.load(golden_dir / "maxide.npz") as arrays:
        return dict(arrays)


def fitted(golden, **settings):
    Y = np.where(golden["omega"] == 1, golden["M_observed"], np.nan)
    return Maxide(1.0, fit_intercept=False, **settings).fit(golden["A"], Y)


@pytest.mark.parametrize(("n", "tolerance"), [(1, 1e-9), (2, 1e-9), (5, 1e-9), (20, 1e-8)])
def test_the_first_iterations(golden, n, tolerance):
    model = fitted(golden, max_iter=n, tol=0.0, restart=False)
    assert_agrees("Z", model.coef_, golden[f"it{n}_Z"], atol=tolerance)
    if n == 20:
        objective = golden["it20_objective"].ravel()
        assert_agrees("objective", model.trace_.objective, objective, rtol=1e-9)


def test_restarts_are_no_higher_after_as_many_iterations(golden):
    theirs = golden["it20_objective"].ravel()
    ours = fitted(golden, max_iter=len(theirs), tol=0.0).trace_.objective
    for n in (5, len(theirs)):
        assert_ahead("all", ours[n - 1], theirs[n - 1], iterations=n, slack=1e-12)


@pytest.mark.parametrize(("restart", "n"), [(True, 3000), (False, 10_000)])
def test_the_converged_point(golden, restart, n):
    model = fitted(golden, max_iter=n, tol=0.0, restart=restart)
    assert_agrees("Z", model.coef_, golden["conv_Z"], atol=1e-6)
    scores = golden["A"] @ model.coef_
    assert_agrees("scores", scores, golden["conv_scores"], atol=1e-6)
    residual = (golden["omega"] == 1) * (scores - golden["M_observed"])
    value = 0.5 * np.square(residual).sum() + nuclear_norm(model.coef_)
    assert_agrees("objective", value, golden["conv_objective"], rtol=1e-9)
    np.testing.assert_allclose(model.trace_.objective[-1], value, rtol=1e-9)
