"""The door for every encoding of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.labels._label_encodings import log, warned
from labelgap.labels._label_frames import parse_frame, parse_vector
from labelgap.labels._labels import Labels
from labelgap.labels._tag_cells import are_collections
from labelgap.labels.states import EmptyName, ZerosName


def as_labels(y: Any, *, n_samples: int | None = None, zeros: ZerosName = "negative") -> Labels:
    """Return :class:`Labels` from any encoding: arrays, frames, sparse matrices, tag sets.

    Parameters
    ----------
    y : Labels, array, masked array, frame or sparse matrix of shape (n_samples, n_labels)
        Dense arrays and frames hold 1, 0 and NaN (or null, or masked) for unknown; frames also
        yes and no, x and nothing, or one column that lists labels. Sparse matrices hold the
        positives; what is not stored is a zero. A list (or series) of sets, of lists of strings, or
        of texts such as "a;b;c" is read as tag sets. Signed coding, long tables and sparse masks
        have constructors of their own on :class:`Labels`.
    n_samples : int, default=None
        The number of rows the labels must have, usually that of ``X``.
    zeros : {"negative", "unlabeled"}, default="negative"
        Meaning of a zero in an encoding that cannot say it; ignored for :class:`Labels`, which
        carry the meaning themselves.

    Returns
    -------
    Labels

    See Also
    --------
    Labels : the label matrix, with a constructor per encoding.

    Examples
    --------
    >>> from labelgap import as_labels
    >>> as_labels([[1, 0, float("nan")], [0, 1, 1]])
    <Labels: 2 rows x 3 labels, 3 relevant, 1 unknown>
    """
    if y is None:
        raise ValueError("y is missing: this estimator requires y, a label matrix (rows x labels)")
    if isinstance(y, Labels):
        labels = warned(y)
    elif sparse.issparse(y):
        labels = Labels.from_sparse(y, zeros=zeros)
    elif hasattr(y, "columns") or hasattr(y, "column_names"):
        labels = Labels.from_frame(y, zeros=zeros)
    else:
        labels = labels_of_vector(y, zeros=zeros)
        labels = Labels.from_dense(_stacked(y), zeros=zeros) if labels is None else labels
    if n_samples is not None and labels.n_samples != n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: X has {n_samples} rows, "
            f"y has {labels.n_samples}; give one row of labels per row of X"
        )
    return labels


def labels_of_vector(y: Any, *, zeros: ZerosName = "negative") -> Labels | None:
    """Return the labels of a vector whose elements list them; None for classes and matrices.

    Parameters
    ----------
    y : sequence of n_samples collections or texts
    zeros : {"negative", "unlabeled"}, default="negative"
        Whether a label that a row does not list is a "no" or may be missing.

    Examples
    --------
    >>> from labelgap.labels import labels_of_vector
    >>> labels_of_vector(["sea;sky", "sky"])
    <Labels: 2 rows x 2 labels, 3 relevant>
    >>> labels_of_vector(["red", "green"]) is None
    True
    """
    found = parse_vector(y, zeros=zeros)
    if found is None:
        return None
    log.info(found.sentence)
    return warned(Labels(*found.parts, names=found.names))


def _stacked(y: Any) -> Any:
    """A matrix that came as a column of its rows as a list of them."""
    is_column = len(getattr(y, "shape", ())) == 1 and str(getattr(y, "dtype", "")) != "category"
    return [list(row) for row in y] if is_column and are_collections(list(y)) else y


def read_label_frame(
    frame: Any,
    *,
    zeros: ZerosName = "negative",
    separator: str = "auto",
    empty: EmptyName = "auto",
) -> tuple[Labels, str]:
    """Return the labels of a table, and a sentence that says how it was read.

    Parameters
    ----------
    frame : table
        A column per label, or one column that lists the labels of each row.
    zeros : {"negative", "unlabeled"}, default="negative"
        Whether a zero is a "no" or may be a missing label.
    separator : str, default="auto"
        What is between two labels of a list; "json" reads JSON lists, "auto" finds out.
    empty : {"auto", "zero", "unknown"}, default="auto"
        What an empty cell means, as in :meth:`labelgap.Labels.from_frame`.

    Returns
    -------
    labels : Labels
    sentence : str

    See Also
    --------
    labelgap.Labels.from_frame : The labels alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelgap.labels import read_label_frame
    >>> labels, sentence = read_label_frame(pd.DataFrame({"tags": ["sea;sky", "sky"]}))
    >>> print(sentence)
    read 2 tags from column 'tags', separated by ';'
    """
    found = parse_frame(frame, zeros=zeros, separator=separator, empty=empty)
    return warned(Labels(*found.parts, names=found.names)), found.sentence


def observed_prevalence(labels: Labels, smoothing: float = 1.0) -> np.ndarray:
    """Return the smoothed fraction of relevant entries among the observed ones of each label.

    ``(n_relevant + smoothing * p) / (n_observed + smoothing)``, where ``p`` is the fraction over
    all labels together, itself ``(n_relevant + 1/2) / (n_observed + 1)``. A label with no observed
    entry has the prevalence ``p``. Unlabeled zeros count as zeros.

    Parameters
    ----------
    labels : Labels
        The labels.
    smoothing : float, default=1.0
        How many entries ``p`` counts as.

    Returns
    -------
    ndarray of shape (n_labels,)

    Examples
    --------
    >>> from labelgap.labels import as_labels, observed_prevalence
    >>> observed_prevalence(as_labels([[1, 0], [1, 0], [1, 1]]), smoothing=0.0).round(2)
    array([1.  , 0.33])
    """
    n_observed = labels.n_observed(axis=0, unlabeled=True)
    n_relevant = labels.n_positives(axis=0)
    pooled = (n_relevant.sum() + 0.5) / (n_observed.sum() + 1)
    weight = n_observed + smoothing
    prevalence = np.full(labels.n_labels, pooled)
    np.divide(n_relevant + smoothing * pooled, weight, out=prevalence, where=weight > 0)
    return prevalence
