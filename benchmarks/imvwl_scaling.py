"""Seconds per iteration of iMVWL against the rows, the widths of the views and the factors.

Generated views, half of the labels and of the rows of each view missing; one number is varied, the
others stay. Time is that of the processor, the least of the iterations.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from labelgap import IMVWL
from labelgap.generators import make_views
from result_rows import ResultRows

BASE = {"n_rows": 3000, "n_features": 3000, "n_factors": 20}
VALUES = {
    "n_rows": (1000, 2000, 4000, 8000),
    "n_features": (1000, 2000, 4000, 8000),
    "n_factors": (5, 10, 20, 40, 80),
}
N_LABELS, N_VIEWS, N_ITER = 50, 3, 6


def seconds_per_iteration(n_rows: int, n_features: int, n_factors: int) -> float:
    widths = (n_features // N_VIEWS,) * N_VIEWS
    data = make_views(n_rows, widths, N_LABELS, n_factors=10, random_state=0)
    moments: list[float] = []
    model = IMVWL(
        data.groups,
        n_factors,
        max_iter=N_ITER,
        callback=lambda progress: moments.append(time.process_time()),
        random_state=0,
    )
    model.fit(data.X, data.labels)
    return float(np.diff(moments).min())


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("imvwl_scaling", ("varied", "value"))
    seconds_per_iteration(100, 30, 5)  # compiles
    for varied, values in VALUES.items():
        for value in values:
            if rows.find(varied=varied, value=value):
                continue
            found = seconds_per_iteration(**{**BASE, varied: value})
            row = {"experiment": "scaling", "varied": varied, "value": value}
            rows.add({**row, "seconds_per_iteration": found})


if __name__ == "__main__":
    main()
