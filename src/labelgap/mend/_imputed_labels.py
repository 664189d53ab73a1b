"""Labels with the entries that are not known filled in, and what of that is passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from labelgap.labels import Labels, observed_prevalence
from labelgap.mend._selection import Candidate
from labelgap.one_vs_rest import SoftLabel, known_entries
from labelgap.propensity import calibration_shift, unlabeled_posterior

_NEVER = 1e-9
_SHIFT_TOLERANCE = 1e-4
_TINY = 1e-3
_WORTH_KEEPING = 0.01
# a pseudo-label nearer to the prevalence than this is left out
_SMALLEST_PSEUDO_LABEL = 0.1

# learns labels from some rows and predicts them in others: one column of probabilities at a time
Predictor = Callable[[np.ndarray, Iterator[SoftLabel], np.ndarray], Iterator[np.ndarray]]


class ImputedLabels(NamedTuple):
    """The imputed values: probabilities of entries that were not known, and their weights.

    Attributes
    ----------
    probabilities : csr_array of shape (n_samples, n_labels)
        Those below 0.01 are not stored. Of unlabeled zeros they are what the label frequency,
        estimated or given, stands for, whatever the classifier was trained with.
    weights : array of shape (n_labels,)
        How much an imputed entry of each label counted, beside 1 for a known one.
    imputer : str
        The imputer as code that would make it again; empty where nothing was imputed.

    See Also
    --------
    labelgap.Mend : Has one as ``imputed_``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from labelgap.mend import ImputedLabels
    >>> ImputedLabels(sparse.csr_array([[0.0, 0.7]]), np.array([0.0, 1.0])).probabilities.nnz
    1
    """

    probabilities: sparse.csr_array
    weights: np.ndarray
    imputer: str = ""


def impute_label(
    labels: Labels, label: int, probabilities: np.ndarray, candidate: Candidate
) -> SoftLabel:
    """Return a label with the entries that are not known filled in, after those that are.

    ``probabilities`` are those that the label is recorded in each row. Of unlabeled zeros,
    with g that probability and c the label frequency, P(relevant) = (1 - c) p / (1 - c p) with
    p = g / c. Models of g do not know its ceiling c, and what exceeds it is cut off; log-odds of p
    are therefore shifted until (1 - c) / c missing labels are expected for each recorded one.
    """
    if candidate.weight == 0:
        return known_entries(labels, label)
    known, values = labels.column(label, unlabeled=False)
    unlabeled = unlabeled_rows(labels, label) if labels.unlabeled else known[:0]
    asked = np.ones(labels.n_samples, dtype=bool)
    asked[known] = asked[unlabeled] = False
    unknown = np.flatnonzero(asked)
    c = float(np.broadcast_to(candidate.label_frequency, labels.n_labels)[label])
    missing = np.zeros(unlabeled.size)
    if c < 1 and unlabeled.size:
        relevance = logit(np.clip(probabilities[unlabeled] / c, _NEVER, 1 - _NEVER))
        total = min((1 - c) / c * float(values.sum()), (1 - 1e-6) * unlabeled.size)
        shift = calibration_shift(relevance, total, label_frequency=c, xtol=_SHIFT_TOLERANCE)
        missing = unlabeled_posterior(relevance + shift, c)
    imputed = np.minimum(probabilities[unknown] / c, 1.0)
    weights = np.ones(known.size), np.full(unknown.size, candidate.weight), np.ones(unlabeled.size)
    return SoftLabel(
        np.concatenate([known, unknown, unlabeled]),
        np.concatenate([values.astype(float), imputed, missing]),
        np.concatenate(weights),
    )


def unlabeled_rows(labels: Labels, label: int) -> np.ndarray:
    """Return the rows in which the label is an unlabeled zero."""
    known, _ = labels.column(label, unlabeled=False)
    return np.setdiff1d(labels.column(label)[0], known, assume_unique=True)


def worth_keeping(
    one: SoftLabel, labels: Labels, label: int, candidate: Candidate, c: float
) -> SoftLabel:
    """Return the imputed entries, as they are with the label frequency c in place of another.

    Of unlabeled zeros (1 - c) / c for each recorded label are expected to be relevant, of unknown
    entries 1 / c times those that would be recorded.
    """
    known, values = labels.column(label, unlabeled=False)
    before = float(np.broadcast_to(candidate.label_frequency, labels.n_labels)[label])
    probabilities = one.probabilities
    if before != c:
        unlabeled = np.isin(one.rows, unlabeled_rows(labels, label))
        probabilities = np.minimum(before / c * one.probabilities, 1.0)
        total = (1 - c) / c * float(values.sum())
        probabilities[unlabeled] = with_sum(one.probabilities[unlabeled], total)
    kept = ~np.isin(one.rows, known) & (probabilities >= _WORTH_KEEPING)
    return SoftLabel(one.rows[kept], probabilities[kept], one.weights[kept])


def with_sum(probabilities: np.ndarray, total: float) -> np.ndarray:
    """Return probabilities with their log-odds shifted until they add up; tiny ones stay."""
    found = probabilities.copy()
    some = np.flatnonzero(probabilities > _TINY)
    odds = logit(np.minimum(probabilities[some], 1 - _NEVER))
    rest = float(probabilities.sum() - probabilities[some].sum())
    total = min(total - rest, (1 - _TINY) * some.size)
    shift = calibration_shift(odds, total, xtol=_SHIFT_TOLERANCE) if some.size else 0.0
    if shift:
        found[some] = expit(odds + shift)
    return found


def held_out_pseudo_labels(
    predict: Predictor,
    labels: Labels,
    wanted: np.ndarray,
    soft: Sequence[SoftLabel],
    folds: Sequence[np.ndarray],
) -> sparse.csr_array:
    """Return p - f at the entries of the wanted labels that are not known, f the prevalence.

    ``predict(others, soft, rows)`` gives the probabilities p of each label in some rows from soft
    labels of others: rows are left out of what predicts them, so that nothing known of a row comes
    back as its pseudo-label. Of the shape of the labels; small values are left out.
    """
    prevalence = observed_prevalence(labels)[wanted]
    known = [labels.column(label, unlabeled=False)[0] for label in wanted.tolist()]
    at, columns, values = [], [], []
    for rows in folds:
        others = np.setdiff1d(np.arange(labels.n_samples), rows, assume_unique=True)
        part = (_in_rows(one, others) for one in soft)
        for place, probabilities in enumerate(predict(others, part, rows)):
            off = np.where(np.isin(rows, known[place]), 0.0, probabilities - prevalence[place])
            far = np.abs(off) >= _SMALLEST_PSEUDO_LABEL
            at.append(rows[far])
            columns.append(np.full(int(far.sum()), wanted[place]))
            values.append(off[far])
    where = np.concatenate(at), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(values), where), shape=labels.shape)


def _in_rows(one: SoftLabel, rows: np.ndarray) -> SoftLabel:
    """Return the part of a label in some rows, which are numbered anew."""
    kept = np.isin(one.rows, rows)
    places = np.searchsorted(rows, one.rows[kept])
    return SoftLabel(places, one.probabilities[kept], one.weights[kept])
