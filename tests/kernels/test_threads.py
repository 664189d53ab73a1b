from __future__ import annotations

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from labelgap.kernels.products import (
    block_edges,
    dense_times,
    dense_transposed_times,
    one_blas_thread,
)


@pytest.mark.parametrize("n", [0, 1, 511, 1024, 5000, 100_000])
def test_blocks_cover_all_rows_once(n):
    edges = block_edges(n)
    assert (edges[0], edges[-1]) == (0, n)
    assert (np.diff(edges) >= min(n, 512)).all()
    assert edges.size <= 9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 1500])
def test_products_are_those_of_double_precision(n, dtype):
    rng = np.random.default_rng(0)
    X = rng.random((n, 7)).astype(dtype)
    W, G = rng.normal(size=(3, 7)).T, rng.normal(size=(n, 3))
    for found, expected in (
        (dense_times(X, W), X.astype(np.float64) @ W),
        (dense_transposed_times(X, G), X.astype(np.float64).T @ G),
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    X, W, G = rng.random((3000, 40)), rng.random((40, 5)), rng.random((3000, 5))
    several = dense_times(X, W), dense_transposed_times(X, G)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        one = dense_times(X, W), dense_transposed_times(X, G)
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(several[0], one[0])
    np.testing.assert_array_equal(several[1], one[1])


def test_the_libraries_get_their_threads_back():
    def blas() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    @one_blas_thread()
    def inside() -> list[int]:
        return blas()

    before = blas()
    with one_blas_thread():
        assert set(blas()) == {1}
    assert blas() == before
    assert set(inside()) == {1}
    assert blas() == before
