"""Machines of all labels on one kernel matrix, against scikit-learn's one by one, in one run.

The kernel matrix is that of GMFS's protocol (40% of the positives hidden, half of the features, by
ANOVA F). Beside both, scikit-learn with a hundredth of the tolerance, which says what the tolerance
costs in average precision; and accelerated projected gradient for all labels at once, whose
every step is a product with all of the matrix, on the smaller set.

Times are those of the processor, because machines share their cores; for one thread set
OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and NUMBA_NUM_THREADS to 1.

    python benchmarks/support_vectors_speed.py [sets] [--device cuda]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from gmfs_data import SCALINGS, Run, draw_run, score, sizes
from gmfs_methods import score_anova
from labelgap.bench.protocols._machines import gaussian_kernels
from labelgap.kernels.array_namespace import to_numpy
from labelgap.kernels.support_vectors import fit_support_vectors
from result_rows import ResultRows

KEY = ("dataset", "scaling", "way")
HIDDEN = 0.4
TOLERANCE = 1e-3
MOST_PRODUCTS = 400
SLOW = ("rcv1subset1",)
# coefficients, levels, and steps or products
Found = tuple[np.ndarray, np.ndarray, int]
PLAIN = "scikit-learn, label by label"
FINE = "scikit-learn, a hundredth of the tolerance"
OURS = "two coefficients at a time, one loop per label"
DEVICE = "two coefficients at a time, on a device"
PRODUCTS = "projected gradient, all labels at once"


def one_by_one(gram: np.ndarray, signs: np.ndarray, tol: float = TOLERANCE) -> Found:
    gram = gram.astype(np.float64)
    coefficients, level, steps = np.zeros(signs.shape), np.zeros(signs.shape[1]), 0
    for j, y in enumerate(signs.T):
        machine = SVC(kernel="precomputed", cache_size=500, tol=tol).fit(gram, y)
        coefficients[machine.support_, j] = machine.dual_coef_[0]
        level[j] = machine.intercept_[0]
        steps += int(machine.n_iter_[0])
    return coefficients, level, steps


def together(gram: Any, signs: Any) -> Found:
    found = fit_support_vectors(gram, signs, tol=TOLERANCE)
    return to_numpy(found.coefficients), to_numpy(found.level), int(found.n_iter.sum())


def projected_gradient(gram: np.ndarray, signs: np.ndarray) -> Found:
    """Nesterov's method with restarts; a step is a product with all of the matrix."""
    K = gram.astype(np.float64)
    low, high = np.minimum(signs, 0), np.maximum(signs, 0)
    length = 1 / np.linalg.norm(K - K.mean(axis=0) - K.mean(axis=0)[:, None] + K.mean(), 2)
    b = ahead = image = ahead_image = np.zeros(signs.shape)
    t, steps = np.ones(signs.shape[1]), 0
    while steps < MOST_PRODUCTS:
        steps += 1
        new = _project(ahead + length * (signs - ahead_image), low, high)
        product = K @ new
        back = np.sum((ahead - new) * (new - b), axis=0) > 0
        following = np.where(back, 1.0, (1 + np.sqrt(1 + 4 * t * t)) / 2)
        pace = np.where(back, 0.0, (t - 1) / following)
        ahead, ahead_image = new + pace * (new - b), product + pace * (product - image)
        b, image, t = new, product, following
        rest = signs - image
        up = np.where(b < high, rest, -np.inf).max(axis=0)
        down = np.where(b > low, rest, np.inf).min(axis=0)
        if np.max(up - down) < TOLERANCE:
            break
    return b, (up + down) / 2, steps


def _project(point: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The nearest point within the bounds whose columns add up to zero, by bisection."""
    below, above = (point - high).min(axis=0), (point - low).max(axis=0)
    for _ in range(50):
        middle = (below + above) / 2
        positive = np.clip(point - middle, low, high).sum(axis=0) > 0
        below, above = np.where(positive, middle, below), np.where(positive, above, middle)
    return np.clip(point - middle, low, high)


def ways(name: str, device: str | None) -> dict[str, Callable[[np.ndarray, np.ndarray], Found]]:
    found = {
        PLAIN: one_by_one,
        OURS: together,
        FINE: lambda gram, signs: one_by_one(gram, signs, TOLERANCE / 100),
    }
    if name not in SLOW:
        found[PRODUCTS] = projected_gradient
    if device is not None:
        found[DEVICE] = lambda gram, signs: _on_device(gram, signs, device)
    return found


def _on_device(gram: np.ndarray, signs: np.ndarray, device: str) -> Found:
    import torch

    return together(torch.asarray(gram, device=device), torch.asarray(signs, device=device))


def measure(rows: ResultRows, name: str, scaling: str, device: str | None) -> None:
    run = draw_run(name, HIDDEN, 1)
    order = np.argsort(-score_anova(run, 1), kind="stable")
    n_kept = sizes(len(order), (3,))
    X = run.features(scaling)[:, order]
    gram = next(gaussian_kernels(np, X[run.train], X[run.train], n_kept))
    across = next(gaussian_kernels(np, X[run.test], X[run.train], n_kept))
    Y = run.Y.to_dense()
    mixed = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    signs = 2 * Y[:, mixed] - 1
    together(gram[:50, :50].copy(), signs[:50])
    seconds, first = {}, None
    for way, fit in ways(name, device).items():
        start = time.process_time()
        coefficients, level, steps = fit(gram, signs)
        seconds[way] = time.process_time() - start
        scores = across @ coefficients + level
        first = scores if first is None else first
        row = {"experiment": "machines", "dataset": name, "scaling": scaling, "way": way}
        row |= {"n_rows": len(gram), "n_labels": len(mixed), "seconds": seconds[way]}
        row |= {"times_as_fast": seconds[PLAIN] / seconds[way], "steps": steps}
        row |= {"largest_difference": float(np.abs(scores - first).max())}
        rows.add({**row, **_precision(run, scores, mixed)})


def _precision(run: Run, scores: np.ndarray, mixed: np.ndarray) -> dict[str, float]:
    whole = np.full((len(scores), run.Y.n_labels), -10.0)
    whole[:, mixed] = scores
    return {"average_precision": score(run, whole)["average_precision"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["science", "rcv1subset1"])
    parser.add_argument("--device", help="device of torch, for a comparison with it")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("support_vectors_speed", KEY)
    for name in arguments.sets:
        for scaling in SCALINGS:
            if rows.find(dataset=name, scaling=scaling, way=OURS) is None:
                measure(rows, name, scaling, arguments.device)


if __name__ == "__main__":
    main()
