"""How sure a prediction is: variances of psi = u . v + b given the features of a row.

u given x has the variance 1/lambda_u of its prior; (v, b) of a seen label has the inverse of its
curvature at the optimum as covariance (a Laplace approximation, other labels and W held fixed);
that of an unseen label is judged by how far the same rule is off for seen labels.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from labelgap.kernels.weighted_ridge import unpack


def label_variance(factors: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """u' Cov(v, b) u for rows and seen labels, of shape (n_rows, n_seen).

    Parameters
    ----------
    factors : array of shape (n_rows, K + 1)
        Predicted factors of the rows, with a one.
    precision : array of shape (n_seen, packed)
        Packed curvature of each label's (v, b), its prior included.
    """
    size = factors.shape[1]
    out = np.empty((factors.shape[0], precision.shape[0]))
    for label, packed in enumerate(precision):
        lower = linalg.cholesky(unpack(packed[None].astype(np.float64), size)[0], lower=True)
        out[:, label] = np.square(linalg.solve_triangular(lower, factors.T, lower=True)).sum(axis=0)
    return out


def packed_labels(packed: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """The part (v, b) of packed systems of (v, b, a), with the prior on the diagonal."""
    size = ridge.size - 1
    width = size * (size + 1) // 2
    part = packed[:, :width].copy()
    diagonal = np.arange(1, size + 1)
    part[:, diagonal * (diagonal + 1) // 2 - 1] += ridge[:-1]
    return part
