"""What members learn from where labels are missing: probabilities by the members before them.

The members before left out one fold of rows after the other. What is learned without fold f is
imputed by what they learned without fold f, so that out-of-fold predictions stay honest: with
probabilities that had seen a row, its prediction would come back to it through its neighbors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from labelgap.kernels.probabilities import log_odds, weighted_mean
from labelgap.labels import Labels
from labelgap.mend._known_labels import ResidualCorrelation, spread
from labelgap.mend._member import ImputedTargets, Member, Teaching
from labelgap.propensity import relevance_log_odds, unlabeled_posterior

# beyond this many operations the labels of a row say nothing of each other
_MOST_OPERATIONS = 3e11
_NEVER = 1e-3


def impute_targets(
    teaching: Teaching,
    members: Sequence[Member],
    weights: np.ndarray,
    out_of_fold: np.ndarray,
    label_frequency: Any,
) -> ImputedTargets:
    """Return labels whose missing entries are probabilities given features and the row's labels.

    Parameters
    ----------
    teaching : Teaching
    members : sequence of Member
        With ``predict_without``.
    weights : array of shape (n_members, n_labels)
    out_of_fold : array of shape (n_samples, n_labels)
        The weighted mean of the members' probabilities of being recorded.
    label_frequency : float or array of shape (n_labels,)
        The probability that a relevant label is recorded; 1 without unlabeled zeros.
    """
    labels = teaching.labels
    values = labels.to_dense(unknown=np.nan, unlabeled=0.0, dtype=np.float32)
    unknown = np.isnan(values)
    frequency = np.asarray(label_frequency, dtype=float)
    unlabeled = np.zeros(values.shape, dtype=bool)
    if labels.unlabeled and (frequency < 1).any():
        unlabeled = np.isnan(labels.to_dense(unknown=0.0, unlabeled=np.nan))
    if not (unknown.any() or unlabeled.any()):
        return ImputedTargets([values] * teaching.n_folds, values, 1.0, False)
    said = _said_by_other_labels(labels, out_of_fold, values, left_out=bool(unlabeled.any()))
    found = []
    for fold in range(teaching.n_folds):
        said_without = (one.predict_without(fold, teaching.X) for one in members)
        recorded = weighted_mean(weights, said_without)
        recorded = np.clip(recorded + spread(recorded) * said, _NEVER, 1 - _NEVER)
        relevant = relevance_log_odds(log_odds(recorded), frequency)
        imputed = np.where(unknown, expit(relevant), values)
        if unlabeled.any():
            imputed = np.where(unlabeled, unlabeled_posterior(relevant, frequency), imputed)
        found.append(imputed.astype(np.float32))
    mean = np.asarray(sum(found) / len(found), dtype=np.float32)
    return ImputedTargets(found, mean, label_frequency, True)


def _said_by_other_labels(
    labels: Labels, out_of_fold: np.ndarray, values: np.ndarray, *, left_out: bool
) -> Any:
    """Return how many standard deviations the known labels of a row move the others."""
    n_known = labels.n_observed(axis=1, unlabeled=True).astype(float)
    if labels.n_labels == 1 or float((n_known**3).sum()) > _MOST_OPERATIONS:
        return 0.0
    residuals = ResidualCorrelation.fit(out_of_fold, labels)
    return residuals.expected(np.asarray(out_of_fold), values, left_out=left_out)
