"""Feature selection with hidden positives: tables 2 and 3 of the GMFS paper, and common filters.

Five runs of a random split with 20 or 40% of the training positives set to zero; d/6 to 5d/6 of
the features kept; one RBF machine per label, on raw and on standardised features. Two runs
on bibtex and delicious. Rankings are kept (``gmfs_rankings``).
What the ledger has measured is not measured again.
Settings are chosen once per set and rate, by training on three quarters of the first run's
training rows and classifying the rest (five such divisions for emotions, three for yeast, one for
the others; 3000 rows of bibtex and delicious) with 1/6, 3/6 and 5/6 of the features: eight
candidates for every method that has any.

    python benchmarks/gmfs_tables.py [sets] [--rates 0.4] [--methods FSNM GMFS] [--sixths 3]
                                     [--device cuda] [--machines cuda]

A device of torch takes the fits of tuned methods, and the machines where asked: with CUDA and
triton they take the steps of the processor there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import gmfs_ledger
import gmfs_methods
from gmfs_data import (
    DIVISIONS,
    FIRST_RUN,
    LARGE,
    RATES,
    SCALINGS,
    SETS,
    SIXTHS,
    Run,
    classify,
    published,
    run_numbers,
    score,
    sizes,
)
from gmfs_methods import FILTERS, TUNED, Settings
from gmfs_rankings import Place, drawn, stored_ranking
from result_rows import ResultRows

ALL = "All features"
KEY = ("experiment", "dataset", "missing", "method", "scaling", "run", "sixths", "params")
# Where machines are trained: a device of torch, or the processor.
machines_on: list[str | None] = [None]


def chosen(name: str, rate: float, method: str) -> Settings:
    """Settings of a method for a set and rate; stored."""
    if method not in TUNED:
        return {}
    if (settings := gmfs_ledger.chosen_settings(name, rate, method)) is not None:
        return settings
    rows = ResultRows("gmfs_selection", ("dataset", "missing", "method"))
    row = rows.find(dataset=name, missing=rate, method=method)
    if row is None:
        start = time.perf_counter()
        found = [inner_score(name, rate, method, settings) for settings in TUNED[method][1]]
        best = int(np.argmax(found))
        row = {"experiment": "selection", "dataset": name, "missing": rate, "method": method}
        row |= {"candidates": TUNED[method][1], "scores": found, "params": TUNED[method][1][best]}
        rows.add({**row, "seconds": time.perf_counter() - start})
    return row["params"]


def inner_score(name: str, rate: float, method: str, settings: Settings) -> float:
    """Average precision inside the training rows of the first run; hidden labels stay hidden."""
    found = []
    for division in range(DIVISIONS.get(name, 1)):
        place = Place(name, rate, FIRST_RUN, division)
        order = stored_ranking(place, method, settings).order
        result = evaluate(place.draw(), "standardised", order, sizes(len(order), (1, 3, 5)))
        found.append(result["average_precision"])
    return float(np.mean(found))


def evaluate(run: Run, scaling: str, order: np.ndarray, kept: list[int]) -> dict:
    """Scores for every number of features kept, and their means."""
    found = [score(run, one) for one in classify(run, scaling, order, kept, machines_on[0])]
    by_size = {f"{name}_by_size": [one[name] for one in found] for name in found[0]}
    means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return {"sizes": kept, **means, **by_size}


def measure(
    rows: ResultRows,
    name: str,
    rate: float,
    method: str,
    seed: int,
    *,
    sixths: tuple[int, ...] = SIXTHS,
    scalings: tuple[str, ...] = SCALINGS,
    experiment: str = "tables",
    settings: Settings | None = None,
) -> None:
    """Rows of one method and one run, one per scaling of the features."""
    parts = (6,) if method == ALL else sixths
    params = chosen(name, rate, method) if settings is None else settings
    wanted = {"experiment": experiment, "dataset": name, "missing": rate, "method": method}
    wanted |= {"run": seed, "sixths": list(parts), "params": params}
    missing = [s for s in scalings if not rows.find(**wanted, scaling=s)]
    if experiment == "tables" and parts in (SIXTHS, (6,)):
        there = (name, rate, method)
        missing = [s for s in missing if not gmfs_ledger.has(*there, s, seed)]
    if not missing:
        return
    run = drawn(name, rate, seed)
    d = run.raw.shape[1]
    order, seconds = np.arange(d), 0.0
    if method != ALL:
        order, seconds = stored_ranking(Place(name, rate, seed), method, params)
    for scaling in missing:
        start = time.perf_counter()
        found = evaluate(run, scaling, order, sizes(d, parts))
        row: dict[str, Any] = {**wanted, "scaling": scaling, **found, "classifier": "rbf"}
        row |= {"published": published(name, rate, method), "fit_seconds": seconds}
        row |= {"device": gmfs_methods.DEVICE, "machines": machines_on[0]}
        rows.add({**row, "classify_seconds": time.perf_counter() - start})


def show(rows: ResultRows, names: list[str], rates: list[float]) -> None:
    """Means and deviations over the runs of the mean over sizes, and the published figures."""
    kept = [row for row in rows.rows if row["experiment"] == "tables"]
    for name in names:
        for rate in rates:
            some = [r for r in kept if (r["dataset"], r["missing"]) == (name, rate)]
            print(f"\n{f'{name}, {rate:.0%} hidden':26}" + "".join(f"{s:>22}" for s in SCALINGS))
            for method in dict.fromkeys(row["method"] for row in some):
                line = f"{method:26}"
                for scaling in SCALINGS:
                    values = [
                        row["average_precision"]
                        for row in some
                        if (row["method"], row["scaling"]) == (method, scaling)
                    ]
                    spread = f"{np.mean(values):.3f} ± {np.std(values):.3f}" if values else "-"
                    line += f"{f'{spread} ({len(values)})':>22}"
                figure = published(name, rate, method)
                print(line + ("" if figure is None else f"   published {figure:.3f}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*SETS, *LARGE])
    parser.add_argument("--rates", nargs="*", type=float, default=list(RATES))
    parser.add_argument("--runs", nargs="*", type=int, help="1 to 5, or 1 and 2, by default")
    parser.add_argument("--methods", nargs="*", default=[ALL, *FILTERS, *TUNED])
    parser.add_argument("--sixths", nargs="*", type=int, default=list(SIXTHS))
    parser.add_argument("--scalings", nargs="*", default=list(SCALINGS))
    parser.add_argument("--device", help="device of torch for the fits of tuned methods")
    parser.add_argument("--machines", help="device of torch for the machines")
    arguments = parser.parse_args()
    gmfs_methods.DEVICE, machines_on[0] = arguments.device, arguments.machines
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_tables", KEY)
    for name in arguments.sets:
        for rate in arguments.rates:
            for seed in arguments.runs or run_numbers(name):
                for method in arguments.methods:
                    choice = {"sixths": tuple(arguments.sixths)}
                    choice |= {"scalings": tuple(arguments.scalings)}
                    measure(rows, name, rate, method, seed, **choice)
    show(rows, arguments.sets, arguments.rates)


if __name__ == "__main__":
    main()
