"""Processor time of Mend as a multiple of the plain classifier's, measured in the same run.

python benchmarks/mend_cost.py [sets]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance, Mend
from mend_data import draw_run
from result_rows import ResultRows, peak_gigabytes

PENALTY = {"bibtex": 10.0, "delicious": 3.0}


def seconds(model: Any, X: Any, Y: Any) -> float:
    start = time.process_time()
    model.fit(X, Y)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(PENALTY))
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_cost", ("dataset", "gap", "rate"))
    for name in parser.parse_args().sets:
        for gap, rate in (("entries", 0.6), ("positives", 0.4)):
            wanted = {"dataset": name, "gap": gap, "rate": rate}
            if rows.find(**wanted):
                continue
            run = draw_run(name, gap, rate, 1)
            classifier = LogisticRegression(C=PENALTY[name])
            zeros: Any = "ambiguous" if gap == "positives" else "irrelevant"
            BinaryRelevance(classifier).fit(run.X[:100], run.Y[:100])  # compiles what is compiled
            plain = seconds(BinaryRelevance(classifier), run.X, run.Y)
            one_by_one = seconds(
                BinaryRelevance(LogisticRegression(C=PENALTY[name], warm_start=True)), run.X, run.Y
            )
            mend = seconds(Mend(classifier, zeros=zeros), run.X, run.Y)
            again = seconds(BinaryRelevance(classifier), run.X, run.Y)
            row = {"experiment": "cost", **wanted, "plain_seconds": (plain + again) / 2}
            row |= {"mend_seconds": mend, "ratio": 2 * mend / (plain + again)}
            row |= {"label_by_label_seconds": one_by_one, "peak_gigabytes": peak_gigabytes()}
            rows.add(row)


if __name__ == "__main__":
    main()
