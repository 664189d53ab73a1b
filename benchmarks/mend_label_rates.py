"""Labels recorded at rates of their own: what Mend makes of one estimate, many, or the truth.

80% of the rows to learn from, as in ``mend_tables``; of their positives each label keeps a share
of its own between 0.3 and 0.9, or 0.6 all of them. The penalty is the one chosen there for 40% of
the positives dropped. ``rate_error`` is the mean absolute error of the rates.

    python benchmarks/mend_label_rates.py [sets] [--runs 1 2 3]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance, Mend
from labelgap.protocols import hide_these_positives
from mend_data import CHOSEN_ON, GAPS, Run, draw_run, score
from mend_tables import OBSERVED, Tables
from result_rows import ResultRows

KEY = ("dataset", "rates", "run", "method")
RATES = {"0.6": (0.6, 0.6), "0.3 to 0.9": (0.3, 0.9)}
GAP = "positives"


def draw(name: str, kind: str, seed: int) -> tuple[Run, np.ndarray]:
    """A run without gaps, whose positives are then recorded at the drawn rates."""
    run = draw_run(name, GAP, 0.0, seed)
    rng = np.random.default_rng([seed, 1])
    rates = rng.uniform(*RATES[kind], size=run.Y.n_labels)
    kept = rng.random(run.Y.positives().nnz) < rates[run.Y.positives().indices]
    return run._replace(Y=hide_these_positives(run.Y, ~kept).labels), rates


def methods(C: float, rates: np.ndarray) -> dict[str, Any]:
    classifier = LogisticRegression(C=C)
    ways = {
        "one estimate": "estimate",
        "an estimate per label": "estimate per label",
        "given, one": float(rates.mean()),
        "given per label": rates,
    }
    mended = {name: Mend(classifier, zeros="ambiguous", recorded=how) for name, how in ways.items()}
    return {OBSERVED: BinaryRelevance(classifier), **mended}


def measure(rows: ResultRows, name: str, kind: str, seed: int) -> None:
    wanted = {"experiment": "label rates", "dataset": name, "rates": kind, "run": seed}
    C = Tables(name, "logistic", None).choose(GAP, GAPS[GAP][1], OBSERVED)
    run, rates = draw(name, kind, seed)
    for method, model in methods(C, rates).items():
        if rows.find(**wanted, method=method):
            continue
        model.fit(run.X, run.Y)
        row = {**wanted, "method": method, **score(model, run)}
        if isinstance(model, Mend):
            row["rate_error"] = float(np.abs(model.recorded_ - rates).mean())
        rows.add(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*CHOSEN_ON, "image", "education"])
    parser.add_argument("--runs", type=int, nargs="*", default=[1, 2, 3])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("mend_label_rates", KEY)
    for name in arguments.sets:
        for kind in RATES:
            for seed in arguments.runs:
                measure(rows, name, kind, seed)


if __name__ == "__main__":
    main()
