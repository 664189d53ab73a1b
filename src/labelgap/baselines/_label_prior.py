"""The prediction that ignores the features: how often each label is relevant."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.parameters import NOT_NEGATIVE, parameter, with_parameters


@with_parameters
class LabelPrior(LabelGapClassifier):
    """Predict for every row how often each label is relevant where it was observed.

    The fraction of a label is drawn towards that of all labels together by ``smoothing`` imaginary
    observations, so that no label is impossible or certain and a label without any observed entry
    has a prediction too:

        p_j = (n_relevant_j + smoothing * p) / (n_observed_j + smoothing)

    Parameters
    ----------
    smoothing : float, default=1.0
        Number of imaginary observations; 0 gives the plain fractions.

    Attributes
    ----------
    prevalence_ : ndarray of shape (n_labels,)
        The probabilities predicted for every row.

    See Also
    --------
    labelgap.labels.observed_prevalence : the function behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import LabelPrior
    >>> Y = np.array([[1, 0], [1, np.nan], [0, 0]])
    >>> LabelPrior(smoothing=0).fit(np.zeros((3, 1)), Y).predict_proba(np.zeros((1, 1))).round(2)
    array([[0.67, 0.  ]])
    """

    _: KW_ONLY
    smoothing: float = parameter(1.0, NOT_NEGATIVE)

    def _fit(self, X: Any, labels: Labels) -> None:
        self.prevalence_ = observed_prevalence(labels, self.smoothing)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return np.tile(self.prevalence_, (X.shape[0], 1))

    def _decision_function(self, X: Any) -> np.ndarray:
        return log_odds(self._predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
