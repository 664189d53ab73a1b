"""Two methods on the same runs: mean difference, and whether it is more than chance.

python benchmarks/paired_tests.py rmfl_tables --first RMFL --second "kernel ridge per label"
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

RESULTS = Path(__file__).parent / "results"


class Paired(NamedTuple):
    """First minus second over n runs that both have; p values are two-sided, NaN for n < 2."""

    first: float
    second: float
    difference: float
    wilcoxon_p: float
    t_p: float
    n: int


def paired(
    rows: Iterable[Mapping[str, Any]], key: str, metric: str, first: Any, second: Any
) -> Paired:
    """Compare two methods on the runs that both have.

    Parameters
    ----------
    rows : result rows
        Of one set and setting; each with the fields "run" and "method".
    key : str
        The field that tells runs apart, such as "run".
    metric : str
        The field that is compared.
    first, second : values of the field "method"
    """
    values: dict[Any, dict[Any, float]] = {first: {}, second: {}}
    for row in rows:
        if row.get("method") in values:
            values[row["method"]][row[key]] = float(row[metric])
    runs = sorted(values[first].keys() & values[second].keys())
    one, two = (np.array([values[method][run] for run in runs]) for method in (first, second))
    if not runs:
        return Paired(*[math.nan] * 5, 0)
    gap = one - two
    if len(runs) < 2 or not gap.any():
        p_values = (1.0, 1.0) if len(runs) > 1 else (math.nan, math.nan)
    elif np.ptp(gap) == 0:
        p_values = float(wilcoxon(gap).pvalue), 0.0
    else:
        p_values = float(wilcoxon(gap).pvalue), float(ttest_rel(one, two).pvalue)
    return Paired(float(one.mean()), float(two.mean()), float(gap.mean()), *p_values, len(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="of a file of rows")
    parser.add_argument("--by", nargs="*", default=["dataset", "missing"])
    parser.add_argument("--metric", default="average_precision")
    parser.add_argument("--first", required=True)
    parser.add_argument("--second", required=True)
    arguments = parser.parse_args()
    lines = (RESULTS / f"{arguments.name}.jsonl").read_text().splitlines()
    fields = arguments.by

    def setting(row: Mapping[str, Any]) -> tuple:
        return tuple(row.get(field) for field in fields)

    rows = sorted(map(json.loads, lines), key=lambda row: tuple(map(str, setting(row))))
    for place, some in itertools.groupby(rows, key=setting):
        found = paired(some, "run", arguments.metric, arguments.first, arguments.second)
        if found.n:
            print(
                f"{' '.join(map(str, place)):24} {found.first:.4f} {found.second:.4f} "
                f"{found.difference:+.4f}  Wilcoxon p {found.wilcoxon_p:.4f}  "
                f"t p {found.t_p:.2g}  n {found.n}"
            )


if __name__ == "__main__":
    main()
