from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from labelgap.kernels.low_rank import nuclear_norm
from labelgap_papers.kernels.two_thirds import (
    cheapest_factors,
    factorise,
    leading_svd,
    shrink_two_thirds,
)


def cost(s, a, weight):
    return weight * s ** (2 / 3) + (s - a) ** 2


@given(st.floats(0, 50), st.floats(1e-6, 100))
def test_a_value_is_shrunk_to_the_minimum(a, weight):
    s = float(shrink_two_thirds(np.array([a]), weight)[0])
    grid = np.linspace(0, a, 2001)
    best = cost(grid, a, weight).min()
    assert cost(s, a, weight) <= best + 1e-9 * (1 + best)
    assert 0 <= s <= a


def test_a_weight_of_zero_changes_nothing():
    values = np.array([0.0, 1e-3, 7.0])
    np.testing.assert_allclose(shrink_two_thirds(values, 0.0), values, rtol=1e-12)


@pytest.mark.parametrize("shape", [(12, 5), (5, 12), (7, 7)])
def test_leading_values_are_those_of_the_whole_decomposition(rng, shape):
    A = rng.normal(size=shape)
    left, values, right = leading_svd(A, 3)
    np.testing.assert_allclose(values, np.linalg.svd(A, compute_uv=False)[:3])
    np.testing.assert_allclose((left.T @ A) @ right.T, np.diag(values), atol=1e-10)
    assert leading_svd(A, 50)[1].size == min(shape)


def test_values_that_are_not_resolved_are_zero(rng):
    A = np.outer(rng.normal(size=9), rng.normal(size=4))
    left, values, right = leading_svd(A, 3)
    assert (values[1:] == 0).all()
    np.testing.assert_allclose((left * values) @ right, A, atol=1e-12)


def total(A, B, P, loss, mu, eta):
    return loss * np.square(B @ P - A).sum() + mu * nuclear_norm(B) + eta * np.square(P).sum()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_nothing_found_from_random_starts_is_below_the_factorisation(rng, k):
    A = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(8, 6))
    settings = (0.5, 0.7, 0.3)
    B, P = factorise(A, k, loss=0.5, mu=0.7, eta=0.3)
    best = total(A, B, P, *settings)

    def value(x):
        return total(A, x[: 8 * k].reshape(8, k), x[8 * k :].reshape(k, 6), *settings)

    found = [minimize(value, rng.normal(size=14 * k), tol=1e-10).fun for _ in range(3)]
    assert best <= min(found) + 1e-8
    assert min(found) < best * 1.1 + 1e-9  # the searches come close, or the bound says nothing


def test_cheapest_factors_keep_the_product_and_cost_what_the_formula_says(rng):
    B, P = rng.normal(size=(9, 3)), rng.normal(size=(3, 5))
    C, Q = cheapest_factors(B, P, mu=0.7, eta=0.3)
    np.testing.assert_allclose(C @ Q, B @ P, atol=1e-12)
    z = np.linalg.svd(B @ P, compute_uv=False)[:3]
    expected = 1.5 * 0.7 ** (2 / 3) * 0.6 ** (1 / 3) * (z ** (2 / 3)).sum()
    assert 0.7 * nuclear_norm(C) + 0.3 * np.square(Q).sum() == pytest.approx(expected)
    assert expected < 0.7 * nuclear_norm(B) + 0.3 * np.square(P).sum()
    wide = rng.normal(size=(2, 4)), rng.normal(size=(4, 2))
    same = cheapest_factors(*wide, mu=1.0, eta=1.0)
    assert all(a is b for a, b in zip(wide, same, strict=True))
