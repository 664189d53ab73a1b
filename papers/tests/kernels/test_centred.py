from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap_papers.kernels.centred import CentredFeatures


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("shape", [(20, 5), (5, 20), (1, 1), (1, 4), (6, 6)])
def test_products_are_those_of_the_centred_matrix(rng, form, centre, shape):
    X = rng.normal(size=shape) + 3
    X[rng.random(shape) < 0.3] = 0
    slow = X - X.mean(axis=0) if centre else X
    gram = slow.T @ slow
    features = CentredFeatures(form(X), centre=centre)
    W, Y = rng.normal(size=(shape[1], 3)), rng.normal(size=(shape[0], 2)) + 1
    np.testing.assert_allclose(features.gram_times(W), gram @ W, atol=1e-9)
    np.testing.assert_allclose(features.cross(Y), slow.T @ Y, atol=1e-9)
    values = np.linalg.eigvalsh(gram)
    assert features.largest_eigenvalue == pytest.approx(values[-1], abs=1e-9)
    assert features.smallest_eigenvalue == pytest.approx(values[0], abs=1e-9)
    expected = np.linalg.solve(gram + 0.7 * np.eye(shape[1]), slow.T @ Y)
    np.testing.assert_allclose(features.ridge(Y, 0.7), expected, atol=1e-9)
    np.testing.assert_allclose(features.means, X.mean(axis=0) * centre)
