"""What RMFL could reach on the test rows if somebody chose its settings there.

Not a result: a bound on what a better choice of settings could gain, for the places where the
published figure was not reached. The same search as in the tables, on the average precision of
the test rows of each run by itself; the tables' own settings are one candidate more.

    python benchmarks/rmfl_ceiling.py image scene --rates 0.4 0.6 0.8 [--runs 5]
"""

from __future__ import annotations

import argparse
import warnings

from joblib import Parallel

from labelgap import metrics
from labelgap.models.rmfl._inputs import signed_targets, working_rows
from labelgap.models.rmfl._prepare import prepare
from labelgap.models.rmfl._search import _search_by_turns
from result_rows import ResultRows
from rmfl_data import Run, draw_run, published
from rmfl_tables import FIRST_RUN, GRID, N_CANDIDATES, chosen, rmfl


class OnTestRows:
    """Scores of settings on the test rows of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        X = working_rows(run.X)
        self._prepared = prepare(rmfl(), X, 0, many_ratios=True)
        self._mapped = self._prepared.features(working_rows(run.X_test))
        self._targets = signed_targets(run.Y)

    def score(self, settings: dict[str, float]) -> float:
        model = rmfl(**settings)
        model._learn(self._prepared, self._targets, 0, "zero")
        scores = model._score_mapped(self._mapped)
        return float(metrics.average_precision(self._run.Y_test, scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--rates", nargs="*", type=float, default=[0.0, 0.4, 0.6, 0.8])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("rmfl_ceiling", ("dataset", "missing", "run"))
    values = {name: list(map(float, several)) for name, several in GRID.items()}
    for name in arguments.sets:
        for rate in arguments.rates:
            for seed in range(FIRST_RUN, FIRST_RUN + arguments.runs):
                key = {"dataset": name, "missing": rate, "run": seed}
                if rows.find(**key):
                    continue
                judge = OnTestRows(draw_run(name, rate, seed))
                tried, scores = _search_by_turns(values, N_CANDIDATES, [judge], Parallel())
                as_chosen = judge.score(chosen(name, rate, "RMFL"))
                best = max(*scores[0], as_chosen)
                row = {"experiment": "ceiling", **key, "as_chosen": as_chosen}
                figures = published(name, rate) or {}
                row |= {"best_on_test_rows": best, "candidates": len(tried) + 1}
                rows.add({**row, "published": figures.get("average_precision")})


if __name__ == "__main__":
    main()
