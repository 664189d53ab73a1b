from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.array_namespace import array_namespace, reads_in_place, to_numpy


def test_numpy_and_scipy_are_numpy():
    assert array_namespace(np.ones(2), sparse.csr_array(np.eye(2)), 1.0, None) is np
    assert array_namespace() is np


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
def test_another_library_is_found_and_read_back(name):
    library = pytest.importorskip(name)
    array = library.asarray([[1.0, 2.0], [3.0, 4.0]])
    xp = array_namespace(array, 2.0, None)
    np.testing.assert_array_equal(to_numpy(xp.matmul(array, array)), [[7, 10], [15, 22]])
    assert isinstance(to_numpy(array), np.ndarray)
    with pytest.raises(TypeError, match=r"several libraries.*numpy"):
        array_namespace(array, np.ones(2))


def test_gradients_do_not_hinder_reading():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(to_numpy(torch.ones(2, requires_grad=True)), [1, 1])


def test_devices_do_not_mix():
    strict = pytest.importorskip("array_api_strict")
    other = strict.ones(2, device=strict.Device("device1"))
    with pytest.raises(TypeError, match=r"several devices.*CPU_DEVICE.*device1.*move them"):
        array_namespace(strict.ones(2), other)
    np.testing.assert_array_equal(to_numpy(other), [1, 1])


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="list is no array"):
        array_namespace([1.0], np.ones(2))
    with pytest.raises(TypeError, match="list is no array"):
        to_numpy([1.0])
    with pytest.raises(TypeError, match="sparse"):
        to_numpy(sparse.csr_array(np.eye(2)))


def test_products_read_rows_columns_and_slices_where_they_are():
    a = np.ones((6, 8))
    for view in (a, a.T, a[1:3], a.T[2:5], a[:, 2:5]):
        assert reads_in_place(np, view, np.float64)
    for view in (a[::2, ::2], np.broadcast_to(1.0, (3, 4)), np.broadcast_to(a[0], (3, 8))):
        assert not reads_in_place(np, view, np.float64)
    assert not reads_in_place(np, a, np.float32)
    assert not reads_in_place(np, a.astype(">f8"), np.dtype(np.float64))
