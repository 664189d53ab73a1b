"""The start and the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from labelgap.fitting import Monitor
from labelgap.kernels.threads import one_blas_thread
from labelgap.models.imvwl._params import Params, Problem, label_image, objective
from labelgap.models.imvwl._steps import (
    RowSystem,
    balance_factors,
    balance_labels,
    step_labels,
    step_views,
)
from labelgap.models.imvwl._views import View

# rows whose mean is a first column of U
_ROWS_PER_FACTOR = 20
_FIRST_SWEEPS = 5
_FIRST_LABEL_STEPS = 20
_MOST_SWEEPS = 2000
_PRECISION = 1e-12


@one_blas_thread()
def random_start(views: list[View], n_rows: int, n_features: int, k: int, rng) -> np.ndarray:
    """U whose columns are means of a few rows, with noise so that no entry starts at zero."""
    U = np.zeros((n_features, k))
    chosen = [rng.choice(n_rows, min(_ROWS_PER_FACTOR, n_rows), replace=False) for _ in range(k)]
    for view in views:
        picks = np.zeros((len(view.rows), k))
        for factor, rows in enumerate(chosen):
            picks[np.isin(view.rows, rows), factor] = 1.0
        counts = picks.sum(axis=0)
        picks[:, counts == 0] = 1.0
        means = view.transposed_times(picks / picks.sum(axis=0))
        width = view.columns.stop - view.columns.start
        noise = 0.1 * means.mean() * rng.random((width, k))
        U[view.columns] = means * rng.uniform(0.5, 1.5, size=(width, k)) + noise
    return U


@one_blas_thread()
def first_params(problem: Problem, U: np.ndarray, n_labels: int, correlation: bool) -> Params:
    """V from U by the views alone, then W and S from V."""
    k = U.shape[1]
    params = Params(
        V=np.zeros((problem.n_rows, k)),
        U=np.array(U, dtype=np.float64),
        W=np.zeros((k, n_labels)),
        T=np.eye(n_labels) if correlation else None,
        basis=None,
        offset=np.zeros(n_labels),
    )
    views_only = replace(problem, target=None)
    params = params._replace(V=RowSystem(views_only).sweep(params, _FIRST_SWEEPS))
    params, _ = balance_factors(views_only, params)
    return step_labels(problem, params, _FIRST_LABEL_STEPS)


def descend(
    problem: Problem,
    params: Params,
    monitor: Monitor,
    *,
    n_sweeps: int,
    n_steps: int,
) -> Params:
    """Alternate the steps until the monitor says stop; the objective never increases."""
    system = RowSystem(problem)
    image = None

    def improve(params: Params) -> tuple[Params, float]:
        nonlocal image
        params = step_labels(problem, params, n_steps, image)
        params = params._replace(V=system.sweep(params, n_sweeps))
        U, crosses = step_views(problem, params.V, params.U, n_sweeps)
        params, scale = balance_factors(problem, params._replace(U=U))
        params = balance_labels(problem, params)
        image = label_image(problem, params)
        crosses = [cross * scale for cross in crosses]
        return params, objective(problem, params, crosses, image).total

    return _repeat(improve, params, monitor)


def descend_labels(problem: Problem, params: Params, monitor: Monitor, *, n_steps: int) -> Params:
    """W and S alone, for a subspace that is given."""

    image = None

    def improve(params: Params) -> tuple[Params, float]:
        nonlocal image
        params = step_labels(problem, params, n_steps, image)
        image = label_image(problem, params)
        return params, objective(replace(problem, views=[]), params, image=image).total

    return _repeat(improve, params, monitor)


def _repeat(improve: Callable, params: Params, monitor: Monitor) -> Params:
    for _ in range(monitor.max_iter):
        with one_blas_thread():
            params, value = improve(params)
        if monitor.record(value):
            break
    monitor.finish()
    return params


@one_blas_thread()
def fold_in(problem: Problem, params: Params) -> np.ndarray:
    """The minimising V of the rows of a problem, for given U, W and S."""
    k = params.U.shape[1]
    start = params._replace(V=np.zeros((problem.n_rows, k)))
    return RowSystem(problem).sweep(start, _MOST_SWEEPS, _PRECISION)
