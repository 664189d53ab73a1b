"""Recorded labels that are probably wrong: confident learning, label by label.

A recorded label is in question where its out-of-fold probability of not being relevant reaches the mean
of that probability among items without the label, and its probability of being relevant stays below the
mean among items with it (Northcutt, Jiang and Chuang 2021). What is in question is counted, and the
probabilities are shifted until they add up to that number.

Reference
---------
Northcutt, C., Jiang, L., Chuang, I. (2021). Confident learning: estimating uncertainty in dataset
labels. Journal of Artificial Intelligence Research 70.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from labelgap.auditing._audit_input import AuditInput
from labelgap.auditing._audit_result import WrongPositive
from labelgap.auditing._out_of_fold import OutOfFold, ScoredRows, helped_by_labels
from labelgap.auditing._score_counts import Advance
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import State
from labelgap.propensity import calibration_shift

_MOST = 1000
_STAGE = "questioning recorded labels"


def wrong_positives(
    model: OutOfFold, checked: AuditInput, advance: Advance
) -> tuple[WrongPositive, ...]:
    """Return recorded labels in question, the most probably wrong first."""
    rows, columns, probabilities, means = _stated(model, checked, advance)
    relevant, irrelevant = means[0][columns], means[1][columns]
    no = 1 - probabilities
    surely = (probabilities >= relevant) & (probabilities >= no)
    questioned = (no >= irrelevant) & ~surely
    if not questioned.any():
        return ()
    odds = np.asarray(log_odds(np.clip(no, 1e-6, 1 - 1e-6)))
    claimed = expit(odds + calibration_shift(odds, float(questioned.sum())))
    at = np.flatnonzero(questioned)
    at = at[np.lexsort((columns[at], rows[at], -claimed[at]))][:_MOST]
    names = checked.part_names
    return tuple(
        WrongPositive(rank, str(checked.items[rows[k]]), names[columns[k]], float(claimed[k]))
        for rank, k in enumerate(at, start=1)
    )


def _stated(
    model: OutOfFold, checked: AuditInput, advance: Advance
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels and probabilities of recorded entries, and mean probabilities by label.

    The means are of being relevant among items with the label, and of not being so among the others.
    """
    labels = checked.part
    found, sums, n = [], np.zeros((2, labels.n_labels)), np.zeros((2, labels.n_labels))
    decided = set(zip(*(array.tolist() for array in checked.decided_part[:2]), strict=True))

    def count(block: ScoredRows) -> tuple:
        part = labels[block.rows]
        states, opened = part.states(), model.opened[block.rows][:, None]
        own = np.where(helped_by_labels(labels, part), block.joint, block.features)
        ones = states == State.RELEVANT
        zeros = opened & ((states == State.NEGATIVE) | (states == State.UNLABELED))
        mean = np.where(ones, own, 0).sum(axis=0), np.where(zeros, 1 - own, 0).sum(axis=0)
        at = np.nonzero(ones)
        counts = ones.sum(axis=0), zeros.sum(axis=0)
        return mean, counts, (at[0] + block.rows.start, at[1], own[at]), block.rows.stop

    for mean, counts, stated, done in model.each_block(count):
        advance(_STAGE, done, labels.n_samples)
        sums += mean
        n += counts
        found.append(stated)
    advance(_STAGE, labels.n_samples, labels.n_samples)
    rows, columns, probabilities = (np.concatenate(a) for a in zip(*found, strict=True))
    if decided:
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        kept = np.array([pair not in decided for pair in pairs])
        rows, columns, probabilities = rows[kept], columns[kept], probabilities[kept]
    return rows, columns, probabilities, sums / np.maximum(n, 1)
