from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels import masked_targets as kernels
from reference.nonnegative import masked_residual


@pytest.fixture(params=["masked", "complete", "one block per row"])
def problem(request, monkeypatch):
    rng = np.random.default_rng(0)
    n, k, c = 11, 3, 4
    Y = (rng.random((n, c)) < 0.4).astype(float)
    mask = np.ones((n, c), dtype=bool) if request.param == "complete" else rng.random((n, c)) < 0.6
    mask[:, -1] = request.param == "complete"  # a column without an observed entry
    if request.param == "one block per row":
        monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8)
    ones = sparse.csr_array(Y * mask)
    target = kernels.MaskedTarget(ones, None if mask.all() else mask)
    V, F, offset = rng.normal(size=(n, k)), rng.normal(size=(k, c)), rng.normal(size=c)
    return target, Y, mask, V, F, offset


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("with_offset", [True, False])
def test_products(problem, form, with_offset):
    target, Y, mask, V, F, offset = problem
    offset = offset * with_offset
    given_V = form(V)
    np.testing.assert_allclose(kernels.masked_product(target, given_V, F), V.T @ (mask * (V @ F)))
    with_gram = kernels.masked_product(target, given_V, F, V.T @ V)
    np.testing.assert_allclose(with_gram, V.T @ (mask * (V @ F)))
    right = mask * (Y - offset)
    np.testing.assert_allclose(kernels.masked_cross(target, given_V, offset), V.T @ right)
    np.testing.assert_allclose(kernels.row_cross(target, F, offset), right @ F.T)
    loss = np.square(masked_residual(Y, mask, V, F, offset)).sum()
    assert kernels.masked_loss(target, given_V, F, offset) == pytest.approx(loss)
    image = kernels.masked_product(target, given_V, F)
    cross = kernels.masked_cross(target, given_V, offset)
    again = kernels.loss_from_products(target, F, offset, cross, image)
    assert again == pytest.approx(loss)


@pytest.mark.parametrize("n", [0, 1, 1500])
def test_the_product_over_parts_of_the_rows(n):
    rng = np.random.default_rng(1)
    V, F, mask = rng.normal(size=(n, 3)), rng.normal(size=(3, 5)), rng.random((n, 5)) < 0.5
    target = kernels.MaskedTarget(sparse.csr_array((n, 5)), mask)
    expected = V.T @ (mask * (V @ F))
    np.testing.assert_allclose(kernels.masked_product(target, V, F), expected, atol=1e-12)


def test_diagonals_and_counts(problem):
    target, _, mask, V, _, _ = problem
    np.testing.assert_allclose(kernels.squared_cross(target, V), (V * V).T @ mask)
    np.testing.assert_array_equal(target.n_observed(), mask.sum(axis=0))


def test_the_best_offset_has_no_slope(problem):
    target, Y, mask, V, F, _ = problem
    best = kernels.best_offset(target, V, F)
    residual = masked_residual(Y, mask, V, F, best)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-12)
