"""Columns of any type as numbers, by skrub, with holes filled for models that cannot take them."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from labelgap.extras import require
from labelgap.text import TextFeatures

# a column of texts: so many different ones, most of several words
_FEWEST_TEXTS = 40


def is_raw_frame(X: Any) -> bool:
    """Return whether this is a frame with columns that are no numbers, or with empty cells.

    Parameters
    ----------
    X : array or frame

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.frames import is_raw_frame
    >>> is_raw_frame(pd.DataFrame({"size": [1.5, 2.5]}))
    False
    >>> is_raw_frame(pd.DataFrame({"size": [1.5, None]}))
    True
    """
    if not hasattr(X, "columns") or len(set(X.columns)) < len(X.columns):
        return False  # what takes the frame says that names occur twice
    table = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return False
    if any(hasattr(dtype, "fill_value") for dtype in getattr(X, "dtypes", ())):
        return False  # sparse columns of pandas are numbers
    return any(_is_raw(table[:, j]) for j in range(table.shape[1]))


def _is_raw(column: Any) -> bool:
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return True
    return column.is_null().any() or (column.dtype.is_float() and column.is_nan().any())


class FrameEncoder(TransformerMixin, BaseEstimator):
    """Turn a frame with columns of any type into a matrix of numbers.

    Numbers stay, dates become their parts, categories with few values one column each, and those
    with many a few columns of a latent semantic analysis: what :class:`skrub.TableVectorizer` does.

    Parameters
    ----------
    holes : {"fill", "keep"}, default="fill"
        "fill": empty cells become the mean of their column, beside a column that says where they
        were, and columns are standardised. "keep": they stay NaN, for models that take it.
    categories : bool, default=False
        Whether categories stay categories: :meth:`transform` then returns a frame, for models that
        take it.
    text : {"dense", "sparse"}, default="dense"
        "sparse": columns of texts become :class:`labelgap.text.TextFeatures`, and the matrix is
        sparse. "dense": they are like categories with many values.
    text_encoder : {"static", "tfidf"} or object with ``encode``, default=None
        For sparse texts, see :func:`labelgap.text.check_encoder`.

    Attributes
    ----------
    columns_ : list of str
        The columns of the frame.
    text_columns_ : list of str
        Those of more than 40 different texts, of which most have several words.

    See Also
    --------
    skrub.TableVectorizer : What the encoder is made of.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.frames import FrameEncoder
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", "red"]})
    >>> encoder = FrameEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour_red', 'size is empty']
    >>> encoder.transform(frame).shape
    (3, 3)
    """

    def __init__(
        self,
        holes: str = "fill",
        *,
        categories: bool = False,
        text: str = "dense",
        text_encoder: Any = None,
    ) -> None:
        self.holes = holes
        self.categories = categories
        self.text = text
        self.text_encoder = text_encoder

    def fit(self, X: Any, y: Any = None) -> FrameEncoder:
        """Learn the values of categories, and what fills empty cells."""
        self.columns_ = list(X.columns)
        _check_columns(X)
        self.text_columns_ = _text_columns(X)
        self.text_: TextFeatures | None = None
        if self.text == "sparse" and self.text_columns_:
            texts = joined_texts(X, self.text_columns_)
            self.text_ = TextFeatures(self.text_encoder).fit(texts)
        table = self._without_texts(X)
        self.vectorizer_: Any = None
        self.filler_: Any = None
        self.names_ = np.empty(0, dtype=object)
        if table.shape[1]:
            self._fit_table(table)
        return self

    def _without_texts(self, X: Any) -> Any:
        """The columns that skrub reads."""
        table = _as_pandas(X)
        return table if self.text_ is None else table.drop(columns=self.text_columns_)

    def _fit_table(self, table: Any) -> None:
        skrub = require("skrub", extra="frames", purpose="a table with text, dates or empty cells")
        few = {"low_cardinality": skrub.ToCategorical()} if self.categories else {}
        text = skrub.StringEncoder(random_state=0)
        self.vectorizer_ = skrub.TableVectorizer(
            drop_null_fraction=None, high_cardinality=text, **few
        )
        encoded = self.vectorizer_.fit_transform(table)
        self.names_ = np.array([str(column) for column in encoded.columns], dtype=object)
        if self.holes == "fill" and not self.categories:
            filled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
            self.filler_ = make_union(filled, MissingIndicator(error_on_new=False))
            self.filler_.fit(_matrix(encoded))

    def transform(self, X: Any) -> Any:
        """Return a matrix of numbers, or a frame where categories stay categories."""
        check_is_fitted(self)
        X = in_order(X, self.columns_)
        blocks: list[Any] = []
        if self.vectorizer_ is not None:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Found unknown categories")
                encoded = self.vectorizer_.transform(self._without_texts(X))
            if self.categories:
                return encoded
            matrix = _matrix(encoded)
            blocks.append(matrix if self.filler_ is None else self.filler_.transform(matrix))
        if self.text_ is None:
            return blocks[0]
        blocks.append(self.text_.transform(joined_texts(X, self.text_columns_)))
        return sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the matrix."""
        check_is_fitted(self)
        names = [self.names_]
        if self.filler_ is not None:
            empty = self.names_[self.filler_.transformer_list[1][1].features_]
            names.append(np.array([f"{name} is empty" for name in empty], dtype=object))
        if self.text_ is not None:
            names.append(self.text_.get_feature_names_out())
        return np.concatenate(names)


