"""Features, labels, ids and texts from tables: label columns or a long table, text as TF-IDF."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labelgap.data._contents import DataFormatError
from labelgap.data._dataset import Dataset
from labelgap.data._frames import TableName, read_frame
from labelgap.frames import FrameEncoder
from labelgap.labels import (
    EmptyName,
    LabelCellError,
    Labels,
    read_label_column,
    read_label_frame,
)
from labelgap.labels.states import is_missing, shown

Implicit = Literal["negative", "unknown", "unlabeled"]
_LARGEST_EXACT = 2.0**53


def read_table(
    source: Any,
    *,
    label_columns: Sequence[str] | None = None,
    label_table: Any = None,
    item: str | None = None,
    label: str = "label",
    value: str | None = None,
    implicit: Implicit = "negative",
    text: str | None = None,
    tfidf: Mapping[str, Any] | Literal[False] | None = None,
    drop: Sequence[str] = (),
    train: Any = None,
    separator: str = "auto",
    empty: EmptyName = "auto",
) -> Dataset:
    """Read features, labels, ids and texts from CSV or Parquet files or from frames.

    Parameters
    ----------
    source : path, pandas or polars frame
        One row per item. Files are told apart by their names (``.parquet``, else CSV).
    label_columns : sequence of str, default=None
        The columns of `source` that are labels, or patterns such as "tag_*": 1, 0 and empty for
        unknown, yes and no, x and nothing. One column may list the labels of each row: "a;b;c",
        JSON lists, collections.
    label_table : path or frame, default=None
        Instead of label columns: a long table with one (item, label) pair per line.
    item : str, default=None
        The column that identifies an item, in `source` and in `label_table`.
    label : str, default="label"
        The column of `label_table` with the label.
    value : str, default=None
        The column of `label_table` that says whether the label is relevant (1, 0, empty for
        unknown); without it every pair is relevant.
    implicit : {"negative", "unknown", "unlabeled"}, default="negative"
        What a pair that is not in `label_table` means; for label columns "unlabeled" says that a
        zero may be a missing label, and "unknown" does not apply.
    text : str, default=None
        A column of text, turned into TF-IDF columns named ``column: term``.
    tfidf : mapping or False, default=None
        Parameters for :class:`sklearn.feature_extraction.text.TfidfVectorizer`; False keeps the
        text out of ``X``.
    drop : sequence of str, default=()
        Columns that are neither features nor labels.
    train : int or bool array, default=None
        The training rows. Vocabulary and term weights come from these rows alone, and the data
        set gets the corresponding split.
    separator : str, default="auto"
        What is between two labels in a column that lists them; "json" reads JSON lists.
    empty : {"auto", "zero", "unknown"}, default="auto"
        What an empty cell of a label means, as in :meth:`labelgap.Labels.from_frame`.

    Returns
    -------
    Dataset
        ``X`` is a frame when it has columns that are no numbers, which every estimator takes, and
        sparse when it holds words. Empty cells of features are NaN. ``ids`` is the column
        `item`, and ``texts`` the column `text`.

    See Also
    --------
    read_label_table : Labels alone, for the rows of any other format.

    Examples
    --------
    >>> import pandas
    >>> from labelgap.data import read_table
    >>> items = pandas.DataFrame({"id": ["a", "b"], "size": [1.5, 2.0], "red": [1, None]})
    >>> table = read_table(items, label_columns=["red"], item="id")
    >>> table.X.tolist(), table.Y.to_dense().tolist(), table.ids.tolist()
    ([[1.5], [2.0]], [[1.0], [nan]], ['a', 'b'])
    """
    if (label_columns is None) == (label_table is None):
        raise ValueError("give either label_columns or label_table, and not both")
    if tfidf is not None and text is None:
        raise ValueError("tfidf is given without text: name the column of text")
    if label_table is not None and item is None:
        raise ValueError("item is missing: name the column that identifies an item in both tables")
    frame, file = read_frame(source, ids=[] if item is None else [item])
    split = _split(train, len(frame))
    ids = None
    if item is not None:
        _require_columns(frame, file, [item])
        ids = frame[item].to_numpy()
    sentence = None
    if label_columns is not None:
        if item is not None:
            _check_ids(frame[item], file)
        label_columns = _label_columns(frame, file, label_columns)
        how = {"separator": separator, "empty": empty}
        Y, sentence = _wide_labels(frame, file, label_columns, implicit, how)
        sentence = sentence if label_columns else None
    else:
        options: Any = {"item": item, "label": label, "value": value, "implicit": implicit}
        Y = read_label_table(label_table, frame[item], file=file, **options)
    taken = {*drop, *(label_columns or ()), *([text] if text else ()), *([item] if item else ())}
    _require_columns(frame, file, taken)
    columns = [name for name in frame.columns if name not in taken]
    X, names = _features(frame, file, columns), [str(name) for name in columns]
    texts = None
    if text is not None:
        texts = np.array([str(one) if _is_there(one) else "" for one in frame[text]], dtype=object)
        if tfidf is not False:
            if hasattr(X, "columns"):
                encoder = FrameEncoder().fit(X if split is None else X.iloc[split[0]])
                X, names = encoder.transform(X), encoder.get_feature_names_out().tolist()
            vectorizer = fit_tfidf(texts if split is None else texts[split[0]], **(tfidf or {}))
            X = add_words(X, texts, vectorizer)
            names += [f"{text}: {term}" for term in vectorizer.get_feature_names_out()]
    train, test = split or (None, None)
    features = np.array(names, dtype=object)
    known: Any = {"ids": ids, "texts": texts, "table": file, "labels_read": sentence}
    return Dataset(Path(file).stem, X, Y, features, train, test, **known)


def read_label_table(
    source: Any,
    items: Any,
    *,
    item: str,
    label: str = "label",
    value: str | None = None,
    implicit: Implicit = "negative",
    file: str | None = None,
) -> Labels:
    """Read the labels of items from a long table with one (item, label) pair per line.

    Parameters
    ----------
    source : path, pandas or polars frame
        The long table.
    items : sequence
        The ids of the items, in the order of the rows of the result.
    item : str
        The column of the table with the id.
    label : str, default="label"
        The column of the table with the label.
    value : str, default=None
        The column that says whether the label is relevant: 1, 0, or empty for unknown; without it
        every pair is relevant.
    implicit : {"negative", "unknown", "unlabeled"}, default="negative"
        What a pair that is not in the table means.
    file : str, default=None
        Where the items come from, for messages.

    Returns
    -------
    Labels

    See Also
    --------
    read_table : Features and labels of a table.

    Examples
    --------
    >>> import pandas
    >>> from labelgap.data import read_label_table
    >>> pairs = pandas.DataFrame({"id": [7, 8, 8], "label": ["red", "red", "big"]})
    >>> read_label_table(pairs, [7, 8, 9], item="id").to_dense().tolist()
    [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    """
    pairs, pairs_file = read_frame(source, ids=[item, label])
    _require_columns(pairs, pairs_file, [item, label, *([value] if value else ())])
    if not hasattr(items, "isna"):
        items = type(pairs[item])(items, name=item)
    of_table = isinstance(file, TableName)
    place = file if isinstance(file, TableName) else TableName(file or "the items")
    ids, named = _check_ids(items, place), _ids_as_text(pairs[item], pairs_file)
    position = {one: row for row, one in enumerate(ids)}
    strangers = [row for row, one in enumerate(named) if one not in position]
    if strangers:
        raise DataFormatError(
            f"item {named[strangers[0]]!r} is not {'in' if of_table else 'a row of'} {place}",
            **pairs_file.place(strangers[0]),
            remedy="Remove the line or add the item"
            + (f" ({len(strangers):,} lines are like that)" if len(strangers) > 1 else ""),
        )
    empty = np.flatnonzero(pairs[label].isna().to_numpy())
    if empty.size:
        raise DataFormatError(
            f"the label in column {label!r} is empty",
            **pairs_file.place(int(empty[0])),
            remedy="Remove the line or name the label",
        )
    values = None
    if value is not None:
        with _no_label(pairs_file):
            values = read_label_column(pairs[value])
    return Labels.from_long(
        np.array([position[one] for one in named], dtype=np.int64),
        pairs[label].to_numpy(),
        values,
        item_order=np.arange(len(ids)),
        implicit=implicit,
    )


def fit_tfidf(texts: Any, **options: Any) -> Any:
    """Return a TfidfVectorizer that knows the words of some texts.

    Parameters
    ----------
    texts : sequence of str
    **options
        Parameters of :class:`sklearn.feature_extraction.text.TfidfVectorizer`.

    See Also
    --------
    add_words : The words of texts beside numbers.

    Examples
    --------
    >>> from labelgap.data import fit_tfidf
    >>> fit_tfidf(["red apple", "green pear"]).get_feature_names_out().tolist()
    ['apple', 'green', 'pear', 'red']
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**options).fit(texts)


