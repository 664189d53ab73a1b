"""iMVWL, its variants and what a user would pick, with half of labels and views missing.

``python benchmarks/imvwl_corel5k.py [n_runs [dataset [which]]]``; rows that are there are not run
again. With ``core`` only those methods are run that are compared by a paired test, with anything
else those that have it in their name.
"""

from __future__ import annotations

import sys
import time
import warnings

from imvwl_data import load_run, published, scores
from imvwl_methods import methods
from result_rows import ResultRows

SIDE = ("low-rank", "iMVWL, intercept", "iMVWL, logistic", "iMVWL, roots, k")


def main() -> None:
    warnings.simplefilter("ignore")
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    dataset = sys.argv[2] if len(sys.argv) > 2 else "corel5k_multiview"
    which = " ".join(sys.argv[3:])
    rows = ResultRows("imvwl_accuracy", ("dataset", "seed", "method"))
    for seed in range(n_runs):
        run = load_run(dataset, seed)
        for name, make in methods(run, seed).items():
            if name.startswith(SIDE) if which == "core" else which not in name:
                continue
            if rows.find(dataset=dataset, seed=seed, method=name):
                continue
            start = time.perf_counter()
            model = make().fit(run.X, run.Y)
            row = {"experiment": "accuracy", "dataset": dataset, "seed": seed, "method": name}
            row |= {"fit_seconds": time.perf_counter() - start}
            row |= scores(run.Y_test, model.predict_proba(run.X_test))
            corel = dataset.startswith("corel5k")
            rows.add({**row, "published": published(name) if corel else None})


if __name__ == "__main__":
    main()
