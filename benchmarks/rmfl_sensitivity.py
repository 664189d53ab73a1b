"""What each setting of RMFL does, and how fast it converges (figures 3, 4 and 5 of the paper).

Sensitivity: yeast with 60% of the labels unknown, one setting varied and the others as the tables
have them, means over runs 1 to 3. Convergence: the change of U V' and the objective per iteration
on yeast and emotions, from the default start and from a random one as in the paper; the first run.
Correlation: what the model learns of the six moods of emotions.

    python benchmarks/rmfl_sensitivity.py
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from labelgap import RMFL
from labelgap.models.rmfl._inputs import signed_targets, working_rows
from labelgap.models.rmfl._model import Penalties, Problem
from labelgap.models.rmfl._prepare import Prepared, prepare
from labelgap.models.rmfl._start import starting_factors
from result_rows import ResultRows
from rmfl_data import Run, draw_run, score
from rmfl_tables import chosen, rmfl

DATASET, RATE, RUNS = "yeast", 0.6, (1, 2, 3)
DECADES = tuple(10.0**power for power in range(-5, 6))
VARIED: dict[str, tuple[float, ...]] = {
    "lambda_1": DECADES,
    "lambda_2": DECADES,
    "lambda_3": DECADES[2:9],
    "lambda_4": tuple(4.0**power for power in range(-7, 3)),
    "ridge_v": DECADES[2:9],
    "n_factors": (1, 2, 4, 7, 10, 14),
    "n_neighbors": (2, 5, 10, 20, 40),
}
N_ITER = 40


def sensitivity(rows: ResultRows) -> None:
    settings = chosen(DATASET, RATE, "RMFL")
    for seed in RUNS:
        run = draw_run(DATASET, RATE, seed)
        shared = prepare(rmfl(**settings), working_rows(run.X), 0, many_ratios=True)
        for name, values in VARIED.items():
            for value in values:
                key = {"varied": name, "value": value, "run": seed}
                if rows.find(**key):
                    continue
                model = rmfl(**settings).set_params(**{name: value})
                found = score(_fit(model, run, None if name == "n_neighbors" else shared), run)
                row = {"experiment": "sensitivity", "dataset": DATASET, "missing": RATE, **key}
                rows.add({**row, **found})


def _fit(model: RMFL, run: Run, shared: Prepared | None) -> Any:
    """As ``fit`` does, on what the settings share."""
    if shared is None:
        return model.fit(run.X, run.Y)
    model.set_params(max_iter=1, tol=0).fit(run.X[:50], run.Y[:50])  # classes and checks
    model.set_params(max_iter=200, tol=1e-4)
    model._learn(shared, signed_targets(run.Y), 0, "zero")
    return model


def convergence(rows: ResultRows) -> None:
    for name in ("yeast", "emotions"):
        settings = chosen(name, RATE, "RMFL")
        run = draw_run(name, RATE, RUNS[0])
        targets = signed_targets(run.Y)
        model = rmfl(**settings)
        penalties = Penalties(
            model.lambda_1, model.lambda_2, model.lambda_3, model.lambda_4, model.ridge_v
        )
        n_factors = min(20, run.Y.n_labels)
        for start in ("labels", "random"):
            if rows.find(dataset=name, start=start, iterations=N_ITER):
                continue
            prepared = prepare(model, working_rows(run.X), 0)
            regression = prepared.regression(model.lambda_4 / model.lambda_3)
            problem = Problem(targets, prepared.weights, regression, penalties)
            now = problem.begin(*starting_factors(targets, n_factors, 20, start, 0, 0))
            for iteration in range(1, N_ITER + 1):
                before, now = now, problem.step(now)
                # U may turn as it likes, if V turns with it: their product is compared
                product = now.U @ now.V.T
                change = np.linalg.norm(product - before.U @ before.V.T) / np.linalg.norm(product)
                row = {"experiment": "convergence", "dataset": name, "missing": RATE}
                row |= {"start": start, "iterations": iteration, "change": float(change)}
                rows.add({**row, "objective": problem.objective(now)})


def correlation(rows: ResultRows) -> None:
    name = "emotions"
    if not rows.find(dataset=name):
        run = draw_run(name, 0.4, RUNS[0])
        model = rmfl(**chosen(name, 0.4, "RMFL")).fit(run.X, run.Y)
        row = {"experiment": "correlation", "dataset": name, "missing": 0.4}
        row |= {"labels": [str(label) for label in run.Y.names]}
        learned = model.label_correlation_
        counted = np.corrcoef(draw_run(name, 0.0, RUNS[0]).Y.to_dense().T)
        pairs = np.triu_indices(len(learned), 1)
        V = model.label_factors_ / np.linalg.norm(model.label_factors_, axis=1, keepdims=True)
        for what, matrix in (("of_directions", learned), ("of_factors", V @ V.T)):
            row[f"agreement_{what}"] = float(np.corrcoef(matrix[pairs], counted[pairs])[0, 1])
        rows.add({**row, "correlation": learned.round(4).tolist()})


def main() -> None:
    warnings.simplefilter("ignore")
    sensitivity(ResultRows("rmfl_sensitivity", ("varied", "value", "run")))
    convergence(ResultRows("rmfl_convergence", ("dataset", "start", "iterations")))
    correlation(ResultRows("rmfl_correlation", ("dataset",)))


if __name__ == "__main__":
    main()
