"""Unseen labels as latent ones that must agree with the counts.

Let q_nt be the probability that row n carries the unseen label t. Among all q that give the counted
co-occurrences, sum_n y_ns q_nt = m_st / q_s with q_s as for moments, the one closest to the model's
own prediction sigmoid(psi_nt) is

    q_nt = sigmoid(psi_nt + sum_s y_ns theta_st),

and theta minimises the convex sum_n log(1 + exp(psi_nt + theta_t . y_n)) - theta_t . m_t
+ slack/2 ||theta_t||^2, at which the constraints hold up to slack times theta (posterior
regularisation, Ganchev et al., 2010). The factors of rows and labels are then fitted again, with q
as soft labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse
from scipy.special import expit

from labelgap.kernels.polya_gamma import polya_gamma_mean
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.models.mllcs._unseen import Anchors, LabelFactors, telling_rows

_ROUNDS = 3
_STEPS_PER_ROUND = 2
_BIAS_PRECISION = 1e-2


class Teacher(NamedTuple):
    """What gives a row its soft labels: W (d + 1 x K), (v, b) of unseen labels, theta (S x U)."""

    weights: np.ndarray
    factors: np.ndarray
    bias: np.ndarray
    theta: np.ndarray

    def soft_labels(self, row_factors: np.ndarray, positives: sparse.csr_array) -> np.ndarray:
        """q for rows with these predicted factors and seen labels."""
        dtype = row_factors.dtype
        tilt = positives.astype(dtype) @ self.theta.astype(dtype)
        return expit(row_factors @ self.factors.T.astype(dtype) + self.bias.astype(dtype) + tilt)


def tilted_labels(
    anchors: Anchors,
    weights: np.ndarray,
    targets: np.ndarray,
    counted: np.ndarray,
    start: LabelFactors,
    ridge: float,
    slack: float,
) -> Teacher:
    """Alternate between theta and the factors of unseen labels, a few rounds.

    Parameters
    ----------
    anchors : Anchors
    weights : array of shape (n_features + 1, K)
        Those that gave the anchors' factors.
    targets, counted : arrays of shape (n_seen, n_unseen)
        Co-occurrences expected in the anchors, and where there is a count at all.
    start : LabelFactors
    ridge : float
        Precision of v around zero.
    slack : float
    """
    factors, positives = telling_rows(anchors)
    labels = np.column_stack([start.factors, start.bias])
    prior = np.zeros_like(labels)
    prior[:, -1] = start.bias
    precision = np.append(np.full(labels.shape[1] - 1, float(ridge)), _BIAS_PRECISION)
    theta = np.zeros_like(targets)
    for _ in range(_ROUNDS):
        psi = factors @ labels.T.astype(factors.dtype)
        theta = best_tilt(psi, positives, targets, counted, theta, slack)
        q = expit(psi + positives @ theta.astype(psi.dtype))
        for _ in range(_STEPS_PER_ROUND):
            omega = polya_gamma_mean(1.0, factors @ labels.T.astype(factors.dtype))
            right = (q - 0.5).T @ factors + precision * prior
            labels = weighted_ridge(omega.T, factors, right, precision).z
    return Teacher(weights, labels[:, :-1].copy(), labels[:, -1].copy(), theta)


def best_tilt(
    psi: np.ndarray,
    positives: sparse.csr_array,
    targets: np.ndarray,
    counted: np.ndarray,
    start: np.ndarray,
    slack: float,
    *,
    max_iter: int = 20,
) -> np.ndarray:
    """theta of all unseen labels; zero where there is no count."""
    by_label = sparse.csr_array(positives.T)

    def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = flat.reshape(targets.shape)
        tilted = psi + positives @ theta.astype(psi.dtype)
        expected = by_label @ expit(tilted)
        loss = float(np.logaddexp(0, tilted).sum(dtype=np.float64))
        loss += float((0.5 * slack * theta**2 - theta * targets).sum())
        gradient = np.where(counted, expected - targets + slack * theta, 0.0)
        return loss, gradient.ravel()

    found = optimize.minimize(
        loss_and_gradient,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter},
    )
    return found.x.reshape(targets.shape)
