"""The classifier of GMFS's protocol: a support-vector machine with a Gaussian kernel per label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from labelgap._extras import require
from labelgap.kernels.array_namespace import array_namespace, to_numpy
from labelgap.kernels.support_vectors import fit_support_vectors
from labelgap.labels import Labels

__all__ = ["gaussian_kernels", "machine_scores"]

# The score of a label whose training entries are all equal: below or above any machine's.
_CONSTANT = 10.0


def machine_scores(
    X: np.ndarray,
    labels: Labels,
    X_test: np.ndarray,
    sizes: Sequence[int],
    *,
    tol: float = 1e-3,
    device: str | None = None,
) -> list[np.ndarray]:
    """Scores of the test rows by machines on the first features, for several numbers of them.

    The kernel is exp(-||x - z||^2 / d) for d features, and C = 1: libSVM's defaults.

    Parameters
    ----------
    X, X_test : arrays of shape (n_rows, n_features)
        Features, the best first.
    labels : Labels
        Of the training rows; ambiguous zeros are zeros.
    sizes : sequence of int
        Numbers of features, increasing.
    tol : float
        Tolerance of the machines.
    device : str, optional
        Device of torch.

    Returns
    -------
    list of arrays of shape (n_test, n_labels)
        One for every size.
    """
    Y = labels.to_dense()
    mixed = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    constant = np.where(Y.all(axis=0), _CONSTANT, -_CONSTANT) * np.ones((len(X_test), 1))
    arrays: Any = (X, X_test, 2 * Y[:, mixed] - 1)
    if device is not None:
        torch = require("torch", extra="gpu", purpose="device=")
        arrays = (torch.asarray(np.ascontiguousarray(part), device=device) for part in arrays)
    X, X_test, signs = arrays
    found = []
    for some in _scores(X, X_test, signs, sizes, tol):
        scores = constant.copy()
        scores[:, mixed] = some
        found.append(scores)
    return found


def _scores(X: Any, X_test: Any, signs: Any, sizes: Sequence[int], tol: float) -> Iterator[Any]:
    """One matrix after the other on the processor; on a device all of them are trained together."""
    xp = array_namespace(X)
    kernels = zip(
        gaussian_kernels(xp, X, X, sizes), gaussian_kernels(xp, X_test, X, sizes), strict=True
    )
    if xp is np:
        for gram, across in kernels:
            machines = fit_support_vectors(gram, signs, tol=tol)
            yield across @ machines.coefficients + machines.level
        return
    grams, others = zip(*kernels, strict=True)
    machines = fit_support_vectors(xp.stack(grams), signs, tol=tol)
    for place, across in enumerate(others):
        across = xp.astype(across, machines.level.dtype)
        yield to_numpy(across @ machines.coefficients[place] + machines.level[place])


def gaussian_kernels(xp: Any, A: Any, B: Any, sizes: Sequence[int]) -> Iterator[Any]:
    """exp(-||a - b||^2 / d) over the first d features, in single precision, for every size."""
    distances, start = None, 0
    for d in sizes:
        a, b = A[:, start:d], B[:, start:d]
        norms = xp.sum(a * a, axis=1)[:, None] + xp.sum(b * b, axis=1)[None, :]
        more = norms - 2 * (a @ b.T)
        distances = more if distances is None else distances + more
        start = d
        yield xp.astype(xp.exp(-xp.clip(distances, 0.0, None) / d), xp.float32)
