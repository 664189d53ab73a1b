"""One split into rows to learn from and rows to test, with labels that may have gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.model_selection import train_test_split as split_at_random
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from labelgap.model_selection._stratified_folds import stratified_folds
from labelgap.targets import is_vector


def train_test_split(
    *arrays: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: Any = None,
    shuffle: bool = True,
    stratify: Any = None,
    groups: Any = None,
) -> list:
    """Split rows into two parts, if you like with nearly the same fraction of every label.

    Like :func:`sklearn.model_selection.train_test_split`; in addition ``stratify`` may be a label
    matrix with gaps, and ``groups`` are kept together.

    Parameters
    ----------
    *arrays : array-likes with n_samples rows
        Features, labels, and whatever else is to be split in the same way.
    test_size, train_size : fraction in (0, 1), or number of rows, default=None
        A quarter of the rows are test rows when both are None. With a label matrix in ``stratify``
        sizes are met up to a few rows, as the labels require, and the two must make up all rows.
    random_state : int, RandomState or Generator, default=None
        Seed of the shuffling.
    shuffle : bool, default=True
        Whether to shuffle the rows; without it nothing can be stratified.
    stratify : Labels or anything :func:`labelgap.as_labels` takes, or a vector, default=None
        Both parts get nearly the same fraction of every label, by :func:`stratified_folds`, or of
        every class.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together; not together with ``stratify``.

    Returns
    -------
    list
        ``[X_train, X_test, y_train, y_test, ...]``, each of the type that went in.

    See Also
    --------
    IterativeStratification : folds for cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.model_selection import train_test_split
    >>> Y = np.tile([[1, 0], [np.nan, 1]], (10, 1))
    >>> Y_train, Y_test = train_test_split(Y, test_size=0.4, stratify=Y, random_state=0)
    >>> np.nansum(Y_test, axis=0)
    array([4., 4.])
    """
    n_samples = _check_lengths(arrays, stratify, groups)
    sizes = {"test_size": test_size, "train_size": train_size}
    if groups is not None:
        if stratify is not None or not shuffle:
            raise ValueError("groups: are shuffled and not stratified; leave out stratify, shuffle")
        splitter = GroupShuffleSplit(1, **sizes, random_state=random_state)
        train, test = next(splitter.split(np.zeros(n_samples), groups=groups))
    elif stratify is None or is_vector(stratify):
        return split_at_random(
            *arrays, **sizes, random_state=random_state, shuffle=shuffle, stratify=stratify
        )
    else:
        if not shuffle:
            raise ValueError("stratify needs shuffle=True: leave out one of the two")
        test_fraction = _test_fraction(n_samples, test_size, train_size)
        fractions = [1 - test_fraction, test_fraction]
        folds = stratified_folds(stratify, fractions, random_state=_seed(random_state))
        train, test = np.flatnonzero(folds == 0), np.flatnonzero(folds == 1)
        if not (train.size and test.size):
            raise ValueError(
                f"test_size={test_size} leaves one part of the {n_samples} rows empty: choose another"
            )
    return [_safe_indexing(array, rows) for array in arrays for rows in (train, test)]


def _check_lengths(arrays: tuple, stratify: Any, groups: Any) -> int:
    if not arrays:
        raise ValueError("give at least one array to split")
    n_samples = _num_samples(arrays[0])
    named = {f"arrays[{place}]": array for place, array in enumerate(arrays)}
    for name, array in {**named, "stratify": stratify, "groups": groups}.items():
        if array is not None and _num_samples(array) != n_samples:
            raise ValueError(f"{name} has {_num_samples(array)} rows, arrays[0] has {n_samples}")
    return n_samples


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31 - 1)
    return random_state


def _test_fraction(n_samples: int, test_size, train_size) -> float:
    test = _as_fraction("test_size", test_size, n_samples)
    train = _as_fraction("train_size", train_size, n_samples)
    if test is None:
        return 0.25 if train is None else 1 - train
    if train is not None and abs(test + train - 1) > 1e-9:
        raise ValueError(
            f"test_size={test_size} and train_size={train_size} do not make up all {n_samples} rows: "
            "give one of them"
        )
    return test


def _as_fraction(argument: str, size, n_samples: int) -> float | None:
    if size is None:
        return None
    is_count = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    if is_count and 0 < size < n_samples:
        return float(size / n_samples)
    if isinstance(size, (float, np.floating)) and 0 < size < 1:
        return float(size)
    raise ValueError(
        f"{argument}={size!r}: give a fraction between 0 and 1, or a number of rows between 1 and "
        f"{n_samples - 1}"
    )