def _text_columns(X: Any) -> list:
    table = nw.from_native(X, eager_only=True)
    return [name for name in table.columns if _holds_texts(table[name])]


def _holds_texts(column: Any) -> bool:
    if column.dtype not in (nw.String, nw.Object):
        return False
    cells = column.drop_nulls().to_list()
    if len(set(map(str, cells))) <= _FEWEST_TEXTS or not all(isinstance(c, str) for c in cells):
        return False
    return 2 * sum(len(cell.split()) > 1 for cell in cells) > len(cells)


def joined_texts(X: Any, columns: list) -> list[str]:
    """Return one text per row, of all columns of texts; an empty cell says nothing."""
    table = nw.from_native(X, eager_only=True)
    cells = zip(*(table[name].to_list() for name in columns), strict=True)
    return [" ".join(cell for cell in row if isinstance(cell, str)) for row in cells]


def in_order(X: Any, columns: list) -> Any:
    """Return a frame with its columns in the order of a fit; others, or none, are refused."""
    given = list(getattr(X, "columns", ()))
    if not given:
        raise ValueError(
            f"X is no frame, and the model was fitted on one with the columns {_listed(columns)}: "
            "give a frame with these columns"
        )
    for these, those, problem in ((columns, given, "lacks"), (given, columns, "has")):
        strange = [name for name in these if name not in those]
        if strange:
            more = "" if problem == "lacks" else ", which it did not have"
            raise ValueError(
                f"X {problem} the column {strange[0]!r}{more} when the model was fitted"
                f"{f' (and {len(strange) - 1} more)' if len(strange) > 1 else ''}; its columns "
                f"were {_listed(columns)}"
            )
    return X if given == columns else X[columns]


def _check_columns(X: Any) -> None:
    """Refuse names that occur twice, and cells that hold several values."""
    names = list(X.columns)
    twice = next((name for j, name in enumerate(names) if name in names[:j]), None)
    if twice is not None:
        raise ValueError(f"X has two columns called {twice!r}: give each a name of its own")
    table = nw.from_native(X, eager_only=True)
    for j, name in enumerate(names):
        column = table[:, j]
        if column.dtype.is_nested() or column.dtype in (nw.Object, nw.Binary, nw.Unknown):
            cells = column.drop_nulls().to_list()
            row = next((r for r, c in enumerate(cells) if isinstance(c, _SEVERAL)), None)
            if row is not None:
                raise ValueError(
                    f"column {name!r} of X holds {type(cells[row]).__name__} values: give columns "
                    "of text or numbers with what is in them, or drop the column"
                )


_SEVERAL = (list, tuple, set, dict, bytes, np.ndarray)


def _listed(names: list) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    return shown + (", ..." if len(names) > _MOST_NAMED else "")


_MOST_NAMED = 8


def _as_pandas(X: Any) -> Any:
    """One library for all, so that a model can be asked with frames of another one."""
    return X if hasattr(X, "iloc") else X.to_pandas()


def _matrix(encoded: Any) -> np.ndarray:
    return encoded.to_numpy().astype(np.float64)
