"""All left-out regressions by one inversion, against one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.joint_ridge import (
    left_out_residuals,
    penalised_inverse,
    regression_weights,
    residuals,
)
from reference import joint_ridge as slow


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n", "width"), [(12, 4), (5, 7), (3, 2), (2, 1)])
def test_agrees_with_one_regression_after_the_other(layout, n, width):
    rng = np.random.default_rng(n)
    Z = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.7)
    penalty = rng.uniform(0.3, 2.0, width)
    inverse = penalised_inverse(Z.T @ Z, penalty)
    found = left_out_residuals(layout(Z), inverse, slice(0, width))
    np.testing.assert_allclose(found, slow.left_out_residuals(Z, penalty), rtol=1e-9, atol=1e-12)


def test_some_columns_are_those_of_all():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(9, 5))
    inverse = penalised_inverse(Z.T @ Z, np.ones(5))
    some = left_out_residuals(Z, inverse, slice(3, 5))
    np.testing.assert_array_equal(some, left_out_residuals(Z, inverse, slice(0, 5))[:, 3:])


def test_pieces_side_by_side_are_one_matrix():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(8, 6))
    inverse = penalised_inverse(Z.T @ Z, np.ones(6))
    pieces = [Z[:, :2], sparse.csr_array(Z[:, 2:5]), Z[:, 5:]]
    for function in (left_out_residuals, residuals):
        whole = function(Z, inverse, slice(2, 6))
        np.testing.assert_allclose(function(pieces, inverse, slice(2, 6)), whole, rtol=1e-12)


def test_the_inverse_is_one():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(4, 6))
    penalty = rng.uniform(0.5, 1, 6)
    product = penalised_inverse(Z.T @ Z, penalty) @ (Z.T @ Z + np.diag(penalty))
    np.testing.assert_allclose(product, np.eye(6), atol=1e-12)


def test_new_rows_are_predicted_by_the_regression_weights():
    rng = np.random.default_rng(2)
    Z, new = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    inverse = penalised_inverse(Z.T @ Z, np.ones(4))
    weights = regression_weights(inverse, 2)
    others = np.delete(Z, 2, axis=1)
    direct = np.linalg.solve(others.T @ others + np.eye(3), others.T @ Z[:, 2])
    np.testing.assert_allclose(np.delete(weights, 2), direct)
    assert weights[2] == 0
    found = new[:, 2] - residuals(new, inverse, slice(2, 3))[:, 0]
    np.testing.assert_allclose(found, np.delete(new, 2, axis=1) @ direct)


def test_a_singular_problem_without_penalty_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        penalised_inverse(np.ones((3, 3)), np.zeros(3))
