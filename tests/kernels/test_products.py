from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.products import (
    prepare_features,
    squared_transposed_times,
    times,
    transposed_times,
)

SHAPES = [(7, 5, 3), (7, 1, 3), (1, 5, 3), (7, 5, 1), (0, 5, 2), (7, 0, 2)]


def draw(shape, dtype, kind, density=0.5):
    rng = np.random.default_rng(1)
    n, d, k = shape
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X = X.astype(dtype)
    W, G = (rng.normal(size=(rows, k)).astype(dtype) for rows in (d, n))
    return X, prepare_features(X if kind == "dense" else kind(X)), W, G


@pytest.mark.parametrize("kind", ["dense", sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_agree_with_dense_ones(shape, dtype, kind):
    X, features, W, G = draw(shape, dtype, kind)
    tolerance = {"rtol": 1e-5 if dtype == np.float32 else 1e-12, "atol": 1e-6}
    found = times(features, W), transposed_times(features, G), squared_transposed_times(features, G)
    X, W, G = (one.astype(np.float64) for one in (X, W, G))
    for one, expected in zip(found, (X @ W, X.T @ G, (X * X).T @ G), strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, expected, **tolerance)
    assert features.shape == shape[:2]


@pytest.mark.parametrize("kind", ["dense", sparse.csr_array])
def test_factors_may_lie_in_any_order(kind):
    X, features, W, G = draw((7, 5, 4), np.float64, kind)
    np.testing.assert_allclose(times(features, np.asfortranarray(W)), X @ W)
    np.testing.assert_allclose(transposed_times(features, G[:, ::2]), X.T @ G[:, ::2])


def test_mixed_precision_gives_the_wider_type():
    _, features, W, _ = draw((7, 5, 2), np.float32, sparse.csr_array)
    assert times(features, W.astype(np.float64)).dtype == np.float64


def test_an_empty_sparse_matrix_gives_zeros():
    features = prepare_features(sparse.csr_array((4, 3)))
    np.testing.assert_array_equal(times(features, np.ones((3, 2))), np.zeros((4, 2)))
    np.testing.assert_array_equal(transposed_times(features, np.ones((4, 2))), np.zeros((3, 2)))


def test_infinities_are_not_lost():
    X = sparse.csr_array(np.array([[np.inf, 0.0], [1.0, 1.0]]))
    product = times(prepare_features(X), np.ones((2, 1)))
    np.testing.assert_array_equal(product, [[np.inf], [2.0]])
