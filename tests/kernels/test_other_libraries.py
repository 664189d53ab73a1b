"""Kernels that only need the array API standard give numpy's numbers with other libraries."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.polya_gamma import polya_gamma_mean
from labelgap.kernels.products import (
    prepare_features,
    squared_transposed_times,
    times,
    transposed_times,
)
from labelgap.kernels.topics import surprise_rates


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    return pytest.importorskip(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_conjugate_gradient(library, rng):
    matrix = rng.normal(size=(6, 6))
    matrix = matrix @ matrix.T + np.eye(6)
    right = rng.normal(size=(6, 3))
    right[:, 1] = 0
    diagonal = np.repeat(np.diag(matrix)[:, None], 3, axis=1)
    there = library.asarray(matrix)
    result = conjugate_gradient(
        lambda p: there @ p, library.asarray(right), library.asarray(diagonal), n_steps=20, tol=1e-9
    )
    assert type(result) is type(there)
    np.testing.assert_allclose(to_numpy(result), np.linalg.solve(matrix, right), atol=1e-7)


def test_polya_gamma_mean(library, rng):
    psi = np.concatenate([rng.normal(0, 5, 50), [0.0, 1e-4, -1e-4, 1e-3, 800.0]])
    shape = rng.gamma(2.0, size=psi.size)
    result = polya_gamma_mean(library.asarray(shape), library.asarray(psi))
    np.testing.assert_allclose(to_numpy(result), polya_gamma_mean(shape, psi), rtol=1e-9)


def test_products(library, rng):
    X, W, G = rng.normal(size=(7, 4)), rng.normal(size=(4, 3)), rng.normal(size=(7, 3))
    features = prepare_features(library.asarray(X))
    np.testing.assert_allclose(to_numpy(times(features, library.asarray(W))), X @ W)
    np.testing.assert_allclose(to_numpy(transposed_times(features, library.asarray(G))), X.T @ G)
    squared = squared_transposed_times(features, library.asarray(G))
    np.testing.assert_allclose(to_numpy(squared), (X**2).T @ G)


@pytest.mark.parametrize("equal_shapes", [True, False])
def test_surprise_rates(library, rng, equal_shapes):
    psi = rng.normal(0, 6, size=(9, 4))
    topics = rng.dirichlet(np.full(5, 0.3), 4).T
    r = np.full(4, 0.5) if equal_shapes else rng.gamma(1.0, size=4)
    expected = surprise_rates(psi, topics, r)
    result = surprise_rates(*(library.asarray(part) for part in (psi, topics, r)))
    np.testing.assert_allclose(to_numpy(result), expected, rtol=1e-5)
