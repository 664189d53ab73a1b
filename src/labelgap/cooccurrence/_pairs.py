"""Counts from a long table with a line per pair of labels."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from labelgap.cooccurrence._accept import read_numbers
from labelgap.cooccurrence._checks import positions, unique_names
from labelgap.cooccurrence._container import Cooccurrence
from labelgap.labels._tables import _keys, _sorted_names


def count_pairs(
    table: Any, pairs: tuple[Any, Any, Any], seen: Any, all_labels: Any, directional: bool
) -> Cooccurrence:
    """What :func:`labelgap.cooccurrence.count_cooccurrence` says of tables of pairs."""
    left, right, counts = _pair_columns(table, pairs)
    if all_labels is None:
        all_labels = _sorted_names({*left, *right, *(() if seen is None else seen)})
    names = unique_names("all_labels", all_labels)
    column_of = {name: column for column, name in enumerate(names)}
    if seen is None:
        seen = [label for label in dict.fromkeys(left) if label in column_of]
    rows = positions(seen, names, "seen")
    kept = [k for k in range(len(left)) if left[k] in column_of and right[k] in column_of]
    first = np.array([column_of[left[k]] for k in kept], dtype=np.int64)
    second = np.array([column_of[right[k]] for k in kept], dtype=np.int64)
    values = counts[kept]
    n = len(names)
    if not directional:
        one_way = ~np.isin(second * n + first, first * n + second)
        mirrored = second[one_way], first[one_way]
        first, second = np.append(first, mirrored[0]), np.append(second, mirrored[1])
        values = np.append(values, values[one_way])
    square = sparse.csr_array((values, (first, second)), shape=(n, n))
    no_diagonal = np.flatnonzero(~np.isin(rows, first[first == second]))
    gaps = (np.ones(no_diagonal.size, dtype=bool), (no_diagonal, rows[no_diagonal]))
    missing = sparse.csr_array(gaps, shape=(len(rows), n))
    return Cooccurrence(square[rows], rows, names, missing)


def _pair_columns(table: Any, pairs: tuple[Any, Any, Any]) -> tuple[list, list, np.ndarray]:
    if not (hasattr(table, "columns") or hasattr(table, "column_names")):
        raise TypeError(
            f"corpus: pairs= names columns of a table, got {type(table).__name__}; give a pandas, "
            "polars or pyarrow table"
        )
    frame = nw.from_native(table, eager_only=True)
    if len(pairs) != 3 or any(name not in frame.columns for name in pairs):
        raise ValueError(
            f"pairs={pairs!r}: name the columns of label, other label and count; the table has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    left, right = (_keys(frame[name].to_list(), "label") for name in pairs[:2])
    column = np.empty((len(left), 1), dtype=object)
    column[:, 0] = frame[pairs[2]].to_list()
    counts = read_numbers(column, lambda line, _: f"line {line}")[:, 0]
    _check_lines(left, right, counts)
    return left, right, counts


def _check_lines(left: list, right: list, counts: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        good = np.isnan(counts) | ((counts >= 0) & (counts < np.inf) & (counts % 1 == 0))
    bad = np.flatnonzero(~good)
    if bad.size:
        line = int(bad[0])
        raise ValueError(
            f"line {line} of the pairs, {left[line]!r} with {right[line]!r}: {counts[line]:g} is "
            "not a count; counts are 0, 1, 2, ..., and null where nobody counted"
        )
