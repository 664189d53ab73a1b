"""Completion of labels and features together, as one low-rank matrix (MC-b).

    min  sum over observed labels of log(1 + exp(-y (z + b))) / |observed|
         + ||Z_F - F||^2 / (2 |F|) + weight ||[Z_Y Z_F]||_*

with y = -1, 1. Intercepts b are not penalised, but for one imaginary observation of each label at
the share of relevant entries over all labels, which keeps them finite. A row without labels is
completed from its features alone, and so is a new one: for the right factor R of Z = L R' (with
||Z||_* = (||L||^2 + ||R||^2) / 2) the best l is a ridge regression.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelgap.fitting import Monitor
from labelgap.kernels.low_rank import shrink_singular_values, thin_svd
from labelgap.kernels.proximal import Differentiable, proximal_path, spectral_norm

__all__ = ["Completion", "CompletionProblem", "complete_labels"]


class Completion(NamedTuple):
    """Log-odds of the rows it was fitted to, and the affine map to those of others.

    log_odds : (n, c); coef : (k, c); intercept : (c,)
    """

    log_odds: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


class CompletionProblem(NamedTuple):
    """Y : (n, c), 0, 1 and NaN; features : (n, k); share : weight of the nuclear norm, as a share
    of the one that leaves nothing of Z where there are no features"""

    Y: np.ndarray
    features: np.ndarray
    share: float

    @property
    def pooled(self) -> float:
        """Share of relevant entries, drawn a little towards one half."""
        known = ~np.isnan(self.Y)
        return float((np.nansum(self.Y) + 0.5) / (known.sum() + 1))

    def smooth(self, state: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective without the norm, and its gradient; the last row is sqrt(n) b."""
        (n, c), root = self.Y.shape, np.sqrt(len(self.Y))
        known = ~np.isnan(self.Y)
        signs = np.where(known, 2 * np.nan_to_num(self.Y) - 1, 0.0)
        b = state[n, :c] / root
        margin = signs * (state[:n, :c] + b)
        n_known = known.sum()
        label_loss = np.logaddexp(0, -margin[known]).sum()
        label_loss += (np.logaddexp(0, b) - self.pooled * b).sum()
        slope = -signs * expit(-margin) / n_known
        residual = state[:n, c:] - self.features
        gradient = np.zeros_like(state)
        gradient[:n, :c] = slope
        gradient[:n, c:] = residual / residual.size
        gradient[n, :c] = (slope.sum(axis=0) + (expit(b) - self.pooled) / n_known) / root
        value = label_loss / n_known + 0.5 * np.vdot(residual, residual) / residual.size
        return float(value), gradient

    def start(self) -> np.ndarray:
        """Z = 0, and the intercepts that are best for it."""
        n, c = self.Y.shape
        n_known = (~np.isnan(self.Y)).sum(axis=0)
        share = (np.nansum(self.Y, axis=0) + self.pooled) / (n_known + 1)
        state = np.zeros((n + 1, c + self.features.shape[1]))
        state[n, :c] = np.sqrt(n) * np.log(share / (1 - share))
        return state

    def weight(self) -> float:
        """The weight of the norm; Z_Y = 0 is best alone from a share of 1 on."""
        n, c = self.Y.shape
        return self.share * spectral_norm(self.smooth(self.start())[1][:n, :c])

    def curvature(self) -> float:
        """A bound on that of the smooth part; labels share their entry with an intercept."""
        n_known = (~np.isnan(self.Y)).sum()
        return max((2 + 1 / len(self.Y)) / (4 * n_known), 1 / self.features.size)


def complete_labels(problem: CompletionProblem, monitor: Monitor) -> Completion:
    """Accelerated proximal gradient with steps of known length; the objective never increases."""
    n, c = problem.Y.shape
    weight = problem.weight()

    def prox(state: np.ndarray, step: float) -> tuple[np.ndarray, float]:
        Z, norm = shrink_singular_values(state[:n], step * weight)
        return np.vstack([Z, state[n:]]), weight * norm

    path = proximal_path(
        Differentiable(problem.smooth),
        prox,
        problem.start(),
        curvature=problem.curvature(),
        search=False,
    )
    for point in islice(path, monitor.max_iter):
        state = point.x
        if monitor.record(point.value):
            break
    intercept = state[n, :c] / np.sqrt(n)
    coef = _row_map(state[:n], c, problem.features.size * weight)
    return Completion(state[:n, :c] + intercept, coef, intercept)


def _row_map(Z: np.ndarray, c: int, ridge: float) -> np.ndarray:
    """From features f to labels l R_Y', with l = argmin ||l R_F' - f||^2 + ridge ||l||^2."""
    _, values, right = thin_svd(Z)
    kept = values > 1e-12 * values[0] if values.size and values[0] > 0 else values > 0
    R = right[kept].T * np.sqrt(values[kept])
    of_labels, of_features = R[:c], R[c:]
    system = of_features.T @ of_features + ridge * np.eye(R.shape[1])
    return of_features @ np.linalg.solve(system, of_labels.T)
