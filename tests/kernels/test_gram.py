from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.products import prepare_features, weighted_gram
from reference import topic_kernels as slow


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(8, 4, 3), (8, 1, 2), (1, 4, 2), (8, 4, 1), (0, 3, 2)])
def test_gram_agrees_with_a_sum_of_outer_products(shape, dtype, kind):
    rng = np.random.default_rng(0)
    n, d, k = shape
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)).astype(dtype)
    weights = rng.gamma(1.0, size=(n, k)).astype(dtype)
    features = prepare_features(X if kind == "dense" else sparse.csr_array(X))
    found = weighted_gram(features, weights)
    assert found.dtype == dtype
    assert found.shape == (k, d + 1, d + 1)
    tolerance = {"rtol": 1e-4 if dtype == np.float32 else 1e-12, "atol": 1e-5}
    np.testing.assert_allclose(found, slow.weighted_gram(X, weights), **tolerance)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), **tolerance)


def test_gram_of_non_negative_weights_has_no_negative_eigenvalue():
    rng = np.random.default_rng(1)
    X = sparse.random_array((20, 6), density=0.3, rng=rng, format="csr")
    gram = weighted_gram(prepare_features(X), rng.gamma(0.3, size=(20, 5)))
    assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_unsorted_and_repeated_entries_are_summed_like_any_product():
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3)
    )
    found = weighted_gram(prepare_features(X), np.array([[2.0]]))
    np.testing.assert_allclose(found, slow.weighted_gram(X.toarray(), np.array([[2.0]])))
