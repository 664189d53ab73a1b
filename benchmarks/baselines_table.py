"""The baselines against the golden files, and what a fit costs.

- agreement: the largest deviation of every array, noted while the golden tests run;
- objective: what ours and the reference reach after as many iterations, from the same tests;
- seconds: fits with default settings to all rows of a set with complete labels, the median of
  three where one takes under TWICE seconds. They are seconds of the processor, one thread: other
  work on the machine hardly changes them. Over LIMIT a fit is given up.

    LABELGAP_GOLDEN=... python benchmarks/baselines_table.py [--parts golden emotions yeast bibtex]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils import get_tags

from cpu_limit import OverLimitError, fit_seconds
from labelgap import baselines
from labelgap.data import load_dataset
from result_rows import ResultRows

LIMIT = 120.0
TWICE = 20.0
KEY = ("experiment", "method", "array", "problem", "iterations", "dataset")
GOLDEN_TESTS = Path(__file__).parents[1] / "tests" / "golden"
NAMES = {name.lower(): name for name in baselines.__all__}
WITH_VIEWS = ("IMSF", "LRMMC", "LabelMe", "MVLIV")
# from an idea of what they cost, the cheap ones first
ORDER = (
    *("PLST", "CPLST", "FastTag", "MLkNN", "LLSF", "Maxide", "LEML", "LSML", "JFSC", "WSABIE"),
    *("COSTA", "LFMSL", "LatentCOSTA", "CMFS", "MIFS", "FSNM", "MLMLFS", "SFUS", "GenEML"),
    *("ExpoMF", "GLOCAL", "BCS", "ClassifierChains", "ML2", "MVLIV", "LabelMe", "IMSF", "LRMMC"),
)


def measure_golden(rows: ResultRows) -> None:
    """Run the golden tests and store what they noted; nothing is stored if one fails."""
    if pytest.main([str(GOLDEN_TESTS), "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]):
        raise SystemExit("the golden tests fail")
    noted = sys.modules["golden.agreement"]
    groups: dict[tuple[str, str], list[Any]] = {}
    for found in noted.DEVIATIONS:
        groups.setdefault(method_and_array(found.test, found.array), []).append(found)
    for (method, array), some in groups.items():
        worst = max(some, key=lambda found: found.deviation / found.tolerance)
        row = {"experiment": "agreement", "method": method, "array": array}
        row |= {"deviation": worst.deviation, "tolerance": worst.tolerance}
        row |= {"relative": worst.relative, "comparisons": len(some), "test": worst.test}
        store(rows, row)
    for found in noted.OBJECTIVES:
        method, _ = method_and_array(found.test)
        row = {"experiment": "objective", "method": method, "problem": found.problem}
        row |= {"iterations": found.iterations, "ours": found.ours, "reference": found.theirs}
        store(rows, {**row, "sought": "highest" if found.higher else "lowest"})


def method_and_array(test: str, array: str = "") -> tuple[str, str]:
    """The method that a test is of, or that the array names, as in ``PLST: W``."""
    named, _, rest = array.rpartition(": ")
    file = re.match(r"test_(\w+)\.py", test)
    if file is None:
        raise ValueError(f"{test!r} is no test of a method")
    return named or NAMES[file[1]], rest


def store(rows: ResultRows, row: dict[str, Any]) -> None:
    if rows.find(**{name: row.get(name) for name in KEY}) is None:
        rows.add(row)


def features_of(name: str, estimator: Any) -> tuple[Any, Any, Any]:
    """Features, labels and, for methods that know of them, views."""
    title = type(estimator).__name__
    if title in WITH_VIEWS and name in ("emotions", "yeast"):
        data = load_dataset(f"{name}_multiview")
        return np.asarray(data.X, dtype=np.float64), data.Y, data.views
    data = load_dataset(name)
    if sparse.issparse(data.X) and name == "bibtex":
        X = normalize(sparse.csr_array(data.X, dtype=np.float64))
        takes_sparse = get_tags(estimator).input_tags.sparse
        return (X if takes_sparse else X.toarray()), data.Y, None
    dense = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    return StandardScaler().fit_transform(dense), data.Y, None


def default(name: str) -> Any:
    estimator = getattr(baselines, name)
    seeded = "random_state" in estimator().get_params()
    return estimator(random_state=0) if seeded else estimator()


def measure_seconds(rows: ResultRows, dataset: str, name: str) -> None:
    row: dict[str, Any] = {"experiment": "seconds", "method": name, "dataset": dataset}
    if rows.find(**{field: row.get(field) for field in KEY}):
        return
    estimator = default(name)
    X, Y, views = features_of(dataset, estimator)
    if views is not None:
        estimator.set_params(groups=views)
    shape = {"n_rows": X.shape[0], "n_features": X.shape[1], "n_labels": Y.n_labels}
    try:
        seconds, model = timed(estimator, X, Y)
    except (OverLimitError, MemoryError) as reason:
        rows.add({**row, **shape, "outcome": "not feasible", "reason": str(reason) or "memory"})
        return
    row |= {**shape, "outcome": "fitted", "fit_seconds": statistics.median(seconds)}
    row |= {"repeats": len(seconds), "n_iter": getattr(model, "n_iter_", None)}
    trace = getattr(model, "trace_", None)
    rows.add({**row, "ended": None if trace is None else trace.outcome})


def timed(estimator: Any, X: Any, Y: Any) -> tuple[list[float], Any]:
    """Seconds of one fit, or of three quick ones; the first of a process may compile kernels."""
    seconds = []
    for _ in range(4):
        model = clone(estimator)
        seconds.append(fit_seconds(model, X, Y, LIMIT))
        if seconds[0] > TWICE:
            return seconds, model
    return seconds[1:], model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ["golden", "emotions", "yeast", "bibtex"]
    parser.add_argument("--parts", nargs="*", default=parts)
    parser.add_argument("--methods", nargs="*", default=ORDER)
    arguments = parser.parse_args()
    if set(ORDER) != set(baselines.__all__):
        raise SystemExit(f"ORDER lacks {set(baselines.__all__) ^ set(ORDER)}")
    rows = ResultRows("baselines_table", KEY)
    if "golden" in arguments.parts and os.environ.get("LABELGAP_GOLDEN"):
        measure_golden(rows)
    warnings.simplefilter("ignore")
    for dataset in parts[1:]:
        for name in arguments.methods if dataset in arguments.parts else ():
            measure_seconds(rows, dataset, name)


if __name__ == "__main__":
    main()
