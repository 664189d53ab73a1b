"""Seen labels, each predicted on its own, vote for the unseen ones they occur with."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions

from labelgap.baselines._binary_relevance import fit_seen
from labelgap.cooccurrence import Cooccurrence, conditional_fractions, counts_with_text
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels
from labelgap.parameters import parameter, with_parameters
from labelgap.zero_shot import ZeroShotClassifier, prior_of_unconnected

_DEFAULT = LogisticRegression(C=10, solver="liblinear")


@with_parameters
class CooccurrenceVote(ZeroShotClassifier):
    """Predict unseen labels from how often they occur with the seen ones, one classifier each.

    With ``P_s(x)`` the probability that the classifier of a seen label s gives, ``M_su`` the
    number of items with both s and the unseen label u, and ``n_s`` the number with s,

        q_u(x) = sum_s P_s(x) M_su / n_s

    is the number of seen labels of x that are expected to have brought u with them. It is at
    least the probability that one of them did, and may exceed one. Seen labels have
    ``q_s(x) = P_s(x)``. An unseen label that co-occurs with nothing has a constant q, see
    :func:`labelgap.zero_shot.prior_of_unconnected`.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier with ``predict_proba``; by default
        ``LogisticRegression(C=10, solver="liblinear")``: with C = 1, rare labels say too little.
    unknown : {"ignore", "negative"}, default="ignore"
        Whether a row with an unknown entry is left out for that label, or counts as a zero.
    text_encoder : {"static", "tfidf"} or object with ``encode``, default=None
        For texts of labels, see :func:`labelgap.text.check_encoder`. What the counts of an unseen
        label are is then estimated by :func:`labelgap.cooccurrence.counts_with_text`.
    n_jobs : int, default=None
        Number of processes, as everywhere in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        All labels, see :class:`labelgap.zero_shot.ZeroShotClassifier`.
    seen_ : bool ndarray of shape (n_labels,)
        Which of them are seen.
    seen_classifiers_ : BinaryRelevance
        The classifiers of the seen labels.
    weights_ : csr_array of shape (n_unseen, n_seen)
        ``M_su / n_s``.
    constant_ : ndarray of shape (n_unseen,)
        What is predicted for an unseen label without a weight; 0 for the others.

    Notes
    -----
    Probabilities are ``min(q, 1)``. The decision function is the log-odds of q up to one half and
    continues along its tangent there, ``4 q - 2``, so that it ranks labels as q does, seen and
    unseen together, and is positive where ``predict`` gives 1.

    See Also
    --------
    labelgap.MLLCS : a joint model of seen and unseen labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import CooccurrenceVote
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> counts = np.array([[20, 0, 15], [0, 20, 1]])  # two seen labels, and a third without rows
    >>> CooccurrenceVote().fit(X, Y, cooccurrence=counts).predict([[0.0], [3.0]])
    array([[1, 0, 1],
           [0, 1, 0]])
    """

    estimator: Any = parameter(None, HasMethods(["fit", "predict_proba"]), None)
    _: KW_ONLY
    unknown: str = parameter("ignore", StrOptions({"ignore", "negative"}))
    text_encoder: Any = parameter(
        None, StrOptions({"static", "tfidf"}), HasMethods(["encode"]), None
    )
    n_jobs: int | None = parameter(None, Integral, None)

    def _fit(self, X: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:  # type: ignore[override]
        if self.text_ is not None:
            cooccurrence = counts_with_text(cooccurrence, self.text_.vectors)
        self.seen_classifiers_ = fit_seen(
            _DEFAULT if self.estimator is None else self.estimator,
            X,
            labels,
            unknown=self.unknown,
            n_jobs=self.n_jobs,
        )
        self.weights_ = conditional_fractions(cooccurrence)
        has_weight = np.diff(self.weights_.indptr) > 0
        self.constant_ = np.where(has_weight, 0.0, prior_of_unconnected(labels, cooccurrence))

    def _expected_votes(self, X: Any) -> np.ndarray:
        probability = self.seen_classifiers_._predict_proba(X)
        if not self.weights_.shape[0]:
            return probability
        votes = np.empty((X.shape[0], len(self.seen_)), dtype=probability.dtype)
        votes[:, self.seen_] = probability
        votes[:, ~self.seen_] = (self.weights_ @ probability.T).T + self.constant_
        return votes

    def _predict_proba(self, X: Any) -> np.ndarray:
        return np.minimum(self._expected_votes(X), 1.0)

    def _decision_function(self, X: Any) -> np.ndarray:
        votes = self._expected_votes(X)
        return np.where(votes > 0.5, 4 * votes - 2, log_odds(np.minimum(votes, 0.5)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            accepted = get_tags(self.estimator).input_tags
            tags.input_tags.sparse = accepted.sparse
            tags.input_tags.allow_nan = accepted.allow_nan
        return tags
