"""Iterative stratification on delicious: labelgap against the package iterative-stratification.

Run with ``python benchmarks/stratification_speed.py [--folds 10] [--seeds 3]``; needs
``pip install 'labelgap[bench]'``. Compilation is excluded and reported by itself.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

from labelgap.data import load_dataset
from labelgap.model_selection import IterativeStratification


def label_distribution(positives: np.ndarray, tests: list[np.ndarray]) -> float:
    """Mean over labels and folds of |odds in the fold - odds in all rows| (Sechidis et al.)."""
    odds = [positives[test].sum(0) / (~positives[test]).sum(0) for test in tests]
    return float(np.mean(np.abs(odds - positives.sum(0) / (~positives).sum(0))))


def fraction_deviation(positives: np.ndarray, tests: list[np.ndarray]) -> float:
    """Mean over labels and folds of |fraction of the label's positives in the fold - 1 / folds|."""
    counts = np.array([positives[test].sum(0) for test in tests])
    return float(np.mean(np.abs(counts / positives.sum(0) - 1 / len(tests))))


def measure(splitter, X, y, positives: np.ndarray) -> tuple[float, float, float, int]:
    start = time.perf_counter()
    tests = [test for _, test in splitter.split(X, y)]
    seconds = time.perf_counter() - start
    sizes = [test.size for test in tests]
    uneven = label_distribution(positives, tests), fraction_deviation(positives, tests)
    return seconds, *uneven, max(sizes) - min(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()

    labels = load_dataset("delicious").Y
    positives = labels.positives().toarray()
    X = np.zeros((labels.n_samples, 1))
    competitors = {
        "iterative-stratification": (MultilabelStratifiedKFold, {}, positives),
        "labelgap, published algorithm": (IterativeStratification, {"n_refinements": 0}, labels),
        "labelgap": (IterativeStratification, {}, labels),
    }

    start = time.perf_counter()
    list(IterativeStratification(2).split(X[:4], labels[:4]))
    print(f"first call (compilation or its cache): {time.perf_counter() - start:.2f} s")
    shape = f"{labels.n_samples} x {labels.n_labels}"
    print(f"delicious, {shape}, {arguments.folds} folds, medians of {arguments.seeds} seeds\n")
    print(f"{'':32}{'seconds':>10}{'label odds':>12}{'label share':>13}{'size range':>12}")
    medians = {}
    for name, (splitter, options, y) in competitors.items():
        runs = []
        for seed in range(arguments.seeds):
            cv = splitter(arguments.folds, shuffle=True, random_state=seed, **options)
            runs.append(measure(cv, X, y, positives))
        medians[name] = np.median(runs, axis=0)
        seconds, odds, fraction, size_range = medians[name]
        print(f"{name:32}{seconds:10.4f}{odds:12.6f}{fraction:13.6f}{size_range:12.0f}")
    ratio = medians["iterative-stratification"][:3] / medians["labelgap"][:3]
    print(f"\nlabelgap is {ratio[0]:.0f} times faster; its label odds are {ratio[1]:.1f} times and")
    print(f"its label shares {ratio[2]:.1f} times closer to those of all rows")


if __name__ == "__main__":
    main()
