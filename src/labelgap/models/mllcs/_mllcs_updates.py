"""What ML-LCS does after a fit: checks new counts and states, updates labels, measures certainty."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from labelgap.cooccurrence import Cooccurrence, as_cooccurrence
from labelgap.kernels.entry_likelihood import label_terms
from labelgap.kernels.weighted_ridge import unpack, weighted_grams
from labelgap.labels import Labels, LabelWarning, as_labels
from labelgap.labels.states import check_names, object_array
from labelgap.models.mllcs._mllcs_rows import with_ones
from labelgap.models.mllcs._mllcs_text import TextMap, TextPrior
from labelgap.models.mllcs._mllcs_unseen import LabelFactors
from labelgap.text import LabelVectors, label_texts

_LABEL_STEPS = 25


def seen_states(labels: Labels, seen: np.ndarray) -> np.ndarray:
    """Return states of the seen labels, of labels that have those alone or all there are."""
    if labels.n_labels not in (seen.sum(), seen.size):
        raise ValueError(
            f"Y has {labels.n_labels} columns: give one per seen label ({seen.sum()}) or one for "
            f"each of classes_ ({seen.size})"
        )
    return labels.states() if labels.n_labels == seen.sum() else labels.states()[:, seen]


class NewLabels(NamedTuple):
    """Counts (n_seen, n_new) with NaN, names, and vectors of the texts of new labels, where given."""

    table: np.ndarray
    names: np.ndarray
    vectors: Any = None


def new_labels(
    counts: Any,
    names: Any,
    label_text: Any,
    classes: np.ndarray,
    seen: np.ndarray,
    text: LabelVectors | None,
) -> NewLabels:
    """Return what is known of new labels, checked."""
    if counts is None and label_text is None:
        raise ValueError("give counts with the seen labels, label_text, or both")
    if counts is None and names is None and isinstance(label_text, Mapping):
        names = list(label_text)
    if counts is None and names is not None:
        n_new = 1 if isinstance(names, str) else len(names)
        counts = np.full((int(seen.sum()), n_new), np.nan)
    with warnings.catch_warnings():
        if label_text is not None:
            # texts stand in for counts
            warnings.simplefilter("ignore", LabelWarning)
        table, names = new_counts(counts, names, classes, seen)
    if label_text is None:
        return NewLabels(table, names)
    if text is None:
        raise ValueError(
            "label_text: the model was fitted without texts; give label_text to fit too"
        )
    stand_in = Labels(sparse.csr_array((1, len(names)), dtype=np.int8), names=names)
    texts = label_texts(stand_in, None if isinstance(label_text, str) else label_text)
    return NewLabels(table, names, text.more(texts))


def with_text_weights(
    weights: Any, text: TextMap | None, prior: TextPrior | None, bias: np.ndarray, n_before: int
) -> tuple[np.ndarray, Any]:
    """Return the biases and the text weights of all labels, once more labels have come."""
    if text is not None and prior is not None and prior.direct is not None:
        if weights is None:
            weights = sparse.csr_array((n_before, prior.direct.shape[1]))
        added = sparse.csr_array(prior.direct)
        return bias - text.shift(prior), sparse.csr_array(sparse.vstack([weights, added]))
    if weights is not None:
        weights = sparse.csr_array(
            sparse.vstack([weights, sparse.csr_array((bias.size, weights.shape[1]))])
        )
    return bias, weights


def new_counts(
    counts: Any, names: Any, classes: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return checked counts (n_seen, n_new) of new labels as a dense array with NaN, and their names."""
    seen_names = classes[seen]
    table = counts
    if hasattr(counts, "columns"):
        names = list(counts.columns) if names is None else names
        table = _in_order(counts, seen_names) if hasattr(counts, "index") else counts.to_numpy()
    elif hasattr(counts, "toarray"):
        table = counts.toarray()
    table = np.asarray(table, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.shape[0] != len(seen_names):
        raise ValueError(
            f"counts has {table.shape[0]} rows, but there are {len(seen_names)} seen labels: give "
            "one row per seen label, in the order of classes_[seen_]"
        )
    if names is None:
        raise ValueError("names: give the names of the new labels, one per column of counts")
    checked = check_names([names] if isinstance(names, str) else names, table.shape[1])
    assert checked is not None
    taken = set(classes)
    for name in checked:
        if name in taken:
            raise ValueError(f"names: the label {name!r} is there already; use fold_in")
    padded = np.column_stack([np.zeros((len(seen_names),) * 2), table])
    # refuses what is not a count, and warns of labels without any
    names = np.concatenate([object_array(seen_names), checked])
    as_cooccurrence(Cooccurrence(sparse.csr_array(padded), names=names))
    return table, checked


def _in_order(frame: Any, seen_names: np.ndarray) -> np.ndarray:
    """Return a frame's values in the order of the seen labels, by name unless rows have none."""
    known = set(frame.index)
    missing = [name for name in seen_names if name not in known]
    if not missing:
        frame = frame.loc[list(seen_names)]
    elif list(frame.index) != list(range(len(frame))):
        raise ValueError(
            f"counts has no row for the seen label {missing[0]!r}: name all of classes_[seen_] in "
            "its index, with NaN where nobody counted"
        )
    return frame.to_numpy(dtype=float, na_value=np.nan)


def updated_label(
    factors: np.ndarray,
    states: np.ndarray,
    prior: LabelFactors,
    precision: np.ndarray,
    offset: Any = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (v, b) of a label that maximises the likelihood of known rows times its prior.

    ``factors`` (n_samples x K) are those predicted for the rows, ``states`` (n_samples) the codes
    of the label, ``prior`` has the shapes (1, K) and (1,), ``precision`` is (K + 1, K + 1), ``offset``
    is what else psi has. Also returns the precision of the result.
    """
    features = with_ones(factors.astype(np.float64))
    mean = np.append(prior.factors[0], prior.bias[0])
    solution = mean.copy()
    for _ in range(_LABEL_STEPS):
        terms = label_terms((features @ solution + offset)[:, None], states[:, None])
        gram = unpack(weighted_grams(terms.omega.T, features), features.shape[1])[0]
        linear = terms.kappa[:, 0] - terms.omega[:, 0] * offset
        right = linear @ features + precision @ mean
        solution = np.linalg.solve(gram + precision, right)
    return solution, gram + precision


def known_states(Y: Any, n_samples: int, n_labels: int) -> np.ndarray:
    """Return the states (n_samples, n_labels) of the labels that are folded in."""
    array = np.asarray(Y) if not isinstance(Y, Labels) and np.ndim(Y) == 1 else Y
    labels = as_labels(array[:, None] if np.ndim(array) == 1 else array, n_samples=n_samples)
    if labels.n_labels != n_labels:
        raise ValueError(
            f"Y has {labels.n_labels} columns, but {n_labels} labels are named: give one column "
            "per label"
        )
    return labels.states()


# -- how certain a prediction is: variances of psi = u . v + b given the features of a row --------
#
# u given x has the variance 1/lambda_u of its prior; (v, b) of a seen label has the inverse of its
# curvature at the optimum as covariance (a Laplace approximation, other labels and W held fixed);
# that of an unseen label is judged by how far the same rule is off for seen labels.


def label_variance(factors: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return u' Cov(v, b) u for rows and seen labels, of shape (n_samples, n_seen).

    ``factors`` (n_samples x K + 1) are those predicted for the rows, with a one; ``precision``
    (n_seen x packed) is the curvature of each label's (v, b), its prior included.
    """
    size = factors.shape[1]
    out = np.empty((factors.shape[0], precision.shape[0]))
    for label, packed in enumerate(precision):
        lower = linalg.cholesky(unpacked(packed, size), lower=True)
        out[:, label] = np.square(linalg.solve_triangular(lower, factors.T, lower=True)).sum(axis=0)
    return out


def packed_labels(packed: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Return the part (v, b) of packed systems of (v, b, a), with the prior on the diagonal."""
    size = ridge.size - 1
    width = size * (size + 1) // 2
    part = packed[:, :width].copy()
    diagonal = np.arange(1, size + 1)
    part[:, diagonal * (diagonal + 1) // 2 - 1] += ridge[:-1]
    return part


def unpacked(packed: np.ndarray, size: int) -> np.ndarray:
    """Return the matrix (size x size) of a packed one."""
    return unpack(packed[None].astype(float), size)[0]


def spread_error(factors: np.ndarray, error: float) -> np.ndarray:
    """Return a precision of (v, b) under which psi of rows with these factors has that error."""
    size = factors.shape[1] + 1
    sample = with_ones(factors.astype(float))
    spread = sample.T @ sample / len(sample) / max(error**2, 1e-6)
    return spread / size + 1e-6 * np.eye(size)
