"""From scores to decisions, on scores that each row got without itself."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar

from labelgap.models.rmfl._model import Factors, Targets
from labelgap.models.rmfl._regression import Regression

_STEEPEST = 100.0


def held_out_scores(now: Factors, regression: Regression) -> np.ndarray:
    """Scores of the training rows, each from the regression without that row.

    The factors of the rows are kept: with u_i - f(x_i) the residual and h_i the leverage, leaving
    row i out changes its residual to (u_i - f(x_i)) / (1 - h_i).
    """
    freedom = np.maximum(regression.freedom(), 1e-12)
    return (now.U - now.fit.residual / freedom[:, None]) @ now.V.T


def best_cuts(
    scores: np.ndarray, targets: Targets, criterion: Literal["hamming", "f1"]
) -> np.ndarray:
    """The cut of each label that suits its observed entries best, nearest to zero among equals.

    Parameters
    ----------
    scores : array of shape (n_rows, n_labels)
    targets : Targets
    criterion : {"hamming", "f1"}
        Fewest wrong entries, or largest F1. A label without a positive is never cut by F1, and a
        label without an observed entry is cut at zero.
    """
    cuts = np.zeros(scores.shape[1])
    for label, signed in enumerate(targets.signed.T):
        known = signed != 0
        if known.any():
            cuts[label] = _best_cut(scores[known, label], signed[known] > 0, criterion)
    return cuts


def _best_cut(scores: np.ndarray, relevant: np.ndarray, criterion: str) -> float:
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.concatenate([[0], np.cumsum(relevant[order])])
    taken = np.arange(len(scores) + 1)
    gain = 2 * hits - taken if criterion == "hamming" else 2 * hits / (taken + hits[-1]).clip(1)
    if criterion == "f1" and hits[-1] == 0:
        gain = -taken
    margin = max(1.0, float(np.abs(ranked).max()))
    ends = np.concatenate([[ranked[0] + margin], ranked, [ranked[-1] - margin]])
    # equal scores are taken together
    possible = ends[:-1] > ends[1:]
    cuts = (ends[:-1] + ends[1:]) / 2
    best = np.flatnonzero(possible & (gain >= gain[possible].max() - 1e-12))
    inside = (ends[best] > 0) & (ends[best + 1] <= 0)
    return 0.0 if inside.any() else float(cuts[best[np.argmin(np.abs(cuts[best]))]])


def sigmoid_slope(scores: np.ndarray, targets: Targets, cuts: np.ndarray) -> float:
    """The slope of sigmoid(slope * (score - cut)) with the least log-loss at observed entries."""
    known = targets.signed != 0
    if not known.any():
        return 1.0
    margins = (targets.signed * (scores - cuts))[known]

    def loss(log_slope: float) -> float:
        return float(np.logaddexp(0, -np.exp(log_slope) * margins).mean())

    bounds = (-np.log(_STEEPEST), np.log(_STEEPEST))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
