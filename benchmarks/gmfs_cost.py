"""What GMFS costs on delicious with 100 factors: an EM iteration, its products, and peak memory.

Matrix products are those of the weighted Gram matrices, counted and timed one by one; the rate to
compare with is that of a plain product of two large square matrices, measured between the
iterations of the same run. Each precision runs in a process of its own, on one thread, and seconds
are those of the processor: they do not depend on what else the machine is doing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings

import numpy as np
from scipy import sparse

from labelgap import GMFS
from labelgap.data import load_dataset
from labelgap.fitting import EM
from labelgap.protocols import hide_positives
from mllcs_cost import Products, Watch
from result_rows import ResultRows, peak_gigabytes

N_FACTORS, N_ITER = 100, 5


def iteration(precision: str) -> dict:
    """The first iteration, which compiles, is left out; medians of the others."""
    data = load_dataset("delicious")
    X = sparse.csr_array(data.X[data.train], dtype=precision)
    Y = hide_positives(data.Y[data.train], 0.4, random_state=0).labels
    products = Products(time.process_time)
    watch = Watch(products, precision)
    model = GMFS(
        N_FACTORS,
        look_rate=0.6,
        inference=EM(N_ITER, 0.0, solver="exact"),
        callback=watch,
        random_state=0,
    )
    with products.watched():
        model.fit(X, Y)
    model.likely_missing(top=1000)
    seconds, inside, operations, plain = np.median(np.array(watch.found[1:]), axis=0)
    rate = operations / inside
    facts = {"n_rows": Y.n_rows, "n_labels": Y.n_labels, "n_factors": N_FACTORS}
    facts |= {"seconds": seconds, "share_in_products": inside / seconds}
    facts |= {"product_gflops": rate / 1e9, "plain_gflops": plain / 1e9}
    facts |= {"rate_ratio": rate / plain, "iteration_ratio": operations / seconds / plain}
    return {**facts, "peak_gb": peak_gigabytes()}


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_cost", ("what", "dataset", "precision"))
    key = {"what": "an EM iteration", "dataset": "delicious"}
    if len(sys.argv) == 2:
        rows.add({"experiment": "cost", **key, "precision": sys.argv[1], **iteration(sys.argv[1])})
        return
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    one_thread = {**os.environ, **dict.fromkeys(names, "1")}
    for precision in ("float32", "float64"):
        if rows.find(**key, precision=precision) is None:
            subprocess.run([sys.executable, __file__, precision], check=True, env=one_thread)


if __name__ == "__main__":
    main()
