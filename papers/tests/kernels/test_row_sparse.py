from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import linalg, sparse

from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.row_sparse import reweight, row_norms, solve_reweighted, sum_of_norms
from reference import row_sparse as slow

ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 4)),
    elements=st.floats(-1e3, 1e3, allow_nan=False),
)


@given(ROWS, st.sampled_from([1e-16, 1e-3, 1.0]))
def test_norms_and_weights(W, smoothing):
    assert sum_of_norms(W, smoothing) == pytest.approx(slow.sum_of_norms(W, smoothing))
    np.testing.assert_allclose(row_norms(W), [np.linalg.norm(row) for row in W])
    expected = [0.5 / np.sqrt(row @ row + smoothing) for row in W]
    np.testing.assert_allclose(reweight(W, smoothing), expected)


@given(ROWS, st.integers(0, 2**32 - 1))
def test_the_weights_give_an_upper_bound_that_touches(U, seed):
    V = U + np.random.default_rng(seed).normal(size=U.shape)
    g = reweight(U, 1e-6)
    bound = sum_of_norms(U, 1e-6) + g @ (row_norms(V) ** 2 - row_norms(U) ** 2)
    assert sum_of_norms(V, 1e-6) <= bound + 1e-9 * abs(bound)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("side", ["smaller", "features", "rows"])
@pytest.mark.parametrize("own", [2.0, 0.0, np.inf])
@pytest.mark.parametrize("shape", [(30, 5, 3), (6, 12, 2), (1, 1, 1), (1, 4, 2), (5, 4, 1)])
def test_solutions_are_those_of_least_squares(rng, form, side, own, shape):
    n, d, c = shape
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, c))
    X[rng.random(X.shape) < 0.3] = 0
    g, p = rng.gamma(2.0, size=n), rng.gamma(2.0, size=d + 1)
    p[-1] = own
    found = solve_reweighted(prepare_features(form(X)), Y, g, p, side=side)
    np.testing.assert_allclose(found, slow.solve_reweighted(X, Y, g, p), atol=1e-9)
    if np.isinf(own):
        assert (found[-1] == 0).all()


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("side", ["features", "rows"])
def test_rows_of_weight_zero_are_left_out(rng, form, side):
    X, Y, p = rng.normal(size=(12, 5)), rng.normal(size=(12, 2)), rng.gamma(2.0, size=6)
    g = rng.gamma(2.0, size=12) * (np.arange(12) % 3 > 0)
    found = solve_reweighted(prepare_features(form(X)), Y, g, p, side=side)
    expected = slow.solve_reweighted(X[g > 0], Y[g > 0], g[g > 0], p)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_penalties_of_empty_rows_may_be_huge(rng):
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    p = np.array([1.0, 1e9, 1.0, 1e12, 1.0, 1.0, 1.0])
    for side in ("features", "rows"):
        found = solve_reweighted(prepare_features(X), Y, np.ones(40), p, side=side)
        np.testing.assert_allclose(found, slow.solve_reweighted(X, Y, np.ones(40), p), atol=1e-9)


def test_a_singular_system_is_said_to_be_one(rng):
    column = rng.normal(size=(20, 1))
    features = prepare_features(np.hstack([column, column]))
    with pytest.raises(linalg.LinAlgError, match="raise alpha"):
        solve_reweighted(features, column, np.ones(20), np.array([0.0, 0.0, np.inf]))
