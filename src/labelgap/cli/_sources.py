"""DATA on the command line: a file in one of the formats, or a data set by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from labelgap.cli._failures import BadInputError, reading
from labelgap.cli._loaded import Hints, Loaded
from labelgap.cli._options import Format, LabelledOptions, RowOptions, Rows, Unstated
from labelgap.cli._tables import align, has_long_table, long_labels, read_table_file
from labelgap.cli._terminal import Terminal
from labelgap.data import (
    DataFormatError,
    Dataset,
    dataset_info,
    list_datasets,
    load_dataset,
    read_arff,
    read_mat,
    read_npz,
    read_svmlight,
    read_xc,
)
from labelgap.data._frames import DATABASES

_SUFFIXES: dict[str, Format] = {
    ".csv": Format.TABLE,
    ".parquet": Format.TABLE,
    ".pq": Format.TABLE,
    ".tsv": Format.TABLE,
    **dict.fromkeys(DATABASES, Format.TABLE),
    ".arff": Format.ARFF,
    ".svm": Format.SVMLIGHT,
    ".svmlight": Format.SVMLIGHT,
    ".libsvm": Format.SVMLIGHT,
    ".mat": Format.MAT,
    ".npz": Format.NPZ,
}
_COMPRESSED = {".gz", ".bz2", ".xz"}


def read_labelled(
    options: LabelledOptions, terminal: Terminal, *, part: str, hints: Hints | None = None
) -> Loaded:
    """Rows with labels.

    Parameters
    ----------
    options : LabelledOptions
    terminal : Terminal
    part : {"train", "test", "all"}
        The part of an official split that suits the command.
    hints : Hints, optional
        What a model or a file of predictions says about the rows.
    """
    _check_label_options(options)
    return _read(options, terminal, part, hints or Hints(), labelled=True)


def read_rows(options: RowOptions, terminal: Terminal, *, part: str, hints: Hints) -> Loaded:
    """Rows without labels; parameters as in :func:`read_labelled`."""
    return _read(options, terminal, part, hints, labelled=False)


def _read(options: Any, terminal: Terminal, part: str, hints: Hints, *, labelled: bool) -> Loaded:
    path, dataset = Path(options.data), None
    if not path.exists() and options.format is Format.AUTO and _is_name(options.data):
        name = dataset_info(options.data).name
        with terminal.progress(f"loading {name}") as progress:
            dataset = load_dataset(name, fetch=options.fetch, progress=progress)
        loaded = _of_dataset(dataset, f"data set {name}", None, options, labelled)
        return _select_part(loaded, dataset, options.rows, part)
    _check_file(path, options)
    kind = _format_of(path) if options.format is Format.AUTO else options.format
    with terminal.progress(f"reading {path.name}"), reading(path):
        if kind is Format.TABLE:
            _refuse_zero_based(options, kind)
            loaded = read_table_file(path, options, hints, labelled=labelled)
        else:
            dataset = _read_file(path, kind, options, hints, labelled)
            loaded = _of_dataset(dataset, str(path), kind, options, labelled)
    return _select_part(loaded, dataset, options.rows, part)


def _is_name(data: str) -> bool:
    return data.lower().replace("-", "_") in list_datasets()


def _check_file(path: Path, options: RowOptions) -> None:
    if path.is_dir() and options.format not in (Format.AUTO, Format.TABLE):
        raise BadInputError(f"{path}: is a folder; give a file in it")
    if path.exists():
        return
    if path.suffix or len(path.parts) > 1 or options.format is not Format.AUTO:
        raise BadInputError(f"{path}: there is no such file; check the path")
    check_dataset_name(options.data, more=" (nor is there a file of that name)")


def check_dataset_name(name: str, more: str = "") -> str:
    """The name as the registry has it."""
    try:
        return dataset_info(name).name
    except KeyError as error:
        hint = str(error.args[0]).replace("labelgap.data.list_datasets()", "labelgap datasets")
        raise BadInputError(hint + more) from None


def _format_of(path: Path) -> Format:
    if path.is_dir():
        return Format.TABLE
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    kind = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        known = ", ".join(one for one in Format if one is not Format.AUTO)
        raise BadInputError(f"{path}: the name does not tell the format; give --format {known}")
    return kind


def _read_file(path: Path, kind: Format, options: Any, hints: Hints, labelled: bool) -> Dataset:
    if kind is Format.SVMLIGHT:
        zero_based = options.zero_based or hints.zero_based
        return read_svmlight(path, n_features=hints.n_features, zero_based=zero_based)
    _refuse_zero_based(options, kind)
    if kind is Format.ARFF:
        return _read_arff(path, options, hints) if labelled else read_arff(path, [])
    if kind is Format.NPZ:
        return read_npz(path, labelled=labelled)
    readers: dict[Format, Callable[[Path], Dataset]] = {Format.XC: read_xc, Format.MAT: read_mat}
    return readers[kind](path)


def _refuse_zero_based(options: RowOptions, kind: Format) -> None:
    if options.zero_based:
        raise BadInputError(f"--zero-based: is for svmlight files, and {options.data} is {kind}")


def _read_arff(path: Path, options: LabelledOptions, hints: Hints) -> Dataset:
    given = [one for value in options.labels for one in value.split(",")] or hints.labels
    if given:
        return read_arff(path, _arff_labels(given))
    try:
        return read_arff(path)
    except DataFormatError:
        if not has_long_table(options):
            raise
        # no attribute is a label: all labels are in the long table
        return read_arff(path, [])


def _arff_labels(given: list[str]) -> Any:
    if len(given) == 1 and given[0].lower().endswith(".xml"):
        return Path(given[0])
    if len(given) == 1 and given[0].lstrip("-").isdigit():
        return int(given[0])
    return given


def _check_label_options(options: LabelledOptions) -> None:
    _check_queries(options)
    if not has_long_table(options):
        if options.value_column is not None or options.label_column != "label":
            raise BadInputError("--label-column and --value-column are for --label-table; give it")
        if options.unstated is Unstated.UNKNOWN:
            raise BadInputError(
                "--unstated unknown: is for --label-table; leave unknown cells of label columns "
                "empty"
            )


def _check_queries(options: LabelledOptions) -> None:
    is_database = Path(options.data).suffix.lower() in DATABASES
    if options.label_query is not None and options.label_table is not None:
        raise BadInputError("--label-query and --label-table: give one of them, and not both")
    for name, query in (("--query", options.query), ("--label-query", options.label_query)):
        if query is not None and not is_database:
            raise BadInputError(
                f"{name}: is for a database ({', '.join(DATABASES)}), and {options.data} is none"
            )


def _of_dataset(
    dataset: Dataset, place: str, kind: Format | None, options: Any, labelled: bool
) -> Loaded:
    if options.item is not None:
        raise BadInputError(f"--item {options.item}: only tables have a column of ids")
    names = None if dataset.feature_names is None else [str(one) for one in dataset.feature_names]
    X, names = _without(dataset.X, names, options.drop, place)
    loaded = Loaded(place, X, names, np.arange(X.shape[0]), "row")
    if not labelled:
        return loaded
    if options.text is not None:
        raise BadInputError(f"--text {options.text}: only tables have a column of text")
    if options.labels and kind is not Format.ARFF:
        raise BadInputError(f"--labels: {place} says itself what its labels are; leave it out")
    if not has_long_table(options):
        Y = (
            dataset.Y
            if options.unstated is Unstated.IRRELEVANT
            else dataset.Y.with_zeros("ambiguous")
        )
        return replace(loaded, Y=Y, lists_labels=kind is Format.SVMLIGHT)
    Y = long_labels(options, loaded)
    if dataset.Y.n_labels:
        own = range(dataset.Y.n_labels) if dataset.Y.names is None else dataset.Y.names
        Y = align(Y, [str(name) for name in own])
    return replace(loaded, Y=Y, lists_labels=True)


def _without(X: Any, names: list[str] | None, drop: list[str], place: str):
    for name in drop:
        if names is None or name not in names:
            raise BadInputError(f"--drop {name}: {place} has no feature of that name")
    if not drop or names is None:
        return X, names
    keep = [j for j, name in enumerate(names) if name not in drop]
    return X[:, keep], [names[j] for j in keep]


def _select_part(loaded: Loaded, dataset: Dataset | None, rows: Rows, part: str) -> Loaded:
    if dataset is None or dataset.train is None or dataset.test is None:
        if rows in (Rows.TRAIN, Rows.TEST):
            raise BadInputError(
                f"--rows {rows}: {loaded.place} has no official split; use --rows all"
            )
        return loaded
    wanted = part if rows is Rows.AUTO else str(rows)
    if wanted == "all":
        return loaded
    return loaded.take(np.asarray(dataset.train if wanted == "train" else dataset.test), wanted)
