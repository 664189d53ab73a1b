"""What a completer does: the chance of a label in a row, given all else known of that row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from labelgap.labels import Labels

__all__ = ["Completer", "ScoreCompleter", "check_completers", "cross_fitted", "given_guesses"]


class Completer(BaseEstimator):
    """Base of all completers.

    ``fit`` learns from rows with incomplete labels. ``columns`` then gives, label after label, the
    probability that the label is relevant in each of some rows, from their features and their
    *other* observed labels: whether the label itself is recorded in a row plays no part in what is
    said of that row. Ambiguous zeros are zeros to a completer: it then gives the probability that
    the label is *recorded*.

    One column at a time, nothing of the size rows x labels need ever exist.

    A completer that codes the other labels may take ``guesses`` in both methods, codes of labels
    where they are not known, and then says so in ``takes_guesses``. That of the label itself must
    play no part: there is a guess just where the label is not known.
    """

    @property
    def takes_guesses(self) -> bool:
        return False

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        """Learn from rows of features (dense or CSR) and their labels.

        ``wanted`` are the positions of the labels that will be asked for, by default all.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement fit")

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        """Probabilities of the first wanted label in all rows, then of the second, and so on."""
        raise NotImplementedError(f"{type(self).__name__} must implement columns")


class ScoreCompleter(Completer):
    """Completes by any multi-label estimator of this library, from the features alone.

    Parameters
    ----------
    estimator : LabelGapClassifier
        RMFL, Maxide, BMLPL, MLLCS, NeighborVote and others. Rows in which a label is unknown
        do not teach it that label, so that its predictions there are honest ones.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        self.estimator_ = clone(self.estimator).fit(X, labels)
        self.wanted_ = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        probabilities = np.asarray(self.estimator_.predict_proba(X))
        for label in self.wanted_:
            yield probabilities[:, label]


def cross_fitted(
    completer: Completer,
    X: Any,
    labels: Labels,
    wanted: np.ndarray,
    folds: Iterable[np.ndarray],
    *,
    guesses: Any = None,
) -> Iterator[np.ndarray]:
    """Columns in which no row had a part in what is said of it.

    ``folds`` are the rows of each part; ``guesses`` are for completers that take them.
    """
    parts = list(folds)
    columns = []
    for rows in parts:
        others = np.setdiff1d(np.arange(labels.n_rows), rows, assume_unique=True)
        first, second = ({} if guesses is None else {"guesses": guesses[p]} for p in (others, rows))
        fitted = clone(completer).fit(X[others], labels[others], wanted, **first)
        columns.append(fitted.columns(X[rows], labels[rows], **second))
    for pieces in zip(*columns, strict=True):
        column = np.empty(labels.n_rows)
        for rows, piece in zip(parts, pieces, strict=True):
            column[rows] = piece
        yield column


def given_guesses(completer: Completer, guesses: Any) -> dict[str, Any]:
    """Guesses as an argument, of those that take them."""
    return {"guesses": guesses} if completer.takes_guesses else {}


def check_completers(
    given: Completer | Sequence[Completer], max_rounds: int = 1
) -> list[Completer]:
    """One or several completers as a list; some must serve the rounds that are asked for."""
    found = [given] if isinstance(given, Completer) else list(given)
    for place, one in enumerate(found):
        if not isinstance(one, Completer):
            raise TypeError(
                f"completer[{place}] is {one!r}, not a Completer; "
                "labelgap.mending.ScoreCompleter makes one of an estimator"
            )
    if not found:
        raise ValueError("completer is empty; give at least one Completer, or None")
    if max_rounds > 1 and not any(one.takes_guesses for one in found):
        raise ValueError(
            f"max_rounds={max_rounds}: {found[0]!r} says the same in every round; "
            "give a LabelwiseCompleter, a stack with one, or max_rounds=1"
        )
    return found
