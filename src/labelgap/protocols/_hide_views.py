"""Hiding whole views of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.protocols._entry_pool import check_fraction, fraction_of
from labelgap.protocols._hidden_data import HiddenViews
from labelgap.views import Views, from_blocks, present, to_blocks


def hide_views(
    X: Any, views: Mapping[str, slice], fraction: float, *, random_state: Any = None
) -> HiddenViews:
    """Remove every view from a fraction of the rows; each row keeps at least one (iMVWL's protocol).

    Of the k rows that have a view, ``floor(fraction * k)`` lose it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Views that are absent already stay so.
    views : Views or mapping from name to slice
    fraction : float
        Between 0 and 1; the paper uses 0.5. With V complete views at most (V - 1) / V is
        possible.
    random_state : int, Generator or None, default=None

    Returns
    -------
    HiddenViews

    See Also
    --------
    labelgap.views : How absent views are marked.

    References
    ----------
    .. [1] Q. Tan, G. Yu, C. Domeniconi, J. Wang and Z. Zhang. Incomplete multi-view weak-label
       learning. IJCAI, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.protocols import hide_views
    >>> from labelgap.views import Views
    >>> views = Views({"colour": 2, "shape": 3})
    >>> hidden = hide_views(np.ones((4, 5)), views, 0.5, random_state=0)
    >>> hidden.removed.sum(axis=0).tolist()
    [2, 2]
    """
    views = Views(views)
    views.check(X)
    X = sparse.csr_array(X) if sparse.issparse(X) else _as_float(X)
    there = present(X, views)
    rng = np.random.default_rng(random_state)
    removed = _choose(there, fraction_of(check_fraction(fraction), there.sum(axis=0)), rng)
    blocks = {
        name: block[removed[:, position]]
        for position, (name, block) in enumerate(to_blocks(X, views).items())
    }
    return HiddenViews(_without(X, views, removed, there), views, removed, blocks)


def _choose(there: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which views to remove: ``counts[v]`` rows of view v, never the last view of a row."""
    removed = np.zeros_like(there)
    for view, count in enumerate(counts):
        candidates = np.flatnonzero(there[:, view])
        removed[rng.choice(candidates, count, replace=False), view] = True
    left = there & ~removed
    bare = np.flatnonzero(there.any(axis=1) & ~left.any(axis=1))
    _repair(left, there, rng.permutation(bare), rng)
    return there & ~left


def _repair(left, there, bare, rng) -> None:
    """A bare row takes a view back, and a row with views to spare gives up the same one."""
    n_left = left.sum(axis=1)
    # rows never gain views to spare, so each queue of donors is read once
    spare = (n_left > 1)[:, None] & left
    donors = [list(rng.permutation(np.flatnonzero(column))) for column in spare.T]
    for row in bare:
        for view in rng.permutation(np.flatnonzero(there[row])):
            while donors[view] and n_left[donors[view][-1]] < 2:
                donors[view].pop()
            if donors[view]:
                donor = donors[view].pop()
                left[row, view], left[donor, view] = True, False
                n_left[donor] -= 1
                break
        else:
            raise ValueError(
                f"row {row} would lose its last view and no other row can give one up in its "
                "place: lower fraction"
            )


def _without(X: Any, views: Views, removed: np.ndarray, there: np.ndarray) -> Any:
    if sparse.issparse(X):
        if sum(views.widths.values()) != X.shape[1]:
            raise ValueError("views must cover all columns of a sparse X: name the rest a view")
        left = there & ~removed
        keep = {name: left[:, position] for position, name in enumerate(views)}
        return from_blocks(to_blocks(X, views), present=keep)[0]
    X = X.copy()
    for position, columns in enumerate(views.values()):
        X[removed[:, position], columns] = np.nan
    return X


def _as_float(X: Any) -> np.ndarray:
    X = np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)
