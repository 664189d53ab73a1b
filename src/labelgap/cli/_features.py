"""From rows as they were read to the matrix a model takes, the same for fitting and predicting."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from labelgap.cli._empty import learn_fill
from labelgap.cli._failures import BadInputError
from labelgap.cli._loaded import Loaded
from labelgap.cli._options import Empty

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

    def columns_of(self, rows: Loaded) -> Any:
        """The columns of the rows in the order of the model; refuses others, and says which."""
        if self.names is None or rows.features is None:
            if rows.X.shape[1] != self.n_features:
                raise BadInputError(
                    f"{rows.place}: has {rows.X.shape[1]} features, the model was fitted on "
                    f"{self.n_features}; give rows with the same features"
                )
            return rows.X
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
        return rows.X[:, [position[name] for name in self.names]]


def fit_text(rows: Loaded) -> TfidfVectorizer | None:
    """The vocabulary of the text column, if there is one."""
    if rows.texts is None:
        return None
    try:
        return TfidfVectorizer().fit(rows.texts)
    except ValueError as error:
        raise BadInputError(f"{rows.place}: the column of text holds no words") from error


def design_matrix(rows: Loaded, X: Any, vectorizer: TfidfVectorizer | None) -> Any:
    """Numbers and words side by side."""
    if vectorizer is None:
        if X.shape[1] == 0:
            raise BadInputError(
                f"{rows.place}: has no column of features; add some, or give --text"
            )
        return X
    words = sparse.csr_array(vectorizer.transform(rows.texts))
    if X.shape[1] == 0:
        return words
    return sparse.csr_array(sparse.hstack([sparse.csr_array(X), words], format="csr"))


def named_design(rows: Loaded, empty: Empty) -> tuple[Any, list[str] | None, bool]:
    """Features with their names, and whether they are scaled already.

    Empty cells are refused or filled. Numbers beside words are standardised here, and weigh as
    much as the words of a row.
    """
    filler = learn_fill(rows, empty)
    numbers = rows.X if filler is None else filler.transform(rows.X)
    vectorizer = fit_text(rows)
    if vectorizer is None:
        return design_matrix(rows, numbers, None), rows.features, False
    terms = [f"{rows.text}: {term}" for term in vectorizer.get_feature_names_out()]
    if numbers.shape[1]:
        numbers = StandardScaler().fit_transform(numbers) / np.sqrt(numbers.shape[1])
    X = design_matrix(rows, numbers, vectorizer)
    return X, [*(rows.features or ()), *terms], True


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{'the column' if len(names) == 1 else 'the columns'} {shown}" + (
        f" and {more} more" if more > 0 else ""
    )