def add_words(X: Any, texts: Any, vectorizer: Any) -> Any:
    """Return the features with the TF-IDF weights of the texts beside them, as a sparse matrix.

    Parameters
    ----------
    X : array or csr_array of shape (n_samples, n_features)
        It may have no columns.
    texts : sequence of n_samples str
    vectorizer : fitted TfidfVectorizer

    See Also
    --------
    fit_tfidf : Learns the words.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.data import add_words, fit_tfidf
    >>> texts = ["red apple", "green pear"]
    >>> add_words(np.ones((2, 1)), texts, fit_tfidf(texts)).shape
    (2, 5)
    """
    words = sparse.csr_array(vectorizer.transform(texts))
    if X.shape[1] == 0:
        return words
    return sparse.csr_array(sparse.hstack([sparse.csr_array(X), words], format="csr"))


def _ids_as_text(column: Any, file: TableName) -> list[str]:
    """The ids as strings, so that 7 in one table is "7" in another; empty ones are refused."""
    empty = np.flatnonzero(column.isna().to_numpy())
    if empty.size:
        raise DataFormatError(
            f"the id in column {column.name!r} is empty",
            **file.place(int(empty[0])),
            remedy="Give every row its id, or remove the row",
        )
    if column.dtype.kind != "f":
        return [str(one) for one in column.tolist()]
    values = column.to_numpy()
    bad = np.flatnonzero((values != np.floor(values)) | (np.abs(values) >= _LARGEST_EXACT))
    if bad.size:
        raise DataFormatError(
            f"the id {values[bad[0]]!r} in column {column.name!r} is a floating-point number, "
            "which does not tell large ids apart",
            **file.place(int(bad[0])),
            remedy="Store ids as integers or text",
        )
    return [str(one) for one in values.astype(np.int64).tolist()]


