"""A pass of WSABIE's steps and its loss, against the same with sums in the order of the numbers.

The slow twin measures a row after it has added to it, and makes the scores of the loss one by one.
Times are those of the processor, the better of two.

    python benchmarks/warp_speed.py [sets]
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
from numba import njit

from labelgap.labels import State
from labelgap_papers.bench.protocols import PROTOCOLS
from labelgap_papers.kernels.warp import harmonic_sums, warp_loss, warp_steps
from labelgap_papers.methods import WSABIE
from result_rows import ResultRows

FACTORS = {"bibtex": (32, 95), "delicious": (197, 590), "eurlex4k": (799,)}
MOST_PAIRS, MOST_ROWS = 30_000, 3_000
SETTINGS = {"learning_rate": 0.01, "max_norm": 10.0}


def plain_steps(generator, X, pairs, others, A, B, *, learning_rate, max_norm):
    weights = harmonic_sums(len(B))
    features, labels = (X.indptr, X.indices, X.data), (others.indptr, others.indices)
    _plain_steps(generator, features, pairs, labels, A, B, weights, learning_rate, max_norm)


@njit(cache=True)
def _plain_steps(generator, features, pairs, others, A, B, weights, learning_rate, max_norm):
    starts, columns, values = features
    for p in range(pairs.shape[0]):
        row, label = pairs[p]
        first, n_others = others[0][row], others[0][row + 1] - others[0][row]
        u = np.zeros(A.shape[1])
        for q in range(starts[row], starts[row + 1]):
            _add(u, values[q], A[columns[q]])
        own = _dot(u, B[label])
        for n_draws in range(1, n_others + 1):
            other = others[1][first + int(generator.random() * n_others)]
            if _dot(u, B[other]) > own - 1:
                step = learning_rate * weights[n_others // n_draws]
                towards = step * (B[label] - B[other])
                _add(B[label], step, u)
                _add(B[other], -step, u)
                _shorten(B[label], max_norm)
                _shorten(B[other], max_norm)
                for q in range(starts[row], starts[row + 1]):
                    _add(A[columns[q]], values[q], towards)
                    _shorten(A[columns[q]], max_norm)
                break


def plain_loss(positives, others, U, B):
    sides = (positives.indptr, positives.indices), (others.indptr, others.indices)
    return _plain_loss(*sides, U, B, harmonic_sums(len(B)))


@njit(cache=True)
def _plain_loss(positives, others, U, B, weights):
    total = 0.0
    for row in range(U.shape[0]):
        labels = others[1][others[0][row] : others[0][row + 1]]
        scores = np.array([_dot(U[row], B[label]) for label in labels])
        for p in range(positives[0][row], positives[0][row + 1]):
            own = _dot(U[row], B[positives[1][p]])
            n_violators, excess = 0, 0.0
            for score in scores:
                if score > own - 1:
                    n_violators += 1
                    excess += 1 + score - own
            if n_violators:
                total += weights[n_violators] * excess / n_violators
    return total


@njit(cache=True)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def _add(row, factor, other):
    for i in range(row.size):
        row[i] += factor * other[i]


@njit(cache=True)
def _shorten(row, max_norm):
    size = math.sqrt(_dot(row, row))
    if size > max_norm:
        for i in range(row.size):
            row[i] *= max_norm / size


def measure(name: str, n_factors: int, steps: Any, loss: Any) -> dict[str, float]:
    """Seconds of some steps and of the loss of some rows, and the loss after them."""
    split = PROTOCOLS["official-split"]().draw(name, {"missing": 0.0}, 0)
    X = WSABIE()._design(split.X)
    positives, others = split.Y.positives(), split.Y.where(State.NEGATIVE, State.UNLABELED)
    generator = np.random.default_rng(0)
    order = generator.permutation(positives.nnz)[:MOST_PAIRS]
    pairs = np.column_stack(positives.nonzero())[order].astype(np.int64)
    A = 0.1 * generator.standard_normal((X.shape[1], n_factors))
    B = 0.1 * generator.standard_normal((split.Y.n_labels, n_factors))
    start = time.process_time()
    steps(generator, X, pairs, others, A, B, **SETTINGS)
    of_steps = time.process_time() - start
    few = slice(0, MOST_ROWS)
    parts = positives[few], others[few], X[few] @ A, B
    start = time.process_time()
    value = loss(*parts)
    return {"steps": of_steps, "loss": time.process_time() - start, "value": float(value)}


def compare(name: str, n_factors: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for prefix, made in (("", (warp_steps, warp_loss)), ("slow_", (plain_steps, plain_loss))):
        found = [measure(name, n_factors, *made) for _ in range(2)]  # the first compiles
        for part in ("steps", "loss"):
            row[f"{prefix}{part}_seconds"] = min(run[part] for run in found)
        row[f"{prefix}value"] = found[0]["value"]
    for part in ("steps", "loss"):
        row[f"{part}_speedup"] = row[f"slow_{part}_seconds"] / row[f"{part}_seconds"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(FACTORS))
    arguments = parser.parse_args()
    rows = ResultRows("warp_speed", ("dataset", "n_factors"))
    for name in arguments.sets:
        for n_factors in FACTORS[name]:
            key = {"dataset": name, "n_factors": n_factors}
            row = rows.find(**key)
            if row is None:
                row = {**key, **compare(name, n_factors)}
                rows.add(row)
            print(
                f"{name}, {n_factors} factors: steps {row['steps_speedup']:.1f} times faster, "
                f"loss {row['loss_speedup']:.1f} times"
            )


if __name__ == "__main__":
    main()
