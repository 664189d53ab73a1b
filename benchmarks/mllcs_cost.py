"""What ML-LCS costs: where an EM iteration spends its time, and labels added to a fitted model.

Matrix products are those of the weighted Gram matrices, counted and timed one by one; the rate to
compare with is that of a plain product of two large square matrices, measured between the
iterations of the same run. Each measurement runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from labelgap.fitting import EM, Progress
from labelgap.models.mllcs import MLLCS
from labelgap.protocols import cooccurrence
from mllcs_data import fit_timed, load_split
from result_rows import ResultRows, peak_gigabytes

N_FACTORS, N_ITER, N_NEW, SQUARE = 200, 5, 100, 3000
ITERATION = "an EM iteration, all labels seen"
ADDED = "labels added to a fitted model"


class Products:
    """Seconds, by a clock, and floating-point operations of the products since the last reset."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.reset()

    def reset(self) -> None:
        self.seconds, self.operations = 0.0, 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        plain = np.matmul

        def timed(left: Any, right: Any, *rest: Any, **options: Any) -> Any:
            start = self.clock()
            result = plain(left, right, *rest, **options)
            self.seconds += self.clock() - start
            self.operations += 2.0 * left.shape[0] * left.shape[1] * right.shape[-1]
            return result

        with mock.patch.object(np, "matmul", timed):
            yield


class Watch:
    """A callback that measures each iteration, and a plain product after it."""

    def __init__(self, products: Products, dtype: Any) -> None:
        self.products, self.found = products, []
        self.square = np.random.default_rng(0).normal(size=(SQUARE, SQUARE)).astype(dtype)
        self.start = None

    def __call__(self, progress: Progress) -> None:
        if self.start is not None:
            seconds = self.products.clock() - self.start
            done = self.products
            self.found.append((seconds, done.seconds, done.operations, self.plain_rate()))
        self.products.reset()
        self.start = self.products.clock()

    def plain_rate(self) -> float:
        start = self.products.clock()
        self.square @ self.square
        return 2.0 * SQUARE**3 / (self.products.clock() - start)


def iteration(dtype: str) -> dict:
    """The first iteration, which compiles, is left out; medians of the others."""
    split = load_split("delicious")
    products = Products()
    watch = Watch(products, dtype)
    loop = EM(N_ITER, 0.0, solver="exact")
    model = MLLCS(N_FACTORS, inference=loop, callback=watch, random_state=0)
    with products.watched():
        model.fit(split.X.astype(dtype), split.Y)
    seconds, inside, operations, plain = np.median(np.array(watch.found[1:]), axis=0)
    rate = operations / inside
    facts = {"n_rows": split.Y.n_rows, "n_labels": split.Y.n_labels, "n_factors": N_FACTORS}
    facts |= {"seconds": seconds, "share_in_products": inside / seconds}
    facts |= {"product_gflops": rate / 1e9, "plain_gflops": plain / 1e9}
    facts |= {"rate_ratio": rate / plain, "iteration_ratio": operations / seconds / plain}
    return {**facts, "peak_gb": peak_gigabytes()}


def added(name: str) -> dict:
    """All labels but a hundred are seen; these are then added from their counts.

    The fit has as many iterations as by default.
    """
    split = load_split(name)
    n_new = min(N_NEW, split.Y.n_labels // 2)
    order = np.random.default_rng(0).permutation(split.Y.n_labels)
    new, seen = np.sort(order[:n_new]), np.sort(order[n_new:])
    counts = cooccurrence(split.Y, seen).toarray()
    n_factors = N_FACTORS if name == "delicious" else min(len(seen), 100)
    model = MLLCS(n_factors, random_state=0)
    fitted = fit_timed(model, split.X, split.Y[:, seen])
    start = time.perf_counter()
    model.add_labels(counts[:, new], names=[f"new {column}" for column in new])
    seconds = time.perf_counter() - start
    facts = {"n_rows": split.Y.n_rows, "n_labels": n_new, "n_factors": n_factors}
    facts["n_iter"] = model.trace_.n_iter
    return {**facts, "seconds": seconds, "fit_seconds": fitted, "ratio": seconds / fitted}


MEASUREMENTS = {
    (ITERATION, "delicious", "float32"): lambda: iteration("float32"),
    (ITERATION, "delicious", "float64"): lambda: iteration("float64"),
    (ADDED, "delicious", "float32"): lambda: added("delicious"),
    (ADDED, "bibtex", "float32"): lambda: added("bibtex"),
}


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("mllcs_cost", ("what", "dataset", "precision"))
    if len(sys.argv) == 4:
        what, dataset, precision = key = tuple(sys.argv[1:])
        row = {"experiment": "cost", "what": what, "dataset": dataset, "precision": precision}
        rows.add({**row, **MEASUREMENTS[key]()})  # type: ignore[index]
        return
    for what, dataset, precision in MEASUREMENTS:
        if rows.find(what=what, dataset=dataset, precision=precision) is None:
            subprocess.run([sys.executable, __file__, what, dataset, precision], check=True)


if __name__ == "__main__":
    main()
