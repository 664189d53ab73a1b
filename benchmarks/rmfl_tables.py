"""RMFL against kernel ridge per label, in the protocol of the RMFL paper.

Ten runs of 80/20 (five for sets with over 3,000 rows, three for corel16k), 0, 40, 60 and 80% of
each training row's labels unknown, five criteria. Every method tries the same number of settings
by three-fold cross-validation on the observed training entries of the first run: 16, or where the
set has over 3,000 rows 24 of a reduced grid on 1,500 of them, half with 20 factors and half with
as many as there are labels (at most 100), with a looser end of the iterations (tol=1e-3). The
criterion of choice is the average precision, or the micro AUC where gaps leave fewer than seven
labels of a row. The runs are 1 to 10: the values tried were chosen with the split of seed 0 in
sight, and no row of a table comes from it.

    python benchmarks/rmfl_tables.py [sets] [--rates 0 0.4] [--runs 10] [--methods ...]
        [--device cuda]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from labelgap import RMFL, RMFLCV, KernelRidgePerLabel, metrics
from labelgap.models.rmfl._search import default_metric
from result_rows import ResultRows
from rmfl_data import CRITERIA, LARGE, RATES, SMALL, Run, draw_run, published, score, some_rows

N_CANDIDATES, N_CANDIDATES_LARGE = 16, 24
N_FOLDS = 3
TUNING_ROWS = 1500
FIRST_RUN = 1
GRID = {
    "lambda_1": (0.1, 1.0, 10.0),
    "lambda_2": (0.01, 1.0, 100.0),
    "lambda_3": (0.1, 1.0, 10.0, 100.0),
    "lambda_4": tuple(4.0**power for power in range(-3, 2)),
    "ridge_v": (1.0, 3.0, 10.0, 30.0, 100.0),
}
# lambda_3 is left out: multiplying lambda_1, lambda_3 and lambda_4 by c is dividing ridge_v by c
GRID_LARGE = {
    "lambda_1": (0.1, 1.0, 10.0),
    "lambda_2": (0.01, 1.0, 100.0),
    "lambda_3": (1.0,),
    "lambda_4": (0.1, 0.3, 1.0, 3.0),
    "ridge_v": (0.1, 0.3, 1.0, 3.0, 10.0),
}
MOST_FACTORS = 100
RIDGE = "kernel ridge per label"
VARIANTS: dict[str, dict[str, Any]] = {
    "RMFL": {},
    "RMFL, lambda_1 = 0": {"lambda_1": (0.0,)},
    "RMFL, lambda_2 = 0": {"lambda_2": (0.0,)},
    "RMFL, linear": {"kernel": "linear"},
}
# not tuned by themselves: the settings of the full model, and one of them zero
ALL_ELSE_EQUAL = {
    "RMFL, lambda_1 = 0, all else equal": "lambda_1",
    "RMFL, lambda_2 = 0, all else equal": "lambda_2",
}


DEVICE: dict[str, str] = {}


def rmfl(kernel: str = "rbf", n_factors: int = 20, **settings: float) -> RMFL:
    """k = 20 and ten neighbours as in the paper."""
    fixed: dict[str, Any] = {"n_neighbors": 10, "tol": 1e-4, "random_state": 0, **DEVICE}
    return RMFL(n_factors, kernel=kernel, **fixed, **settings)


def tune(method: str, run: Run, large: bool) -> tuple[dict[str, Any], float]:
    """The best settings, and their mean score over the folds."""
    if method == RIDGE:
        return tune_ridge(run, N_CANDIDATES_LARGE if large else N_CANDIDATES)
    settings = dict(VARIANTS[method])
    base = rmfl(settings.pop("kernel", "rbf"))
    if not large:
        found = search(base, {**GRID, **settings}, N_CANDIDATES, run)
        return found.best_params_, found.best_score_
    best: tuple[dict[str, Any], float] = ({}, -np.inf)
    for n_factors in (20, min(run.Y.n_labels, MOST_FACTORS)):
        base.set_params(n_factors=n_factors, tol=1e-3)
        found = search(base, {**GRID_LARGE, **settings}, N_CANDIDATES_LARGE // 2, run)
        if found.best_score_ > best[1]:
            best = {"n_factors": n_factors, **found.best_params_}, found.best_score_
    return best


def search(base: RMFL, grid: dict[str, Any], n_candidates: int, run: Run) -> RMFLCV:
    settings = {"search": "coordinate", "n_candidates": n_candidates, "cv": N_FOLDS}
    return RMFLCV(base, **grid, **settings, random_state=0).fit(run.X, run.Y)


def tune_ridge(run: Run, n_candidates: int) -> tuple[dict[str, Any], float]:
    """By the same criterion, with as many candidates and folds."""
    alphas = np.geomspace(1e-2, 1e2, n_candidates).tolist()
    folds = KFold(N_FOLDS, shuffle=True, random_state=0)
    metric = metrics.get_metric(default_metric(run.Y))
    scores = []
    for train, test in folds.split(np.zeros(run.Y.n_rows)):
        gamma = None
        for alpha in alphas:
            model = KernelRidgePerLabel(alpha, gamma=gamma, **ridge_solver(run))
            model.fit(run.X[train], run.Y[train])
            gamma = model.gamma_
            scores.append(float(metric(run.Y[test], model.decision_function(run.X[test]))))
    means = np.reshape(scores, (-1, len(alphas))).mean(axis=0)
    return {"alpha": alphas[means.argmax()]}, float(means.max())


def ridge_solver(run: Run) -> dict[str, str]:
    """One factor per label is too slow for over a hundred labels."""
    return {"solver": "cg", **DEVICE} if run.Y.n_labels > 100 else {}


def make(method: str, params: dict[str, float], run: Run) -> Any:
    if method == RIDGE:
        return KernelRidgePerLabel(**params, **ridge_solver(run))
    return rmfl(VARIANTS.get(method, {}).get("kernel", "rbf"), **params)


def chosen(name: str, rate: float, method: str) -> dict[str, float]:
    """Settings of a method for a set and rate, from the first run; stored."""
    if method in ALL_ELSE_EQUAL:
        return {**chosen(name, rate, "RMFL"), ALL_ELSE_EQUAL[method]: 0.0}
    rows = ResultRows("rmfl_selection", ("dataset", "missing", "method"))
    row = rows.find(dataset=name, missing=rate, method=method)
    if row is None:
        run = draw_run(name, rate, FIRST_RUN)
        start = time.perf_counter()
        large = name in LARGE
        params, value = tune(method, some_rows(run, TUNING_ROWS) if large else run, large)
        row = {"experiment": "selection", "dataset": name, "missing": rate, "method": method}
        tried = N_CANDIDATES_LARGE if large else N_CANDIDATES
        row |= {"candidates": tried, "folds": N_FOLDS, "params": params}
        row |= {"criterion": default_metric(run.Y), "cv_score": value}
        rows.add({**row, "seconds": time.perf_counter() - start, **DEVICE})
    return row["params"]


def measure(rows: ResultRows, name: str, rate: float, method: str, seed: int) -> None:
    wanted = {"dataset": name, "missing": rate, "method": method, "run": seed}
    if rows.find(**wanted):
        return
    params = chosen(name, rate, method)
    run = draw_run(name, rate, seed)
    start = time.perf_counter()
    model = make(method, params, run).fit(run.X, run.Y)
    seconds = time.perf_counter() - start
    row = {"experiment": "tables", **wanted, "params": params, **score(model, run)}
    row["published"] = published(name, rate) if method == "RMFL" else None
    row |= {"fit_seconds": seconds, "n_iter": getattr(model, "n_iter_", None)}
    rows.add({**row, **DEVICE})


def number_of_runs(name: str) -> int:
    if name.startswith("corel16k"):
        return 3
    return 5 if name in LARGE else 10


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
    parser.add_argument("--runs", type=int, help="10, 5 or 3 by the size of the set")
    parser.add_argument("--methods", nargs="*", default=["RMFL", RIDGE])
    parser.add_argument("--device", help="of torch, such as cuda; recorded in the rows")
    arguments = parser.parse_args()
    if arguments.device:
        DEVICE["device"] = arguments.device
    warnings.simplefilter("ignore")
    rows = ResultRows("rmfl_tables", ("dataset", "missing", "method", "run"))
    for name in arguments.sets:
        for rate in arguments.rates:
            for method in arguments.methods:
                n_runs = arguments.runs or number_of_runs(name)
                for seed in range(FIRST_RUN, FIRST_RUN + n_runs):
                    measure(rows, name, rate, method, seed)
    show(rows, arguments.sets, arguments.rates, arguments.methods)


if __name__ == "__main__":
    main()
