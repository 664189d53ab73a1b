"""Time of a full iMVWL fit against the printed updates with dense masks, in the same run.

Both take the 4999 rows of corel5k with its four complete views, half of the labels and of the view
rows missing, and the same number of iterations.

``python benchmarks/imvwl_speed.py [n_iter] [--threads N]``; rows that are there are not run again.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

import numba
import numpy as np
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from labelgap import IMVWL, Labels
from labelgap.kernels.low_rank import shrink_singular_values
from labelgap_papers.bench.protocols import PROTOCOLS
from result_rows import ResultRows, peak_gigabytes

ALPHA, BETA = 1e-2, 1e-2
# of the completion of S in each iteration
COMPLETION_STEPS = 5


def printed_updates(views, masks, Y, M, k: int, n_iter: int, seed: int = 0) -> list[float]:
    """Equations 7, 8, 10 and 12 as they stand, for views (n x d), masks of the same shape, Y and M.

    Quotients of either sign are kept from dividing by zero and nothing else.
    """
    rng = np.random.default_rng(seed)
    n, c = Y.shape
    V = rng.random((n, k))
    U = [rng.random((X.shape[1], k)) for X in views]
    W, S = rng.random((k, c)), np.eye(c)
    tiny = 1e-12
    objective = []
    for _ in range(n_iter):
        W = W * ((V.T @ (M * Y)) @ S.T) / ((V.T @ (M * (V @ W @ S))) @ S.T + tiny)
        A = V @ W
        length = 2 * ALPHA * np.linalg.norm(A, 2) ** 2 + tiny
        for _ in range(COMPLETION_STEPS):
            gradient = 2 * ALPHA * A.T @ (M * (A @ S - Y))
            S, norm = shrink_singular_values(S - gradient / length, BETA / length)
        above = ALPHA * (M * Y) @ S.T @ W.T
        below = ALPHA * (M * (V @ W @ S)) @ S.T @ W.T
        for X, O, part in zip(views, masks, U, strict=True):  # noqa: E741
            above = above + (O * X) @ part
            below = below + (O * (V @ part.T)) @ part
        V = np.maximum(V * above / (below + tiny), 0)
        loss = ALPHA * np.square(M * (V @ W @ S - Y)).sum() + BETA * norm
        for position, (X, O) in enumerate(zip(views, masks, strict=True)):  # noqa: E741
            part = U[position]
            part = part * ((O * X).T @ V) / ((O * (V @ part.T)).T @ V + tiny)
            U[position] = part
            loss += np.square(O * (X - V @ part.T)).sum()
        objective.append(float(loss))
    return objective


def dense_inputs(X: np.ndarray, Y: Labels, views) -> tuple:
    views, masks = [], []
    for columns in views.values():
        block = np.asarray(X[:, columns], dtype=np.float64)
        there = ~np.isnan(block)
        views.append(MinMaxScaler().fit_transform(np.nan_to_num(block)))
        masks.append(there.astype(np.float64))
    values = Y.to_dense()
    return views, masks, np.nan_to_num(values), (~np.isnan(values)).astype(np.float64)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("n_iter", nargs="?", type=int, default=60)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    given = parser.parse_args()
    numba.set_num_threads(given.threads)
    with threadpool_limits(given.threads):
        measure(given.n_iter, given.threads)


def measure(n_iter: int, threads: int) -> None:
    rows = ResultRows("imvwl_speed", ("method", "n_iter", "threads"))
    halves = {"missing_labels": 0.5, "missing_views": 0.5}
    run = PROTOCOLS["missing-views"]().draw("corel5k_multiview", halves, 0)
    X = np.vstack([run.X, run.X_test])
    unknown = Labels.from_dense(np.full(run.Y_test.shape, np.nan)).with_names(run.Y.names)
    Y = Labels.concatenate([run.Y, unknown])
    facts = {"experiment": "speed", "n_iter": n_iter, "threads": threads, "n_samples": len(X)}
    facts |= {"published_seconds": 52.47}

    def ours() -> list[float]:
        model = IMVWL(run.views, alpha=ALPHA, beta=BETA, max_iter=n_iter, random_state=0)
        return model.fit(X, Y).trace_.objective

    def theirs() -> list[float]:
        k = round(0.5 * min(run.views.widths.values()))
        return printed_updates(*dense_inputs(X, Y, run.views), k, n_iter)

    IMVWL(run.views, max_iter=1).fit(X[:50], Y[:50])  # compiles
    for name, fit in {"iMVWL": ours, "printed updates, dense masks": theirs}.items():
        if rows.find(method=name, n_iter=n_iter, threads=threads):
            continue
        start, busy = time.perf_counter(), time.process_time()
        objective = fit()
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        rises = int((np.diff(objective) > 0).sum())
        row = {**facts, "method": name, "seconds": seconds, "rises": rises}
        row |= {"cpu_seconds": busy}
        rows.add({**row, "finite": bool(np.isfinite(objective).all()), "peak_gb": peak_gigabytes()})


if __name__ == "__main__":
    main()
