"""What the user predicts: labels with gaps, or the classes of a single-label problem.

Every estimator learns from :class:`labelgap.Labels`. A vector of classes is the special case of
one label per class, exactly one of them relevant in each row; a vector of two classes is one
label, relevant for the second class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from labelgap.kernels.input_arrays import first_nan
from labelgap.labels import Labels, ZerosName, as_labels, labels_of_vector


@dataclass(frozen=True)
class Target:
    """Describe the kind of target and the names of its columns.

    Attributes
    ----------
    kind : {"multilabel", "multiclass", "binary"}
    classes : ndarray
        Label names (or positions) of a multi-label target, classes of the others.
    """

    kind: Literal["multilabel", "multiclass", "binary"]
    classes: np.ndarray

    def read(
        self, y: Any, *, n_samples: int | None = None, zeros: ZerosName = "negative"
    ) -> Labels:
        """Return the labels of further rows of the same target."""
        if self.kind == "multilabel":
            return self._in_order(as_labels(y, n_samples=n_samples, zeros=zeros), y)
        y = _check_classes(y, n_samples)
        codes = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        strange = np.flatnonzero(self.classes[codes] != y)
        if strange.size:
            raise ValueError(
                f"y[{strange[0]}] = {y[strange[0]]!r} is not one of the classes {self.classes}"
            )
        rows, n_labels = np.arange(len(y)), len(self.classes)
        if self.kind == "binary":
            rows, codes, n_labels = rows[codes == 1], np.zeros((codes == 1).sum(), dtype=int), 1
        ones = np.ones(len(rows), dtype=np.int8)
        return Labels.from_sparse(sparse.csr_array((ones, (rows, codes)), shape=(len(y), n_labels)))

    def _in_order(self, labels: Labels, y: Any) -> Labels:
        """Return named labels in the order of the classes; rows that list tags may lack some."""
        if labels.names is None or self.classes.dtype.kind != "O":
            return labels
        names = list(getattr(y, "columns", ()))
        lists_tags = not isinstance(y, Labels) and names != labels.names.tolist()
        if lists_tags or labels.n_labels == len(self.classes):
            return labels.with_columns(self.classes)
        return labels

    def scores(self, scores: np.ndarray) -> np.ndarray:
        """Return scores (n_samples, n_labels) in the shape scikit-learn expects of the target."""
        self._refuse_nan(scores, "score")
        return scores[:, 0] if self.kind == "binary" else scores

    def probabilities(self, probabilities: np.ndarray) -> np.ndarray:
        """Return probabilities of each label; of each class, with sum one, for a single label."""
        self._refuse_nan(probabilities, "probability")
        if self.kind == "multilabel":
            return probabilities
        if self.kind == "binary":
            return np.column_stack([1 - probabilities[:, 0], probabilities[:, 0]])
        total = probabilities.sum(axis=1, keepdims=True)
        uniform = np.full_like(probabilities, 1 / probabilities.shape[1])
        return np.divide(probabilities, total, out=uniform, where=total > 0)

    def decide(self, probabilities: np.ndarray, threshold: Any = 0.5) -> np.ndarray:
        """Return labels (n_samples, n_labels) of 0 and 1, or the class of each row.

        ``probabilities`` are those of the labels, before :meth:`probabilities`; or any scores,
        with the threshold that belongs to them.
        """
        self._refuse_nan(probabilities, "probability")
        if self.kind == "multilabel":
            return (probabilities > threshold).astype(np.int64)
        if self.kind == "binary":
            return self.classes[(probabilities[:, 0] > threshold).astype(np.intp)]
        return self.classes[probabilities.argmax(axis=1)]

    def _refuse_nan(self, values: np.ndarray, what: str) -> None:
        place = first_nan(values)
        if place is None:
            return
        row, label = place
        raise ValueError(
            f"the {what} of label {label} in row {row} of X is NaN: the estimator, or the one that "
            "it wraps, divided zero by zero; scale X, drop columns that do not vary, or choose "
            "another estimator"
        )


def read_target(
    y: Any,
    *,
    n_samples: int | None = None,
    zeros: ZerosName = "negative",
    classes: Any = None,
) -> tuple[Labels, Target]:
    """Return labels and the kind of target, from any encoding of either.

    ``classes`` lists all classes of a vector that may lack some of them, as the first mini-batch
    of a stream may.
    """
    if is_vector(y):
        vector = _check_classes(y, n_samples)
        found = np.unique(vector if classes is None else classes)
        if len(found) == 1:
            raise ValueError(f"y has only one class, {found[0]!r}: there is nothing to learn")
        target = Target("binary" if len(found) == 2 else "multiclass", found)
        return target.read(vector), target
    labels = as_labels(y, n_samples=n_samples, zeros=zeros)
    if not labels.n_labels:
        raise ValueError("y has no labels: give a matrix with at least one column")
    classes = np.arange(labels.n_labels) if labels.names is None else labels.names
    return labels, Target("multilabel", classes)


def is_vector(y: Any) -> bool:
    """Return whether this is a vector of classes, and no label matrix in any encoding."""
    if y is None or isinstance(y, Labels) or sparse.issparse(y):
        return False
    if hasattr(y, "columns") or hasattr(y, "column_names"):
        return False
    if isinstance(y, (list, tuple)):
        return len(y) > 0 and np.isscalar(y[0]) and labels_of_vector(y) is None
    values = y if hasattr(y, "shape") else np.asarray(y)
    if len(values.shape) != 1:
        return False
    if len(values) == 0:
        return True
    # a column of tags, or of rows, is a label matrix in another coding
    is_row = isinstance(next(iter(values)), (set, frozenset, list, tuple, np.ndarray))
    return not is_row and labels_of_vector(y) is None


def _check_classes(y: Any, n_samples: int | None) -> np.ndarray:
    y = column_or_1d(y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        what = "NaN" if np.isnan(y).any() else "infinity"
        raise ValueError(
            f"Input y contains {what}: a vector of classes must be complete; give one label with "
            "gaps as a matrix with one column, y.reshape(-1, 1)"
        )
    check_classification_targets(y)
    if n_samples is not None and len(y) != n_samples:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: X has {n_samples} rows, y has {len(y)}"
        )
    return y
