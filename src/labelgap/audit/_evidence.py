"""Why a label is suggested: items like this one, labels it has, and features that speak for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.audit._joint import Advance, JointModel
from labelgap.audit._result import Companion, Evidence, FeaturePull, SimilarItem
from labelgap.labels import Labels

__all__ = ["collect_evidence"]

_N_SIMILAR, _N_COMPANIONS, _N_FEATURES = 3, 3, 5
_MOST_CARRIERS = 20_000


def collect_evidence(
    model: JointModel,
    labels: Labels,
    names: list[str],
    items: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    advance: Advance,
) -> list[Evidence]:
    """Evidence of each (row, label) pair.

    Features and companions are those with the largest positive share in the score; similar items
    are those with the largest cosine among the items that carry the label.
    """
    rows, columns = pairs
    lengths = _lengths(model.rows.scaled)
    ones = labels.positives().astype(np.float64)
    carriers = ones.tocsc()
    counts = labels.n_positives(axis=0)
    evidence: list[Evidence] = [Evidence()] * rows.size
    done = 0
    for label in np.unique(columns):
        at = np.flatnonzero(columns == label)
        advance("collecting the evidence", done, rows.size)
        done += at.size
        of_label = carriers.indices[carriers.indptr[label] : carriers.indptr[label + 1]]
        similar = _similar(model.rows.scaled, lengths, rows[at], of_label[:_MOST_CARRIERS])
        inputs, others = model.weights(int(label))
        with_label = np.asarray((ones.T @ carriers[:, [label]]).todense()).ravel()
        for position, (near, cosine) in zip(at, similar, strict=True):
            row = int(rows[position])
            evidence[position] = Evidence(
                similar=tuple(
                    SimilarItem(str(items[i]), float(value))
                    for i, value in zip(near, cosine, strict=True)
                ),
                companions=_companions(ones, row, int(label), others, with_label, counts, names),
                features=_features(model, row, inputs),
            )
    advance("collecting the evidence", rows.size, rows.size)
    return evidence


def _similar(
    scaled: Any, lengths: np.ndarray, rows: np.ndarray, carriers: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The nearest carriers of each row with their cosines, the nearest first."""
    products = scaled[rows] @ scaled[carriers].T
    products = products.toarray() if sparse.issparse(products) else np.asarray(products)
    cosines = products / np.maximum(np.outer(lengths[rows], lengths[carriers]), 1e-12)
    cosines[rows[:, None] == carriers] = -np.inf
    found = []
    for line in cosines:
        nearest = np.argsort(-line, kind="stable")[:_N_SIMILAR]
        nearest = nearest[line[nearest] > 0]
        found.append((carriers[nearest], np.minimum(line[nearest], 1.0)))
    return found


def _companions(
    ones: sparse.csr_array,
    row: int,
    label: int,
    weights: np.ndarray,
    with_label: np.ndarray,
    counts: np.ndarray,
    names: list[str],
) -> tuple[Companion, ...]:
    carried = ones.indices[ones.indptr[row] : ones.indptr[row + 1]]
    carried = carried[(weights[carried] > 0) & (with_label[carried] > 0)]
    carried = carried[np.argsort(-weights[carried], kind="stable")][:_N_COMPANIONS]
    n_rows = ones.shape[0]
    return tuple(
        Companion(
            names[other],
            float(with_label[other] * n_rows / (counts[other] * counts[label])),
            int(with_label[other]),
        )
        for other in carried
    )


def _features(model: JointModel, row: int, weights: np.ndarray) -> tuple[FeaturePull, ...]:
    at, pulls = model.rows.pulls(row, weights)
    strongest = np.argsort(-pulls, kind="stable")[:_N_FEATURES]
    strongest = strongest[pulls[strongest] > 0]
    return tuple(FeaturePull(model.rows.names[at[k]], float(pulls[k])) for k in strongest)


def _lengths(scaled: Any) -> np.ndarray:
    squares = scaled.multiply(scaled) if sparse.issparse(scaled) else scaled**2
    return np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
