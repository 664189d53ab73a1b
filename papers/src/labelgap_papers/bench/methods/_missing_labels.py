"""The methods of RMFL's tables that depend on the task; the others are made from their records."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.baselines import KernelRidgePerLabel
from labelgap.models.rmfl import RMFL, RMFLCV
from labelgap_papers.bench.methods._method import Method, Params, Tried
from labelgap_papers.bench.protocols.protocol import Task
from labelgap_papers.bench.protocols.unknown_per_row import TUNING_FOLDS
from labelgap_papers.methods import GLOCAL, LEML

_MOST_FACTORS = 100
_RIDGES = (1.0, 1.874, 3.511, 6.579, 12.33, 23.1, 43.29, 81.11, 152.0, 284.8, 533.7, 1000.0)
_GRID: dict[str, Any] = {
    "lambda_1": (0.1, 1.0, 10.0),
    "lambda_2": (0.01, 1.0, 100.0),
    "lambda_3": (0.1, 1.0, 10.0, 100.0),
    "lambda_4": tuple(4.0**power for power in range(-3, 2)),
    "ridge_v": (1.0, 3.0, 10.0, 30.0, 100.0),
}
# lambda_3 is left out: multiplying lambda_1, lambda_3 and lambda_4 by c is dividing ridge_v by c
_LARGE_GRID = {
    **_GRID,
    "lambda_3": (1.0,),
    "lambda_4": (0.1, 0.3, 1.0, 3.0),
    "ridge_v": (0.1, 0.3, 1.0, 3.0, 10.0),
}


def _rmfl(task: Task, **params: Any) -> RMFL:
    """k = 20 and ten neighbours as in the paper."""
    common = {"n_factors": 20, "n_neighbors": 10, "lambda_1": 10.0, "tol": 1e-4, "random_state": 0}
    return RMFL(**{**common, **params})


def _search_rmfl(task: Task, n_candidates: int, params: Params) -> Tried:
    """One weight after the other, on what the candidates share.

    On large sets half of the candidates have 20 factors and half as many as there are labels, and
    iterations end sooner.
    """
    grid = _LARGE_GRID if task.large else _GRID
    fixed = {name: (value,) for name, value in params.items() if name in grid}
    others = {name: value for name, value in params.items() if name not in grid}
    sizes: tuple[int, ...] = (20,)
    if task.large:
        sizes = (20, min(task.Y.n_labels, _MOST_FACTORS))
        others["tol"] = 1e-3
    tried: list[Params] = []
    scores: list[float] = []
    for n_factors in sizes:
        search = RMFLCV(
            _rmfl(task, n_factors=n_factors, **others),
            **{**grid, **fixed},
            n_candidates=max(1, n_candidates // len(sizes)),
            cv=TUNING_FOLDS,
            random_state=0,
        ).fit(task.X, task.Y)
        size = {"n_factors": n_factors} if task.large else {}
        tried += [{**size, **one} for one in search.cv_results_["params"]]
        scores += [float(score) for score in search.cv_results_["mean_test_score"]]
    return tried, scores


def _kernel_ridge(task: Task, **params: Any) -> KernelRidgePerLabel:
    """One factor per label is too slow for over a hundred labels."""
    solver = {"solver": "cg"} if task.Y.n_labels > 100 else {}
    return KernelRidgePerLabel(**{**solver, **params})


def _ridge_grid(task: Task, n_candidates: int) -> dict[str, list[float]]:
    return {"alpha": np.geomspace(1e-2, 1e2, n_candidates).tolist()}


def _leml(task: Task, factors: float = 1.0, **params: Any) -> LEML:
    n_factors = max(2, min(_MOST_FACTORS, round(factors * task.Y.n_labels)))
    return LEML(**{"n_factors": n_factors, "tol": 1e-4, **params})


def _glocal(task: Task, factors: float = 0.5, **params: Any) -> GLOCAL:
    n_factors = max(2, min(40, round(factors * task.Y.n_labels)))
    return GLOCAL(**{"n_factors": n_factors, "max_iter": 50, "random_state": 0, **params})


METHODS: dict[str, Method] = {
    "rmfl": Method(_rmfl, search=_search_rmfl),
    "kernel-ridge": Method(_kernel_ridge, _ridge_grid, stays=lambda model: model.solver != "cg"),
    "leml": Method(_leml, {"factors": (0.5, 1.0), "ridge": _RIDGES}),
    "glocal": Method(
        _glocal,
        {
            "factors": (0.5, 1.0),
            "lambda_1": (1e-4, 1e-2),
            "lambda_3": (1e-3, 1e-2, 1e-1),
            "lambda_5": (1e-3, 1e-2, 1e-1),
        },
    ),
}
