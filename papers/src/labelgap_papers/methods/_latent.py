"""A factor model of the seen labels alone, and unseen labels as weighted sums of its factors."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils._param_validation import StrOptions

from labelgap.cooccurrence import Cooccurrence
from labelgap.fitting import EM, OnlineEM
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels
from labelgap.models.mllcs import MLLCS
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap.zero_shot import ZeroShotClassifier, prior_of_unconnected
from labelgap_papers.methods._synthesis_weights import NORMALISATIONS, synthesis_weights


@with_parameters
class LFMSL(ZeroShotClassifier):
    """Latent factor model with seen labels only (LFM-SL in [1]_).

    The part of :class:`labelgap.models.mllcs.MLLCS` that models rows and seen labels,

        y_ns ~ Bernoulli(sigmoid(u_n . v_s + b_s)),   u_n ~ N(W' x_n, 1/lambda_u),

    without the counts. It knows nothing of unseen labels: all of them have the same small
    probability, ``p / (n_samples + 1)``, that of a label found in none of the rows, with ``p`` the
    fraction of relevant entries.

    Parameters
    ----------
    n_factors : int, default=None
    lambda_u, lambda_v, lambda_w : float, default=1.0, 1.0, 0.4
    inference : {"em", "online"}, :class:`~labelgap.fitting.EM` or OnlineEM, default="em"
    device : str, default=None
        These as in :class:`labelgap.models.mllcs.MLLCS`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        All labels, see :class:`labelgap.zero_shot.ZeroShotClassifier`.
    seen_ : bool ndarray of shape (n_labels,)
        Which of them are seen.
    factor_model_ : MLLCS
        The model of the seen labels.
    weights_ : csr_array of shape (n_unseen, n_seen)
        What each seen label gives to an unseen one: nothing.
    constant_ : ndarray of shape (n_unseen,)
        Scores of the unseen labels.

    Notes
    -----
    Unknown entries are left out. Unlabeled zeros are zeros.

    References
    ----------
    .. [1] A. Gaure, A. Gupta, V. K. Verma and P. Rai. A probabilistic framework for zero-shot
       multi-label learning. UAI, 2017. Their baseline is the factor model of H.-F. Yu, P. Jain,
       P. Kar and I. S. Dhillon, Large-scale multi-label learning with missing labels, ICML 2014.
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    lambda_u: float = parameter(1.0, POSITIVE)
    lambda_v: float = parameter(1.0, POSITIVE)
    lambda_w: float = parameter(0.4, POSITIVE)
    inference: Any = parameter("em", StrOptions({"em", "online"}), EM, OnlineEM)
    device: str | None = parameter(None)
    random_state: Any = parameter(None)

    @property
    def label_factors_(self) -> np.ndarray:
        """v of all labels, of shape (n_labels, n_factors)."""
        return self._combined(self.factor_model_.label_factors_, 0.0)

    @property
    def label_bias_(self) -> np.ndarray:
        """b of all labels, of shape (n_labels,)."""
        return self._combined(self.factor_model_.label_bias_, self.constant_)

    def _fit(self, X: Any, labels: Labels, cooccurrence: Cooccurrence) -> None:  # type: ignore[override]
        self.factor_model_: MLLCS = MLLCS(
            self.n_factors,
            lambda_u=self.lambda_u,
            lambda_v=self.lambda_v,
            lambda_w=self.lambda_w,
            count_weight=0.0,
            inference=self.inference,
            device=self.device,
            random_state=self.random_state,
        ).fit(X, labels.with_names(None))
        self.weights_, self.constant_ = self._from_seen(labels, cooccurrence)

    def _from_seen(
        self, labels: Labels, cooccurrence: Cooccurrence
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Weights of seen labels for unseen ones (n_unseen, n_seen), and constants beside them."""
        n_unseen = cooccurrence.unseen.size
        fraction = (labels.n_positives() + 0.5) / (labels.n_observed(unlabeled=True) + 1)
        constant = np.full(n_unseen, log_odds(np.array([fraction / (labels.n_samples + 1)]))[0])
        return sparse.csr_array((n_unseen, cooccurrence.n_seen)), constant

    def _decision_function(self, X: Any) -> np.ndarray:
        seen = self.factor_model_._decision_function(X)
        return self._combined(seen.T, self.constant_[:, None]).T

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def _combined(self, seen: np.ndarray, constant: Any) -> np.ndarray:
        """One row per label: that of a seen label, or the weighted sum of them and a constant."""
        if not self.weights_.shape[0]:
            return seen
        rows = np.empty((len(self.seen_), *seen.shape[1:]), dtype=seen.dtype)
        rows[self.seen_] = seen
        rows[~self.seen_] = self.weights_ @ seen + constant
        return rows


@with_parameters
class LatentCOSTA(LFMSL):
    """COSTA on a factor model instead of independent classifiers, as in the ML-LCS paper.

    :class:`LFMSL` learns factors and biases of the seen labels; those of an unseen label are
    weighted sums of them,

        v_u = sum_s a_us v_s,   b_u = sum_s a_us b_s,

    with the weights of :class:`labelgap_papers.methods.COSTA`.

    Parameters
    ----------
    n_factors : int, default=None
    lambda_u, lambda_v, lambda_w : float, default=1.0, 1.0, 0.4
    inference : {"em", "online"}, :class:`~labelgap.fitting.EM` or OnlineEM, default="em"
    device : str, default=None
        These as in :class:`labelgap.models.mllcs.MLLCS`.
    normalisation : {"fraction", "conditional", "dice", "pmi"}, default="fraction"
        See ``synthesis_weights`` in ``_synthesis_weights.py``.
    random_state : int, Generator, RandomState, default=None

    Attributes
    ----------
    classes_, seen_, factor_model_
        As in :class:`LFMSL`.
    weights_ : csr_array of shape (n_unseen, n_seen)
        The ``a_us``; a row sums to one, or is empty.
    constant_ : ndarray of shape (n_unseen,)
        Score of an unseen label without a weight; 0 for the others.

    Notes
    -----
    Unknown entries are left out. Unlabeled zeros are zeros.

    References
    ----------
    A. Gaure, A. Gupta, V. K. Verma and P. Rai. A probabilistic framework for zero-shot multi-label
    learning. UAI, 2017.
    """

    _: KW_ONLY
    normalisation: str = parameter("fraction", StrOptions(set(NORMALISATIONS)))

    def _from_seen(
        self, labels: Labels, cooccurrence: Cooccurrence
    ) -> tuple[sparse.csr_array, np.ndarray]:
        weights = synthesis_weights(cooccurrence, self.normalisation)
        has_weight = np.diff(weights.indptr) > 0
        prior = log_odds(prior_of_unconnected(labels, cooccurrence))
        return weights, np.where(has_weight, 0.0, prior)
