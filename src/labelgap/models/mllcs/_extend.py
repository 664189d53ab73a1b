"""Labels that come after the fit: from their counts alone, or from a few known rows as well."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.cooccurrence import Cooccurrence, as_cooccurrence
from labelgap.kernels.exposure import label_terms
from labelgap.kernels.weighted_ridge import solve_grams, unpack, weighted_grams
from labelgap.labels import Labels, as_labels
from labelgap.labels._checks import check_names, object_array
from labelgap.models.mllcs._counts import Counts, count_terms
from labelgap.models.mllcs._model import BIAS_PRECISION, Params, with_ones
from labelgap.models.mllcs._unseen import LabelFactors

_COUNT_STEPS = 25
_LABEL_STEPS = 25


def count_factors(counts: Counts, params: Params, lambda_beta: float) -> np.ndarray:
    """(beta, c) of new labels given the seen labels' factors; shape (n_labels, K + 1)."""
    k = params.factors.shape[1]
    factors = with_ones(params.factors.astype(np.float64))
    ridge = np.append(np.full(k, lambda_beta), BIAS_PRECISION)
    known = params.count_bias[:, None] + counts.offset
    solution = np.zeros((counts.values.shape[1], k + 1))
    for _ in range(_COUNT_STEPS):
        terms = count_terms(counts, factors @ solution.T + known, params.r)
        right = (terms.kappa - terms.omega * known).T @ factors
        solution = solve_grams(weighted_grams(terms.omega.T, factors), right, ridge).z
    return solution


def with_count_factors(
    params: Params, cooccurrence: Cooccurrence, offset: float, lambda_beta: float, *, diagonal: bool
) -> Params:
    """Parameters with the (beta, c) of all labels that are most probable given the rest."""
    weights = cooccurrence.observed.astype(np.float64)
    if not diagonal:
        weights[np.arange(cooccurrence.n_seen), cooccurrence.seen] = 0.0
    counts = Counts(cooccurrence.dense(missing=0.0), weights, cooccurrence.seen, offset)
    found = count_factors(counts, params, lambda_beta).astype(params.beta.dtype)
    return params._replace(beta=found[:, :-1].copy(), column_bias=found[:, -1].copy())


def seen_states(labels: Labels, seen: np.ndarray) -> np.ndarray:
    """States of the seen labels, of labels that have those alone or all there are."""
    if labels.n_labels not in (seen.sum(), seen.size):
        raise ValueError(
            f"Y has {labels.n_labels} columns: give one per seen label ({seen.sum()}) or one for "
            f"each of classes_ ({seen.size})"
        )
    return labels.states() if labels.n_labels == seen.sum() else labels.states()[:, seen]


def new_counts(
    counts: Any, names: Any, classes: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Checked counts (n_seen, n_new) of new labels as a dense array with NaN, and their names."""
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
    """Values of a frame with the rows of the seen labels, by name unless its rows have none."""
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
    factors: np.ndarray, states: np.ndarray, prior: LabelFactors, precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The (v, b) of one label that maximises the likelihood of known rows times its prior.

    Returns it with its precision, that of the prior and of these rows.

    Parameters
    ----------
    factors : array of shape (n_rows, K)
        Predicted factors of the rows.
    states : int8 array of shape (n_rows,)
    prior : LabelFactors
        Of one label: shapes (1, K) and (1,).
    precision : array of shape (K + 1, K + 1)
    """
    features = with_ones(factors.astype(np.float64))
    mean = np.append(prior.factors[0], prior.bias[0])
    solution = mean.copy()
    for _ in range(_LABEL_STEPS):
        terms = label_terms((features @ solution)[:, None], states[:, None])
        gram = unpack(weighted_grams(terms.omega.T, features), features.shape[1])[0]
        right = terms.kappa[:, 0] @ features + precision @ mean
        solution = np.linalg.solve(gram + precision, right)
    return solution, gram + precision


def known_states(Y: Any, n_rows: int, n_labels: int) -> np.ndarray:
    """States (n_rows, n_labels) of the labels that are folded in."""
    array = np.asarray(Y) if not isinstance(Y, Labels) and np.ndim(Y) == 1 else Y
    labels = as_labels(array[:, None] if np.ndim(array) == 1 else array, n_rows=n_rows)
    if labels.n_labels != n_labels:
        raise ValueError(
            f"Y has {labels.n_labels} columns, but {n_labels} labels are named: give one column "
            "per label"
        )
    return labels.states()
