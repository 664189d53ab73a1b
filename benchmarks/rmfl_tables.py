"""RMFL against kernel ridge per label, in the protocol of the RMFL paper.

Ten runs of 80/20 (three for the sets with over 3,000 rows), 0, 40, 60 and 80% of each training
row's labels unknown, five criteria. Every method tries the same number of settings by five-fold
cross-validation on the observed training entries of the first run; sets with over 3,000 rows try
half as many, on 2,000 of their rows. The runs are 1 to 10: the ranges tried were narrowed with
the split of seed 0 in sight, and no row of a table comes from it.

    python benchmarks/rmfl_tables.py [sets] [--rates 0 0.4] [--runs 10] [--methods ...]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from labelgap import RMFL, RMFLCV, KernelRidgePerLabel, metrics
from result_rows import ResultRows
from rmfl_data import CRITERIA, LARGE, RATES, SMALL, Run, draw_run, published, score, some_rows

N_CANDIDATES = {"small": 48, "large": 24}
TUNING_ROWS = 2000
FIRST_RUN = 1
LAMBDA_1 = (0.01, 0.1, 1.0, 10.0)
LAMBDA_2 = (0.01, 1.0, 10.0, 100.0)
LAMBDA_4 = tuple(4.0**power for power in range(-4, 3))
RIDGES = (1.0, 10.0, 100.0)
RIDGE = "kernel ridge per label"
VARIANTS: dict[str, dict[str, Any]] = {
    "RMFL": {},
    "RMFL, lambda_1 = 0": {"lambda_1": (0.0,)},
    "RMFL, lambda_2 = 0": {"lambda_2": (0.0,)},
    "RMFL, linear": {"kernel": "linear"},
}


def rmfl(kernel: str = "rbf", **settings: float) -> RMFL:
    """k = 20 and ten neighbours as in the paper."""
    return RMFL(20, n_neighbors=10, kernel=kernel, tol=1e-4, random_state=0, **settings)


def tune(method: str, run: Run, size: str) -> tuple[dict[str, float], float]:
    """Settings with the best average precision, and that average precision."""
    if method == RIDGE:
        grid = {"alpha": np.geomspace(1e-2, 1e2, N_CANDIDATES[size]).tolist()}
        folds = KFold(5, shuffle=True, random_state=0)
        scoring = metrics.get_scorer("average_precision")
        search = GridSearchCV(KernelRidgePerLabel(), grid, cv=folds, scoring=scoring, refit=False)
        search.fit(run.X, run.Y)
        return search.best_params_, search.best_score_
    settings = dict(VARIANTS[method])
    base = rmfl(settings.pop("kernel", "rbf"))
    grid = {"lambda_1": LAMBDA_1, "lambda_2": LAMBDA_2, "lambda_4": LAMBDA_4, "ridge_v": RIDGES}
    grid |= settings
    found = RMFLCV(base, **grid, n_candidates=N_CANDIDATES[size], cv=5, random_state=0)
    found.fit(run.X, run.Y)
    return found.best_params_, found.best_score_


def make(method: str, params: dict[str, float]) -> Any:
    if method == RIDGE:
        return KernelRidgePerLabel(**params)
    return rmfl(VARIANTS[method].get("kernel", "rbf"), **params)


def chosen(name: str, rate: float, method: str) -> dict[str, float]:
    """Settings of a method for a set and rate, from the first run; stored."""
    rows = ResultRows("rmfl_selection", ("dataset", "missing", "method"))
    row = rows.find(dataset=name, missing=rate, method=method)
    if row is None:
        size = "large" if name in LARGE else "small"
        run = draw_run(name, rate, FIRST_RUN)
        start = time.perf_counter()
        params, value = tune(method, some_rows(run, TUNING_ROWS) if size == "large" else run, size)
        row = {"experiment": "selection", "dataset": name, "missing": rate, "method": method}
        row |= {"candidates": N_CANDIDATES[size], "params": params, "cv_score": value}
        rows.add({**row, "seconds": time.perf_counter() - start})
    return row["params"]


def measure(rows: ResultRows, name: str, rate: float, method: str, seed: int) -> None:
    wanted = {"dataset": name, "missing": rate, "method": method, "run": seed}
    if rows.find(**wanted):
        return
    params = chosen(name, rate, method)
    run = draw_run(name, rate, seed)
    start = time.perf_counter()
    model = make(method, params).fit(run.X, run.Y)
    seconds = time.perf_counter() - start
    row = {"experiment": "tables", **wanted, "params": params, **score(model, run)}
    row["published"] = published(name, rate) if method == "RMFL" else None
    rows.add({**row, "fit_seconds": seconds, "n_iter": getattr(model, "n_iter_", None)})


def show(rows: ResultRows, names: list[str], rates: list[float], methods: list[str]) -> None:
    """Means over the runs, and the published figures."""
    for name in names:
        for rate in rates:
            heading = f"{name}, {rate:.0%} missing"
            print(f"\n{heading:28}" + "".join(f"{c:>19}" for c in CRITERIA))
            for method in methods:
                match = {"dataset": name, "missing": rate, "method": method}
                some = [r for r in rows.rows if match.items() <= r.items()]
                if some:
                    values = [np.mean([row[c] for row in some]) for c in CRITERIA]
                    print(
                        f"{method + f' ({len(some)})':28}" + "".join(f"{v:>19.3f}" for v in values)
                    )
            figures = published(name, rate)
            if figures:
                show_line("RMFL, published", figures)


def show_line(title: str, values: dict[str, float]) -> None:
    print(f"{title:28}" + "".join(f"{values[c]:>19.3f}" for c in CRITERIA))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*SMALL, *LARGE])
    parser.add_argument("--rates", nargs="*", type=float, default=list(RATES))
    parser.add_argument("--runs", type=int, help="10 for small sets, 3 for large ones by default")
    parser.add_argument("--methods", nargs="*", default=["RMFL", RIDGE])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("rmfl_tables", ("dataset", "missing", "method", "run"))
    for name in arguments.sets:
        for rate in arguments.rates:
            for method in arguments.methods:
                n_runs = arguments.runs or (3 if name in LARGE else 10)
                for seed in range(FIRST_RUN, FIRST_RUN + n_runs):
                    measure(rows, name, rate, method, seed)
    show(rows, arguments.sets, arguments.rates, arguments.methods)


if __name__ == "__main__":
    main()
