"""ARFF files of Mulan and MEKA, dense and sparse."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from labelgap.data._arff_header import ArffHeader, label_columns, read_header
from labelgap.data._arff_layout import ArffLayout, ArffTable
from labelgap.data._contents import Contents, FileSource, contents_of
from labelgap.data._dataset import Dataset
from labelgap.data._mulan_xml import read_label_xml
from labelgap.data._numbers import read_pending
from labelgap.kernels import parsing_arff as kernel

_PROBLEMS = {
    kernel.TOO_MANY_VALUES: ("the row has more values than there are attributes", "Remove them"),
    kernel.TOO_FEW_VALUES: ("the row has fewer values than there are attributes", "Add them"),
    kernel.BAD_INDEX: (
        "this is not '<index> <value>' with the index of an attribute",
        "Indices start at 0 and must be smaller than the number of attributes",
    ),
    kernel.UNKNOWN_CATEGORY: (
        "the value is not one of the categories of its attribute",
        "Add it to the braces of the @attribute line, or write ? for unknown",
    ),
    kernel.UNCLOSED: ("a quote or brace is not closed", "Close it before the end of the line"),
    kernel.WEIGHTED_ROW: (
        "the row carries an instance weight",
        "Remove the weights, which have no place in a data set here",
    ),
}


def read_arff(
    path: FileSource,
    labels: FileSource | Sequence[str] | int | None = None,
    *,
    nominal: Literal["onehot", "codes"] = "onehot",
    text: Literal["error", "drop"] = "error",
) -> Dataset:
    """Read a multi-label ARFF file, dense or sparse, plain or compressed (gzip, bz2, xz).

    Parameters
    ----------
    path : path
    labels : path, list of str or int, optional
        Which attributes are labels: Mulan's XML file, their names, or their number (the first n,
        or the last n when negative). By default MEKA's ``-C n`` in the name of the relation.
        Labels keep the order they have in the ARFF file.
    nominal : {"onehot", "codes"}
        What to do with features of three or more categories that are not numbers: one 0/1 column
        per category, named ``attribute=category``, or the position of the category. Categories
        that are numbers are read as numbers; two categories give one column, in which yes, true
        (or else the second) is 1.
    text : {"error", "drop"}
        Whether to refuse string and date attributes or to leave them out.

    Returns
    -------
    Dataset
        ``X`` is sparse if any row of the file is. ``?`` is NaN in ``X`` and unknown in ``Y``. As in
        Weka, an entry that a sparse row leaves out is 0 or the first category.

    Raises
    ------
    DataFormatError
        With the file, the line and what to do.
    """
    if nominal not in ("onehot", "codes"):
        raise ValueError(f"nominal={nominal!r}: use 'onehot' or 'codes'")
    if text not in ("error", "drop"):
        raise ValueError(f"text={text!r}: use 'error' or 'drop'")
    contents = contents_of(path)
    if isinstance(labels, (str, os.PathLike, Contents)):
        labels = read_label_xml(labels)
    header = read_header(contents)
    is_label = np.zeros(len(header.attributes), dtype=bool)
    is_label[label_columns(contents, header, labels)] = True
    layout = ArffLayout(contents, header, is_label, nominal, text)
    table = _read_rows(contents, header, layout)
    return Dataset(
        name=header.relation.split(":")[0].strip() or Path(contents.file).stem,
        X=layout.features(table),
        Y=layout.labels(table),
        feature_names=np.array(layout.feature_names, dtype=object),
    )


def _read_rows(contents: Contents, header: ArffHeader, layout: ArffLayout) -> ArffTable:
    indptr, columns, values, lines, is_sparse, pending, status, place, line = (
        kernel.parse_arff_rows(contents.buffer, header.data_start, layout.schema())
    )
    if status != kernel.OK:
        problem, remedy = _PROBLEMS[status]
        near = contents.text(place, place + 30).split("\n")[0]
        raise contents.error(
            f"{problem} (at {near!r})", line=header.data_line + line, remedy=remedy
        )
    read_pending(contents, pending, values, indptr, header.data_line + lines)
    _refuse_duplicates(contents, indptr, columns, header.data_line + lines)
    return ArffTable(indptr, columns, values, is_sparse, layout.implied)


def _refuse_duplicates(contents: Contents, indptr, columns, lines) -> None:
    falls = np.diff(columns) <= 0
    starts = indptr[1:-1]
    falls[starts[(starts > 0) & (starts < len(columns))] - 1] = False
    if not falls.any():
        return
    n_columns = int(columns.max()) + 1
    keys = np.sort(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * n_columns + columns)
    repeated = np.flatnonzero(np.diff(keys) == 0)
    if repeated.size:
        row, column = divmod(int(keys[repeated[0]]), n_columns)
        raise contents.error(
            f"attribute {column} has two values in the row",
            line=int(lines[row]),
            remedy="Keep one of them",
        )
