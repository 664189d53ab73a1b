"""DATA on the command line: a file in one of the formats, or a data set by name, read once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from labelgap.auditing import DataSource
from labelgap.cli._column_names import likely_labels, match_names, require_columns
from labelgap.cli._options import Empty, Format, LabelledOptions, RowOptions, SplitPart, Zeros
from labelgap.cli._table_files import as_written
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.data import (
    DATABASES,
    TABLE_SUFFIXES,
    DataFormatError,
    Dataset,
    TableName,
    dataset_info,
    list_datasets,
    load_dataset,
    read_arff,
    read_frame,
    read_label_table,
    read_mat,
    read_npz,
    read_svmlight,
    read_table,
    read_xc,
)
from labelgap.labels import Labels

_SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((*TABLE_SUFFIXES, *DATABASES), Format.TABLE),
    ".arff": Format.ARFF,
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), Format.SVMLIGHT),
    ".mat": Format.MAT,
    ".npz": Format.NPZ,
}
_COMPRESSED = {".gz", ".bz2", ".xz"}
# options of columns that say how rows were labelled, and what an audit calls them
_HISTORY = {"date": "dates", "annotator": "annotators", "complete": "complete"}
_MOST_SHOWN = 12
# as tables call what identifies their rows; the last one is the index that pandas wrote
_ID_NAMES = {"id", "ids", "uuid", "item", "item_id", "unnamed: 0"}


@dataclass(frozen=True)
class Hints:
    """What is known about rows before they are read, from a model or from predictions.

    Attributes
    ----------
    n_features : int, optional
        For formats that do not say it.
    text, item : str, optional
        The column of text; the column of ids, used where it is there and none was asked for.
    labels : list of str
        The label columns where none were given; left out of the features in any case.
    zero_based : bool
        Where the feature numbers of svmlight files start.
    only_labels : bool
        Whether the features of a table are of no interest.
    unused : list of str
        Columns that the model left out when it was fitted, and that may be there again.
    """

    n_features: int | None = None
    text: str | None = None
    item: str | None = None
    labels: list[str] = field(default_factory=list)
    zero_based: bool = False
    only_labels: bool = False
    unused: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class InputRows:
    """Rows of DATA with everything a command may want to know about them.

    Attributes
    ----------
    place : str
        The file or data set, for messages.
    data : Dataset
    item, text : str
        The names of the columns of ids and of text; "row" where rows are numbered.
    lists_labels : bool
        Whether the source lists the labels of each row, so that a label it never mentions is one
        that no row has; otherwise such a label is unknown.
    part : {"all", "train", "test"}
    label_file : TableName, optional
        The long table.
    history : dict of str to array
        The columns that say when and by whom rows were labelled, and which are complete.
    unused : list of str
        The columns of the table that are no features.
    """

    place: str
    data: Dataset
    item: str = "row"
    text: str | None = None
    lists_labels: bool = False
    part: str = "all"
    label_file: TableName | None = None
    history: dict[str, Any] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)

    @property
    def n_samples(self) -> int:
        return self.data.n_samples

    @property
    def features(self) -> list[str] | None:
        """The names of the columns of X, where the format has names."""
        names = self.data.feature_names
        return None if names is None else [str(name) for name in names]

    @property
    def items(self) -> np.ndarray:
        """What identifies the rows."""
        return np.arange(self.n_samples) if self.data.ids is None else self.data.ids

    @property
    def labels(self) -> Labels:
        """The labels, under names that can be written into a table."""
        Y = self.data.Y
        names = range(Y.n_labels) if Y.names is None else Y.names
        return Y.with_names([str(name) for name in names])

    @property
    def notes(self) -> list[str]:
        """How the table and its labels were read, where that was found out."""
        told = [] if self.data.table is None else self.data.table.notes
        told += [self.data.labels_read] if self.data.labels_read else []
        if hasattr(self.data.X, "columns"):
            other = [
                str(name) for name in self.data.X if self.data.X[name].dtype.kind not in "biuf"
            ]
            shown = ", ".join(other[:_MOST_SHOWN]) + (", ..." if len(other) > _MOST_SHOWN else "")
            told.append(f"read text, categories or dates as features: {shown}")
        if self.data.ids is None:
            told += [
                f"column {name!r} is a feature: where it identifies the rows, give --item {name!r}"
                for name in self.features or ()
                if name.casefold() in _ID_NAMES
            ]
        return told

    def words(self, row: int) -> str:
        """The place of a row, for messages."""
        if self.data.table is not None:
            return self.data.table.words(row)
        return f"{self.place}, row {self.items[row]} (counted from 0)"


def learning_labels(rows: InputRows, zeros: Zeros) -> Labels:
    """The labels as a model is to learn from them, with ``auto`` decided as an audit does."""
    labels = rows.labels
    if zeros is Zeros.NEGATIVE and labels.unlabeled:
        return labels.with_zeros("negative")
    if zeros is Zeros.AUTO and not labels.has_gaps:
        return labels.with_zeros("unlabeled")
    if zeros is Zeros.UNLABELED and not labels.unlabeled:
        return labels.with_zeros("unlabeled")
    return labels


def zeros_of_audit(rows: InputRows, zeros: Zeros) -> Any:
    """The option for an audit, which is "auto" where the labels themselves say what they mean."""
    return "auto" if rows.labels.unlabeled or zeros is Zeros.UNKNOWN else str(zeros)


def data_sources(rows: InputRows, source: LabelledOptions) -> tuple[DataSource, ...]:
    """The files that were read, with their checksums."""
    found = [_source("items", source.data, rows.data.table)]
    if source.label_table is not None:
        found.append(_source("labels", source.label_table, rows.label_file))
    return tuple(found)


def _source(role: str, place: Any, table: TableName | None) -> DataSource:
    if not Path(place).is_file():
        return DataSource(role, str(place), None)
    known = table.parts[0].sha256 if table is not None and table.parts else None
    if known is None:
        with open(place, "rb") as stream:
            known = hashlib.file_digest(stream, "sha256").hexdigest()
    return DataSource(role, str(place), known)


def read_labelled(
    options: LabelledOptions, terminal: Terminal, *, part: str, hints: Hints | None = None
) -> InputRows:
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


def read_rows(options: RowOptions, terminal: Terminal, *, part: str, hints: Hints) -> InputRows:
    """Rows without labels; parameters as in :func:`read_labelled`."""
    return _read(options, terminal, part, hints, labelled=False)


def _read(
    options: Any, terminal: Terminal, part: str, hints: Hints, *, labelled: bool
) -> InputRows:
    path = Path(options.data)
    if not path.exists() and options.format is Format.AUTO and _is_name(options.data):
        name = dataset_info(options.data).name
        with terminal.progress(f"loading {name}") as progress:
            dataset = load_dataset(name, fetch=options.fetch, progress=progress)
        rows = _of_dataset(dataset, f"data set {name}", None, options, labelled)
        return _select_part(rows, options.rows, part)
    _check_file(path, options)
    kind = _format_of(path) if options.format is Format.AUTO else options.format
    if options.zero_based and kind is not Format.SVMLIGHT:
        raise BadInputError(f"--zero-based: is for svmlight files, and {options.data} is {kind}")
    with terminal.progress(f"reading {path.name}"), reading(path):
        if kind is Format.TABLE:
            rows = _of_table(path, options, hints, labelled)
            for note in rows.notes if labelled else []:
                terminal.note(note)
        else:
            dataset = _read_file(path, kind, options, hints, labelled)
            rows = _of_dataset(dataset, str(path), kind, options, labelled)
    if getattr(options, "empty", None) is Empty.MEAN:
        _note_filled(rows, terminal)
    return _select_part(rows, options.rows, part)


def _note_filled(rows: InputRows, terminal: Terminal) -> None:
    X = rows.data.X
    if not isinstance(X, np.ndarray) or not (n_empty := int(np.isnan(X).sum())):
        return
    terminal.note(
        f"{n_empty:,} empty cells of features become the mean of their column (--empty refuse names "
        "the first one)"
    )


def _is_name(data: str) -> bool:
    return data.lower().replace("-", "_") in list_datasets()


def check_dataset_name(name: str, more: str = "") -> str:
    """The name as the registry has it."""
    try:
        return dataset_info(name).name
    except KeyError as error:
        hint = str(error.args[0]).replace("labelgap.data.list_datasets()", "labelgap datasets")
        raise BadInputError(hint + more) from None


def _check_file(path: Path, options: RowOptions) -> None:
    if path.is_dir() and options.format not in (Format.AUTO, Format.TABLE):
        raise BadInputError(f"{path}: is a folder; give a file in it")
    if path.exists():
        return
    if path.suffix or len(path.parts) > 1 or options.format is not Format.AUTO:
        raise BadInputError(f"{path}: there is no such file; check the path")
    check_dataset_name(options.data, more=" (nor is there a file of that name)")


def _format_of(path: Path) -> Format:
    if path.is_dir():
        return Format.TABLE
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    kind = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        known = ", ".join(one for one in Format if one is not Format.AUTO)
        raise BadInputError(f"{path}: the name does not tell the format; give --format {known}")
    return kind


def _check_label_options(options: LabelledOptions) -> None:
    is_database = Path(options.data).suffix.lower() in DATABASES
    if options.label_query is not None and options.label_table is not None:
        raise BadInputError("--label-query and --label-table: give one of them, and not both")
    for name, query in (("--query", options.query), ("--label-query", options.label_query)):
        if query is not None and not is_database:
            raise BadInputError(
                f"{name}: is for a database ({', '.join(DATABASES)}), and {options.data} is none"
            )
    if _has_long_table(options):
        return
    if options.value_column is not None or options.label_column != "label":
        raise BadInputError("--label-column and --value-column are for --label-table; give it")
    if options.zeros is Zeros.UNKNOWN:
        raise BadInputError(
            "--zeros unknown: is for --label-table; leave unknown cells of label columns empty"
        )


# -- tables -------------------------------------------------------------------------------------


def _of_table(path: Path, options: RowOptions, hints: Hints, labelled: bool) -> InputRows:
    """Features, ids, texts and labels of a table."""
    wanted = options.item or hints.item or ""
    frame, file = read_frame(path, query=options.query, ids=[wanted])
    columns = [str(name) for name in frame.columns]
    # every task of an annotation tool has its id there, by which suggestions go back to it
    known = "id" if file.is_annotation_export else hints.item
    item = options.item or (known if known in columns else None)
    text = hints.text or getattr(options, "text", None)
    for option, name in (("--item", item), ("--text", text)):
        require_columns(path, columns, option, [name])
    labels: list[str] = []
    if isinstance(options, LabelledOptions):
        labels = _label_columns(path, options, hints, frame)
    long = labelled and _has_long_table(options)
    read = labels if labelled and not long else []
    said = {name: getattr(options, option, None) for option, name in _HISTORY.items()}
    for option, name in _HISTORY.items():
        require_columns(path, columns, f"--{option}", [said[name]])
    unused = {*match_names(path, columns, "--drop", options.drop), *labels}
    unused |= {*hints.labels, *hints.unused}
    unused |= {column for column in said.values() if column is not None}
    unused = set(columns) if hints.only_labels else unused
    drop = [name for name in columns if name in unused - {*read, item, text}]
    how: Any = {}
    if isinstance(options, LabelledOptions):
        how = {"separator": options.separator, "empty": str(options.empty_labels)}
    data = read_table(
        frame,
        label_columns=read,
        item=item,
        text=text,
        drop=drop,
        tfidf=False if text else None,
        **how,
    )
    history = {name: frame[column].to_numpy() for name, column in said.items() if column}
    rows = InputRows(str(path), data, item or "row", text, history=history, unused=[*drop, *read])
    if long and isinstance(options, LabelledOptions):
        return _with_long_labels(rows, options, labels)
    return rows


def _label_columns(path: Path, options: LabelledOptions, hints: Hints, frame: Any) -> list[str]:
    """The columns that hold labels, whether they are read or replaced by a long table."""
    columns = [str(name) for name in frame.columns]
    names = match_names(path, columns, "--labels", options.labels)
    if not options.labels:
        names = [name for name in columns if name in hints.labels]
    if not names and not _has_long_table(options):
        wanted = f" (looked for {', '.join(hints.labels[:5])})" if hints.labels else ""
        raise BadInputError(
            f"{path}: nothing says which columns are labels{wanted}; give --labels 'a,b' or a "
            f"pattern such as 'tag_*', or --label-table{likely_labels(frame)}"
        )
    return names


def _has_long_table(options: Any) -> bool:
    """Whether the labels are listed in a table of their own."""
    return options.label_table is not None or options.label_query is not None


def _with_long_labels(rows: InputRows, options: LabelledOptions, names: list[str]) -> InputRows:
    """The rows with labels from the long table; in the order of ``names`` where there are any."""
    path = options.label_table
    if path is not None and not path.exists():
        raise BadInputError(f"--label-table {path}: there is no such file; check the path")
    ids = [rows.item, options.label_column]
    pairs, file = read_frame(path or options.data, query=options.label_query, ids=ids)
    pairs = as_written(pairs)
    require_columns(
        Path(str(file)), list(map(str, pairs.columns)), "--label-column", [options.label_column]
    )
    value = options.value_column or ("value" if "value" in pairs.columns else None)
    labels = read_label_table(
        pairs,
        rows.items,
        item=rows.item,
        label=options.label_column,
        value=value,
        implicit=str(options.zeros)
        if options.zeros in (Zeros.UNLABELED, Zeros.UNKNOWN)
        else "negative",  # type: ignore[arg-type]
        file=rows.place if rows.data.ids is None else rows.data.table,
    )
    labels = labels.with_columns(names, absent="drop") if names else labels
    return replace(rows, data=replace(rows.data, Y=labels), lists_labels=True, label_file=file)


# -- other formats ------------------------------------------------------------------------------


def _read_file(path: Path, kind: Format, options: Any, hints: Hints, labelled: bool) -> Dataset:
    if kind is Format.SVMLIGHT:
        zero_based = options.zero_based or hints.zero_based
        return read_svmlight(path, n_features=hints.n_features, zero_based=zero_based)
    if kind is Format.ARFF:
        return _read_arff(path, options, hints) if labelled else read_arff(path, [])
    if kind is Format.NPZ:
        return read_npz(path, labelled=labelled)
    readers: dict[Format, Callable[[Path], Dataset]] = {Format.XC: read_xc, Format.MAT: read_mat}
    return readers[kind](path)


def _read_arff(path: Path, options: LabelledOptions, hints: Hints) -> Dataset:
    given = [one for value in options.labels for one in value.split(",")] or hints.labels
    if given:
        return read_arff(path, _arff_labels(given))
    try:
        return read_arff(path)
    except DataFormatError:
        if not _has_long_table(options):
            raise
        # no attribute is a label: all labels are in the long table
        return read_arff(path, [])


def _arff_labels(given: list[str]) -> Any:
    if len(given) == 1 and given[0].lower().endswith(".xml"):
        return Path(given[0])
    if len(given) == 1 and given[0].lstrip("-").isdigit():
        return int(given[0])
    return given


def _of_dataset(
    dataset: Dataset, place: str, kind: Format | None, options: Any, labelled: bool
) -> InputRows:
    if options.item is not None:
        raise BadInputError(f"--item {options.item}: only tables have a column of ids")
    for option in _HISTORY:
        if (column := getattr(options, option, None)) is not None:
            raise BadInputError(f"--{option} {column}: only tables have such a column")
    rows = InputRows(place, _without(dataset, options.drop, place))
    if not labelled:
        return rows
    if options.text is not None:
        raise BadInputError(f"--text {options.text}: only tables have a column of text")
    if options.labels and kind is not Format.ARFF:
        raise BadInputError(f"--labels: {place} says itself what its labels are; leave it out")
    if not _has_long_table(options):
        return replace(rows, lists_labels=kind is Format.SVMLIGHT)
    own = rows.labels.names.tolist() if dataset.Y.n_labels else []  # type: ignore[union-attr]
    with reading(options.label_table or options.data):
        return _with_long_labels(rows, options, own)


def _without(dataset: Dataset, drop: list[str], place: str) -> Dataset:
    names = dataset.feature_names
    for name in drop:
        if names is None or name not in names:
            raise BadInputError(f"--drop {name}: {place} has no feature of that name")
    if not drop or names is None:
        return dataset
    keep = [j for j, name in enumerate(names) if name not in drop]
    return replace(dataset, X=dataset.X[:, keep], feature_names=names[keep], views=None)


def _select_part(rows: InputRows, wanted: SplitPart, part: str) -> InputRows:
    data = rows.data
    if data.train is None or data.test is None:
        if wanted in (SplitPart.TRAIN, SplitPart.TEST):
            raise BadInputError(
                f"--rows {wanted}: {rows.place} has no official split; use --rows all"
            )
        return rows
    part = part if wanted is SplitPart.AUTO else str(wanted)
    if part == "all":
        return rows
    return replace(rows, data=data.take(data.train if part == "train" else data.test), part=part)
