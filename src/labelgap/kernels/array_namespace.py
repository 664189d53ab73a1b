"""Which library an array belongs to: numpy, or one that follows the array API standard."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
from scipy import linalg, sparse

__all__ = [
    "array_like",
    "array_namespace",
    "check_shape",
    "cholesky",
    "cholesky_solve",
    "empty",
    "float_array",
    "item_size",
    "reads_in_place",
    "solve_factored",
    "to_numpy",
]


def _compatibility() -> ModuleType:
    """The copy of ``array_api_compat`` that scikit-learn brings."""
    return importlib.import_module("sklearn.externals.array_api_compat")


def _is_numpy(array: Any) -> bool:
    return isinstance(array, np.ndarray | np.generic) or sparse.issparse(array)


def array_namespace(*arrays: Any) -> ModuleType:
    """Return the module with the functions for these arrays.

    *arrays : numpy arrays, scipy sparse matrices, or arrays of one other library. ``None`` and
        plain numbers go with every library and are passed over.
    Returns module. ``numpy`` itself for numpy arrays and scipy sparse matrices, and when there is
        no array at all; otherwise the namespace of the arrays' own library (torch, cupy, ...) with
        the names of the array API standard.
    Raises TypeError. When the arrays are of several libraries or live on several devices, or when
        something is no array.
    """
    arrays = tuple(a for a in arrays if a is not None and not isinstance(a, bool | int | float))
    if all(_is_numpy(array) for array in arrays):
        return np
    compatibility = _compatibility()
    for array in arrays:
        if not _is_numpy(array) and not compatibility.is_array_api_obj(array):
            raise TypeError(f"{type(array).__name__} is no array: convert it, as by numpy.asarray")
    owners = {"numpy" if _is_numpy(a) else type(a).__module__.split(".")[0] for a in arrays}
    if len(owners) > 1:
        raise TypeError(
            f"arrays of several libraries, {' and '.join(sorted(owners))}: convert them to one"
        )
    devices = {str(compatibility.device(array)) for array in arrays}
    if len(devices) > 1:
        raise TypeError(
            f"arrays on several devices, {' and '.join(sorted(devices))}: move them to one"
        )
    return compatibility.array_namespace(*arrays)


def to_numpy(array: Any) -> np.ndarray:
    """Return the values of an array of any library as a numpy array, copied from its device if need be.

    array : array. Of numpy, torch, cupy or another library of the array API standard. Sparse
        matrices are refused with a TypeError, because they would have to be made dense.
    """
    if sparse.issparse(array):
        raise TypeError("to_numpy does not make sparse matrices dense: call their .toarray()")
    if _is_numpy(array):
        return np.asarray(array)
    compatibility = _compatibility()
    if not compatibility.is_array_api_obj(array):
        raise TypeError(f"{type(array).__name__} is no array: convert it, as by numpy.asarray")
    if compatibility.is_torch_array(array):
        return array.detach().cpu().numpy()
    if compatibility.is_cupy_array(array):
        return array.get()
    return np.from_dlpack(array)


def array_like(xp: ModuleType, values: Any, like: Any, *, dtype: Any = None) -> Any:
    """Return numbers or an array of the library ``xp``, with the dtype and on the device of ``like``.

    xp : module. From :func:`array_namespace`.
    values : number, numpy array, or array of the library
    like : array of the library
    dtype : dtype of the library, default=None. Instead of that of ``like``.
    """
    dtype = like.dtype if dtype is None else dtype
    if xp is np:
        return np.asarray(values, dtype=dtype)
    return xp.asarray(values, dtype=dtype, device=_compatibility().device(like))


def empty(xp: ModuleType, shape: tuple[int, ...], like: Any) -> Any:
    """Return an array with any values, with the dtype and on the device of ``like``."""
    if xp is np:
        return np.empty(shape, dtype=like.dtype)
    return xp.empty(shape, dtype=like.dtype, device=_compatibility().device(like))


def item_size(xp: ModuleType, array: Any) -> int:
    """Return bytes of one floating-point number of an array."""
    return xp.finfo(array.dtype).bits // 8


def check_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise a ValueError with the argument's name unless the array has this shape."""
    if tuple(array.shape) != shape:
        raise ValueError(f"{name} has the shape {tuple(array.shape)}: it must be {shape}")


