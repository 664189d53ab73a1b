"""Forests on completed labels alone, and their mean with forests on the observed entries.

Entries unknown at random on the sets that choices were made on, in runs that are not in the tables.

    python benchmarks/mend_hedging.py [sets] [--runs 11 12] [--trees 20]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from labelgap import BinaryRelevance, Mend
from mend_data import CHOSEN_ON, GAPS, TEXT, draw_run, score
from mend_tables import base
from result_rows import ResultRows


def models(forest: Any) -> dict[str, Any]:
    return {
        "observed entries": BinaryRelevance(forest),
        "completed": Mend(forest, hedge=False, random_state=0),
        "both": Mend(forest, hedge=True, random_state=0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(CHOSEN_ON))
    parser.add_argument("--runs", nargs="*", type=int, default=[11, 12])
    parser.add_argument("--trees", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_hedging", ("dataset", "rate", "trees", "learned_from", "run"))
    for name in arguments.sets:
        forest = base("forest", 3 if name in TEXT else 1)
        forest.set_params(n_estimators=arguments.trees)
        for rate in (GAPS["entries"][0], GAPS["entries"][-1]):
            for seed in arguments.runs:
                run = draw_run(name, "entries", rate, seed)
                for learned_from, model in models(forest).items():
                    wanted = {"dataset": name, "rate": rate, "trees": arguments.trees}
                    wanted |= {"learned_from": learned_from, "run": seed}
                    if not rows.find(**wanted):
                        fitted = model.fit(run.X, run.Y)
                        rows.add({"experiment": "hedging", **wanted, **score(fitted, run)})


if __name__ == "__main__":
    main()
