"""What fraction of the relevant labels is recorded: read by the audit, against what is true.

Shares of the positives are dropped without a trace; the audit reads from the table alone which
share is left, and whether zeros look meant or unlabeled.

Run: ``python benchmarks/audit_recording.py``.
"""

from __future__ import annotations

import argparse
import time

from labelgap import audit
from labelgap.data import load_dataset
from labelgap.protocols import hide_positives
from result_rows import ResultRows

# the reading was made on the first, before the second were looked at
MADE_ON = ("emotions", "yeast", "science", "corel5k", "rcv1subset1", "image", "scene", "education")
CONFIRMED_ON = ("social", "rcv1subset2", "bibtex")
DROPPED = (0.0, 0.2, 0.4, 0.6)


def measure(name: str, fraction: float, seed: int) -> dict:
    data = load_dataset(name)
    labels = data.Y
    if fraction:
        labels = hide_positives(data.Y, fraction, random_state=seed).labels
    start = time.perf_counter()
    found = audit(data.X, labels, n_suggestions=1)
    frequency = found.summary.label_frequency
    assert frequency is not None
    missing = data.Y.n_positives() - labels.n_positives()
    true = labels.n_positives() / data.Y.n_positives()
    return {
        "true": round(true, 3),
        "recorded": round(frequency.value, 3),
        "low": round(frequency.low, 3),
        "high": round(frequency.high, 3),
        "covered": bool(frequency.low - 0.005 <= true <= frequency.high + 0.005),
        "gaps": found.summary.gaps,
        "n_missing": missing,
        "expected_missing": round(found.missing.value),
        "seconds": round(time.perf_counter() - start, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=[*CONFIRMED_ON, *MADE_ON])
    parser.add_argument("--seed", type=int, default=5)
    chosen = parser.parse_args()
    results = ResultRows("audit_recording", key=("dataset", "dropped", "seed"))
    for name in chosen.datasets:
        for fraction in DROPPED:
            key = {"dataset": name, "dropped": fraction, "seed": chosen.seed}
            if results.find(**key):
                continue
            part = "confirmed" if name in CONFIRMED_ON else "made on"
            results.add({"experiment": "recording", "part": part, **key, **measure(**_of(key))})


def _of(key: dict) -> dict:
    return {"name": key["dataset"], "fraction": key["dropped"], "seed": key["seed"]}


if __name__ == "__main__":
    main()
