"""Several imputers, weighted by how well they predict known entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone

from labelgap.imputers._imputer import Imputer, cross_fitted
from labelgap.labels import Labels


class StackingImputer(Imputer):
    """Impute with a weighted mean of imputers, with the same weights for all labels.

    The weights minimise the squared error at the observed entries, of predictions by imputers that
    were fitted without these rows; they are not negative and sum to one.

    Parameters
    ----------
    imputers : sequence of Imputer
    n_folds : int, default=3
        Parts of the rows for the weights.
    max_labels : int, default=50
        Labels that the weights are found on, evenly spaced.

    Attributes
    ----------
    weights_ : ndarray of shape (n_imputers,)
    imputers_ : list of Imputer or None
        Fitted imputers; None for those with the weight 0.

    See Also
    --------
    labelgap.Mend : Takes several imputers too, and chooses one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import NeighborsImputer, PerLabelImputer, StackingImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2))
    >>> labels = as_labels(np.where(rng.random((90, 1)) < 0.3, np.nan, X[:, :1] > 0))
    >>> stack = StackingImputer([PerLabelImputer(), NeighborsImputer(5)]).fit(X, labels)
    >>> float(stack.weights_.sum().round(6))
    1.0
    """

    def __init__(
        self, imputers: Sequence[Imputer], *, n_folds: int = 3, max_labels: int = 50
    ) -> None:
        self.imputers = imputers
        self.n_folds = n_folds
        self.max_labels = max_labels

    @property
    def takes_pseudo_labels(self) -> bool:  # type: ignore[override]
        return any(one.takes_pseudo_labels for one in self.imputers)

    def fit(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray | None = None,
        *,
        pseudo_labels: sparse.csr_array | None = None,
    ) -> Self:
        everything = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        step = max(1, -(-everything.size // self.max_labels))
        some = everything[::step]
        folds = [np.arange(part, labels.n_samples, self.n_folds) for part in range(self.n_folds)]
        answers, truth = [], np.empty(0)
        for imputer in self.imputers:
            said, values = [], []
            codes = _given(imputer, pseudo_labels)
            columns = cross_fitted(imputer, X, labels, some, folds, **codes)
            for label, column in zip(some, columns, strict=True):
                rows, known = labels.column(label)
                said.append(column[rows])
                values.append(known)
            answers.append(np.concatenate(said))
            truth = np.concatenate(values).astype(float)
        self.weights_ = convex_weights(np.column_stack(answers), truth)
        self.imputers_ = [
            clone(imputer).fit(X, labels, wanted, **_given(imputer, pseudo_labels))
            if weight > 0
            else None
            for imputer, weight in zip(self.imputers, self.weights_, strict=True)
        ]
        return self

    def columns(
        self, X: Any, labels: Labels, *, pseudo_labels: sparse.csr_array | None = None
    ) -> Iterator[np.ndarray]:
        used = [(w, c) for w, c in zip(self.weights_, self.imputers_, strict=True) if c]
        streams = [one.columns(X, labels, **_given(one, pseudo_labels)) for _, one in used]
        for pieces in zip(*streams, strict=True):
            yield sum(w * piece for (w, _), piece in zip(used, pieces, strict=True))


def convex_weights(answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """argmin ||answers w - truth|| over w >= 0 with sum 1."""
    scale = 1e3 * max(1.0, float(np.abs(answers).max())) * np.sqrt(max(len(truth), 1))
    gram_rows = np.vstack([answers, np.full((1, answers.shape[1]), scale)])
    weights, _ = nnls(gram_rows, np.append(truth, scale))
    total = weights.sum()
    return weights / total if total > 0 else np.full(answers.shape[1], 1 / answers.shape[1])


def _given(imputer: Imputer, pseudo_labels: Any) -> dict[str, Any]:
    """Return the pseudo-labels as an argument, for imputers that take them."""
    return {"pseudo_labels": pseudo_labels} if imputer.takes_pseudo_labels else {}
