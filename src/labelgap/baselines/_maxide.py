"""Matrix completion with the features as side information."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils._param_validation import Interval

from labelgap.baselines._linear import as_double
from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Monitor, Trace
from labelgap.kernels.low_rank import low_rank_path
from labelgap.kernels.masked_targets import MaskedTarget, masked_cross, masked_product
from labelgap.labels import Labels
from labelgap.models.imvwl._target import observed_pairs, read_labels
from labelgap.yardsticks._calibration import fit_sigmoid
from labelgap.yardsticks._label_prior import observed_frequency

__all__ = ["Maxide"]


class Maxide(LabelGapClassifier):
    """Speedup matrix completion with side information: a low-rank map from features to labels [1]_.

    The completed label matrix is taken to be X Z, with Z of low rank:

        min  1/2 ||M o (X Z + 1 b' - Y)||^2 + weight ||Z||_*,

    where M leaves out unknown labels, by accelerated proximal gradient. Rows without labels change
    nothing here, and new rows are predicted by the same Z. Ambiguous zeros are zeros.

    Parameters
    ----------
    weight : float
        Weight of the nuclear norm.
    intercept : bool
        Whether labels have the offset b, the share of relevant entries among the observed ones.
        The paper has none; without it features should be centred or carry a constant.
    max_iter : int
    tol : float
        Converged when the objective falls by less than ``tol`` times its size.
    restart : bool
        Whether momentum is dropped when the objective would increase, so that it never does.
        False is the published method.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every iteration; returning True
        stops.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features, n_labels)
        Z.
    intercept_ : ndarray of shape (n_labels,)
        b.
    slope_, level_ : float
        Of the sigmoid that makes probabilities of completed entries.
    trace_ : Trace
        Objective of every iteration, to be minimised, and how the fit ended.
    n_iter_ : int
    classes_, n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    The paper's theory asks for orthonormal columns of the side information; like its authors' own
    demonstration this takes the features as they are. The curvature of a step is tested on the step
    itself, which does not break down close to convergence as a test on differences of the objective
    does.

    Decision values are ``slope_ * (X Z + b) + level_``: one sigmoid for all labels, fitted to the
    observed entries, turns completed entries into probabilities and keeps their order.

    References
    ----------
    .. [1] M. Xu, R. Jin and Z.-H. Zhou. Speedup matrix completion with side information:
       application to multi-label learning. NIPS, 2013.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "weight": [Interval(Real, 0, None, closed="left")],
        "intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "restart": ["boolean"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        weight: float = 1.0,
        *,
        intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-5,
        restart: bool = True,
        callback: Callable | None = None,
    ) -> None:
        self.weight = weight
        self.intercept = intercept
        self.max_iter = max_iter
        self.tol = tol
        self.restart = restart
        self.callback = callback

    def _fit(self, X: Any, labels: Labels) -> None:
        labelled, target = read_labels(labels)
        self.intercept_ = np.zeros(labels.n_labels)
        if self.intercept:
            self.intercept_ = observed_frequency(labels)
        self.coef_ = np.zeros((X.shape[1], labels.n_labels))
        monitor = Monitor(self.max_iter, self.tol, self.callback)
        if target is None:
            raise ValueError("y has no observed entry at all: give the labels of some rows")
        X = as_double(X[labelled])
        self._descend(X, target, monitor)
        self.slope_, self.level_ = fit_sigmoid(*observed_pairs(target, self._completed(X)))
        self.trace_: Trace = monitor.finish()
        self.n_iter_ = self.trace_.n_iter

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
        return self.slope_ * self._completed(as_double(X)) + self.level_

    def _predict_proba(self, X: Any) -> np.ndarray:
        return expit(self._decision_function(X))

    def _completed(self, X: Any) -> np.ndarray:
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