def float_array(array: np.ndarray) -> np.ndarray:
    """Return a numpy array without gaps, in single precision if it was, otherwise in double."""
    single = array.dtype == np.float32
    return np.ascontiguousarray(array, dtype=np.float32 if single else np.float64)


def reads_in_place(xp: ModuleType, matrix: Any, dtype: Any) -> bool:
    """Return whether a matrix product reads the matrix without a copy.

    Its rows or its columns must have no gaps inside, so that transposed views and slices pass.
    """
    if xp is not np:
        return matrix.dtype == dtype
    if matrix.dtype != dtype or not matrix.flags.aligned or not matrix.dtype.isnative:
        return False
    inner, outer = (0, 1) if matrix.strides[0] == matrix.itemsize else (1, 0)
    step = matrix.strides[outer]
    whole = step >= matrix.shape[inner] * matrix.itemsize and step % matrix.itemsize == 0
    return whole and matrix.strides[inner] == matrix.itemsize


def cholesky(xp: ModuleType, matrices: Any) -> tuple[Any, int | None]:
    """Return lower factors of a stack (n, k, k), and the index of the first matrix that has none."""
    if hasattr(xp.linalg, "cholesky_ex"):
        L, status = xp.linalg.cholesky_ex(matrices)
        bad = status != 0
    else:
        try:
            L = xp.linalg.cholesky(matrices)
        except Exception:  # every library raises its own, and does not say where
            return None, _first_without_factor(xp, matrices)
        bad = xp.zeros(matrices.shape[0], dtype=xp.bool, device=_compatibility().device(matrices))
    # some libraries answer with NaN
    bad = bad | ~xp.all(xp.isfinite(xp.linalg.diagonal(L)), axis=-1)
    if bool(xp.any(bad)):
        return None, int(xp.argmax(xp.astype(bad, xp.int8)))
    return L, None


def _first_without_factor(xp: ModuleType, matrices: Any) -> int:
    for i in range(matrices.shape[0] - 1):
        try:
            xp.linalg.cholesky(matrices[i, :, :])
        except Exception:
            return i
    return matrices.shape[0] - 1


def _solve_triangular(xp: ModuleType, triangle: Any, right_side: Any, *, upper: bool) -> Any:
    """The array API has no triangular solve: a library's own where there is one."""
    if xp is np and triangle.ndim == 2:
        return linalg.solve_triangular(triangle, right_side, lower=not upper)
    if hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.solve_triangular(triangle, right_side, upper=upper)
    return xp.linalg.solve(triangle, right_side)


def cholesky_solve(xp: ModuleType, L: Any, right_side: Any) -> Any:
    """Return Z with L L' Z = B for a lower factor (k, k) and B (k, m), or for stacks of them."""
    y = _solve_triangular(xp, L, right_side, upper=False)
    return _solve_triangular(xp, xp.matrix_transpose(L), y, upper=True)


def solve_factored(
    xp: ModuleType, L: Any, right_side: Any, noise: Any, covariance: Any
) -> tuple[Any, Any, Any]:
    """Return solutions of L L' z = b for a stack of lower factors, log |L L'|, and the inverses.

    xp : module. From :func:`array_namespace`.
    L : array of shape (n, k, k)
    right_side : array of shape (n, k)
    noise : array of shape (n, k) or None. L'^-1 noise is added to the solutions.
    covariance : False, "diagonal" or "full". What of the inverses is returned: None, (n, k) or (n,
        k, k).
    """
    y = _solve_triangular(xp, L, right_side[:, :, None], upper=False)
    y = y if noise is None else y + noise[:, :, None]
    z = _solve_triangular(xp, xp.matrix_transpose(L), y, upper=True)
    log_det = 2 * xp.sum(xp.log(xp.linalg.diagonal(L)), axis=-1)
    inverse = None
    if covariance:
        identity = array_like(xp, np.eye(L.shape[-1]), L)
        X = _solve_triangular(xp, L, xp.broadcast_to(identity, L.shape), upper=False)
        full = covariance == "full"
        inverse = xp.matmul(xp.matrix_transpose(X), X) if full else xp.sum(X * X, axis=1)
    return z[:, :, 0], log_det, inverse
