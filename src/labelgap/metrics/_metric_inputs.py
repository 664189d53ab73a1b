"""What the metrics accept, and how one value per row or label becomes a number."""

from __future__ import annotations

import math
import numbers
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from labelgap.kernels.input_arrays import canonical_rows
from labelgap.kernels.ranking import first_nonfinite
from labelgap.labels import Labels, LabelWarning, State, as_labels
from labelgap.parameters import SharedParameter, fill_documentation

_BLOCK_ENTRIES = 1 << 22

_PREDICTIONS = "array of shape (n_samples, n_labels)"
documented = fill_documentation(
    {
        "y_true": SharedParameter(
            "Labels or anything `labelgap.as_labels` accepts",
            "Unknown entries do not count, unlabeled zeros count as 0.",
        ),
        "y_score": SharedParameter(_PREDICTIONS, "The larger, the more relevant."),
        "y_pred": SharedParameter("array or sparse matrix of 0 and 1", "One decision per entry."),
        "y_proba": SharedParameter(_PREDICTIONS, "Probabilities of relevance."),
        "k": SharedParameter("int", "How many of the best-ranked labels."),
        "reduce": SharedParameter(
            "bool", "False returns one value per row or label, NaN where it does not count."
        ),
    }
)


def check_truth(y_true: Any) -> Labels:
    """Labels from any accepted encoding.

    A label without an observed entry is no surprise in a test fold, it just does not count, so the
    warning that training labels deserve is left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return as_labels(y_true)


def in_order_of(y_true: Any, values: Any, name: str) -> Any:
    """The rows and columns of a frame in the order of those of the truth, where both have names.

    An index that only counts from 0 names nothing. Items that one of the two lacks are an error.
    """
    if not (hasattr(values, "columns") and hasattr(y_true, "columns")):
        return values
    columns = list(y_true.columns)
    if list(values.columns) != columns and set(values.columns) == set(columns):
        values = values[columns]
    rows: Any = getattr(y_true, "index", None)
    given: Any = getattr(values, "index", None)
    if not (hasattr(rows, "equals") and hasattr(given, "equals")) or rows.equals(given):
        return values
    if any(type(index).__name__ == "RangeIndex" for index in (rows, given)):
        return values
    order = given.get_indexer_for(rows)
    if len(order) != len(rows) or len(order) != len(values) or (order < 0).any():
        strange = next(iter(rows.difference(given)), "an item that occurs twice")
        raise ValueError(
            f"{name} and y_true have other rows, among them {strange!r}: give both the same index, "
            "or give arrays"
        )
    return values.iloc[order]


def row_default(labels: Labels) -> np.ndarray:
    """The state, per column, of the entries that are not stored."""
    default = np.full(labels.n_labels, int(labels.implicit), dtype=np.int8)
    default[labels.unseen] = State.UNKNOWN
    return default


def _as_matrix(values: Any, labels: Labels, name: str) -> np.ndarray:
    if sparse.issparse(values):
        raise TypeError(
            f"{name} is sparse, but every entry needs a value of its own: use {name}.toarray()"
        )
    matrix = np.asarray(values)
    if matrix.shape != labels.shape:
        raise ValueError(
            f"{name} has shape {matrix.shape} but y_true has {labels.shape}: give one value per "
            "row and label (n_samples, n_labels)"
        )
    return matrix


def check_scores(y_score: Any, labels: Labels, name: str = "y_score") -> np.ndarray:
    """A dense, finite, row-major float array of the shape of the truth."""
    matrix = _as_matrix(y_score, labels, name)
    if matrix.dtype.kind not in "fiub":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} has dtype {matrix.dtype}, not numbers: {error}") from None
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float32 if matrix.dtype == np.float16 else np.float64)
    matrix = np.ascontiguousarray(matrix)
    row, column = first_nonfinite(matrix)
    if row >= 0:
        raise ValueError(
            f"{name} contains {matrix[row, column]} at row {row}, label {column}: every entry "
            "needs a finite value, also where y_true is unknown"
        )
    return matrix


def check_probabilities(y_proba: Any, labels: Labels, name: str = "y_proba") -> np.ndarray:
    """Scores in [0, 1]."""
    matrix = check_scores(y_proba, labels, name)
    outside = (matrix < 0) | (matrix > 1)
    if outside.any():
        row, column = np.unravel_index(np.argmax(outside), outside.shape)
        raise ValueError(
            f"{name} contains {matrix[row, column]} at row {row}, label {column}, which is not a "
            "probability: use predict_proba, not decision_function"
        )
    return matrix


def check_predictions(y_pred: Any, labels: Labels, name: str = "y_pred") -> sparse.csr_array:
    """The predicted positives as canonical sparse rows."""
    if isinstance(y_pred, Labels):
        if y_pred.has_unknown:
            raise ValueError(f"{name} has unknown entries: a prediction must be 0 or 1 everywhere")
        y_pred = y_pred.positives()
    if sparse.issparse(y_pred):
        positives = canonical_rows(y_pred, name)
        if positives.shape != labels.shape:
            raise ValueError(f"{name} has shape {positives.shape}, y_true has {labels.shape}")
        if positives.nnz and not np.all(positives.data == 1):
            raise ValueError(f"{name} stores values other than 0 and 1: threshold the scores first")
        return positives
    matrix = _as_matrix(y_pred, labels, name)
    wrong = ~((matrix == 0) | (matrix == 1))
    if wrong.any():
        row, column = np.unravel_index(np.argmax(wrong), wrong.shape)
        raise ValueError(
            f"{name} contains {matrix[row, column]} at row {row}, label {column}: decisions are "
            "0 or 1; use predict, or threshold the scores"
        )
    return sparse.csr_array(matrix.astype(bool))


def entry_blocks(labels: Labels) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield (rows, truth, known) for blocks of rows, so that big labels are never dense at once."""
    step = max(1, _BLOCK_ENTRIES // max(1, labels.n_labels))
    for start in range(0, labels.n_samples, step):
        rows = slice(start, min(start + step, labels.n_samples))
        states = labels.states(rows)
        yield rows, states == State.RELEVANT, states != State.UNKNOWN


def check_choice(argument: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{argument}={value!r}: use one of {', '.join(map(repr, allowed))}")
    return value


def check_k(k: Any) -> int:
    if not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k={k!r}: use a whole number of labels, at least 1")
    return int(k)


# one meaning, the names that papers and scikit-learn have for it
_SYNONYMS = {"label": "macro", "example": "instance", "samples": "instance"}


def check_average(average: str, allowed: tuple[str, ...]) -> str:
    """The canonical name of an average: "micro" (entries), "macro" (labels), "instance" (rows)."""
    canonical = _SYNONYMS.get(average, average) if isinstance(average, str) else average
    if canonical not in allowed:
        names = [*allowed, *(alias for alias, name in _SYNONYMS.items() if name in allowed)]
        check_choice("average", average, tuple(names))
    return canonical


def settle(
    values: np.ndarray, where: np.ndarray, choice: Any, *, argument: str, defined: bool
) -> np.ndarray:
    """Apply the caller's choice for the rows (or labels) in which a metric says little or nothing.

    values : array, one value per row or label; NaN does not count
    where : bool array, the rows or labels concerned
    choice : "drop", "keep" or the number they contribute
    argument : name of the caller's parameter, for the message
    defined : whether the metric has a value of its own there, that "keep" can keep
    """
    is_number = isinstance(choice, numbers.Real) and not isinstance(choice, bool)
    if is_number and math.isfinite(choice):
        return np.where(where, float(choice), values)
    if choice == "keep" and not defined:
        raise ValueError(
            f"{argument}='keep': the metric has no value there; use 'drop' or the number to count"
        )
    if choice not in ("drop", "keep"):
        options = "'drop', 'keep'" if defined else "'drop'"
        raise ValueError(f"{argument}={choice!r}: use {options} or the number to count")
    return np.where(where, np.nan, values) if choice == "drop" else values


def summarise(values: np.ndarray, *, metric: str, reduce: bool, unit: str) -> Any:
    """The mean over the rows or labels that count; all values when ``reduce`` is false."""
    if not reduce:
        return values
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else undefined(metric, f"no {unit} counts")


def undefined(metric: str, reason: str) -> float:
    """NaN, said aloud where the metric was called from."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(__package__):
        depth, frame = depth + 1, frame.f_back
    message = f"{metric} is undefined and set to nan: {reason}"
    warnings.warn(message, UndefinedMetricWarning, stacklevel=depth)
    return float("nan")


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotient as float, NaN where the denominator is 0."""
    numerator = np.asarray(numerator, dtype=np.float64)
    result = np.full(numerator.shape, np.nan)
    return np.divide(numerator, denominator, out=result, where=np.asarray(denominator) != 0)


def refuse_values(average: str, reduce: bool) -> None:
    """A pooled metric is one number: there is nothing to give back for single rows or labels."""
    if not reduce:
        raise ValueError(
            f"reduce=False with average={average!r}, which pools all entries: use 'macro' for a "
            "value per label or 'instance' for a value per row"
        )
