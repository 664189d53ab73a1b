"""How near the heaviest steps come to what the machine can do: a table against the limit.

In one run: the rate of a large matrix product and the bandwidth of a large copy, and beside them the
operations and bytes per second of each step. Operations are those that the step has to do, counted
where its products are made; bytes are what it reads and writes at least, each array once a product.
A step near neither limit waits for something else.

    python benchmarks/limits.py [--device cuda] [--scale 1.0]

With a device the steps that have a form there are measured on it, against its own limits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap import BMLPL, Labels
from labelgap.fitting import EM
from labelgap.imputers._ridge_regressions import (
    CooccurringRegressions,
    JointRegressions,
    label_codes,
)
from labelgap.kernels import logistic
from labelgap.kernels.array_namespace import array_like, array_namespace
from labelgap.kernels.products import prepare_features
from labelgap.kernels.ranking import top_k
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.models.bmlpl import _bmlpl_em
from result_rows import ResultRows


class Work(NamedTuple):
    """Operations and bytes of a step, in billions, and its seconds."""

    operations: float
    bytes: float
    seconds: float


def fastest(action: Callable[[], Any], wait: Callable[[], None], repeat: int = 3) -> float:
    action()
    best = np.inf
    for _ in range(repeat):
        wait()
        start = time.perf_counter()
        action()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


@contextmanager
def counted(module: Any, *names: str) -> Iterator[list[float]]:
    """Operations and bytes of the products that a module makes while this is open."""
    total, kept = [0.0, 0.0], {name: getattr(module, name) for name in names}

    def counting(function: Callable) -> Callable:
        def product(features: Any, G: Any) -> Any:
            X, k = features.rows, G.shape[1]
            size = X.nnz if sparse.issparse(X) else X.shape[0] * X.shape[1]
            per_number = 12 if sparse.issparse(X) else 8
            total[0] += 2e-9 * size * k
            total[1] += 1e-9 * (per_number * size + 8 * k * sum(X.shape))
            return function(features, G)

        return product

    for name, function in kept.items():
        setattr(module, name, counting(function))
    try:
        yield total
    finally:
        for name, function in kept.items():
            setattr(module, name, function)


def limits(to: Callable, wait: Callable, scale: float) -> tuple[float, float]:
    """Billions of operations per second of a product, and of bytes of a copy."""
    n = int(2048 * max(scale, 0.5))
    A = to(np.random.default_rng(0).random((n, n)))
    product = 2e-9 * n**3 / fastest(lambda: A @ A, wait)
    source = to(np.zeros(int(5e7 * min(scale, 1))))
    copy = 16e-9 * source.shape[0] / fastest(lambda: source + 0.0, wait)
    return product, copy


def joint_logistic(to: Callable, wait: Callable, scale: float) -> Work:
    n, n_features, k = int(20_000 * scale), 500, 100
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, n_features)), (rng.random((n, k)) < 0.1).astype(float)
    features = prepare_features(to(X))
    targets = logistic.LogisticTargets(to(Y), to(np.ones_like(Y)))
    with counted(logistic, "linear_part", "transposed_times", "squared_transposed_times") as total:
        logistic.fit_logistic(features, targets, 1.0)
    return Work(*total, fastest(lambda: logistic.fit_logistic(features, targets, 1.0), wait))


def ridge(to: Callable, wait: Callable, scale: float) -> Work:
    n, m, k = int(2000 * scale), 400, 100
    rng = np.random.default_rng(0)
    weights, F = to(rng.random((n, m))), to(rng.normal(size=(m, k)))
    right_side = to(rng.normal(size=(n, k)))
    seconds = fastest(lambda: weighted_ridge(weights, F, right_side, 1.0), wait)
    return Work(1e-9 * n * m * k * (k + 1), 8e-9 * n * (m + k * k), seconds)


def bmlpl(to: Callable, wait: Callable, scale: float) -> Work:
    n, iterations = int(20_000 * scale), 5
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, 500), density=0.08, rng=rng, format="csr")
    Y = Labels.from_sparse(sparse.random_array((n, 200), density=0.02, rng=rng, format="csr") > 0)

    def fit(max_iter: int) -> float:
        start = time.perf_counter()
        BMLPL(20, inference=EM(max_iter, tol=0.0), random_state=0).fit(X, Y)
        return time.perf_counter() - start

    fit(1)
    with counted(_bmlpl_em, "linear_part", "transposed_times") as total:
        many = fit(1 + iterations)
        both = list(total)
        first = fit(1)
        both = [2 * a - b for a, b in zip(both, total, strict=True)]
    seconds = many - first
    return Work(both[0] / iterations, both[1] / iterations, seconds / iterations)


def _codes(n: int, n_features: int, n_labels: int) -> tuple[np.ndarray, Any]:
    rng = np.random.default_rng(0)
    Y = sparse.random_array((n, n_labels), density=5 / n_labels, rng=rng, format="csr") > 0
    return rng.normal(size=(n, n_features)), label_codes(Labels.from_sparse(sparse.csr_array(Y)))


def audit_gram(to: Callable, wait: Callable, scale: float) -> Work:
    n, n_features, n_labels = int(20_000 * scale), 400, 2000
    X, codes = _codes(n, n_features, n_labels)
    seconds = fastest(lambda: JointRegressions.sums(X, codes), wait)
    operations = 2e-9 * (n * n_features**2 + 2 * codes.matrix.nnz * n_features)
    return Work(operations, 8e-9 * (3 * X.size + (n_features + n_labels) ** 2), seconds)


def audit_scores(to: Callable, wait: Callable, scale: float) -> Work:
    n, n_features, n_labels = int(20_000 * scale), 400, 2000
    X, codes = _codes(n, n_features, n_labels)
    sums = CooccurringRegressions.sums(X, codes)
    model = CooccurringRegressions.solve(sums, n, (10.0, 5.0), 50)
    some = slice(0, n // 10)
    part = codes.take(some)
    seconds = fastest(lambda: model.left_out(X[some], part), wait)
    n_scored = n // 10
    operations = 2e-9 * n_scored * n_features * (n_features + n_labels)
    return Work(operations, 8e-9 * n_scored * (n_features + n_labels), seconds)


def best_labels(to: Callable, wait: Callable, scale: float) -> Work:
    scores = to(np.random.default_rng(0).normal(size=(int(2000 * scale), 10_000)))
    return Work(0.0, 8e-9 * scores.size, fastest(lambda: top_k(scores, 5), wait))


STEPS: dict[str, Callable[..., Work]] = {
    "joint logistic": joint_logistic,
    "weighted ridge": ridge,
    "BMLPL iteration": bmlpl,
    "audit's Gram": audit_gram,
    "audit's scores": audit_scores,
    "top 5 of 10,000 labels": best_labels,
}
ON_DEVICE = ("joint logistic", "weighted ridge")


def place(device: str | None) -> tuple[Callable, Callable]:
    """How an array gets there, and how to wait until all is computed."""
    if device is None:
        return (lambda array: array), (lambda: None)
    import torch

    like = torch.zeros(1, dtype=torch.float64, device=device)
    xp = array_namespace(like)
    synchronize = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    return (lambda array: array_like(xp, array, like)), synchronize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--scale", type=float, default=1.0)
    chosen = parser.parse_args()
    to, wait = place(chosen.device)
    results = ResultRows("limits", key=())
    product, copy = limits(to, wait, chosen.scale)
    print(f"limit: {product:.1f} billion operations per second, {copy:.1f} GB per second")
    for name, step in STEPS.items():
        if chosen.device is not None and name not in ON_DEVICE:
            continue
        work = step(to, wait, chosen.scale)
        # other programs slow all of it down: the limits just before and after count
        before, (product, copy) = (product, copy), limits(to, wait, chosen.scale)
        product, copy = max(product, before[0]), max(copy, before[1])
        row = {
            "experiment": "limits",
            "step": name,
            "device": chosen.device or "processor",
            "scale": chosen.scale,
            "product_rate": round(product, 2),
            "copy_rate": round(copy, 2),
            "seconds": round(work.seconds, 4),
            "of_product_rate": round(work.operations / work.seconds / product, 3),
            "of_copy_rate": round(work.bytes / work.seconds / copy, 3),
        }
        results.add(row)


if __name__ == "__main__":
    main()
