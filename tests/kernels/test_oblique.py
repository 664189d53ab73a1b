from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from labelgap.kernels.coordinate_descent import row_sweeps
from reference import rmfl as slow


def start(seed, n_labels, k, width):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_labels, width))
    return rng.normal(size=(n_labels, k)), Z / np.linalg.norm(Z, axis=1, keepdims=True)


def size(V, Z):
    return float(((Z.T @ V) ** 2).sum())


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 4), st.integers(1, 4),
    st.integers(0, 5),
)  # fmt: skip
def test_equals_the_slow_twin(seed, n_labels, k, width, n_sweeps):
    V, Z = start(seed, n_labels, k, width)
    before = Z.copy()
    found = row_sweeps(V, Z, n_sweeps)
    np.testing.assert_allclose(found, slow.row_sweeps(V, Z, n_sweeps), atol=1e-7)
    np.testing.assert_array_equal(Z, before)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_never_gets_worse(dtype):
    V, Z = start(3, 12, 4, 5)
    values = [size(V, row_sweeps(V.astype(dtype), Z, t)) for t in range(30)]
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < 0.5 * values[0]


@pytest.mark.parametrize("seed", range(5))
def test_a_row_gets_its_minimiser(seed):
    """No angle on the circle is better for the row that was moved last."""
    V, Z = start(seed, 4, 3, 2)
    found = row_sweeps(V, Z, 1)
    last = int(np.argmin((V**2).sum(axis=1)))
    best = np.inf
    for angle in np.linspace(0, 2 * np.pi, 2001):
        other = found.copy()
        other[last] = np.cos(angle), np.sin(angle)
        best = min(best, size(V, other))
    assert size(V, found) <= best + 1e-9


def test_as_good_as_a_general_minimiser():
    """Many sweeps reach what a quasi-Newton method reaches from the same start."""
    V, Z = start(1, 6, 3, 2)

    def value(angles):
        return size(V, np.column_stack([np.cos(angles), np.sin(angles)]))

    reached = minimize(value, np.arctan2(Z[:, 1], Z[:, 0]), tol=1e-12).fun
    assert size(V, row_sweeps(V, Z, 3000)) <= reached + 1e-6


def test_a_label_without_factors_keeps_its_direction():
    V, Z = start(2, 5, 3, 3)
    V[2] = 0
    found = row_sweeps(V, Z, 4)
    np.testing.assert_array_equal(found[2], Z[2])


def test_order_of_labels_does_not_matter():
    V, Z = start(4, 8, 3, 3)
    order = np.random.default_rng(0).permutation(8)
    np.testing.assert_allclose(row_sweeps(V[order], Z[order], 5), row_sweeps(V, Z, 5)[order])
