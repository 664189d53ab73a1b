"""Products with standardised features against arrays that are standardised by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.fitting import row_source
from labelgap.kernels.products import prepare_features
from labelgap.models.gmfs._gmfs_features import find_design


@pytest.fixture(params=[np.array, sparse.csr_array])
def form(request):
    return request.param


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(13, 4)) * [1, 10, 0.1, 1] + [0, 5, -3, 1]
    X[:, 3] = 7.3  # never varies
    X[rng.random(X.shape) < 0.3] = 0
    X[:, 3] = 7.3
    return X, np.zeros((13, 2))


def standardised(X):
    spread = X.std(axis=0)
    spread[3] = 1
    return (X - X.mean(axis=0)) / spread


@pytest.mark.parametrize("block_rows", [None, 5])
def test_products_are_those_of_standardised_features(form, block_rows):
    X, Y = problem()
    design = find_design(row_source(form(X), Y, block_rows=block_rows), standardise=True)
    Z = np.column_stack([standardised(X), np.ones(len(X))])
    np.testing.assert_allclose(Z[:, 3], 0, atol=1e-12)
    features = prepare_features(form(X))
    rng = np.random.default_rng(1)
    W, G, weights = rng.normal(size=(5, 3)), rng.normal(size=(13, 3)), rng.random(13)
    np.testing.assert_allclose(design.linear(features, W), Z @ W, atol=1e-12)
    np.testing.assert_allclose(design.transposed(features, G), Z.T @ G, atol=1e-12)
    np.testing.assert_allclose(design.gram(features), Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(design.squares(features), np.diag(Z.T @ Z), atol=1e-10)
    weighted = np.diag((Z.T * weights) @ Z)
    np.testing.assert_allclose(design.squares(features, weights), weighted, atol=1e-10)


def test_centred_but_not_scaled(form):
    X, Y = problem()
    design = find_design(row_source(form(X), Y), standardise=False)
    W = np.random.default_rng(1).normal(size=(5, 2))
    expected = (X - X.mean(axis=0)) @ W[:-1] + W[-1]
    np.testing.assert_allclose(design.linear(prepare_features(form(X)), W), expected, atol=1e-12)


def test_a_constant_far_from_zero_is_no_feature(form):
    X, Y = problem()
    X[:, 3] = 1e8 / 3
    design = find_design(row_source(form(X), Y), standardise=True)
    assert design.scale[3] == 1
