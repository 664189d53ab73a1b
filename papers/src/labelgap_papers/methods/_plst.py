"""Label space dimension reduction: principal directions of labels, with or without the features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from labelgap.kernels.products import Features, linear_part, prepare_features
from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.row_sparse import solve_reweighted
from labelgap_papers.methods._linear import LinearScores, fill_unknown

_MOST_FACTORS = 100


@with_parameters
class PLST(LinearScores):
    """Principal label space transformation: ridge regression onto principal directions of labels.

    With Y the labels less their means, the code of a row is its projection on V, and what is
    predicted comes back through the same V [1]_:

        V = argmin  ||Y - Y V V'||^2  over V'V = I,
        W = argmin  ||[X 1] W - Y V||^2 + alpha ||W||^2,      scores  [x 1] W V' + means.

    Parameters
    ----------
    n_factors : int, default=None
        Number of directions; never more than labels are used. By default as many as labels, at
        most 100.
    alpha : float, default=1.0
        Weight of the ridge.
    fit_intercept : {"penalised", "free"}, default="penalised"
        The authors' code takes the intercept for one more feature, with its penalty; "free"
        leaves it out of the penalty. With centred features both are the same.
    unknown : {"negative", "mean"}, default=None
        What an unknown entry counts as: a zero, or the mean of the label where it is observed,
        which says nothing after centring. By default a zero, with a warning that the method
        cannot leave such entries out.

    Attributes
    ----------
    label_directions_ : ndarray of shape (n_labels, n_factors)
        V, the most important direction first; the largest entry of each is positive. Zero for
        labels without an observed entry.
    importance_ : ndarray of shape (n_factors,)
        Their eigenvalues, in squared labels explained.
    code_coef_, code_intercept_ : ndarrays of shape (n_features, n_factors) and (n_factors,)
        W.
    coef_, intercept_ : ndarrays of shape (n_features, n_labels) and (n_labels,)
        The whole map from features to scores; a score above one half is nearer to 1 than to 0.

    Notes
    -----
    Labels are 0 and 1 here, -1 and 1 in the paper; the scores are the same up to that coding.
    Unlabeled zeros are zeros. Rows without any observed label are left out.

    Ridge regression is linear in what it predicts, so that the map onto codes is the map onto all
    labels times V: one factorisation serves every ``n_factors``.

    References
    ----------
    .. [1] F. Tai and H.-T. Lin. Multilabel classification with principal label space
       transformation. Neural Computation 24, 2012.
    """

    n_factors: int | None = parameter(None, AT_LEAST_ONE, None)
    _: KW_ONLY
    alpha: float = parameter(1.0, POSITIVE)
    fit_intercept: str = parameter("penalised", StrOptions({"penalised", "free"}))
    unknown: str | None = parameter(None)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = fill_unknown(Y, self.unknown, type(self).__name__)
        means = Y.mean(axis=0)
        centred = Y - means
        features = prepare_features(X)
        all_labels = self._regress(features, centred)
        moments = self._label_moments(features, centred, all_labels)
        V, self.importance_ = _leading(moments, self.n_factors or _MOST_FACTORS)
        W = all_labels @ V
        self.code_coef_, self.code_intercept_ = W[:-1], W[-1]
        self.label_directions_ = np.zeros((len(seen), V.shape[1]))
        self.label_directions_[seen] = V
        return W[:-1] @ V.T, W[-1] @ V.T + means

    def _regress(self, features: Features, target: np.ndarray) -> np.ndarray:
        """Ridge regression of every column, the intercept in the last row."""
        penalties = np.full(features.shape[1] + 1, float(self.alpha))
        if self.fit_intercept == "free":
            penalties[-1] = 0.0
        return solve_reweighted(features, target, np.ones(len(target)), penalties)

    def _label_moments(
        self, features: Features, Y: np.ndarray, regression: np.ndarray
    ) -> np.ndarray:
        """The symmetric matrix (n_labels, n_labels) whose leading eigenvectors are V: Y'Y."""
        return Y.T @ Y


class CPLST(PLST):
    """Conditional principal label space transformation: directions of labels that are predictable.

    Among the directions of the labels those are taken that ridge regression on the features can
    follow [1]_. With Y the labels less their means,

        min  ||Y - Y V V'||^2 + ||[X 1] W - Y V||^2 + alpha ||W||^2   over V'V = I and W,

    the errors of coding and of predicting the code together. W is ridge regression for any V; with
    H its hat matrix, [X 1] ([X 1]'[X 1] + alpha I)^-1 [X 1]', the best V are the leading
    eigenvectors of Y'HY. :class:`PLST` looks at the first term alone.

    Parameters
    ----------
    n_factors : int, optional
    alpha : float
    fit_intercept : {"penalised", "free"}
    unknown : {"negative", "mean"}, optional
        All as in :class:`PLST`.

    Attributes
    ----------
    label_directions_, importance_, code_coef_, code_intercept_, coef_, intercept_
        As in :class:`PLST`.

    Notes
    -----
    The authors' code regresses with an intercept and leaves it out of H, so that its V is not the
    minimiser for its own W. Here both are one regression. With centred features there is no
    difference.

    With as many factors as labels this is ridge regression of every label on its own. Unlabeled
    zeros are zeros.

    References
    ----------
    .. [1] Y.-N. Chen and H.-T. Lin. Feature-aware label space dimension reduction for multi-label
       classification. NIPS, 2012.
    """

    def _label_moments(
        self, features: Features, Y: np.ndarray, regression: np.ndarray
    ) -> np.ndarray:
        return Y.T @ linear_part(features, regression)


def _leading(moments: np.ndarray, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors of the largest eigenvalues, each with its largest entry positive."""
    values, vectors = np.linalg.eigh((moments + moments.T) / 2)
    V = vectors[:, ::-1][:, :n_factors]
    largest = np.abs(V).argmax(axis=0)
    return V * np.sign(V[largest, np.arange(V.shape[1])]), values[::-1][:n_factors]
