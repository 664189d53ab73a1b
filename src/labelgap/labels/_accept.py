"""One door for every encoding of labels that a user may have."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from labelgap.labels._checks import warn_unobserved
from labelgap.labels._container import Labels
from labelgap.labels._states import ZerosName
from labelgap.labels._values import is_missing


def as_labels(y: Any, *, n_rows: int | None = None, zeros: ZerosName = "irrelevant") -> Labels:
    """Labels from whatever the user has.

    Parameters
    ----------
    y : Labels, array, masked array, frame or sparse matrix of shape (n_rows, n_labels)
        Dense arrays and frames hold 1, 0 and NaN (or null, or masked) for unknown. Sparse
        matrices hold the positives; what is not stored is a zero. A list (or series) of sets, or
        of lists of strings, is read as tag sets. Signed coding, long tables and sparse masks have
        constructors of their own on :class:`Labels`.
    n_rows : int, optional
        The number of rows the labels must have, usually that of ``X``.
    zeros : {"irrelevant", "ambiguous"}
        Meaning of a zero in an encoding that cannot say it; ignored for :class:`Labels`, which
        carry the meaning themselves.
    """
    if y is None:
        raise ValueError("y is missing: this estimator requires y, a label matrix (rows x labels)")
    if isinstance(y, Labels):
        labels = y
        warn_unobserved(labels, stacklevel=2)
    elif sparse.issparse(y):
        labels = Labels.from_sparse(y, zeros=zeros)
    elif hasattr(y, "columns") or hasattr(y, "column_names"):
        labels = Labels.from_frame(y, zeros=zeros)
    elif _is_tag_sets(y):
        labels = Labels.from_tag_sets(y, zeros=zeros)
    else:
        labels = Labels.from_dense(y, zeros=zeros)
    if n_rows is not None and labels.n_rows != n_rows:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {labels.n_rows}; give one row of labels per row of X"
        )
    return labels


def _is_tag_sets(y: Any) -> bool:
    """A list or series whose rows are sets, or hold strings: lists of numbers are a matrix."""
    if not isinstance(y, (list, tuple)) and getattr(y, "ndim", None) != 1:
        return False
    rows = [row for row in y if not is_missing(row)]
    if any(isinstance(row, (set, frozenset)) for row in rows):
        return True
    is_collection = all(isinstance(row, (list, tuple)) for row in rows)
    return is_collection and any(isinstance(tag, str) for row in rows for tag in row)
