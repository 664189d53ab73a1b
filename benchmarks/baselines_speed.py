"""Fits of GLOCAL, ML2 and iMSF against slow twins that make the same steps, in the same run.

GLOCAL: conjugate gradient preconditioned by the diagonal alone, on products with the data.
ML2: systems with copies of the kernel matrix, and the objective from products with it.
iMSF: all features and labels at once, on the first labels of corel5k that are common enough.

Times are those of the processor, because machines share their cores; for one thread set
OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and NUMBA_NUM_THREADS to 1.

    python benchmarks/baselines_speed.py [--methods GLOCAL ML2 iMSF]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from labelgap.fitting import Monitor
from labelgap_papers.bench.methods import METHODS
from labelgap_papers.bench.protocols import PROTOCOLS, Task
from labelgap_papers.kernels.proximal import backtrack
from labelgap_papers.kernels.row_sparse import row_norms, solve_positive
from labelgap_papers.methods import ML2, _glocal_steps, _imsf
from result_rows import ResultRows

N_CANDIDATES = 16
# method: set, fraction of unknown labels, which of the candidates, settings of the fit
CASES: dict[str, list[tuple[str, float, int, dict[str, Any]]]] = {
    "GLOCAL": [
        ("emotions", 0.0, 0, {}),
        ("emotions", 0.4, 15, {}),
        ("yeast", 0.0, 15, {}),
        ("yeast", 0.4, 0, {}),
        ("yeast", 0.8, 7, {}),
        # all rounds of the slow twin take too long
        ("science", 0.4, 15, {"start_iter": 5, "max_iter": 15, "tol": 0.0}),
    ],
    "ML2": [("emotions", 0.0, 15, {}), ("yeast", 0.0, 0, {}), ("yeast", 0.0, 15, {})],
    "iMSF": [("corel5k_multiview", 0.5, 0, {})],
}
N_LABELS = 8


class PlainML2(ML2):
    """The regression with a product wherever one is written down."""

    def _regress(self, K, target):
        monitor = Monitor(self.max_iter, self.tol, self.callback)
        dual, level = np.zeros_like(target), target.mean(axis=0)
        value = self._value(K, target, dual, level)
        for _ in range(self.max_iter):
            residual = K @ dual + level - target
            distances = row_norms(residual)
            weights = 2 * self.C * np.maximum(0, 1 - self.epsilon / distances)
            new_dual, new_level = plain_regression(K, target, weights)
            move, rise = new_dual - dual, new_level - level
            slope = np.vdot(move, K @ dual) + np.vdot(weights[:, None] * residual, K @ move + rise)
            step, value = backtrack(self._along(K, target, dual, level, move, rise), value, slope)
            dual, level = dual + step * move, level + step * rise
            if monitor.record(value):
                break
        self.trace_ = monitor.finish()
        self.n_iter_ = self.trace_.n_iter
        return dual, level

    def _along(self, K, target, dual, level, move, rise) -> Callable[[float], float]:
        return lambda step: self._value(K, target, dual + step * move, level + step * rise)

    def _value(self, K, target, dual, level) -> float:
        distances = row_norms(K @ dual + level - target)
        loss = np.square(np.maximum(distances - self.epsilon, 0.0)).sum()
        return 0.5 * float(np.vdot(dual, K @ dual)) + self.C * float(loss)


def plain_regression(K, target, row_weights):
    used = np.flatnonzero(row_weights > 0)
    matrix = K[np.ix_(used, used)].copy()
    matrix[np.diag_indices(len(used))] += 1 / row_weights[used]
    both = solve_positive(matrix, np.column_stack([np.ones(len(used)), target[used]]))
    level = both[:, 1:].sum(axis=0) / both[:, 0].sum()
    dual = np.zeros_like(target)
    dual[used] = both[:, 1:] - both[:, :1] * level
    return dual, level


@contextmanager
def slow_steps() -> Iterator[None]:
    """GLOCAL without matrices of its systems, and iMSF without working sets."""
    with (
        mock.patch.object(_glocal_steps, "_MOST_ENTRIES", 0),
        mock.patch.object(_imsf, "_MOST_NUMBERS", np.inf),
    ):
        yield


def drawn(method: str, dataset: str, missing: float) -> Task:
    if method != "iMSF":
        return PROTOCOLS["unknown-per-row"]().draw(dataset, {"missing": missing}, 1)
    setting = {"missing_labels": missing, "missing_views": 0.5}
    task = PROTOCOLS["missing-views"]().draw(dataset, setting, 0)
    # common enough to have models in most patterns
    labels = np.sort(np.argsort(-task.Y.n_positives(axis=0), kind="stable")[20 : 20 + N_LABELS])
    return replace(task, Y=task.Y[:, labels])


def compare(method: str, dataset: str, missing: float, candidate: int, settings: dict) -> dict:
    registered, task = METHODS[method.lower()], drawn(method, dataset, missing)
    tried = registered.candidates(task, N_CANDIDATES) if registered.tuned else [{}]
    params = {**tried[candidate], **settings}
    fast, slow = registered.make(task, **params), registered.make(task, **params)
    if method == "ML2":
        slow = PlainML2(**slow.get_params())
    registered.make(task, **{**params, "max_iter": 1}).fit(task.X, task.Y)  # compiles
    seconds = timed(lambda: fast.fit(task.X, task.Y))
    with slow_steps():
        slow_seconds = timed(lambda: slow.fit(task.X, task.Y))
    return {
        "params": params,
        "seconds": seconds,
        "slow_seconds": slow_seconds,
        "speedup": slow_seconds / seconds,
        "objective": fast.trace_.objective[-1],
        "slow_objective": slow.trace_.objective[-1],
        "n_iter": fast.n_iter_,
        "slow_n_iter": slow.n_iter_,
        "rises": int((np.diff(fast.trace_.objective) > 1e-9).sum()),
        "n_samples": task.Y.n_samples,
        "n_features": task.X.shape[1],
        "n_labels": task.Y.n_labels,
    }


def timed(action: Callable[[], Any]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("baselines_speed", ("method", "dataset", "missing", "candidate"))
    for method in arguments.methods:
        for dataset, missing, candidate, settings in CASES[method]:
            key = {"method": method, "dataset": dataset, "missing": missing, "candidate": candidate}
            row = rows.find(**key)
            if row is None:
                row = {**key, **compare(*key.values(), settings)}
                rows.add(row)
            print(
                f"{method} on {dataset}, {missing:.0%} unknown: {row['slow_seconds']:.2f} s -> "
                f"{row['seconds']:.2f} s, {row['speedup']:.1f} times; objective "
                f"{row['slow_objective']:.8g} -> {row['objective']:.8g}"
            )


if __name__ == "__main__":
    main()
