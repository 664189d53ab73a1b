"""The suggested labels, and why: similar items, labels the item carries, and features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from labelgap.auditing._audit_input import AuditInput, FeatureRows
from labelgap.auditing._audit_result import (
    CooccurringLabel,
    Evidence,
    FeatureContribution,
    NearestWord,
    SimilarItem,
    Suggestion,
)
from labelgap.auditing._entry_probabilities import TopEntries
from labelgap.auditing._out_of_fold import OutOfFold
from labelgap.auditing._score_counts import Advance
from labelgap.fitting import StoredFeatures
from labelgap.memory import block_size
from labelgap.text import TextMatch

_N_SIMILAR, _N_COOCCURRING, _N_FEATURES = 3, 3, 5
_MOST_CARRIERS = 20_000
# of features in blocks: at least so many, and features counted of a row that may be sparse
_FEWEST_CARRIERS, _DENSEST = 50, 300
_NEAR = 0.3
_COLLECTING = "collecting the evidence"


def make_suggestions(
    model: OutOfFold, checked: AuditInput, top: TopEntries, advance: Advance
) -> tuple[Suggestion, ...]:
    """Return the most probable of unlabeled zeros and unknown entries, with their evidence."""
    names = checked.part_names
    evidence = collect_evidence(model, checked, (top.rows, top.labels), advance)
    return tuple(
        Suggestion(
            rank=k + 1,
            item=str(checked.items[top.rows[k]]),
            label=names[top.labels[k]],
            probability=float(top.probabilities[k]),
            state="unknown" if top.unknown[k] else "zero",
            evidence=why,
        )
        for k, why in enumerate(evidence)
    )


def collect_evidence(
    model: OutOfFold,
    checked: AuditInput,
    entries: tuple[np.ndarray, np.ndarray],
    advance: Advance,
) -> list[Evidence]:
    """Return the evidence of each (row, label) entry.

    Similar items are those with the largest cosine among the items that carry the label. Features
    and co-occurring labels are those that add most to the score, where the model has weights.
    """
    rows, labels = entries
    carried, names = checked.part.positives().astype(np.float64), checked.part_names
    carriers, n_carriers = carried.tocsc(), checked.part.n_positives(axis=0)
    most = _most_carriers(model.rows, np.unique(labels).size)
    read, place = _read_rows(model.rows, rows, carriers, np.unique(labels), most)
    lengths = row_norms(read.scaled)
    evidence: list[Evidence] = [Evidence()] * rows.size
    done = 0
    for label in np.unique(labels):
        at = np.flatnonzero(labels == label)
        advance(_COLLECTING, done, rows.size)
        done += at.size
        of_label = carriers.indices[carriers.indptr[label] : carriers.indptr[label + 1]]
        similar = _similar(read.scaled, lengths, place[rows[at]], place[of_label[:most]])
        weights = model.weights(int(label))
        n_both = np.asarray((carried.T @ carriers[:, [label]]).todense()).ravel()
        lift = n_both * carried.shape[0] / (n_carriers * n_carriers[label])
        for k, (nearest, cosines) in zip(at, similar, strict=True):
            row = int(rows[k])
            items = zip(checked.items[of_label[nearest]], cosines, strict=True)
            why = Evidence(similar=tuple(SimilarItem(str(i), float(c)) for i, c in items))
            if weights is not None:
                others = _cooccurring(carried, row, weights[1], n_both, lift, names)
                why = Evidence(why.similar, others, _features(read, place[row], weights[0]))
            evidence[k] = replace(why, words=_words(model.source.text, row, int(label)))
    advance(_COLLECTING, rows.size, rows.size)
    return evidence


def _most_carriers(rows: FeatureRows, n_labels: int) -> int:
    """How many carriers of each label are compared: those that fit in memory."""
    if not isinstance(rows.scaled, StoredFeatures):
        return _MOST_CARRIERS
    fitting = block_size(min(rows.scaled.shape[1], _DENSEST), fraction=1 / 4)
    return int(np.clip(fitting // max(n_labels, 1), _FEWEST_CARRIERS, _MOST_CARRIERS))


def _read_rows(
    rows: FeatureRows, asked: np.ndarray, carriers: Any, labels: np.ndarray, most: int
) -> tuple[FeatureRows, np.ndarray]:
    """Return the features that evidence needs, in memory, and the place of each row in them."""
    if not isinstance(rows.scaled, StoredFeatures):
        return rows, np.arange(rows.n_samples)
    wanted = [asked]
    for label in labels:
        begin, end = carriers.indptr[label : label + 2]
        wanted.append(carriers.indices[begin : min(end, begin + most)])
    there = np.unique(np.concatenate(wanted))
    place = np.zeros(rows.n_samples, dtype=np.intp)
    place[there] = np.arange(there.size)
    return replace(rows, scaled=rows.scaled[there]), place


def _words(match: TextMatch | None, row: int, label: int) -> tuple[NearestWord, ...]:
    """Return the word that speaks for a label, unless it speaks for any other as much."""
    if match is None:
        return ()
    word, cosine = match.best_word(row, label)
    named = bool(match.named[row, label])
    return (NearestWord(word, cosine, named),) if named or cosine >= _NEAR else ()


def _similar(
    scaled: Any, lengths: np.ndarray, rows: np.ndarray, carriers: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return positions of the nearest carriers of each row and their cosines, the nearest first."""
    products = safe_sparse_dot(scaled[rows], scaled[carriers].T, dense_output=True)
    cosines = products / np.maximum(np.outer(lengths[rows], lengths[carriers]), 1e-12)
    cosines[rows[:, None] == carriers] = -np.inf
    nearest_of_rows = []
    for of_row in cosines:
        nearest = np.argsort(-of_row, kind="stable")[:_N_SIMILAR]
        nearest = nearest[of_row[nearest] > 0]
        nearest_of_rows.append((nearest, np.minimum(of_row[nearest], 1.0)))
    return nearest_of_rows


def _cooccurring(
    carried: sparse.csr_array,
    row: int,
    weights: np.ndarray,
    n_both: np.ndarray,
    lift: np.ndarray,
    names: list[str],
) -> tuple[CooccurringLabel, ...]:
    others = carried.indices[carried.indptr[row] : carried.indptr[row + 1]]
    others = others[(weights[others] > 0) & (n_both[others] > 0)]
    others = others[np.argsort(-weights[others], kind="stable")][:_N_COOCCURRING]
    return tuple(
        CooccurringLabel(names[other], float(lift[other]), int(n_both[other])) for other in others
    )


def _features(rows: FeatureRows, row: int, weights: np.ndarray) -> tuple[FeatureContribution, ...]:
    at, contributions = rows.contributions(row, weights)
    largest = np.argsort(-contributions, kind="stable")[:_N_FEATURES]
    largest = largest[contributions[largest] > 0]
    return tuple(FeatureContribution(rows.names[at[k]], float(contributions[k])) for k in largest)
