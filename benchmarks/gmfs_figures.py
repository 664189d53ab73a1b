"""What moves GMFS: the share of hidden positives, the prior, neighbours and factors.

Figures 2 to 4 of its paper, on standardised features, five runs each:

- missing: yeast, 10 to 60% of the positives hidden, mean over five numbers of features, with the
  methods of tables 2 and 3 and a forest
- priors: emotions, 20% hidden, every sixth of the features, spike-and-slab and Laplace prior
- neighbours: emotions, 20% hidden, theta from 0 to 30 nearest rows
- factors: science, 20% hidden, 2 to 40 factors (half of the features kept)

    python benchmarks/gmfs_figures.py [missing] [priors] [neighbours] [factors]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import gmfs_methods
from gmfs_data import COLUMNS, FIRST_RUN
from gmfs_tables import ALL, KEY, chosen, measure
from result_rows import ResultRows

HIDDEN = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
NEIGHBOURS = (0, 5, 10, 15, 20, 25, 30)
FACTORS = (2, 5, 10, 20, 30, 40)
SCALED = {"scalings": ("standardised",)}


def missing(rows: ResultRows, seed: int) -> None:
    for rate in HIDDEN:
        for method in (ALL, *COLUMNS[1:], "forest"):
            measure(rows, "yeast", rate, method, seed, experiment="missing", **SCALED)


def priors(rows: ResultRows, seed: int) -> None:
    for method in ("GMFS", "GMFS, Laplace"):
        choice = {"experiment": "priors", "sixths": (1, 2, 3, 4, 5, 6), **SCALED}
        measure(rows, "emotions", 0.2, method, seed, **choice)


def neighbours(rows: ResultRows, seed: int) -> None:
    for k in NEIGHBOURS:
        settings = {**chosen("emotions", 0.2, "GMFS"), "k": k}
        choice = {"experiment": "neighbours", "settings": settings, **SCALED}
        measure(rows, "emotions", 0.2, "GMFS", seed, **choice)


def factors(rows: ResultRows, seed: int) -> None:
    for c in FACTORS:
        settings = {"sigma_0": chosen("science", 0.2, "GMFS")["sigma_0"], "n_factors": c}
        choice = {"experiment": "factors", "settings": settings, "sixths": (3,), **SCALED}
        measure(rows, "science", 0.2, "GMFS", seed, **choice)


EXPERIMENTS: dict[str, Callable[[ResultRows, int], None]] = {
    "missing": missing,
    "priors": priors,
    "neighbours": neighbours,
    "factors": factors,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiments", nargs="*", default=list(EXPERIMENTS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--device", help="device of torch for the fits of tuned methods")
    arguments = parser.parse_args()
    gmfs_methods.DEVICE = arguments.device
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_figures", KEY)
    for name in arguments.experiments:
        for seed in range(FIRST_RUN, FIRST_RUN + arguments.runs):
            EXPERIMENTS[name](rows, seed)


if __name__ == "__main__":
    main()
