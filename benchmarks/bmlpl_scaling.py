"""Seconds per EM iteration on delicious against the share of its positives that is kept.

Processor time of one thread, which other work on the machine hardly changes.
"""

from __future__ import annotations

import time
import warnings

import numba
import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from bmlpl_data import load_split
from labelgap import BMLPL, Labels
from labelgap.fitting import EM
from result_rows import ResultRows

SETTINGS = {"n_factors": 200, "tau": 0.5}
N_ITER, N_ROUNDS = 12, 4


def seconds_per_iteration(X, labels: Labels) -> float:
    """The quickest iteration: everything slower is the machine doing something else."""
    clock: list[float] = []

    def note(progress: object) -> None:
        clock.append(time.process_time())

    numba.set_num_threads(1)
    with threadpool_limits(1):
        loop = EM(N_ITER, 0.0)
        BMLPL(**SETTINGS, inference=loop, callback=note, random_state=0).fit(X, labels)
    return float(np.diff(clock).min())


def keep(labels: Labels, share: float) -> Labels:
    positives = labels.positives().tocoo()
    kept = np.random.default_rng(0).random(positives.nnz) < share
    ones = (np.ones(kept.sum()), (positives.coords[0][kept], positives.coords[1][kept]))
    return Labels.from_sparse(sparse.csr_array(ones, shape=labels.shape))


def main() -> None:
    warnings.simplefilter("ignore")
    split = load_split("delicious")
    rows = ResultRows("bmlpl_scaling", ("share", "n_labels"))
    seconds_per_iteration(split.X[:500], split.Y[:500])
    if rows.rows:
        return
    kept = {share: keep(split.Y, share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)}
    quickest = dict.fromkeys(kept, np.inf)
    for _ in range(N_ROUNDS):
        for share, labels in kept.items():
            quickest[share] = min(quickest[share], seconds_per_iteration(split.X, labels))
    for share, labels in kept.items():
        row = {"experiment": "scaling", "dataset": "delicious", "share": share}
        row |= {"n_labels": labels.n_labels, "n_positives": labels.n_positives()}
        rows.add({**row, "seconds_per_iteration": quickest[share]})


if __name__ == "__main__":
    main()
