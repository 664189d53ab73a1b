"""What an iteration over rows on a cluster costs: bytes, operations and messages, and constants.

BMLPL is fitted to drawn sparse rows on local clusters of 1 and more workers, and the seconds of its
iterations are noted beside what they consist of: entries of the rows times factors (operations),
tasks that the scheduler sent (messages) and bytes of parameters and sums. The model

    seconds = operations / workers * a + messages * b + bytes * c

is fitted to all but the largest number of rows by least squares with constants of at least zero, and
compared with the largest, which is twice as large. Workers are processes of this machine: more of
them than processors share these, which the model does not know; leave them out with ``--workers``.

    python benchmarks/cost_model.py [--rows 10000 20000 40000] [--workers 1 2]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import optimize, sparse

from labelgap import BMLPL, Labels
from labelgap.fitting import EM, ArrayRows
from labelgap.fitting import _dask_rows as dask_rows
from result_rows import ResultRows

N_FEATURES, N_LABELS, N_FACTORS, ITERATIONS, BLOCK_ROWS = 500, 200, 20, 8, 2000
PARTS = ("operations", "messages", "bytes")
# 1 billion rows of 100 entries and 5 labels, 1 million labels, 100 factors, on 100 machines
FAR = {
    "rows": 1e9,
    "entries": 105.0,
    "labels": 1e6,
    "features": 1e6,
    "factors": 100,
    "workers": 100,
}


class Traffic:
    """Tasks and bytes that go to the scheduler while this is open."""

    def __enter__(self) -> Traffic:
        self.messages, self.bytes = 0, 0
        self._kept = dask_rows.DaskRows._submit, dask_rows._dump

        def submit(rows: Any, what: str, *arguments: Any, **options: Any) -> Any:
            self.messages += 1
            return self._kept[0](rows, what, *arguments, **options)

        def dump(value: Any) -> bytes:
            found = self._kept[1](value)
            self.bytes += len(found)
            return found

        dask_rows.DaskRows._submit, dask_rows._dump = submit, dump  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        dask_rows.DaskRows._submit, dask_rows._dump = self._kept  # type: ignore[method-assign]


def drawn(n_samples: int) -> tuple[Any, Labels]:
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_samples, N_FEATURES), density=0.08, rng=rng, format="csr")
    Y = sparse.random_array((n_samples, N_LABELS), density=0.02, rng=rng, format="csr")
    return X, Labels.from_sparse(sparse.csr_array(Y > 0))


def measure(n_samples: int, n_workers: int) -> dict[str, Any]:
    """Seconds and parts of an iteration; 0 workers is a fit in memory."""
    X, labels = drawn(n_samples)
    ends: list[tuple[float, int, int]] = []

    def fit(client: Any = None) -> None:
        with Traffic() as traffic:

            def heard(now: Any) -> None:
                ends.append((time.perf_counter(), traffic.messages, traffic.bytes))

            model = BMLPL(N_FACTORS, inference=EM(ITERATIONS, tol=0.0), random_state=0)
            model.set_params(callback=heard, client=client)
            model.fit(ArrayRows(X, labels, block_rows=BLOCK_ROWS))

    if n_workers:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as all_,
            Client(all_) as client,
        ):
            fit(client)
    else:
        fit()
        ends.clear()
        fit()
    steps = np.diff(np.array(ends[1:]), axis=0)
    seconds, messages, n_bytes = np.median(steps, axis=0)
    return {
        "seconds": float(seconds),
        "operations": float((X.nnz + labels.n_positives()) * N_FACTORS),
        "messages": float(messages),
        "bytes": float(n_bytes),
    }


def parts_of(rows: list[dict]) -> np.ndarray:
    table = np.array([[row[name] for name in PARTS] for row in rows], dtype=float)
    table[:, 0] /= [max(row["n_workers"], 1) for row in rows]
    return table


def far(constants: np.ndarray, messages_per_group: float) -> dict[str, float]:
    """Seconds of an iteration of the far case, by part, if nothing but the sizes changes."""
    operations = FAR["rows"] * FAR["entries"] * FAR["factors"] / FAR["workers"]
    groups = 2 * FAR["workers"]
    # parameters go to every worker for each of the sums, sums come back from every group
    parameters = 8 * FAR["factors"] * (FAR["labels"] + FAR["features"])
    return {
        "compute": operations * constants[0],
        "messages": groups * messages_per_group * constants[1],
        "traffic_gigabytes": 1e-9 * parameters * groups,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 20_000, 40_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    results = ResultRows("cost_model", key=("n_samples", "n_workers"))
    rows = []
    for n_workers in chosen.workers:
        for n_samples in chosen.rows:
            key = {"n_samples": n_samples, "n_workers": n_workers}
            if results.find(**key) is None:
                found = measure(n_samples, n_workers)
                results.add({"experiment": "cost model", **key, **found})
            rows.append(results.find(**key))
    largest = max(chosen.rows)
    fitted = [row for row in rows if row["n_samples"] < largest]
    # relative errors: small and large runs count alike
    seconds = np.array([row["seconds"] for row in fitted])
    constants, _ = optimize.nnls(parts_of(fitted) / seconds[:, None], np.ones(seconds.size))
    print("seconds per", {name: f"{c:.2e}" for name, c in zip(PARTS, constants, strict=True)})
    for row in rows:
        predicted = float(parts_of([row])[0] @ constants)
        print(
            f"{row['n_samples']:>8} rows, {row['n_workers']} workers: {row['seconds']:.3f} s, "
            f"predicted {predicted:.3f}{' (not fitted)' if row['n_samples'] == largest else ''}"
        )
    groups = [2 * row["n_workers"] for row in rows if row["n_workers"]]
    per_group = np.mean(
        [r["messages"] / g for r, g in zip(rows[-len(groups) :], groups, strict=True)]
    )
    print("far case, one iteration:", far(constants, float(per_group)))


if __name__ == "__main__":
    main()
