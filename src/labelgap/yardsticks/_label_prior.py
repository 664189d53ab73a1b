"""How often a label is relevant where somebody looked: the prediction that ignores the features."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.utils._param_validation import Interval

from labelgap.estimator import LabelGapClassifier
from labelgap.labels import Labels


def observed_frequency(labels: Labels, smoothing: float = 1.0) -> np.ndarray:
    """Share of relevant entries among the observed ones of each label, of shape (n_labels,).

    ``(n_relevant + smoothing * p) / (n_observed + smoothing)``, where ``p`` is the share over all
    labels together, itself ``(n_relevant + 1/2) / (n_observed + 1)``. A label with no observed
    entry has the share ``p``. Ambiguous zeros count as zeros.
    """
    n_observed = labels.n_observed(axis=0, ambiguous=True)
    n_relevant = labels.n_positives(axis=0)
    pooled = (n_relevant.sum() + 0.5) / (n_observed.sum() + 1)
    weight = n_observed + smoothing
    frequency = np.full(labels.n_labels, pooled)
    np.divide(n_relevant + smoothing * pooled, weight, out=frequency, where=weight > 0)
    return frequency


def log_odds(probability: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)), finite also for probabilities of 0 and 1."""
    return logit(np.clip(probability, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).eps))


class LabelPrior(LabelGapClassifier):
    """Predicts for every row how often each label is relevant where it was observed.

    The share of a label is drawn towards that of all labels together by ``smoothing`` imaginary
    observations, so that no label is impossible or certain and a label without any observed entry
    has a prediction too:

        p_j = (n_relevant_j + smoothing * p) / (n_observed_j + smoothing)

    Parameters
    ----------
    smoothing : float, default=1.0
        Number of imaginary observations; 0 gives the plain shares.

    Attributes
    ----------
    frequency_ : ndarray of shape (n_labels,)
        The probabilities predicted for every row.
    """

    _parameter_constraints: ClassVar = {"smoothing": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, *, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing

    def _fit(self, X: Any, labels: Labels) -> None:
        self.frequency_ = observed_frequency(labels, self.smoothing)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.frequency_, (X.shape[0], 1))

    def _decision_function(self, X: Any) -> np.ndarray:
        return log_odds(self._predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
