"""Splits that keep the fraction of every label, for sparse and incomplete labels.

References
----------
.. [1] K. Sechidis, G. Tsoumakas and I. Vlahavas. On the stratification of multi-label data.
   ECML PKDD, 2011.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _num_samples

from labelgap.kernels.stratification import assign_folds, refine_folds
from labelgap.labels import Labels, as_labels

# How much one row too many counts, relative to the labels of an average row. A light weight lets
# rows move freely while the labels are evened out; the last pass then settles the sizes.
_SIZE_WEIGHT = 0.1
_LAST_SIZE_WEIGHT = 1.0


def stratified_folds(
    y: Any,
    fractions: Any,
    *,
    shuffle: bool = True,
    n_refinements: int = 10,
    random_state: Any = None,
) -> np.ndarray:
    """Divide rows into folds that each get their fraction of the rows and of every label.

    Iterative stratification [1]_ places the rows of the label with the fewest unplaced rows
    first, each in the fold that lacks that label most. It leaves frequent labels to chance, so
    its result is refined: passes over the rows move single rows to another fold wherever that
    lowers the chi-square distance of the folds' label counts and sizes from their fractions.

    Parameters
    ----------
    y : Labels or anything :func:`labelgap.as_labels` takes
        Only relevant entries count; unknown entries and unlabeled zeros do not.
    fractions : array of shape (n_folds,)
        Wanted fraction of rows per fold, summing to one.
    shuffle : bool, default=True
        Whether the order of rows and ties are random. Otherwise the result depends on the order
        of rows and labels alone.
    n_refinements : int, default=10
        Passes of refinement; 0 gives the published algorithm.
    random_state : int or Generator, default=None
        Seed of the shuffling.

    Returns
    -------
    folds : int array of shape (n_samples,)
        The fold of each row.

    See Also
    --------
    IterativeStratification : the same as ``cv=`` of scikit-learn.

    Examples
    --------
    >>> from labelgap.model_selection import stratified_folds
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> stratified_folds(Y, [0.5, 0.5], shuffle=False)
    array([0, 1, 0, 1])
    """
    _check_refinements(n_refinements)
    fractions = np.asarray(fractions, dtype=np.float64)
    if fractions.ndim != 1 or (fractions <= 0).any() or not np.isclose(fractions.sum(), 1.0):
        raise ValueError(f"fractions must be positive and sum to one, got {fractions}")
    # a label nobody looked at is no reason to warn here: there is nothing to stratify in it
    positives = (y if isinstance(y, Labels) else as_labels(y)).positives()
    n_samples, n_labels = positives.shape
    if shuffle:
        rng = np.random.default_rng(random_state)
        order, label_rank = rng.permutation(n_samples), rng.permutation(n_labels)
        tie_breaks = rng.random(n_samples)
    else:
        order, label_rank, tie_breaks = (
            np.arange(n_samples),
            np.arange(n_labels),
            np.zeros(n_samples),
        )
    folds = np.empty(n_samples, dtype=np.int64)
    folds[order] = _assign(positives[order], fractions, label_rank, tie_breaks, n_refinements)
    return folds


def _assign(positives: sparse.csr_array, fractions, label_rank, tie_breaks, n_refinements):
    by_row = positives.indptr, positives.indices
    columns = positives.tocsc()
    folds = assign_folds(
        *by_row, columns.indptr, columns.indices, fractions, label_rank, tie_breaks
    )
    if n_refinements == 0:
        return folds
    totals = np.diff(columns.indptr).astype(np.float64)
    weights = np.full(n_refinements, _SIZE_WEIGHT)
    weights[-1] = _LAST_SIZE_WEIGHT
    # averaged over rows, the labels of a row weigh sum_l 1 / total_l = (labels in use) / n_samples
    weights *= max(np.count_nonzero(totals), 1) / folds.size
    return refine_folds(*by_row, totals, fractions, folds, weights)


class IterativeStratification(BaseCrossValidator):
    """K folds in which every label has nearly the same fraction of relevant rows.

    A drop-in ``cv=`` for scikit-learn that takes labels with gaps and sparse labels without
    making them dense. Rows without a relevant label are spread evenly as well.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    shuffle : bool, default=False
        Whether the order of rows and ties are random; otherwise equal input gives equal folds.
    random_state : int or Generator, default=None
        Used only with ``shuffle=True``.
    n_refinements : int, default=10
        Passes that even out what iterative stratification [1]_ leaves uneven; 0 gives the
        published algorithm.

    Notes
    -----
    Fold sizes are balanced together with the labels: they may differ by more than one row where
    the labels require it.

    References
    ----------
    .. [1] K. Sechidis, G. Tsoumakas and I. Vlahavas. On the stratification of multi-label data.
       ECML PKDD, 2011.

    See Also
    --------
    train_test_split : a single split.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.model_selection import IterativeStratification
    >>> Y = np.array([[1, 0], [1, 0], [np.nan, 1], [0, 1]])
    >>> [test.tolist() for _, test in IterativeStratification(2).split(np.zeros((4, 1)), Y)]
    [[0, 2], [1, 3]]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        n_refinements: int = 10,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_refinements = n_refinements

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the train and test row indices of each fold.

        Parameters
        ----------
        X : array-like with n_samples rows
        y : Labels or anything :func:`labelgap.as_labels` takes
        groups : None
            Rows cannot be kept together in groups.
        """
        folds = self._folds(X, y, groups)
        for fold in range(self.n_splits):
            test = folds == fold
            yield np.flatnonzero(~test), np.flatnonzero(test)

    def _folds(self, X, y, groups) -> np.ndarray:
        if not isinstance(self.n_splits, Integral) or self.n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2, got {self.n_splits!r}")
        if not self.shuffle and self.random_state is not None:
            raise ValueError("random_state has no effect without shuffle: set shuffle=True")
        if y is None:
            raise ValueError("y is needed to stratify: call split(X, y), or use KFold")
        if groups is not None:
            raise ValueError("groups cannot be kept together here: use GroupKFold, or groups=None")
        n_samples = _check_rows(X, y)
        if self.n_splits > n_samples:
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {n_samples} rows: lower it"
            )
        return stratified_folds(
            y,
            np.full(self.n_splits, 1 / self.n_splits),
            shuffle=self.shuffle,
            n_refinements=self.n_refinements,
            random_state=self.random_state,
        )


def _check_rows(X: Any, y: Any) -> int:
    n_samples = _num_samples(y)
    if X is not None and _num_samples(X) != n_samples:
        raise ValueError(f"X has {_num_samples(X)} rows but y has {n_samples}: give the same rows")
    return n_samples


def _check_refinements(n_refinements: int) -> None:
    if not isinstance(n_refinements, Integral) or n_refinements < 0:
        raise ValueError(f"n_refinements must be an integer of at least 0, got {n_refinements!r}")
