"""What BMLPL costs: empty labels, the count step, and peak memory of large fits.

Fits whose memory is measured run in processes of their own.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings

import numpy as np
from scipy import sparse

from bmlpl_data import load_split
from bmlpl_scaling import seconds_per_iteration
from labelgap import BMLPL, Labels
from labelgap.fitting import EM, OnlineEM
from labelgap.generators import make_topics
from labelgap.kernels.counts import expected_counts, prepare_positives
from result_rows import ResultRows, peak_gigabytes

EMPTY, COUNTS = "ten times more labels, all new ones empty", "count step, against plain numpy"
EURLEX, LARGE = "EM, 200 topics, 5 iterations", "online pass, 32 topics"


def empty_labels() -> dict:
    """Alternates the two problems, so that both meet the same moments of the machine."""
    split = load_split("delicious")
    wide_shape = (split.Y.n_rows, 10 * split.Y.n_labels)
    positives = sparse.csr_array(split.Y.positives())
    wide = Labels.from_sparse(
        sparse.csr_array((positives.data, positives.indices, positives.indptr), shape=wide_shape)
    )
    pairs = [(seconds_per_iteration(split.X, y) for y in (split.Y, wide)) for _ in range(3)]
    plain, widened = np.median(np.array([list(pair) for pair in pairs]), axis=0)
    facts = {"dataset": "delicious", "n_labels": wide.n_labels, "n_positives": wide.n_positives()}
    return {**facts, "seconds": widened, "ratio": widened / plain}


def count_step() -> dict:
    split = load_split("delicious")
    rng = np.random.default_rng(0)
    matrix = split.Y.positives()
    positives = prepare_positives(matrix)
    U = rng.gamma(0.3, size=(matrix.shape[0], 200))
    V = rng.dirichlet(np.ones(matrix.shape[1]), 200).T.copy()
    ours, plain = [], []
    expected_counts(positives, U, V)
    for _ in range(5):
        ours.append(timed(lambda: expected_counts(positives, U, V)))
        plain.append(timed(lambda: plain_counts(matrix, U, V)))
    facts = {"dataset": "delicious", "n_labels": matrix.shape[1], "n_positives": matrix.nnz}
    return {**facts, "seconds": np.median(ours), "ratio": np.median(plain) / np.median(ours)}


def plain_counts(matrix: sparse.csr_array, U: np.ndarray, V: np.ndarray) -> tuple:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    rate = np.einsum("ik,ik->i", U[rows], V[matrix.indices])
    ratio = sparse.csr_array((-1 / np.expm1(-rate), matrix.indices, matrix.indptr), matrix.shape)
    return U * (ratio @ V), V * (ratio.T @ U), np.log(np.expm1(rate)).sum()


def timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def eurlex() -> dict:
    split = load_split("eurlex4k")
    model = BMLPL(200, tau=0.03, inference=EM(5, 0.0), random_state=0)
    seconds = timed(lambda: model.fit(split.X, split.Y))
    facts = {"dataset": "eurlex4k", "n_rows": split.X.shape[0], "n_labels": split.Y.n_labels}
    return {**facts, "seconds": seconds, "n_positives": split.Y.n_positives()}


def large() -> dict:
    data = make_topics(200_000, 50, 1_000_000, n_topics=20, labels_per_row=10.0, random_state=0)
    loop = OnlineEM(5_000, n_local=2, n_cg=2)
    X = np.asarray(data.X, dtype=np.float32)
    model = BMLPL(32, inference=loop, random_state=0)
    seconds = timed(lambda: model.fit(X, data.labels))
    facts = {"dataset": "generated", "n_rows": X.shape[0], "n_labels": data.labels.n_labels}
    return {**facts, "seconds": seconds, "n_positives": data.labels.n_positives()}


MEASUREMENTS = {EMPTY: empty_labels, COUNTS: count_step, EURLEX: eurlex, LARGE: large}


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("bmlpl_cost", ("what",))
    if len(sys.argv) == 2:
        what = sys.argv[1]
        row = {"experiment": "cost", "what": what, **MEASUREMENTS[what]()}
        if what in (EURLEX, LARGE):
            row["peak_gb"] = peak_gigabytes()
        rows.add(row)
        return
    for what in MEASUREMENTS:
        if rows.find(what=what) is None:
            subprocess.run([sys.executable, __file__, what], check=True)


if __name__ == "__main__":
    main()
