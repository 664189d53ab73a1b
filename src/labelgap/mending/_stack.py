"""Several completers, weighted by what they say of entries that are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone

from labelgap.labels import Labels
from labelgap.mending._completers import Completer, cross_fitted, given_guesses

__all__ = ["StackedCompleter"]


class StackedCompleter(Completer):
    """A weighted mean of completers; the weights serve all labels.

    They minimise the squared error at the observed entries, of predictions by completers that were
    fitted without the rows they are asked about, and are not negative and sum to one.

    Parameters
    ----------
    completers : sequence of Completer
    n_folds : int
        Parts of the rows for the weights.
    most_labels : int
        Labels that the weights are found on, evenly spaced.

    Attributes
    ----------
    weights_ : ndarray of shape (n_completers,)
    completers_ : list of Completer
    """

    def __init__(
        self, completers: Sequence[Completer], *, n_folds: int = 3, most_labels: int = 50
    ) -> None:
        self.completers = completers
        self.n_folds = n_folds
        self.most_labels = most_labels

    @property
    def takes_guesses(self) -> bool:
        return any(one.takes_guesses for one in self.completers)

    def fit(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray | None = None,
        *,
        guesses: sparse.csr_array | None = None,
    ) -> Self:
        everything = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        step = max(1, -(-everything.size // self.most_labels))
        some = everything[::step]
        folds = [np.arange(part, labels.n_rows, self.n_folds) for part in range(self.n_folds)]
        answers, truth = [], np.empty(0)
        for completer in self.completers:
            said, values = [], []
            codes = given_guesses(completer, guesses)
            columns = cross_fitted(completer, X, labels, some, folds, **codes)
            for label, column in zip(some, columns, strict=True):
                rows, known = labels.column(label)
                said.append(column[rows])
                values.append(known)
            answers.append(np.concatenate(said))
            truth = np.concatenate(values).astype(float)
        self.weights_ = convex_weights(np.column_stack(answers), truth)
        self.completers_ = [
            clone(completer).fit(X, labels, wanted, **given_guesses(completer, guesses))
            if weight > 0
            else None
            for completer, weight in zip(self.completers, self.weights_, strict=True)
        ]
        return self

    def columns(
        self, X: Any, labels: Labels, *, guesses: sparse.csr_array | None = None
    ) -> Iterator[np.ndarray]:
        used = [(w, c) for w, c in zip(self.weights_, self.completers_, strict=True) if c]
        streams = [one.columns(X, labels, **given_guesses(one, guesses)) for _, one in used]
        for pieces in zip(*streams, strict=True):
            yield sum(w * piece for (w, _), piece in zip(used, pieces, strict=True))


def convex_weights(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """argmin ||answers w - truth|| over w >= 0 with sum 1."""
    scale = 1e3 * max(1.0, float(np.abs(answers).max())) * np.sqrt(max(len(truth), 1))
    gram_rows = np.vstack([answers, np.full((1, answers.shape[1]), scale)])
    weights, _ = nnls(gram_rows, np.append(truth, scale))
    total = weights.sum()
    return weights / total if total > 0 else np.full(answers.shape[1], 1 / answers.shape[1])
