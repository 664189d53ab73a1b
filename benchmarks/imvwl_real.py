"""Two more views that corel5k has for its test rows alone.

The 4500 training rows lack Gist and Hsv. Test rows join the fit without labels (the paper's
protocol), so that the views become part of the subspace. Half of the training labels and half of
the rows of every view are hidden besides, differently in every run.

``python benchmarks/imvwl_real.py [n_runs]``; rows that are there are not run again.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from imvwl_data import METRICS, Run, scores
from imvwl_methods import IMPROVED, YARDSTICK, imputed, imvwl
from labelgap import Labels
from labelgap.data import load_dataset
from labelgap.protocols import hide_per_label, hide_views
from labelgap.views import ViewGroups
from result_rows import ResultRows

COMPLETE = ("DenseHue", "DenseSift", "Lab", "Rgb")


def load_real(seed: int, n_views: int) -> Run:
    """All rows for training, test rows without labels, and these with their labels."""
    data = load_dataset("corel5k_multiview")
    names = list(data.views) if n_views == 6 else list(COMPLETE)
    X = np.hstack([data.X[:, data.views[name]] for name in names])
    groups = ViewGroups({name: data.views.widths[name] for name in names})
    test = ~np.isnan(data.X[:, data.views["Gist"].start])
    X = hide_views(X, groups, 0.5, random_state=seed).X
    Y = hide_per_label(data.Y[~test], 0.5, random_state=seed).labels
    unknown = Labels.from_dense(np.full((int(test.sum()), Y.n_labels), np.nan))
    joined = Labels.concatenate([Y, unknown.with_names(Y.names)])
    order = np.concatenate([np.flatnonzero(~test), np.flatnonzero(test)])
    return Run(X[order], joined, X[test], data.Y[test], groups)


def main() -> None:
    warnings.simplefilter("ignore")
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    rows = ResultRows("imvwl_real", ("seed", "n_views", "method"))
    for seed in range(n_runs):
        for n_views in (4, 6):
            run = load_real(seed, n_views)
            makes = {
                "mean imputation, roots, tuned": lambda run=run, seed=seed: imputed(
                    run, seed, roots=True, **YARDSTICK
                ),
                "iMVWL": lambda run=run, seed=seed: imvwl(run, seed),
                "iMVWL, roots, combined": lambda run=run, seed=seed: imvwl(
                    run, seed, roots=True, **IMPROVED
                ),
            }
            for name, make in makes.items():
                if rows.find(seed=seed, n_views=n_views, method=name):
                    continue
                start = time.perf_counter()
                model = make().fit(run.X, run.Y)
                row = {"experiment": "real", "seed": seed, "n_views": n_views, "method": name}
                row |= {"fit_seconds": time.perf_counter() - start}
                found = scores(run.Y_test, model.predict_proba(run.X_test))
                rows.add({**row, **{name: found[name] for name in METRICS}})


if __name__ == "__main__":
    main()
