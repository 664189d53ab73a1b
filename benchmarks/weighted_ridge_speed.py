"""Rate of the weighted ridge solves, against a plain matrix product and plain numpy.

The assembly of n Gram matrices from m features of size k counts n m k(k+1) operations. Every
row is measured next to a plain product of the same precision, because machines share their cores.
For one thread set NUMBA_NUM_THREADS, OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1.

    python benchmarks/weighted_ridge_speed.py [--cases delicious labels ...] [--repeat 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np

from labelgap.kernels.weighted_ridge import weighted_grams, weighted_ridge
from result_rows import ResultRows

# name: n, m, k, whether the weights are a transposed view
CASES = {
    "delicious": (3000, 983, 200, False),
    "delicious labels": (983, 12920, 200, True),
    "bibtex": (4880, 159, 100, False),
    "yeast": (2000, 14, 10, False),
}
N_PLAIN = 30  # rows the plain versions are measured on; their seconds are scaled to all n


def seconds(action: Callable[[], object], repeat: int) -> float:
    """The fastest of some runs."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def product_rate(dtype: str, repeat: int) -> float:
    """Giga-operations per second of a large square product."""
    A = np.random.default_rng(0).random((2048, 2048)).astype(dtype)
    return 2 * 2048**3 / seconds(lambda: A @ A, repeat) / 1e9


def plain_loop(weights, F, right_side, ridge) -> np.ndarray:
    """One product and one solve per row."""
    diagonal = ridge * np.eye(F.shape[1], dtype=F.dtype)
    out = np.empty_like(right_side)
    for i, w in enumerate(weights):
        out[i] = np.linalg.solve((F.T * w) @ F + diagonal, right_side[i])
    return out


def plain_stack(weights, F, right_side, ridge) -> np.ndarray:
    """All matrices by einsum, all solves by one call."""
    grams = np.einsum("nm,mk,ml->nkl", weights, F, F, optimize=True)
    grams += ridge * np.eye(F.shape[1], dtype=F.dtype)
    return np.linalg.solve(grams, right_side[:, :, None])[:, :, 0]


def measure(case: str, dtype: str, repeat: int) -> dict[str, object]:
    n, m, k, transposed = CASES[case]
    rng = np.random.default_rng(0)
    weights = rng.random((m, n) if transposed else (n, m)).astype(dtype)
    weights = weights.T if transposed else weights
    F = rng.normal(size=(m, k)).astype(dtype)
    b = rng.normal(size=(n, k)).astype(dtype)
    weighted_ridge(weights[:2], F, b[:2], 1.0)  # compilation, or its cache

    before = product_rate(dtype, repeat)
    grams = seconds(lambda: weighted_grams(weights, F), repeat)
    ridge = seconds(lambda: weighted_ridge(weights, F, b, 1.0), repeat)
    after = product_rate(dtype, repeat)
    some = slice(0, min(n, N_PLAIN))
    plain = {
        "loop_seconds": seconds(lambda: plain_loop(weights[some], F, b[some], 1.0), repeat),
        "einsum_seconds": seconds(lambda: plain_stack(weights[some], F, b[some], 1.0), repeat),
    }
    return {
        "case": case, "dtype": dtype, "threads": numba.get_num_threads(),
        "n": n, "m": m, "k": k, "transposed": transposed,
        "grams_seconds": grams,
        "grams_gflops": n * m * k * (k + 1) / grams / 1e9,
        "ridge_seconds": ridge,
        "ridge_gflops": n * (m * k * (k + 1) + k**3 / 3) / ridge / 1e9,
        "product_gflops": max(before, after),
        "plain_rows": some.stop,
        **{name: value * n / (some.stop - some.start) for name, value in plain.items()},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    rows = ResultRows("weighted_ridge_speed", key=("case", "dtype", "threads"))
    table = []
    for case in arguments.cases:
        for dtype in ("float64", "float32"):
            row = rows.find(case=case, dtype=dtype, threads=numba.get_num_threads())
            if row is None:
                row = measure(case, dtype, arguments.repeat)
                rows.add(row)
            table.append(row)
    names = ("grams s", "GFLOP/s", "of GEMM", "ridge s", "GFLOP/s", "loop s", "einsum s")
    print(f"\n{'':34}" + "".join(f"{name:>10}" for name in names))
    for row in table:
        shape = f"{row['n']} x {row['m']}, k = {row['k']}"
        fraction = row["grams_gflops"] / row["product_gflops"]
        print(
            f"{shape:24}{row['dtype']:>10}{row['grams_seconds']:10.4f}{row['grams_gflops']:10.1f}"
            f"{fraction:10.0%}{row['ridge_seconds']:10.4f}{row['ridge_gflops']:10.1f}"
            f"{row['loop_seconds']:10.2f}{row['einsum_seconds']:10.2f}"
        )


if __name__ == "__main__":
    main()