def _check_ids(column: Any, file: TableName) -> list[str]:
    """The ids as strings; one that occurs twice is refused."""
    ids = _ids_as_text(column, file)
    first: dict[str, int] = {}
    for row, one in enumerate(ids):
        if one in first:
            place = file.place(row)
            raise DataFormatError(
                f"item {one!r} occurs twice (first in {file.words(first[one], place['file'])})",
                **place,
                remedy=f"Values of {column.name!r} must identify a row",
            )
        first[one] = row
    return ids


def _require_columns(frame: Any, file: TableName, names: Any) -> None:
    for name in names:
        if name not in frame.columns:
            raise DataFormatError(
                f"there is no column {name!r}",
                **file.place_of_names(),
                remedy=f"The columns are {', '.join(map(str, frame.columns[:20]))}",
            )


def _label_columns(frame: Any, file: TableName, wanted: Sequence[str]) -> list[str]:
    """The label columns in the order given; those of a pattern in the order of the table."""
    columns = list(frame.columns)
    chosen: dict[str, None] = {}
    for name in wanted:
        found, _ = ([name], None) if name in columns else match_columns(columns, [name])
        _require_columns(frame, file, found or [name])
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def match_columns(columns: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the columns that names and patterns stand for, in their order, and a name of none.

    Parameters
    ----------
    columns : sequence of str
    wanted : sequence of str
        Names, patterns such as "tag_*", or several of them separated by commas.

    Examples
    --------
    >>> from labelgap.data import match_columns
    >>> match_columns(["id", "tag_a", "tag_b"], ["tag_*"])
    (['tag_a', 'tag_b'], None)
    """
    chosen: set[str] = set()
    for value in wanted:
        for name in [value] if value in columns else str(value).split(","):
            found = [name] if name in columns else [c for c in columns if fnmatchcase(str(c), name)]
            if not found:
                return [], name
            chosen.update(found)
    return [name for name in columns if name in chosen], None


def _wide_labels(
    frame: Any, file: TableName, columns: Sequence[str], zeros: Implicit, how: Mapping[str, str]
) -> tuple[Labels, str]:
    if zeros not in ("negative", "unlabeled"):
        raise ValueError(
            f"implicit={zeros!r} with label columns: use 'negative' or 'unlabeled', and leave "
            "the cells of unknown labels empty"
        )
    with _no_label(file):
        return read_label_frame(frame[list(columns)], zeros=zeros, **how)  # type: ignore[arg-type]


@contextmanager
def _no_label(file: TableName) -> Iterator[None]:
    """Say where in a file a cell is that is no label."""
    try:
        yield
    except LabelCellError as error:
        is_number = isinstance(error.value, numbers.Real)
        said = f"{error.value:g}" if is_number else shown(error.value)
        raise DataFormatError(
            f"column {error.column!r} holds {said}, which is no label",
            **file.place(error.row),
            remedy="Write 1, 0 or an empty cell for unknown",
        ) from None


def _features(frame: Any, file: TableName, columns: list) -> Any:
    """A matrix where all columns are numbers, and otherwise the frame of the columns."""
    for name in columns:
        column = frame[name]
        if column.dtype.kind not in "biuf":
            _refuse_mistakes(column, name, file)
    if all(frame[name].dtype.kind in "biuf" for name in columns):
        # sums must not depend on the order in memory
        return np.ascontiguousarray(frame[columns].to_numpy(dtype=np.float64, na_value=np.nan))
    return frame[columns]


def _refuse_mistakes(column: Any, name: Any, file: TableName) -> None:
    """Refuse a word among numbers, and a column that tells rows apart and says nothing of them."""
    there = [(row, value) for row, value in enumerate(column) if _is_there(value)]
    words = [(row, value) for row, value in there if not _is_number(value)]
    is_mistake = 0 < len(words) <= _MISTAKES * len(there)
    texts = [value for _, value in there if isinstance(value, str)]
    is_id = len(texts) == len(column) >= _FEWEST_IDS and len(set(texts)) == len(texts)
    is_id = is_id and not any(" " in text.strip() or _is_date(text) for text in texts)
    if not is_mistake and not is_id:
        return
    row, value = words[0] if words else there[0]
    raise DataFormatError(
        f"column {name!r} holds {shown(value)}, not numbers",
        **file.place(row),
        remedy=f"Pass drop=[{name!r}], text={name!r} for TF-IDF, or encode it first",
    )


# a column with fewer words than this fraction is one of numbers; fewer rows do not show an id
_MISTAKES = 0.2
_FEWEST_IDS = 10


def _is_there(value: Any) -> bool:
    return not is_missing(value)


def _is_date(text: str) -> bool:
    return bool(re.match(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}", text))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _split(train: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray] | None:
    if train is None:
        return None
    chosen = np.zeros(n_samples, dtype=bool)
    chosen[np.asarray(train)] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)
