"""Features and labels in one low-dimensional space, learned for the top of the ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.labels import Labels, State
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.warp import warp_loss, warp_steps
from labelgap_papers.methods._iterative import Iterative

_MOST_FACTORS = 100
_START_SCALE = 0.1


@with_parameters
class WSABIE(Iterative, LabelGapClassifier):
    """Web-scale annotation by image embedding, with the WARP loss [1]_.

    A row is embedded as A'x, a label as b_l, and scores x'A b_l. Minimises

        sum over relevant (i, y) of  L(#V) mean over V of (1 + x_i'A b_l - x_i'A b_y),
        L(r) = 1 + 1/2 + ... + 1/r,      V = {l not relevant : x_i'A b_l > x_i'A b_y - 1},

    with all rows of A and B of length at most ``max_norm``, by stochastic steps in which #V is
    estimated by how long it takes to draw a violator.

    Parameters
    ----------
    n_factors : int, default=None
        By default as many as labels, at most 100.
    learning_rate : float, default=0.001
        Length of the steps, the same all the time. Steps grow with the squared length of a row:
        with longer rows take less.
    max_norm : float, default=10.0
    fit_intercept : bool, default=True
        Whether rows have one more feature that is always 1. The paper has none.
    max_iter : int, default=20
        Passes over the relevant entries.
    tol : float, default=0.0
        Converged when the loss changes by less than ``tol`` times its size in a pass; 0, the
        default, makes all passes.

    Attributes
    ----------
    feature_factors_ : ndarray of shape (n_features, n_factors)
        A, without the row of the intercept.
    intercept_factors_ : ndarray of shape (n_factors,)
        That row, or zeros.
    label_factors_ : ndarray of shape (n_labels, n_factors)
        B.
    trace_ : Trace
        The loss over all relevant entries after every pass, with all violators counted.

    Notes
    -----
    A relevant label is compared with those known to be irrelevant and with unlabeled zeros; with
    unknown ones it is not. Rows without a relevant label teach nothing, and neither do rows
    without any other; of a single label nothing is learned at all. Only the order of the labels
    within a row is learned: the sigmoid, fitted to observed entries, gives probabilities that are
    rough across rows.

    The loss goes down on average and not in every pass: steps are made one pair at a time, with a
    noisy estimate of the rank. Where steps are so long that it does not settle, rounding decides
    where they end, and the same ``random_state`` gives another fit on another processor.

    References
    ----------
    .. [1] J. Weston, S. Bengio and N. Usunier. WSABIE: scaling up to large vocabulary image
       annotation. IJCAI, 2011.
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    learning_rate: float = parameter(0.001, POSITIVE)
    max_norm: float = parameter(10.0, POSITIVE)
    fit_intercept: bool = parameter(True)
    max_iter: int = parameter(20)
    tol: float = parameter(0.0)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        if not labels.n_observed(unlabeled=True):
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        positives = labels.positives()
        others = labels.where(State.NEGATIVE, State.UNLABELED)
        pairs = np.column_stack(positives.nonzero())
        design = self._design(X)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        generator = np.random.default_rng(seed)
        k = self.n_factors or min(labels.n_labels, _MOST_FACTORS)
        A = _START_SCALE * generator.standard_normal((design.shape[1], k))
        B = _START_SCALE * generator.standard_normal((labels.n_labels, k))
        settings = {"learning_rate": float(self.learning_rate), "max_norm": float(self.max_norm)}
        monitor = self._monitor()
        for _ in range(self.max_iter):
            order = generator.permutation(len(pairs))
            warp_steps(generator, design, pairs[order], others, A, B, **settings)
            if monitor.record(warp_loss(positives, others, design @ A, B)):
                break
        self._keep_trace(monitor)
        self.feature_factors_ = A[: X.shape[1]]
        self.intercept_factors_ = A[-1] if self.fit_intercept else np.zeros(k)
        self.label_factors_ = B
        self._fit_probabilities(X, labels)

    def _design(self, X: Any) -> sparse.csr_array:
        """Features and perhaps a column of ones, in CSR with sorted columns and without zeros."""
        design = sparse.csr_array(X, dtype=np.float64)
        if self.fit_intercept:
            design = sparse.csr_array(sparse.hstack([design, np.ones((X.shape[0], 1))]))
        elif design is X:
            design = design.copy()
        design.sum_duplicates()
        design.eliminate_zeros()
        return design

    def _fit_probabilities(self, X: Any, labels: Labels) -> None:
        scores, states = self._scores(X), labels.states()
        known = states != State.UNKNOWN
        self.slope_, self.level_ = fit_sigmoid(scores[known], (states == State.RELEVANT)[known])

    def _scores(self, X: Any) -> np.ndarray:
        embedded = np.asarray(X.astype(np.float64) @ self.feature_factors_)
        return (embedded + self.intercept_factors_) @ self.label_factors_.T

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.slope_ * self._scores(X) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))
