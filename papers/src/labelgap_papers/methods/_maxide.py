"""Matrix completion with the features as side information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Monitor
from labelgap.kernels.low_rank import low_rank_path
from labelgap.kernels.masked_targets import MaskedTarget, masked_cross, masked_product
from labelgap.kernels.probabilities import fit_sigmoid
from labelgap.labels import Labels, observed_prevalence
from labelgap.models.imvwl import masked_labels, observed_pairs
from labelgap.parameters import NOT_NEGATIVE, parameter, with_parameters
from labelgap_papers.methods._iterative import Iterative
from labelgap_papers.methods._linear import as_double


@with_parameters
class Maxide(Iterative, LabelGapClassifier):
    """Speedup matrix completion with side information: a low-rank map from features to labels [1]_.

    The imputed label matrix is taken to be X Z, with Z of low rank:

        min  1/2 ||M o (X Z + 1 b' - Y)||^2 + weight ||Z||_*,

    where M leaves out unknown labels, by accelerated proximal gradient. Rows without labels change
    nothing here, and new rows are predicted by the same Z. Unlabeled zeros are zeros.

    Parameters
    ----------
    weight : float, default=1.0
        Weight of the nuclear norm.
    fit_intercept : bool, default=True
        Whether labels have the offset b, the fraction of relevant entries among the observed ones.
        The paper has none; without it features should be centred or carry a constant.
    restart : bool, default=True
        Whether momentum is dropped when the objective would increase, so that it never does.
        False is the published method.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_labels)
        Z.
    intercept_ : ndarray of shape (n_labels,)
        b.
    slope_, level_ : float
        Of the sigmoid that makes probabilities of imputed entries.

    Notes
    -----
    The paper's theory asks for orthonormal columns of the side information; like its authors' own
    demonstration this takes the features as they are. The curvature of a step is tested on the step
    itself, which does not break down close to convergence as a test on differences of the objective
    does.

    Decision values are ``slope_ * (X Z + b) + level_``: one sigmoid for all labels, fitted to the
    observed entries, turns imputed entries into probabilities and keeps their order.

    References
    ----------
    .. [1] M. Xu, R. Jin and Z.-H. Zhou. Speedup matrix completion with side information:
       application to multi-label learning. NIPS, 2013.
    """

    weight: float = parameter(1.0, NOT_NEGATIVE)
    _: KW_ONLY
    fit_intercept: bool = parameter(True)
    max_iter: int = parameter(1000)
    tol: float = parameter(1e-5)
    restart: bool = parameter(True)
    callback: Callable | None = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        labelled, target = masked_labels(labels)
        self.intercept_ = np.zeros(labels.n_labels)
        if self.fit_intercept:
            self.intercept_ = observed_prevalence(labels)
        self.coef_ = np.zeros((X.shape[1], labels.n_labels))
        monitor = self._monitor()
        if target is None:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        X = as_double(X[labelled])
        self._descend(X, target, monitor)
        self.slope_, self.level_ = fit_sigmoid(*observed_pairs(target, self._linear_scores(X)))
        self._keep_trace(monitor)

    def _descend(self, X: Any, target: MaskedTarget, monitor: Monitor) -> None:
        cross = masked_cross(target, X, self.intercept_)
        gram = _small_gram(X) if target.mask is None else None
        path = low_rank_path(
            lambda Z: masked_product(target, X, Z, gram),
            cross,
            float(self.weight),
            self.coef_,
            restart=self.restart,
        )
        constant = 0.5 * _squared_residual(target, self.intercept_)
        for point in islice(path, self.max_iter):
            self.coef_ = point.Z
            if monitor.record(point.value + constant):
                break

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.slope_ * self._linear_scores(as_double(X)) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def _linear_scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_) + self.intercept_


def _small_gram(X: Any) -> np.ndarray | None:
    """X'X, where it is cheaper than two products with X."""
    if X.shape[1] > X.shape[0]:
        return None
    gram = X.T @ X
    return gram.toarray() if sparse.issparse(gram) else gram


def _squared_residual(target: MaskedTarget, offset: np.ndarray) -> float:
    """||M o (Y - 1 b')||^2."""
    n_ones = np.asarray(target.ones.sum(axis=0)).ravel()
    return float((n_ones * (1 - 2 * offset) + target.n_observed() * offset**2).sum())
