"""Half of the labels unseen (tables 2 and 3 of the ML-LCS paper), over random draws of the half.

The oracle is ML-LCS with all labels seen: what counts could at best replace.
"""

from __future__ import annotations

import argparse
import warnings

from mllcs_data import (
    PUBLISHED_ALL,
    PUBLISHED_UNSEEN,
    Split,
    draw,
    fit_timed,
    load_split,
    measure,
    precisions,
)
from mllcs_methods import choose_penalty, methods, mllcs
from result_rows import ResultRows

N_DRAWS = {"bibtex": 5, "mediamill": 5, "delicious": 5}
ORACLE = "oracle: ML-LCS, all labels seen"


def oracle_rows(rows: ResultRows, name: str, split: Split) -> None:
    """One fit, scored on the labels that each draw hides."""
    wanted = {"experiment": "unseen", "dataset": name, "method": ORACLE}
    draws = range(N_DRAWS[name])
    if all(rows.find(**wanted, draw=seed) for seed in draws):
        return
    model = mllcs(name)
    seconds = fit_timed(model, split.X, split.Y)
    scores = model.decision_function(split.X_test)
    for seed in draws:
        if rows.find(**wanted, draw=seed) is None:
            values = precisions(split.Y_test, scores, draw(split, seed).unseen)
            rows.add({**wanted, "draw": seed, **values, "fit_seconds": seconds})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(N_DRAWS))
    parser.add_argument("--methods", nargs="*", help="only these")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("mllcs_unseen", ("dataset", "draw", "method"))
    for name in arguments.datasets:
        split = load_split(name)
        C = choose_penalty(name, split)
        candidates = methods(name, split, C)
        for seed in range(N_DRAWS[name]):
            hidden = draw(split, seed)
            for method, make in candidates.items():
                if arguments.methods and method not in arguments.methods:
                    continue
                if rows.find(dataset=name, draw=seed, method=method):
                    continue
                row = {"experiment": "unseen", "dataset": name, "draw": seed, "method": method}
                row["published_all"] = PUBLISHED_ALL[name].get(method, "")
                row["published_unseen"] = PUBLISHED_UNSEEN.get(name, {}).get(method, "")
                if method in ("vote", "COSTA"):
                    row["params"] = {"C": C}
                rows.add({**row, **measure(make(), split, hidden)})
        if not arguments.methods:
            oracle_rows(rows, name, split)


if __name__ == "__main__":
    main()
