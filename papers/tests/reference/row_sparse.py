"""Slow twins of the reweighted ridge regressions."""

from __future__ import annotations

import numpy as np


def solve_reweighted(X, Y, row_weights, penalties):
    """One least-squares problem with a row for every term, the intercept last."""
    design = np.column_stack([X, np.ones(len(X))])
    used = np.isfinite(penalties)
    stacked = np.vstack(
        [np.sqrt(row_weights)[:, None] * design[:, used], np.diag(np.sqrt(penalties[used]))]
    )
    target = np.vstack([np.sqrt(row_weights)[:, None] * Y, np.zeros((used.sum(), Y.shape[1]))])
    solution = np.zeros((design.shape[1], Y.shape[1]))
    solution[used] = np.linalg.lstsq(stacked, target, rcond=None)[0]
    return solution


def sum_of_norms(W, smoothing):
    return sum(np.sqrt(sum(value**2 for value in row) + smoothing) for row in W)
