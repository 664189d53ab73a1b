"""Curves on corel5k: missing labels and views, sizes of the subspace, alpha and beta, iterations.

``python benchmarks/imvwl_curves.py [n_runs]``; rows that are there are not run again. No runs leave
the first two out.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from imvwl_data import Run, load_run, scores
from imvwl_methods import IMPROVED, VARIANTS, YARDSTICK, imputed, imvwl
from result_rows import ResultRows

DATASET = "corel5k_multiview"
SHARES = (0.0, 0.1, 0.3, 0.5)
SIZES = (0.2, 0.5, 0.8)
WEIGHTS = (1e-3, 1e-2, 1e-1, 1.0)
N_LABELS_SHOWN = 25


def compared(run: Run, seed: int) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        f"k = {size} d_min": lambda size=size: imvwl(run, seed, n_factors=size) for size in SIZES
    }
    found["mean imputation, roots, tuned"] = lambda: imputed(run, seed, roots=True, **YARDSTICK)
    found["iMVWL, roots, combined"] = lambda: imvwl(run, seed, roots=True, **IMPROVED)
    return found


def measure_shares(n_runs: int) -> None:
    """One share goes up, the other stays at one half."""
    rows = ResultRows("imvwl_curves", ("labels", "views", "seed", "method"))
    places = [(share, 0.5) for share in SHARES] + [(0.5, share) for share in SHARES[:-1]]
    for seed in range(n_runs):
        for labels, views in places:
            run = load_run(DATASET, seed, labels, views)
            for name, make in compared(run, seed).items():
                key = {"labels": labels, "views": views, "seed": seed, "method": name}
                if rows.find(**key):
                    continue
                model = make().fit(run.X, run.Y)
                found = scores(run.Y_test, model.predict_proba(run.X_test))
                rows.add({"experiment": "curves", **key, **found})


def measure_sensitivity(seed: int = 0) -> None:
    rows = ResultRows("imvwl_sensitivity", ("alpha", "beta"))
    run = load_run(DATASET, seed)
    for alpha in WEIGHTS:
        for beta in WEIGHTS:
            if rows.find(alpha=alpha, beta=beta):
                continue
            model = imvwl(run, seed, alpha=alpha, beta=beta).fit(run.X, run.Y)
            found = scores(run.Y_test, model.predict_proba(run.X_test))
            rows.add({"experiment": "sensitivity", "alpha": alpha, "beta": beta, **found})


def measure_convergence(seed: int = 0) -> None:
    """The objective by iteration, one row per variant."""
    rows = ResultRows("imvwl_convergence", ("method",))
    run = load_run(DATASET, seed)
    for name, settings in VARIANTS.items():
        if rows.find(method=name):
            continue
        model = imvwl(run, seed, max_iter=100, **settings).fit(run.X, run.Y)
        objective = [float(value) for value in model.trace_.objective]
        rows.add({"experiment": "convergence", "method": name, "objective": objective})
        if name == "iMVWL":
            measure_correlation(run, model)


def measure_correlation(run: Run, model: Any) -> None:
    """S among the most frequent labels."""
    rows = ResultRows("imvwl_correlation", ("experiment",))
    if rows.find(experiment="correlation"):
        return
    frequent = np.sort(np.argsort(run.Y.n_positives(axis=0))[::-1][:N_LABELS_SHOWN])
    known = run.Y.names
    names = [str(label if known is None else known[label]) for label in frequent]
    found = model.label_correlation_[np.ix_(frequent, frequent)].round(4).tolist()
    rows.add({"experiment": "correlation", "labels": names, "correlation": found})


def main() -> None:
    warnings.simplefilter("ignore")
    measure_convergence()
    measure_sensitivity()
    measure_shares(int(sys.argv[1]) if len(sys.argv) > 1 else 3)


if __name__ == "__main__":
    main()
