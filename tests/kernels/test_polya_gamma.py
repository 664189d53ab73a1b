from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgap.kernels.polya_gamma import polya_gamma_mean, unit_mean
from reference import topic_kernels as slow

tilts = st.floats(-500, 500)


@given(tilts, st.floats(1e-3, 1e3))
def test_mean_agrees_with_the_formula(psi, shape):
    expected = slow.polya_gamma_mean(shape, psi) if abs(psi) > 1e-150 else shape / 4
    assert polya_gamma_mean(np.array([shape]), np.array([psi]))[0] == pytest.approx(expected, 1e-9)


@given(tilts)
def test_mean_is_even_and_largest_at_zero(psi):
    assert unit_mean(psi) == unit_mean(-psi)
    assert 0 < unit_mean(psi) <= unit_mean(0.0) == 0.25


@pytest.mark.parametrize("psi", [1e-9, 1e-4, 0.999e-3, 1.001e-3, 0.3, 2.0, 40.0])
def test_mean_is_the_slope_of_log_cosh(psi):
    """E[omega] = -d/dt log E[exp(-t omega)], where E[exp(-t omega)] is a ratio of cosh."""

    def log_transform(t):
        return np.log(np.cosh(psi / 2)) - np.log(np.cosh(np.sqrt(psi**2 / 4 + t / 2)))

    step = 1e-4 * max(psi**2, 1e-1)
    one, two = log_transform(step), log_transform(2 * step)
    slope = (4 * one - two) / (2 * step)
    assert unit_mean(psi) == pytest.approx(-slope, rel=1e-5)


def test_series_and_formula_meet():
    below, above = np.nextafter(1e-3, 0), 1e-3
    assert unit_mean(below) == pytest.approx(unit_mean(above), rel=1e-13)


def test_broadcasts_and_keeps_single_precision():
    psi = np.array([[0.0, 1.0], [-1.0, 3.0]], dtype=np.float32)
    found = polya_gamma_mean(np.array([2.0, 4.0]), psi)
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, [[0.5, 4 * unit_mean(1.0)], [2 * unit_mean(1.0), 4 * unit_mean(3.0)]], rtol=1e-6
    )
    assert polya_gamma_mean(1.0, np.empty((0, 3))).shape == (0, 3)
    np.testing.assert_allclose(polya_gamma_mean(1, np.array([0, 1])), [0.25, unit_mean(1.0)])
