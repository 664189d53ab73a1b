"""Maxide against numbers from an implementation of its authors' algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.baselines import Maxide
from labelgap.kernels.low_rank import nuclear_norm


@pytest.fixture(scope="module")
def golden(golden_dir):
    with np.load(golden_dir / "maxide.npz") as arrays:
        return dict(arrays)


def fitted(golden, **settings):
    Y = np.where(golden["omega"] == 1, golden["M_observed"], np.nan)
    return Maxide(1.0, intercept=False, **settings).fit(golden["A"], Y)


@pytest.mark.parametrize(("n", "tolerance"), [(1, 1e-9), (2, 1e-9), (5, 1e-9), (20, 1e-8)])
def test_the_first_iterations(golden, n, tolerance):
    model = fitted(golden, max_iter=n, tol=0.0, restart=False)
    np.testing.assert_allclose(model.coef_, golden[f"it{n}_Z"], rtol=0, atol=tolerance)
    if n == 20:
        objective = golden["it20_objective"].ravel()
        np.testing.assert_allclose(model.trace_.objective, objective, rtol=1e-9)


@pytest.mark.parametrize("restart", [True, False])
def test_the_converged_point(golden, restart):
    model = fitted(golden, max_iter=3000, tol=0.0, restart=restart)
    np.testing.assert_allclose(model.coef_, golden["conv_Z"], rtol=0, atol=1e-6)
    scores = golden["A"] @ model.coef_
    np.testing.assert_allclose(scores, golden["conv_scores"], rtol=0, atol=1e-6)
    residual = (golden["omega"] == 1) * (scores - golden["M_observed"])
    value = 0.5 * np.square(residual).sum() + nuclear_norm(model.coef_)
    np.testing.assert_allclose(value, golden["conv_objective"], rtol=1e-9)
    np.testing.assert_allclose(model.trace_.objective[-1], value, rtol=1e-9)
