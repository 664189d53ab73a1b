"""Seconds of the same work with one thread and with more: audit, regressions, BMLPL, metrics.

Each measurement has a process of its own, whose threads are set from outside; the work is done once
on little data to be compiled, and then timed by the wall clock; making the data is not.

    python benchmarks/two_threads.py [--works audit logistic bmlpl metrics] [--threads 1 2]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from labelgap import BMLPL, BinaryRelevance, as_labels, audit, metrics
from labelgap.fitting import EM
from labelgap.labels import Labels
from result_rows import ResultRows

N_ROWS, FEW = 20_000, 600


def sparse_table(n_rows: int, n_features: int, n_labels: int) -> tuple[sparse.csr_array, Labels]:
    """Sparse features, and labels that follow from them."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_rows, n_features), density=80 / n_features, rng=rng, format="csr")
    scores = np.asarray(X @ rng.normal(size=(n_features, n_labels)))
    return X, as_labels((scores > np.quantile(scores, 0.99)).astype(np.int8))


def prepare_audit(n_rows: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 100))
    Y = X @ rng.normal(size=(100, 1000)) + 5 * rng.normal(size=(n_rows, 1000)) > 20
    return partial(audit, X, Y.astype(np.int8))


def prepare_logistic(n_rows: int) -> Callable[[], object]:
    return partial(BinaryRelevance(C=1.0).fit, *sparse_table(n_rows, 5000, 512))


def prepare_bmlpl(n_rows: int) -> Callable[[], object]:
    X, Y = sparse_table(n_rows, 2000, 500)
    return partial(BMLPL(50, inference=EM(10, tol=0.0), random_state=0).fit, abs(X), Y)


def prepare_metrics(n_rows: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    scores = rng.random((n_rows, 1000))
    labels = as_labels((scores + rng.random(scores.shape) > 1.8).astype(np.int8))
    return lambda: [measure(labels, scores) for measure in MEASURES]


MEASURES = (
    metrics.average_precision,
    metrics.label_ranking_average_precision,
    metrics.precision_at_k,
    metrics.ranking_loss,
    metrics.auc,
)
# each reads or makes its data, and returns the work that is timed
WORKS: dict[str, Callable[[int], Callable[[], object]]] = {
    "audit": prepare_audit,
    "logistic": prepare_logistic,
    "bmlpl": prepare_bmlpl,
    "metrics": prepare_metrics,
}


def measure(work: str, threads: int) -> float:
    """Wall seconds of the second run in a process of so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, Path(__file__), "--inside", work],
        env={**os.environ, **dict.fromkeys(names, str(threads))},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def time_inside(work: str) -> None:
    warnings.simplefilter("ignore")
    WORKS[work](FEW)()
    run = WORKS[work](N_ROWS)
    begin = time.perf_counter()
    run()
    print(time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--works", nargs="+", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--inside", choices=list(WORKS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        time_inside(arguments.inside)
        return
    rows = ResultRows("two_threads", ("work", "threads"))
    for work in arguments.works:
        for threads in arguments.threads:
            if not rows.find(work=work, threads=threads):
                load = os.getloadavg()[0]
                seconds = measure(work, threads)
                rows.add({"work": work, "threads": threads, "seconds": seconds, "load": load})


if __name__ == "__main__":
    main()
