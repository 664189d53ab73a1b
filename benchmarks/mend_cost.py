"""Processor time of Mend as a multiple of the plain classifier's, measured in the same run.

python benchmarks/mend_cost.py [sets]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from labelgap import BinaryRelevance, Mend
from labelgap.data import load_dataset
from labelgap.protocols import hide_entries, hide_positives
from result_rows import ResultRows, peak_gigabytes

PENALTY = {"bibtex": 10.0, "delicious": 3.0}


def draw(name: str, gap: str, rate: float) -> tuple[Any, Any]:
    """80% of the rows, with entries unknown or positives dropped without a trace."""
    data = load_dataset(name)
    order = np.random.default_rng(1).permutation(data.Y.n_samples)
    train = np.sort(order[: int(0.8 * len(order))])
    hide = hide_entries if gap == "entries" else hide_positives
    X = normalize(sparse.csr_array(data.X, dtype=np.float64))
    return X[train], hide(data.Y[train], rate, random_state=1).labels


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
            X, Y = draw(name, gap, rate)
            classifier = LogisticRegression(C=PENALTY[name])
            zeros: Any = "unlabeled" if gap == "positives" else "negative"
            BinaryRelevance(classifier).fit(X[:100], Y[:100])  # compiles what is compiled
            plain = seconds(BinaryRelevance(classifier), X, Y)
            alone = LogisticRegression(C=PENALTY[name], warm_start=True)
            one_by_one = seconds(BinaryRelevance(alone), X, Y)
            mend = seconds(Mend(classifier, zeros=zeros), X, Y)
            again = seconds(BinaryRelevance(classifier), X, Y)
            row = {"experiment": "cost", **wanted, "plain_seconds": (plain + again) / 2}
            row |= {"mend_seconds": mend, "ratio": 2 * mend / (plain + again)}
            row |= {"label_by_label_seconds": one_by_one, "peak_gigabytes": peak_gigabytes()}
            rows.add(row)


if __name__ == "__main__":
    main()
