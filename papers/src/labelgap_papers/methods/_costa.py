"""Classifiers of unseen labels as weighted sums of the classifiers of seen ones."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if

from labelgap.baselines import BinaryRelevance, fit_seen
from labelgap.cooccurrence import Cooccurrence, counts_with_text
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, LabelWarning
from labelgap.labels.states import shown
from labelgap.parameters import parameter, with_parameters
from labelgap.zero_shot import LabelsName, ZeroShotClassifier, prior_of_unconnected
from labelgap_papers.methods._synthesis_weights import NORMALISATIONS, synthesis_weights


def _has_probabilities(self: COSTA) -> bool:
    if self.estimator is None or hasattr(self.estimator, "predict_proba"):
        return True
    raise AttributeError(
        f"{type(self.estimator).__name__} has no predict_proba: use decision_function, or wrap it "
        "in sklearn.calibration.CalibratedClassifierCV"
    )


@with_parameters
class COSTA(ZeroShotClassifier):
    """Co-occurrence statistics for zero-shot classification, on independent classifiers [1]_.

    One classifier is learned per seen label, with scores ``f_s(x)``. The classifier of an unseen
    label is a weighted sum of them,

        f_u(x) = sum_s a_us f_s(x),

    with weights from the co-occurrence of u with the seen labels, normalised to sum to one
    (``synthesis_weights`` in ``_synthesis_weights.py``). With linear classifiers that is the
    weighted sum of coefficients and intercepts. A label to which no seen one is similar has a
    constant score, see :func:`labelgap.zero_shot.prior_of_unconnected`.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier with ``predict_proba`` or ``decision_function``; by default
        ``LogisticRegression(solver="liblinear")``. The paper uses linear support vector machines.
    normalisation : {"fraction", "conditional", "dice", "pmi"}, default="fraction"
        The similarity that makes the weights: ``M_su`` itself, ``M_su / n_s``, Dice's coefficient
        or positive pointwise mutual information.
    unknown : {"ignore", "negative"}, default="ignore"
        Whether a row with an unknown entry is left out for that label, or counts as a zero.
        Unlabeled zeros are zeros.
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
        The ``a_us``; a row sums to one, or is empty.
    constant_ : ndarray of shape (n_unseen,)
        Score of an unseen label without a weight; 0 for the others.

    Notes
    -----
    The weights here are those of the similarities named above. The paper compares several
    similarities of its own, learns weights by regression too, and its counts may come from
    elsewhere than the training rows, as they may here.

    Scores are those of the classifiers, or log-odds where they have none. Probabilities of unseen
    labels are the sigmoid of the same weighted sum over the log-odds of the seen ones; for
    logistic regression that is the sigmoid of the score.

    References
    ----------
    .. [1] T. Mensink, E. Gavves and C. G. M. Snoek. COSTA: co-occurrence statistics for zero-shot
       classification. CVPR, 2014.
    """

    estimator: Any = parameter(
        None, HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), None
    )
    _: KW_ONLY
    normalisation: str = parameter("fraction", StrOptions(set(NORMALISATIONS)))
    unknown: str = parameter("ignore", StrOptions({"ignore", "negative"}))
    text_encoder: Any = parameter(
        None, StrOptions({"static", "tfidf"}), HasMethods(["encode"]), None
    )
    n_jobs: int | None = parameter(None, Integral, None)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of all labels, (n_labels, n_features); for linear classifiers only."""
        return self._combined(self.seen_classifiers_.coef_, 0.0)

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts of all labels, of shape (n_labels,); for linear classifiers only."""
        return self._combined(self.seen_classifiers_.intercept_, self.constant_)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, labels: LabelsName = "all") -> np.ndarray:
        """Probability that each label is relevant; parameters as in :meth:`decision_function`."""
        return super().predict_proba(X, labels)

    def _fit(self, X: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:  # type: ignore[override]
        if self.text_ is not None:
            cooccurrence = counts_with_text(cooccurrence, self.text_.vectors)
        self.seen_classifiers_: BinaryRelevance = fit_seen(
            self.estimator, X, labels, unknown=self.unknown, n_jobs=self.n_jobs
        )
        self.weights_ = synthesis_weights(cooccurrence, self.normalisation)
        has_weight = np.diff(self.weights_.indptr) > 0
        prior = prior_of_unconnected(labels, cooccurrence)
        self.constant_ = np.where(has_weight, 0.0, log_odds(prior))
        self._warn_of_no_weight(cooccurrence, has_weight)

    def _decision_function(self, X: Any) -> np.ndarray:
        scores = self.seen_classifiers_._decision_function(X)
        return self._combined(scores.T, self.constant_[:, None]).T

    def _predict_proba(self, X: Any) -> np.ndarray:
        seen = self.seen_classifiers_._predict_proba(X)
        if not self.weights_.shape[0]:
            return seen
        probability = expit(self._combined(log_odds(seen).T, self.constant_[:, None]).T)
        probability[:, self.seen_] = seen
        return probability

    def _combined(self, seen: np.ndarray, constant: Any) -> np.ndarray:
        """One row per label: that of a seen label, or the weighted sum of them and a constant."""
        if not self.weights_.shape[0]:
            return seen
        rows = np.empty((len(self.seen_), *seen.shape[1:]), dtype=seen.dtype)
        rows[self.seen_] = seen
        rows[~self.seen_] = self.weights_ @ seen + constant
        return rows

    def _warn_of_no_weight(self, cooccurrence: Cooccurrence, has_weight: np.ndarray) -> None:
        """Warn of unseen labels that co-occur as often as independent ones would: their weight is 0."""
        without = np.setdiff1d(cooccurrence.unseen[~has_weight], cooccurrence.unconnected)
        if without.size:
            others = f", nor are they to {without.size - 1} others" if without.size > 1 else ""
            warnings.warn(
                f"no seen label is similar to {shown(self.classes_[without[0]])} by "
                f"normalisation={self.normalisation!r}{others}: its score falls back to a prior; "
                "use normalisation='fraction'",
                LabelWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            accepted = get_tags(self.estimator).input_tags
            tags.input_tags.sparse = accepted.sparse
            tags.input_tags.allow_nan = accepted.allow_nan
        return tags
