"""Mended ridge regressions: all labels by one factorisation, beside one for each label.

Processor seconds of the same fits to the same completed labels of bibtex (159 labels), one thread.

    python benchmarks/mend_ridge.py
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from labelgap.kernels.gaussian_width import mean_distance_gamma
from labelgap.mending import LabelwiseCompleter
from labelgap.mending._filling import mended_label
from labelgap.mending._soft_targets import fit_labels, fit_soft, scores_of
from labelgap.mending._trust import Plan
from mend_data import draw_run
from result_rows import ResultRows

N_ROWS = 2000


def measure(rows: ResultRows, name: str, estimator: Any, X: np.ndarray, soft: list) -> None:
    wanted = {"experiment": "ridge", "dataset": "bibtex", "estimator": name}
    if rows.find(**wanted):
        return
    start = time.process_time()
    alone = [fit_soft(estimator, X, one) for one in soft]
    middle = time.process_time()
    together = fit_labels(estimator, X, iter(soft), np.zeros(len(soft)))
    end = time.process_time()
    off = max(
        float(np.abs(scores_of(a, X) - scores_of(b, X)).max())
        for a, b in zip(alone[:5], together[:5], strict=True)
    )
    seconds = {"each_seconds": middle - start, "shared_seconds": end - middle}
    rows.add({**wanted, "n_rows": len(X), "n_labels": len(soft), **seconds,
              "ratio": (middle - start) / (end - middle), "largest_difference": off})  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_ridge", ("experiment", "dataset", "estimator"))
    run = draw_run("bibtex", "entries", 0.6, 1)
    X, labels = sparse.csr_array(run.X[:N_ROWS]), run.Y[:N_ROWS]
    some = np.flatnonzero(labels.n_positives(axis=0) > 0)
    columns = LabelwiseCompleter().fit(X, labels, some).columns(X, labels)
    pairs = zip(some.tolist(), columns, strict=True)
    soft = [mended_label(labels, label, column, Plan(1.0, 1.0)) for label, column in pairs]
    dense = X.toarray()
    gamma = mean_distance_gamma(dense)
    with threadpool_limits(1):
        measure(rows, "Ridge", Ridge(1.0), dense, soft)
        measure(rows, "KernelRidge", KernelRidge(alpha=1.0, kernel="rbf", gamma=gamma), dense, soft)


if __name__ == "__main__":
    main()
