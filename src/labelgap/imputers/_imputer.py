"""Imputers: the probability of a label in a row, given all else that is known of that row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from labelgap.labels import Labels

# with few rows, what is learned about one depends much on which others take part
_FEWEST_FOLDS, _MOST_FOLDS, _ROWS_FITTED = 2, 5, 10_000


class Imputer(BaseEstimator):
    """Base class of all imputers: write ``fit`` and ``columns``.

    ``fit`` learns from rows with incomplete labels. ``columns`` then gives, label after label, the
    probability that the label is relevant in each row, from the features and the *other* observed
    labels of the row: whether the label itself is recorded in a row has no influence on the
    probability for that row. Imputers treat unlabeled zeros as zeros and estimate the probability
    that the label is *recorded*; who calls them turns that into relevance
    (:func:`labelgap.propensity.unlabeled_posterior`).

    Labels come one column at a time, so nothing of the size rows x labels has to fit in memory.

    An imputer that learns from the other labels of a row can also take ``pseudo_labels`` in both
    methods: a sparse matrix with centred estimates of the labels where they are unknown. It then
    sets ``takes_pseudo_labels``. The pseudo-label of a label must not enter its own column.

    See Also
    --------
    PerLabelImputer : One classifier per label, the default of :class:`labelgap.Mend`.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import Imputer
    >>> class PrevalenceImputer(Imputer):
    ...     def fit(self, X, labels, wanted=None):
    ...         wanted = range(labels.n_labels) if wanted is None else wanted
    ...         self.means_ = [labels.column(label)[1].mean() for label in wanted]
    ...         return self
    ...     def columns(self, X, labels):
    ...         for mean in self.means_:
    ...             yield np.full(X.shape[0], mean)
    >>> labels = as_labels(np.array([[1, np.nan], [1, 0], [0, 1]]))
    >>> X = np.zeros((3, 1))
    >>> [column.round(2).tolist() for column in PrevalenceImputer().fit(X, labels).columns(X, labels)]
    [[0.67, 0.67, 0.67], [0.5, 0.5, 0.5]]
    """

    takes_pseudo_labels = False
    takes_start = False

    def fit(self, X: Any, labels: Labels, wanted: np.ndarray | None = None) -> Self:
        """Learn from rows of features and their labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        labels : Labels
        wanted : int array, default=None
            Positions of the labels that :meth:`columns` gives; None means all.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement fit")

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        """Yield the probabilities of the first wanted label in all rows, then of the second, ..."""
        raise NotImplementedError(f"{type(self).__name__} must implement columns")


class EstimatorImputer(Imputer):
    """Impute with any multi-label estimator of this library, from the features alone.

    Parameters
    ----------
    estimator : LabelGapClassifier
        RMFL, BMLPL, MLLCS, KNeighborsLabels and others. Rows in which a label is unknown do not
        teach the estimator that label, so its predictions there are held out.

    Attributes
    ----------
    estimator_ : LabelGapClassifier
        The fitted estimator.

    See Also
    --------
    PerLabelImputer : Uses the other labels of a row too.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import BinaryRelevance, as_labels
    >>> from labelgap.imputers import EstimatorImputer
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> labels = as_labels(np.array([[0.0], [np.nan], [1.0], [1.0]]))
    >>> imputer = EstimatorImputer(BinaryRelevance()).fit(X, labels)
    >>> [column.shape for column in imputer.columns(X, labels)]
    [(4,)]
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


def draw_folds(
    n_samples: int, rng: np.random.Generator, groups: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the rows of 2 to 5 random folds, more of them where there are few rows.

    Parameters
    ----------
    n_samples : int
    rng : Generator
    groups : int array of shape (n_samples,), default=None
        Groups numbered from 0, none of which is divided.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.imputers import draw_folds
    >>> [rows.size for rows in draw_folds(10, np.random.default_rng(0))]
    [2, 2, 2, 2, 2]
    """
    n_folds = min(max(_FEWEST_FOLDS, min(_ROWS_FITTED // n_samples, _MOST_FOLDS)), n_samples)
    if groups is None:
        return [np.sort(rows) for rows in np.array_split(rng.permutation(n_samples), n_folds)]
    sizes = np.bincount(groups)
    order = rng.permutation(np.flatnonzero(sizes))
    fold_of = np.empty(sizes.size, dtype=np.intp)
    # a group lies where its middle does
    middle = np.cumsum(sizes[order]) - sizes[order] / 2
    fold_of[order] = np.minimum(middle * n_folds / n_samples, n_folds - 1)
    return [rows for k in range(n_folds) if (rows := np.flatnonzero(fold_of[groups] == k)).size]


def cross_fitted(
    imputer: Imputer,
    X: Any,
    labels: Labels,
    wanted: np.ndarray,
    folds: Iterable[np.ndarray],
    *,
    pseudo_labels: Any = None,
) -> Iterator[np.ndarray]:
    """Yield columns of probabilities in which no row took part in what is learned for it.

    Parameters
    ----------
    imputer : Imputer
        Fitted once per fold, without the rows of the fold.
    X : array or CSR matrix of shape (n_samples, n_features)
    labels : Labels
    wanted : int array
        Positions of the labels.
    folds : iterable of int arrays
        The rows of each part.
    pseudo_labels : csr_array, default=None
        For imputers that take them.

    See Also
    --------
    draw_folds : Makes the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import PerLabelImputer, cross_fitted
    >>> X = np.array([0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 8.0, 9.0])[:, None]
    >>> labels = as_labels((X > 4.5).astype(float))
    >>> folds = [np.arange(0, 8, 2), np.arange(1, 8, 2)]
    >>> column = next(cross_fitted(PerLabelImputer(), X, labels, np.array([0]), folds))
    >>> (column > 0.5).astype(int).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    parts = list(folds)
    columns = []
    for rows in parts:
        others = np.setdiff1d(np.arange(labels.n_samples), rows, assume_unique=True)
        first, second = (
            {} if pseudo_labels is None else {"pseudo_labels": pseudo_labels[part]}
            for part in (others, rows)
        )
        fitted = clone(imputer).fit(X[others], labels[others], wanted, **first)
        columns.append(fitted.columns(X[rows], labels[rows], **second))
    for pieces in zip(*columns, strict=True):
        column = np.empty(labels.n_samples)
        for rows, piece in zip(parts, pieces, strict=True):
            column[rows] = piece
        yield column


def check_imputers(given: Imputer | Sequence[Imputer], max_iter: int = 1) -> list[Imputer]:
    """Return one or several imputers as a list, or raise an error that says what is wrong.

    Parameters
    ----------
    given : Imputer or sequence of them
    max_iter : int, default=1
        Self-training iterations; more than one need an imputer that takes pseudo-labels.

    Examples
    --------
    >>> from labelgap.imputers import PerLabelImputer, check_imputers
    >>> check_imputers(PerLabelImputer())
    [PerLabelImputer()]
    """
    found = [given] if isinstance(given, Imputer) else list(given)
    for place, imputer in enumerate(found):
        if not isinstance(imputer, Imputer):
            raise TypeError(
                f"imputer[{place}] is {imputer!r}, not an Imputer; "
                "labelgap.imputers.EstimatorImputer makes one of an estimator"
            )
    if not found:
        raise ValueError("imputer is empty; give at least one Imputer, or None")
    if max_iter > 1 and not any(imputer.takes_pseudo_labels for imputer in found):
        raise ValueError(
            f"max_iter={max_iter}: {found[0]!r} gives the same in every iteration; "
            "use a PerLabelImputer, a stack with one, or max_iter=1"
        )
    return found
