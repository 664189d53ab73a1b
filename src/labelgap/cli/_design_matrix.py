"""From rows as they were read to the matrix a model takes, the same for fitting and predicting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from labelgap.cli._options import Empty
from labelgap.cli._read_data import InputRows
from labelgap.cli._terminal import BadInputError
from labelgap.data import add_words, fit_tfidf
from labelgap.extras import require
from labelgap.frames import FrameEncoder

_MOST_NAMED = 5


@dataclass(frozen=True)
class Schema:
    """What a model expects of its rows.

    Attributes
    ----------
    names : list of str, optional
        The numeric columns in the order of the model; None when the format has no names.
    n_features : int
        Their number.
    text : str, optional
        The column of text.
    zero_based : bool
        Where the feature numbers of svmlight files start.
    labels : list of str
    """

    names: list[str] | None
    n_features: int
    text: str | None
    zero_based: bool
    labels: list[str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def columns_of(self, rows: InputRows) -> Any:
        """The columns of the rows in the order of the model; refuses others, and says which."""
        if self.names is None or rows.features is None:
            if rows.data.X.shape[1] != self.n_features:
                raise BadInputError(
                    f"{rows.place}: has {rows.data.X.shape[1]} features, the model was fitted on "
                    f"{self.n_features}; give rows with the same features"
                )
            return rows.data.X
        position = {name: j for j, name in enumerate(rows.features)}
        missing = [name for name in self.names if name not in position]
        if missing:
            raise BadInputError(
                f"{rows.place}: lacks {_listed(missing)} that the model was fitted on; add "
                f"{'it' if len(missing) == 1 else 'them'}"
            )
        known = {*self.names, *self.labels}
        strangers = [name for name in rows.features if name not in known]
        if strangers:
            raise BadInputError(
                f"{rows.place}: has {_listed(strangers)} that the model does not know; leave out "
                f"with --drop {strangers[0]!r}, or --item if it identifies the rows"
            )
        if hasattr(rows.data.X, "columns"):
            return rows.data.X[self.names]
        return rows.data.X[:, [position[name] for name in self.names]]


def fit_words(rows: InputRows) -> Any:
    """A TfidfVectorizer of the column of text, if there is one."""
    if rows.data.texts is None:
        return None
    try:
        return fit_tfidf(rows.data.texts)
    except ValueError as error:
        raise BadInputError(f"{rows.place}: the column of text holds no words") from error


def design_matrix(rows: InputRows, X: Any, vectorizer: Any) -> Any:
    """Numbers and words side by side."""
    if vectorizer is not None:
        return add_words(X, rows.data.texts, vectorizer)
    if X.shape[1] == 0:
        raise BadInputError(f"{rows.place}: has no column of features; add some, or give --text")
    return X


def named_design(rows: InputRows, empty: Empty) -> tuple[Any, list[str] | None, bool]:
    """Features with their names, and whether they are scaled already.

    Empty cells are refused or filled. Numbers beside words are standardised here, and weigh as
    much as the words of a row.
    """
    filler = learn_fill(rows, empty)
    numbers = rows.data.X if filler is None else filler.transform(rows.data.X)
    vectorizer, features = fit_words(rows), rows.features
    if isinstance(filler, FrameEncoder):
        features = filler.get_feature_names_out().tolist()
    if vectorizer is None:
        return design_matrix(rows, numbers, None), features, False
    terms = [f"{rows.text}: {term}" for term in vectorizer.get_feature_names_out()]
    if numbers.shape[1]:
        numbers = StandardScaler().fit_transform(numbers) / np.sqrt(numbers.shape[1])
    return design_matrix(rows, numbers, vectorizer), [*(features or ()), *terms], True


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{'the column' if len(names) == 1 else 'the columns'} {shown}" + (
        f" and {more} more" if more > 0 else ""
    )


# -- empty cells of features

_FILL = "fill the cell, leave the column out with --drop {name!r}, or give --empty mean"
_FIT_AGAIN = "fill the cell, or fit the model again with --empty mean"


def learn_fill(rows: InputRows, empty: Empty, *, may_keep: bool = False) -> Any:
    """What makes full rows of numbers of these and of later rows; None where nothing is to do.

    A :class:`FrameEncoder` where there are columns that are no numbers, else a SimpleImputer, unless
    empty cells are refused or kept.
    """
    if hasattr(rows.data.X, "columns"):
        return _learn_encoding(rows, empty)
    if empty is Empty.KEEP:
        if not may_keep:
            raise BadInputError(
                "--empty keep: is for labelgap fit with a model that takes rows without some of "
                "their views (--model imvwl); use --empty mean here"
            )
        check_cells(rows, allow_empty=True)
        return None
    if empty is Empty.REFUSE:
        check_cells(rows)
        return None
    check_cells(rows, allow_empty=True)
    if rows.data.X.shape[1] == 0:
        return None
    _refuse_empty_columns(rows, empty)
    strategy = {"strategy": "mean"} if empty is Empty.MEAN else {"strategy": "constant"}
    return SimpleImputer(**strategy, fill_value=None if empty is Empty.MEAN else 0.0).fit(
        rows.data.X
    )


def _learn_encoding(rows: InputRows, empty: Empty) -> FrameEncoder:
    if empty is Empty.REFUSE:
        null = rows.data.X.isna().to_numpy()
        if null.any():
            row, column = (int(place) for place in np.argwhere(null)[0])
            raise BadInputError(_empty_cell(rows, row, str(rows.data.X.columns[column]), _FILL))
    elif empty is not Empty.MEAN:
        raise BadInputError(
            f"--empty {empty}: is for tables of numbers; {rows.place} has columns of text, "
            "categories or dates, whose empty cells have a column of their own: leave it out"
        )
    return FrameEncoder().fit(rows.data.X)


def _empty_cell(rows: InputRows, row: int, name: str, remedy: str) -> str:
    of_item = "" if rows.item == "row" else f" of {rows.item} {rows.items[row]}"
    return f"{rows.words(row)}: column {name!r}{of_item} is empty; {remedy.format(name=name)}"


def fill_cells(rows: InputRows, X: Any, filler: SimpleImputer | None, *, keep: bool = False) -> Any:
    """The features of rows to predict, as the model wants them."""
    if isinstance(filler, FrameEncoder):
        pandas = require("pandas", extra="frames", purpose="a model of a table with text")
        frame = X if hasattr(X, "columns") else pandas.DataFrame(X, columns=filler.columns_)
        return filler.transform(frame)
    X = _only_numbers(rows, X)
    if filler is None:
        check_cells(rows, X, allow_empty=keep, remedy=_FIT_AGAIN)
        return X
    check_cells(rows, X, allow_empty=True)
    return filler.transform(X)


def _only_numbers(rows: InputRows, X: Any) -> Any:
    """The matrix of a frame, for a model that was fitted on numbers."""
    for name in getattr(X, "columns", ()):
        if X[name].dtype.kind not in "biuf":
            row, value = next((k, v) for k, v in enumerate(X[name]) if isinstance(v, str))
            raise BadInputError(
                f"{rows.words(row)}: column {name!r} holds {value!r}, and the model was fitted on "
                "numbers; correct the cell"
            )
    return X.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(X, "columns") else X


def check_cells(
    rows: InputRows, X: Any = None, *, allow_empty: bool = False, remedy: str = _FILL
) -> None:
    """Refuse the first cell that is empty (unless allowed) or infinite, with its place."""
    X = rows.data.X if X is None else X
    values = X.data if sparse.issparse(X) else X
    if np.isfinite(values).all() or (allow_empty and not np.isinf(values).any()):
        return
    wrong = np.isinf if allow_empty else lambda cells: ~np.isfinite(cells)
    row, column = _first(X, wrong)
    dense = sparse.csr_array(X)[[row]].toarray() if sparse.issparse(X) else X[[row]]
    name = str(column) if rows.features is None else rows.features[column]
    of_item = "" if rows.item == "row" else f" of {rows.item} {rows.items[row]}"
    start = f"{rows.words(row)}: column {name!r}{of_item} is "
    if np.isinf(dense[0, column]):
        raise BadInputError(
            f"{start}infinite; correct the cell, or leave the column out with --drop"
        )
    message = f"{start}empty; {remedy.format(name=name)}"
    n_empty = int(np.isnan(dense).sum())
    if n_empty > 1:
        message += (
            f" ({n_empty} cells of this row are empty; if a whole view is absent where "
            "nobody measured it, labelgap fit --model imvwl --empty keep takes such rows as they "
            "are)"
        )
    raise BadInputError(message)


def _first(X: Any, wrong: Any) -> tuple[int, int]:
    if not sparse.issparse(X):
        row, column = np.argwhere(wrong(X))[0]
        return int(row), int(column)
    stored = sparse.csr_array(X).tocoo()
    first = int(np.flatnonzero(wrong(stored.data))[0])
    return int(stored.row[first]), int(stored.col[first])


def _refuse_empty_columns(rows: InputRows, empty: Empty) -> None:
    if empty is Empty.ZERO or sparse.issparse(rows.data.X):
        return
    bare = np.flatnonzero(np.isnan(rows.data.X).all(axis=0))
    if bare.size:
        name = str(bare[0]) if rows.features is None else rows.features[bare[0]]
        raise BadInputError(
            f"{rows.place}: column {name!r} is empty in every row and has no mean; leave it out "
            f"with --drop {name!r}"
        )
