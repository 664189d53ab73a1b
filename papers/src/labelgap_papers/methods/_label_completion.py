"""Completion of labels and features together, as one low-rank matrix (MC-b).

    min  sum over observed labels of log(1 + exp(-y (z + b))) / |observed|
         + ||Z_F - F||^2 / (2 |F|) + weight ||[Z_Y Z_F]||_*

with y = -1, 1. Intercepts b are not penalised, but for one imaginary observation of each label at
the fraction of relevant entries over all labels, which keeps them finite. A row without labels is
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
from labelgap_papers.kernels.proximal import Differentiable, proximal_path, spectral_norm


class Completion(NamedTuple):
    """Log-odds of the rows it was fitted to, and the affine map to those of others.

    log_odds : (n, c); coef : (k, c); intercept : (c,)
    """

    log_odds: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


class CompletionProblem:
    """Y : (n, c), 0, 1 and NaN; features : (n, k); fraction : weight of the nuclear norm, as a fraction
    of the one that leaves nothing of Z where there are no features"""

    def __init__(self, Y: np.ndarray, features: np.ndarray, fraction: float) -> None:
        self.features, self.fraction = features, fraction
        self.n_samples, self.n_labels = Y.shape
        self.known = ~np.isnan(Y)
        self.n_known = np.count_nonzero(self.known, axis=0)
        self.n_relevant = np.nansum(Y, axis=0)
        self.signs = np.where(self.known, 2 * np.nan_to_num(Y) - 1, 0.0)

    @property
    def pooled(self) -> float:
        """Fraction of relevant entries, drawn a little towards one half."""
        return float((self.n_relevant.sum() + 0.5) / (self.n_known.sum() + 1))

    def smooth(self, state: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective without the norm, and its gradient; the last row is sqrt(n) b."""
        n, c, root = self.n_samples, self.n_labels, np.sqrt(self.n_samples)
        b, n_known = state[n, :c] / root, self.n_known.sum()
        margin = self.signs * (state[:n, :c] + b)
        decay = np.exp(-np.abs(margin))
        losses = np.log1p(decay) - np.minimum(margin, 0.0)
        label_loss = float(np.vdot(self.known, losses))
        label_loss += float((np.logaddexp(0, b) - self.pooled * b).sum())
        slope = -self.signs * (np.where(margin > 0, decay, 1.0) / (1 + decay)) / n_known
        residual = state[:n, c:] - self.features
        gradient = np.zeros_like(state)
        gradient[:n, :c] = slope
        gradient[:n, c:] = residual / residual.size
        gradient[n, :c] = (slope.sum(axis=0) + (expit(b) - self.pooled) / n_known) / root
        value = label_loss / n_known + 0.5 * np.vdot(residual, residual) / residual.size
        return float(value), gradient

    def start(self) -> np.ndarray:
        """Z = 0, and the intercepts that are best for it."""
        n, c = self.n_samples, self.n_labels
        fraction = (self.n_relevant + self.pooled) / (self.n_known + 1)
        state = np.zeros((n + 1, c + self.features.shape[1]))
        state[n, :c] = np.sqrt(n) * np.log(fraction / (1 - fraction))
        return state

    def weight(self) -> float:
        """The weight of the norm; Z_Y = 0 is best alone from a fraction of 1 on."""
        gradient = self.smooth(self.start())[1]
        return self.fraction * spectral_norm(gradient[: self.n_samples, : self.n_labels])

    def curvature(self) -> float:
        """A bound on that of the smooth part; labels share their entry with an intercept."""
        of_labels = (2 + 1 / self.n_samples) / (4 * self.n_known.sum())
        return max(of_labels, 1 / self.features.size)


def complete_labels(problem: CompletionProblem, monitor: Monitor) -> Completion:
    """Accelerated proximal gradient with steps of known length; the objective never increases."""
    n, c = problem.n_samples, problem.n_labels
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
