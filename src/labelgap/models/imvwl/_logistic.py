"""Logistic regression of every label on the subspace, where the label is observed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.masked_targets import MaskedTarget

_MAX_ITER = 50
_TOL = 1e-6
_CG_STEPS = 10
_HALVINGS = 20
# of the intercept, so that a label that is always relevant keeps a finite one
_INTERCEPT_RIDGE = 1e-2


class LogisticPredictor(NamedTuple):
    """Log-odds ``(V - centre) / scale @ coef + intercept``.

    centre, scale : (k,); coef : (k, n_labels); intercept : (n_labels,)
    """

    centre: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    def log_odds(self, V: np.ndarray) -> np.ndarray:
        return ((V - self.centre) / self.scale) @ self.coef + self.intercept


def fit_logistic(
    V: np.ndarray,
    target: MaskedTarget,
    ridge: float,
    prior: np.ndarray,
    scale: np.ndarray | None = None,
) -> LogisticPredictor:
    """Minimises, for every label, the log-loss on observed entries plus ``ridge / 2 ||coef||^2``.

    V is standardised first, or centred and divided by ``scale`` where that is given. Newton steps,
    each solved by a few steps of conjugate gradient and halved label by label until the loss of the
    label does not increase.

    Parameters
    ----------
    V : array of shape (n_rows, k)
    target : MaskedTarget
    ridge : float
    prior : array of shape (n_labels,)
        Log-odds towards which the intercepts are drawn, and of labels without an observed entry.
    """
    centre = V.mean(axis=0)
    scale = V.std(axis=0) if scale is None else scale
    scale = np.where(scale > 1e-12 * np.abs(centre) + 1e-300, scale, 1.0)
    data = _data((V - centre) / scale, target, ridge, prior)
    here = _at(data, data.rest, data.features @ data.rest)
    for _ in range(_MAX_ITER):
        before = here.losses.sum()
        here = _halved_step(data, here, _newton_direction(data, here))
        if before - here.losses.sum() <= _TOL * before:
            break
    return LogisticPredictor(centre, scale, here.B[:-1], here.B[-1])


class _Data(NamedTuple):
    """features : (n, k + 1), ones last; observed, kappa : (n, c), 1 and y - 1/2 where observed;
    penalty : (k + 1, 1) around rest : (k + 1, c)"""

    features: np.ndarray
    observed: np.ndarray
    kappa: np.ndarray
    penalty: np.ndarray
    rest: np.ndarray


class _Here(NamedTuple):
    """Coefficients, log-odds psi and the loss of each label."""

    B: np.ndarray
    psi: np.ndarray
    losses: np.ndarray


def _data(V: np.ndarray, target: MaskedTarget, ridge: float, prior: np.ndarray) -> _Data:
    features = np.column_stack([V, np.ones(len(V))])
    penalty = np.full((features.shape[1], 1), ridge)
    penalty[-1] = _INTERCEPT_RIDGE
    rest = np.zeros((features.shape[1], target.shape[1]))
    rest[-1] = prior
    observed = np.ones(target.shape) if target.mask is None else target.mask.astype(np.float64)
    return _Data(features, observed, target.ones.toarray() - 0.5 * observed, penalty, rest)


def _at(data: _Data, B: np.ndarray, psi: np.ndarray) -> _Here:
    """The loss is log(2 cosh(psi / 2)) - kappa psi over observed entries, plus the penalty."""
    softplus = np.logaddexp(0.5 * psi, -0.5 * psi)
    fit = (data.observed * softplus - data.kappa * psi).sum(axis=0)
    return _Here(B, psi, fit + 0.5 * (data.penalty * (B - data.rest) ** 2).sum(axis=0))


def _newton_direction(data: _Data, here: _Here) -> np.ndarray:
    share = expit(here.psi)
    omega = data.observed * share * (1 - share)
    # the derivative of the loss by psi is share - y, that is share - 1/2 - kappa
    slope = data.kappa - data.observed * (share - 0.5)
    features, penalty = data.features, data.penalty
    return conjugate_gradient(
        lambda P: features.T @ (omega * (features @ P)) + penalty * P,
        features.T @ slope - penalty * (here.B - data.rest),
        np.square(features).T @ omega + penalty,
        n_steps=_CG_STEPS,
    )


def _halved_step(data: _Data, here: _Here, direction: np.ndarray) -> _Here:
    along = data.features @ direction
    length = np.ones(direction.shape[1])
    for _ in range(_HALVINGS):
        found = _at(data, here.B + length * direction, here.psi + length * along)
        worse = found.losses > here.losses
        if not worse.any():
            return found
        length[worse] /= 2
    return _Here(*(np.where(worse, old, new) for old, new in zip(here, found, strict=True)))
