"""Views: one feature matrix with named groups of columns, of which a row may lack some.

A list of matrices breaks every scikit-learn tool that slices rows, so the views of a problem are
column groups of one matrix. A view that is absent for a row is marked inside the matrix:

- dense: all columns of the view are NaN in that row;
- sparse: the first column of the view holds a NaN, and no entry of the view in that row is a
  number other than zero.

A NaN among other values is a missing measurement inside a view that is present.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from labelgap.kernels.input_arrays import canonical_rows

__all__ = ["ViewSelector", "Views", "from_blocks", "present", "to_blocks"]


class Views(Mapping[str, slice]):
    """The columns of each view: an ordered, immutable mapping from names to slices.

    Parameters
    ----------
    views : mapping from str to slice, pair (start, stop) or width
        The views, in the order of their columns. A single number is the width of the view,
        which then starts where the one before it ends.

    Examples
    --------
    >>> from labelgap.views import Views
    >>> Views({"colour": 100, "texture": 512})
    Views(colour=0:100, texture=100:612)

    See Also
    --------
    from_blocks : One matrix from several, with its views.
    """

    def __init__(self, views: Mapping[str, Any]) -> None:
        if not isinstance(views, Mapping):
            raise TypeError(
                f"views: expected a mapping from names to columns, got {type(views).__name__}; "
                "for example {'colour': 100, 'texture': (100, 612)}"
            )
        if not views:
            raise ValueError("views is empty: name at least one view")
        slices: dict[str, slice] = {}
        end = 0
        for name, columns in views.items():
            start, stop = _bounds(name, columns, end)
            if start < end:
                raise ValueError(
                    f"view {name!r} starts at column {start}, before the end ({end}) of the one "
                    "before it: views must not overlap and come in column order"
                )
            slices[name] = slice(start, stop)
            end = stop
        self._slices = slices

    def __getitem__(self, name: str) -> slice:
        if name not in self._slices:
            raise KeyError(f"no view {name!r}; the views are {', '.join(self._slices)}")
        return self._slices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._slices)

    def __len__(self) -> int:
        return len(self._slices)

    def __repr__(self) -> str:
        parts = (f"{name}={part.start}:{part.stop}" for name, part in self._slices.items())
        return f"Views({', '.join(parts)})"

    @property
    def n_columns(self) -> int:
        """The width of the matrix the views belong to."""
        return next(reversed(self._slices.values())).stop

    @property
    def widths(self) -> dict[str, int]:
        return {name: part.stop - part.start for name, part in self._slices.items()}

    def check(self, X: Any) -> None:
        """Raise unless the views lie within the columns of ``X``."""
        if self.n_columns > X.shape[1]:
            last = list(self)[-1]
            raise ValueError(
                f"view {last!r} ends at column {self.n_columns}, but X has {X.shape[1]} columns"
            )


def from_blocks(
    blocks: Mapping[str, Any] | Sequence[Any], present: Mapping[str, Any] | None = None
) -> tuple[Any, Views]:
    """Return one matrix from several, and the views that lead back.

    Parameters
    ----------
    blocks : mapping from name to array, or sequence of arrays
        The views: arrays, frames or sparse matrices with equal numbers of rows. Views of a
        sequence are called ``view0``, ``view1``, ...
    present : mapping from name to bool array of shape (n_samples,), default=None
        The rows that have the view, whose values elsewhere are ignored. A view that is not
        named here lacks the rows that are marked in its own block.

    Returns
    -------
    X : ndarray, or csr_array when any block is sparse
    views : Views

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.views import from_blocks
    >>> X, views = from_blocks(
    ...     {"colour": np.ones((3, 2)), "text": np.ones((3, 4))},
    ...     present={"text": [True, False, True]},
    ... )
    >>> X.shape, views
    ((3, 6), Views(colour=0:2, text=2:6))

    See Also
    --------
    to_blocks : The way back.
    present : Which row has which view.
    """
    named = dict(blocks) if isinstance(blocks, Mapping) else dict(_numbered(blocks))
    if not named:
        raise ValueError("blocks is empty: give at least one view")
    arrays = {name: _as_matrix(name, block) for name, block in named.items()}
    first, n_samples = next((name, array.shape[0]) for name, array in arrays.items())
    for name, array in arrays.items():
        if array.shape[0] != n_samples:
            raise ValueError(
                f"view {name!r} has {array.shape[0]} rows, view {first!r} has {n_samples}: give every "
                "view one row per item and mark absent ones through `present`"
            )
    views = Views({name: array.shape[1] for name, array in arrays.items()})
    there = _present_rows(present or {}, arrays, n_samples)
    any_sparse = any(sparse.issparse(array) for array in arrays.values())
    marked = [_marked(name, array, there[name], any_sparse) for name, array in arrays.items()]
    X = sparse.csr_array(sparse.hstack(marked, format="csr")) if any_sparse else np.hstack(marked)
    return X, views


def to_blocks(X: Any, views: Mapping[str, slice]) -> dict[str, Any]:
    """Return the views as a dictionary of arrays, or of frames for a frame; absent rows stay marked.

    Parameters
    ----------
    X : array, sparse matrix or frame
    views : Views or mapping from name to slice

    Examples
    --------
    >>> to_blocks(np.arange(6.0).reshape(2, 3), {"a": 1, "b": 2})["b"]
    array([[1., 2.],
           [4., 5.]])
    """
    views = Views(views)
    views.check(X)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    if hasattr(X, "iloc"):
        return {name: X.iloc[:, columns] for name, columns in views.items()}
    return {name: X[:, columns] for name, columns in views.items()}


def present(X: Any, views: Mapping[str, slice]) -> np.ndarray:
    """Return which row has which view, as a bool array of shape (n_samples, n_views).

    Parameters
    ----------
    X : array, sparse matrix or frame
    views : Views or mapping from name to slice

    Examples
    --------
    >>> present(np.array([[1.0, np.nan], [np.nan, 2.0]]), {"a": 1, "b": 1})
    array([[ True, False],
           [False,  True]])
    """
    blocks = to_blocks(X, views)
    there = np.empty((X.shape[0], len(blocks)), dtype=bool)
    for position, (name, block) in enumerate(blocks.items()):
        there[:, position] = _present_in(_as_matrix(name, block))
    return there


def covering_views(views: Mapping[str, Any] | None, X: Any) -> Views:
    """Return the views of X, which must cover all its columns; one view by default.

    Parameters
    ----------
    views : Views, mapping or None
        As for :class:`Views`.
    X : array, sparse matrix or frame

    Examples
    --------
    >>> covering_views(None, np.zeros((2, 3)))
    Views(X=0:3)
    """
    if views is None:
        return Views({"X": X.shape[1]})
    found = Views(views)
    found.check(X)
    end = 0
    for columns in [*found.values(), slice(X.shape[1], X.shape[1])]:
        if columns.start > end:
            raise ValueError(
                f"views: columns {end}:{columns.start} of X belong to no view; name them one, or "
                "drop them with labelgap.views.ViewSelector"
            )
        end = columns.stop
    return found


def require_a_view(X: Any, views: Views) -> np.ndarray:
    """Return which row has which view, like :func:`present`; raise for a row without any.

    Parameters
    ----------
    X : array, sparse matrix or frame
    views : Views
    """
    there = present(X, views)
    bare = np.flatnonzero(~there.any(axis=1))
    if bare.size:
        others = f" and {bare.size - 1} others have" if bare.size > 1 else " has"
        raise ValueError(
            f"row {bare[0]}{others} no view: all its features are missing and nothing places it in "
            "the subspace; drop the row, or fill in one of its views"
        )
    return there


def require_every_view(views: Views, there: np.ndarray) -> None:
    """Raise for a view that no row has.

    Parameters
    ----------
    views : Views
    there : bool array of shape (n_samples, n_views)
        From :func:`present`.
    """
    for position, name in enumerate(views):
        if not there[:, position].any():
            raise ValueError(
                f"view {name!r} is absent in every row: nothing can be learned of it; drop its "
                "columns, for example with labelgap.views.ViewSelector"
            )


def count_factors(n_factors: int | float, views: Views) -> int:
    """Return a number of factors, where a float is a fraction of the narrowest view's width.

    Examples
    --------
    >>> count_factors(0.5, Views({"colour": 100, "texture": 512}))
    50
    """
    if isinstance(n_factors, numbers.Integral):
        return int(n_factors)
    return max(1, round(n_factors * min(views.widths.values())))


class ViewSelector(TransformerMixin, BaseEstimator):
    """Keep the columns of some views; a search over ``keep`` finds out which views help.

    Parameters
    ----------
    views : Views or mapping from name to slice
    keep : sequence of str, default=None
        The names of the views to keep; all by default.

    Attributes
    ----------
    columns_ : array
        The columns that are kept.
    views_ : Views
        Where the kept views are in the output.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.views import ViewSelector
    >>> selector = ViewSelector({"colour": 2, "text": 3}, keep=["text"])
    >>> selector.fit_transform(np.arange(10.0).reshape(2, 5))
    array([[2., 3., 4.],
           [7., 8., 9.]])

    See Also
    --------
    Views : The columns of each view.
    labelgap.IMVWL : A model for rows that lack views.
    """

    def __init__(self, views: Mapping[str, slice], keep: Sequence[str] | None = None) -> None:
        self.views = views
        self.keep = keep

    def fit(self, X: Any, y: Any = None) -> ViewSelector:
        X = validate_data(self, X, accept_sparse="csr", ensure_all_finite="allow-nan")
        views = Views(self.views)
        views.check(X)
        names = _check_keep(self.keep, views)
        parts = [views[name] for name in names]
        self.columns_ = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        self.views_ = Views({name: views.widths[name] for name in names})
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", ensure_all_finite="allow-nan", reset=False)
        return X[:, self.columns_]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.columns_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _check_keep(keep: Sequence[str] | None, views: Views) -> list[str]:
    if keep is None:
        return list(views)
    if isinstance(keep, str):
        raise ValueError(f"keep={keep!r} is a string: give a list of views, keep=[{keep!r}]")
    names = list(keep)
    if not names:
        raise ValueError("keep is empty: name at least one view, or None for all")
    for position, name in enumerate(names):
        if name not in views:
            known = ", ".join(map(repr, views))
            raise ValueError(f"keep[{position}] = {name!r} is not a view; the views are {known}")
        if name in names[:position]:
            raise ValueError(f"keep[{position}] = {name!r} is there twice; keep it once")
    return names


def _bounds(name: str, columns: Any, end: int) -> tuple[int, int]:
    if isinstance(columns, slice):
        if columns.step not in (None, 1) or columns.start is None or columns.stop is None:
            raise ValueError(f"view {name!r}: {columns} needs a start, a stop and no step")
        bounds = (columns.start, columns.stop)
    elif isinstance(columns, numbers.Integral):
        bounds = (end, end + int(columns))
    else:
        bounds = tuple(columns) if isinstance(columns, Sequence) else ()
    if len(bounds) != 2 or not all(isinstance(bound, numbers.Integral) for bound in bounds):
        raise ValueError(f"view {name!r}: {columns!r} is not a width, a (start, stop) or a slice")
    start, stop = map(int, bounds)
    if start < 0 or stop <= start:
        raise ValueError(f"view {name!r} has the columns {start}:{stop}: it needs at least one")
    return start, stop


def _numbered(blocks: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for position, block in enumerate(blocks):
        yield f"view{position}", block


def _as_matrix(name: str, block: Any) -> Any:
    if sparse.issparse(block):
        matrix = canonical_rows(block, f"view {name!r}")
    elif hasattr(block, "iloc"):
        matrix = block.to_numpy(dtype=_float_type(block), na_value=np.nan)
    else:
        matrix = np.asarray(block)
    if matrix.ndim != 2:
        raise ValueError(f"view {name!r} has shape {matrix.shape}: a view is a matrix")
    return matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)


def _float_type(frame: Any) -> Any:
    """float32 for a pandas frame of nothing but that; float64 otherwise."""
    return np.float32 if all(dtype == np.float32 for dtype in frame.dtypes) else np.float64


def _present_rows(
    there: Mapping[str, Any], arrays: Mapping[str, Any], n_samples: int
) -> dict[str, np.ndarray]:
    for name in there:
        if name not in arrays:
            raise ValueError(f"present names {name!r}, which is not one of the views")
    masks = {}
    for name, array in arrays.items():
        mask = np.asarray(there[name]) if name in there else _present_in(array)
        if mask.shape != (n_samples,) or mask.dtype != bool:
            raise ValueError(f"present[{name!r}] must be a boolean array of length {n_samples}")
        masks[name] = mask
    return masks


def _marked(name: str, array: Any, there: np.ndarray, as_sparse: bool) -> Any:
    """The block with the rows that lack the view marked, and no others."""
    absent = np.flatnonzero(~there)
    if as_sparse:
        marked = _mark_sparse(sparse.csr_array(array), absent)
    else:
        marked = np.where(there[:, None], array, array.dtype.type(np.nan))
    lost = np.flatnonzero(there & ~_present_in(marked))
    if lost.size:
        raise ValueError(
            f"view {name!r}, row {lost[0]} is present but holds nothing but missing values"
            + (" and zeros, which a sparse matrix does not tell from a missing view" * as_sparse)
            + ": fill one in, or mark the row absent through `present`"
        )
    return marked


def _mark_sparse(array: sparse.csr_array, absent: np.ndarray) -> sparse.csr_array:
    rows = np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))
    keep = ~np.isin(rows, absent)
    data = np.concatenate([array.data[keep], np.full(absent.size, np.nan, dtype=array.dtype)])
    rows = np.concatenate([rows[keep], absent])
    columns = np.concatenate([array.indices[keep], np.zeros(absent.size, dtype=np.intp)])
    return sparse.csr_array((data, (rows, columns)), shape=array.shape)


def _present_in(block: Any) -> np.ndarray:
    if not sparse.issparse(block):
        return ~np.isnan(block).all(axis=1)
    block = sparse.csr_array(block)
    is_gap = np.isnan(block.data)
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    # a stored zero is no value: the next operation on the matrix may drop it
    n_values = np.bincount(rows[~is_gap & (block.data != 0)], minlength=block.shape[0])
    marked = np.zeros(block.shape[0], dtype=bool)
    marked[rows[is_gap & (block.indices == 0)]] = True
    return ~(marked & (n_values == 0))
