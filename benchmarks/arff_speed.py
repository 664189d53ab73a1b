"""How much faster than liac-arff delicious's ARFF files are read, in one run.

    LABELGAP_DATA=<folder with delicious/> python benchmarks/arff_speed.py

Both sides read the training and the test file and end with sparse features and labels: liac-arff
gives one dictionary per row, from which the same matrices are built. The best of three runs
counts; the first read of `labelgap`, which compiles or loads the parser, is timed on its own.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import arff
import numpy as np
from scipy import sparse

from labelgap.data import read_arff, read_label_xml

REPEATS = 3


def with_labelgap(folder: Path) -> list[tuple]:
    return [
        (part.X, part.Y.positives())
        for part in (
            read_arff(folder / f"delicious-{name}.arff", folder / "delicious.xml")
            for name in ("train", "test")
        )
    ]


def with_liac(folder: Path) -> list[tuple]:
    names = set(read_label_xml(folder / "delicious.xml"))
    parts = []
    for name in ("train", "test"):
        with open(folder / f"delicious-{name}.arff", encoding="utf-8") as stream:
            found = arff.load(stream, return_type=arff.LOD)
        rows = [i for i, row in enumerate(found["data"]) for _ in row]
        columns = [j for row in found["data"] for j in row]
        values = [float(value) for row in found["data"] for value in row.values()]
        shape = (len(found["data"]), len(found["attributes"]))
        table = sparse.csc_array((values, (rows, columns)), shape=shape)
        is_label = np.array([attribute in names for attribute, _ in found["attributes"]])
        parts.append((table[:, ~is_label].tocsr(), table[:, is_label].tocsr()))
    return parts


def timed(function, folder: Path) -> tuple[float, list[tuple]]:
    start = time.perf_counter()
    result = function(folder)
    return time.perf_counter() - start, result


def best(function, folder: Path) -> tuple[float, list[tuple]]:
    return min((timed(function, folder) for _ in range(REPEATS)), key=lambda pair: pair[0])


def main() -> int:
    if "LABELGAP_DATA" not in os.environ:
        print("set LABELGAP_DATA to the folder that holds delicious/", file=sys.stderr)
        return 2
    folder = Path(os.environ["LABELGAP_DATA"]) / "delicious"
    first, _ = timed(with_labelgap, folder)
    ours, mine = best(with_labelgap, folder)
    theirs, other = best(with_liac, folder)
    for (X, Y), (X_other, Y_other) in zip(mine, other, strict=True):
        if (X_other != X).nnz or (Y_other.astype(bool) != Y).nnz:
            print("the two readers disagree", file=sys.stderr)
            return 1
    print(f"liac-arff                    {theirs:8.3f} s")
    print(f"labelgap                     {ours:8.3f} s   {theirs / ours:6.1f} times faster")
    print(f"labelgap, first in a process {first:8.3f} s   {theirs / first:6.1f} times faster")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
