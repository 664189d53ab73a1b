"""Choosing settings on observed training labels, with the same number of tries for each method."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.bench._plans import DatasetPlan
from labelgap.bench._task import Task
from labelgap.bench.methods import Method
from labelgap.bench.protocols import Protocol
from labelgap.bench.protocols._protocol import fewer_rows
from labelgap.fitting import FitDivergedError

Params = dict[str, Any]


def try_candidates(
    protocol: Protocol,
    method: Method,
    task: Task,
    dataset: DatasetPlan,
    n_candidates: int,
    params: Params,
) -> tuple[list[Params], list[float | None]]:
    """What was tried, and what it reached; None for settings with which the fit broke down.

    Test rows play no part: candidates are judged within the training rows, by labels that are
    observed there.

    Parameters
    ----------
    protocol : Protocol
    method : Method
    task : Task
        The drawing of the first run.
    dataset : DatasetPlan
    n_candidates : int
    params : dict
        Settings that stay as they are.

    Returns
    -------
    candidates : list of dict
    scores : list of float or None
    """
    task = fewer_rows(task, dataset.tuning_rows)
    if method.search is not None:
        tried, found = method.search(task, n_candidates, params)
        return tried, [_finite(score) for score in found]
    candidates = method.candidates(task, n_candidates)
    divisions = protocol.divisions(task)
    scores = np.array(
        [
            [_score(protocol, method, part, {**params, **one}) for one in candidates]
            for part in divisions
        ]
    )
    return candidates, [_finite(score) for score in scores.mean(axis=0)]


def best_of(candidates: list[Params], scores: list[float | None]) -> Params:
    """The first of the best; an error where every candidate broke down."""
    reached = [-np.inf if score is None else score for score in scores]
    if not np.isfinite(reached).any():
        raise FitDivergedError(f"the fit broke down with each of {len(scores)} candidates")
    return candidates[int(np.argmax(reached))]


def _score(protocol: Protocol, method: Method, part: Task, params: Params) -> float:
    try:
        model = protocol.fit(method.make(part, **params), part)
        return protocol.judge_choice(model, part)
    except (FitDivergedError, np.linalg.LinAlgError, FloatingPointError):
        return np.nan


def _finite(score: float) -> float | None:
    return float(score) if np.isfinite(score) else None
