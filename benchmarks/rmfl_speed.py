"""One factorisation per fit against the printed algorithm, which solves for A in every iteration.

Both take the same steps for U, V and Z from the same start; the printed one computes A by eq. 16,
an O(m^3) solve, every time. Both times include kernel and graph, ours its factorisation too.

    python benchmarks/rmfl_speed.py [--rows 4000] [--iterations 20]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from labelgap import RMFL
from labelgap.generators import make_low_rank
from labelgap.models.rmfl._inputs import signed_targets, working_rows
from labelgap.models.rmfl._kernel import kernel_matrix
from labelgap.models.rmfl._model import Penalties, Problem
from labelgap.models.rmfl._prepare import choose_kernel, prepare
from labelgap.models.rmfl._regression import Fit
from labelgap.models.rmfl._start import starting_factors
from labelgap.protocols import hide_per_row
from result_rows import ResultRows


class PrintedRegression:
    """Eq. 16, solved anew for every U."""

    def __init__(self, K: np.ndarray, ratio: float) -> None:
        self._K, self._ratio = K, ratio
        means = K.mean(axis=0)
        self._left = K.T @ K + ratio * K - len(K) * np.outer(means, means)

    def fit(self, U: np.ndarray) -> Fit:
        K = self._K
        A = np.linalg.solve(self._left, K.T @ (U - U.mean(axis=0)))
        product = K @ A
        residual = U - product - (U - product).mean(axis=0)
        return Fit(A, residual, A.T @ product)


def iterate(problem: Problem, U: np.ndarray, Z: np.ndarray, n_iter: int) -> float:
    now = problem.begin(U, Z)
    for _ in range(n_iter):
        now = problem.step(now)
    return problem.objective(now)


def compare(n_rows: int, n_iter: int) -> dict[str, float]:
    drawn = make_low_rank(n_rows, 100, 40, random_state=0)
    X = working_rows(drawn.X)
    targets = signed_targets(hide_per_row(drawn.full, 0.4, random_state=0).labels)
    model, penalties = RMFL(), Penalties(1.0, 0.1, 1.0, 0.5, 1.0)
    U, Z = starting_factors(targets, 20, 20, "labels", 0, 0)
    ratio = penalties.lambda_4 / penalties.lambda_3
    warm = prepare(model, X[:50], 0)  # compilation, or its cache
    iterate(
        Problem(_first(targets, 50), warm.weights, warm.regression(ratio), penalties), U[:50], Z, 1
    )

    start = time.perf_counter()
    prepared = prepare(model, X, 0)
    both = time.perf_counter() - start  # kernel, graph and weights, which both need

    start = time.perf_counter()
    ours = Problem(targets, prepared.weights, prepared.regression(ratio), penalties)
    ours_value = iterate(ours, U, Z, n_iter)
    ours_seconds = both + time.perf_counter() - start

    K = kernel_matrix(choose_kernel(model, X)[0], X)
    start = time.perf_counter()
    printed = Problem(targets, prepared.weights, PrintedRegression(K, ratio), penalties)
    printed_value = iterate(printed, U, Z, n_iter)
    printed_seconds = both + time.perf_counter() - start
    return {
        "ours_seconds": ours_seconds,
        "printed_seconds": printed_seconds,
        "speedup": printed_seconds / ours_seconds,
        "ours_objective": ours_value,
        "printed_objective": printed_value,
    }


def _first(targets, n):
    observed = None if targets.observed is None else targets.observed[:n]
    return targets._replace(signed=targets.signed[:n], observed=observed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--iterations", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("rmfl_speed", ("rows", "iterations"))
    key = {"rows": arguments.rows, "iterations": arguments.iterations}
    row = rows.find(**key)
    if row is None:
        row = {**key, **compare(arguments.rows, arguments.iterations)}
        rows.add(row)
    print(f"{row['rows']} rows, {row['iterations']} iterations: ours {row['ours_seconds']:.1f} s, ")
    print(f"as printed {row['printed_seconds']:.1f} s, {row['speedup']:.1f} times as long")


if __name__ == "__main__":
    main()
