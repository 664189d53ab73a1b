"""Seconds per EM iteration on delicious against the share of its positives that is kept."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from bmlpl_data import load_split
from labelgap import BMLPL, Labels
from labelgap.fitting import EM
from result_rows import ResultRows

SETTINGS = {"n_factors": 200, "tau": 0.5}
N_ITER = 12


def seconds_per_iteration(X, labels: Labels) -> float:
    """Median over the iterations, so that a busy moment does not count."""
    model = BMLPL(**SETTINGS, inference=EM(N_ITER, 0.0), random_state=0).fit(X, labels)
    return float(np.median(np.diff(model.trace_.seconds)))


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
    for share in (0.2, 0.4, 0.6, 0.8, 1.0):
        if not rows.find(share=share, n_labels=983):
            labels = keep(split.Y, share)
            seconds = seconds_per_iteration(split.X, labels)
            row = {"experiment": "scaling", "dataset": "delicious", "share": share}
            row |= {"n_labels": labels.n_labels, "n_positives": labels.n_positives()}
            rows.add({**row, "seconds_per_iteration": seconds})


if __name__ == "__main__":
    main()
