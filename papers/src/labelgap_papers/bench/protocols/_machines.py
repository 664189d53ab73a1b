"""The classifier of GMFS's protocol: a support-vector machine with a Gaussian kernel per label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from sklearn.svm import SVC

from labelgap.labels import Labels

# The score of a label whose training entries are all equal: below or above any machine's.
_CONSTANT = 10.0


def machine_scores(
    X: np.ndarray, labels: Labels, X_test: np.ndarray, sizes: Sequence[int], *, tol: float = 1e-3
) -> list[np.ndarray]:
    """Return the scores of the test rows by machines on the first features, for several sizes.

    The kernel is exp(-||x - z||^2 / d) for d features, and C = 1: libSVM's defaults.

    X, X_test : arrays of shape (n_samples, n_features). Features, the best first.
    labels : Labels. Of the training rows; unlabeled zeros are zeros.
    sizes : sequence of int. Numbers of features, increasing.
    tol : float, default=1e-3. Tolerance of the machines.
    Returns list of arrays of shape (n_test, n_labels). One for every size.
    """
    Y = labels.to_dense()
    mixed = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    constant = np.where(Y.all(axis=0), _CONSTANT, -_CONSTANT) * np.ones((len(X_test), 1))
    found = []
    for gram, across in zip(_kernels(X, X, sizes), _kernels(X_test, X, sizes), strict=True):
        some = Parallel()(delayed(_decided)(gram, y, across, tol) for y in Y[:, mixed].T)
        scores = constant.copy()
        scores[:, mixed] = np.reshape(some, (mixed.size, len(X_test))).T
        found.append(scores)
    return found


def _decided(gram: np.ndarray, y: np.ndarray, across: np.ndarray, tol: float) -> np.ndarray:
    return SVC(kernel="precomputed", tol=tol).fit(gram, y).decision_function(across)


def _kernels(A: np.ndarray, B: np.ndarray, sizes: Sequence[int]) -> Iterator[np.ndarray]:
    """exp(-||a - b||^2 / d) over the first d features, in single precision, for every size."""
    distances, start = np.zeros((len(A), len(B))), 0
    for d in sizes:
        a, b = A[:, start:d], B[:, start:d]
        distances += np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1) - 2 * (a @ b.T)
        start = d
        yield np.exp(-np.maximum(distances, 0.0) / d).astype(np.float32)
