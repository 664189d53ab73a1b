"""CSV and Parquet tables: labels in columns of their own or in a long table, text as TF-IDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from labelgap.data._dataset import Dataset
from labelgap.data._errors import DataFormatError
from labelgap.data._frames import read_frame
from labelgap.data._ids import check_ids, ids_as_text
from labelgap.data._places import place_of, place_of_names
from labelgap.labels import Labels


def read_table(
    source: Any,
    *,
    label_columns: Sequence[str] | None = None,
    label_table: Any = None,
    item: str | None = None,
    label: str = "label",
    value: str | None = None,
    unstated: Literal["irrelevant", "unknown", "ambiguous"] = "irrelevant",
    text: str | None = None,
    tfidf: Mapping[str, Any] | None = None,
    drop: Sequence[str] = (),
    train: Any = None,
) -> Dataset:
    """Read features and labels from CSV or Parquet files or from frames.

    Parameters
    ----------
    source : path, pandas or polars frame
        One row per item. Files are told apart by their names (``.parquet``, else CSV).
    label_columns : sequence of str, optional
        The columns of `source` that are labels: 1, 0 and empty for unknown.
    label_table : path or frame, optional
        Instead of label columns: a long table with one (item, label) pair per line.
    item : str, optional
        The column that identifies an item, in `source` and in `label_table`.
    label, value : str
        The columns of `label_table` with the label and, optionally, whether it is relevant (1, 0,
        empty for unknown); without `value` every pair is relevant.
    unstated : {"irrelevant", "unknown", "ambiguous"}
        What a pair that is not in `label_table` means; for label columns "ambiguous" says that a
        zero may be a label nobody looked for, and "unknown" does not apply.
    text : str, optional
        A column of text, turned into TF-IDF columns named ``column:term``.
    tfidf : mapping, optional
        Parameters for :class:`sklearn.feature_extraction.text.TfidfVectorizer`.
    drop : sequence of str
        Columns that are neither features nor labels.
    train : int or bool array, optional
        The training rows. Vocabulary and term weights come from these rows alone, and the data
        set gets the corresponding split.

    Returns
    -------
    Dataset
        ``X`` is sparse when there is text. Empty cells of features are NaN.
    """
    if (label_columns is None) == (label_table is None):
        raise ValueError("give either label_columns or label_table, and not both")
    if tfidf is not None and text is None:
        raise ValueError("tfidf is given without text: name the column of text")
    frame, file = read_frame(source, ids=[] if item is None else [item])
    split = _split(train, len(frame))
    if label_columns is not None:
        if item is not None:
            _require_columns(frame, file, [item])
            check_ids(frame[item], file)
        Y = _wide_labels(frame, file, label_columns, unstated)
    else:
        Y = _long_labels(frame, file, label_table, item, label, value, unstated)
    taken = {*drop, *(label_columns or ()), *([text] if text else ()), *([item] if item else ())}
    _require_columns(frame, file, taken)
    columns = [name for name in frame.columns if name not in taken]
    X, names = _numbers(frame, file, columns), [str(name) for name in columns]
    if text is not None:
        rows = np.arange(len(frame)) if split is None else split[0]
        words, terms = _words(frame[text], rows, tfidf or {})
        X = words if not columns else sparse.hstack([sparse.csr_array(X), words], format="csr")
        names += [f"{text}:{term}" for term in terms]
    train, test = split or (None, None)
    return Dataset(Path(file).stem, X, Y, np.array(names, dtype=object), train, test)


def _require_columns(frame: Any, file: str, names: Any) -> None:
    for name in names:
        if name not in frame.columns:
            raise DataFormatError(
                f"there is no column {name!r}",
                **place_of_names(file),
                remedy=f"The columns are {', '.join(map(str, frame.columns[:20]))}",
            )


def _wide_labels(frame: Any, file: str, label_columns: Sequence[str], unstated) -> Labels:
    if unstated not in ("irrelevant", "ambiguous"):
        raise ValueError(
            f"unstated={unstated!r} with label columns: use 'irrelevant' or 'ambiguous', and leave "
            "the cells of unknown labels empty"
        )
    _require_columns(frame, file, label_columns)
    for name in label_columns:
        _refuse_other_values(frame[name], file)
    return Labels.from_frame(frame[list(label_columns)], zeros=unstated)


def _refuse_other_values(column: Any, file: str) -> None:
    """A column with a word in it is text throughout: what is wrong is the word, not its ones."""
    if column.dtype.kind in "biuf":
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero(~np.isnan(numbers) & (numbers != 0) & (numbers != 1))
        row = int(wrong[0]) if wrong.size else None
        shown = None if row is None else f"{numbers[row]:g}"
    else:
        row = _first_word(column)
        if row is not None and (
            not isinstance(column.iloc[row], str) or _is_number(column.iloc[row])
        ):
            return
        shown = None if row is None else repr(column.iloc[row])
    if row is None:
        return
    raise DataFormatError(
        f"column {column.name!r} holds {shown}, which is no label",
        **place_of(file, row),
        remedy="Write 1, 0 or an empty cell for unknown",
    )


def _long_labels(frame, file, label_table, item, label, value, unstated) -> Labels:
    if item is None:
        raise ValueError("item is missing: name the column that identifies an item in both tables")
    pairs, pairs_file = read_frame(label_table, ids=[item, label])
    _require_columns(frame, file, [item])
    _require_columns(pairs, pairs_file, [item, label, *([value] if value else ())])
    items, named = check_ids(frame[item], file), ids_as_text(pairs[item], pairs_file)
    position = {one: row for row, one in enumerate(items)}
    strangers = [row for row, one in enumerate(named) if one not in position]
    if strangers:
        raise DataFormatError(
            f"item {named[strangers[0]]!r} is not in {file}",
            **place_of(pairs_file, strangers[0]),
            remedy="Remove the line or add the item"
            + (f" ({len(strangers):,} lines are like that)" if len(strangers) > 1 else ""),
        )
    _refuse_empty_labels(pairs[label], pairs_file)
    if value is not None:
        _refuse_other_values(pairs[value], pairs_file)
    return Labels.from_long(
        np.array([position[one] for one in named], dtype=np.int64),
        pairs[label].to_numpy(),
        None if value is None else pairs[value].to_numpy(),
        item_order=np.arange(len(items)),
        unstated=unstated,
    )


def _refuse_empty_labels(column: Any, file: str) -> None:
    empty = np.flatnonzero(column.isna().to_numpy())
    if empty.size:
        raise DataFormatError(
            f"the label in column {column.name!r} is empty",
            **place_of(file, int(empty[0])),
            remedy="Remove the line or name the label",
        )


def _numbers(frame: Any, file: str, columns: list) -> np.ndarray:
    for name in columns:
        column = frame[name]
        if column.dtype.kind not in "biuf":
            row = _first_word(column)
            example = "nothing" if row is None else repr(column.iloc[row])
            raise DataFormatError(
                f"column {name!r} holds {example}, not numbers",
                **({"file": file} if row is None else place_of(file, row)),
                remedy=f"Pass drop=[{name!r}], text={name!r} for TF-IDF, or encode it first",
            )
    return frame[columns].to_numpy(dtype=np.float64, na_value=np.nan)


def _first_word(column: Any) -> int | None:
    """The first row that holds something other than a number."""
    for row, value in enumerate(column):
        if value is not None and value == value and not _is_number(value):
            return row
    return next((row for row, one in enumerate(column) if one is not None and one == one), None)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _words(column: Any, rows: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, np.ndarray]:
    documents = column.fillna("").astype(str).to_numpy(dtype=object)
    vectorizer = TfidfVectorizer(**options).fit(documents[rows])
    return sparse.csr_array(vectorizer.transform(documents)), vectorizer.get_feature_names_out()


def _split(train: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    if train is None:
        return None
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[np.asarray(train)] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)
