"""Tags completed by tags, and predicted from features, so that both agree."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import Interval

from labelgap.parameters import AT_LEAST_ONE, POSITIVE, parameter, with_parameters
from labelgap_papers.kernels.centred import CentredFeatures
from labelgap_papers.methods._linear import LinearScores


def complete_tags(
    features: CentredFeatures, Y: np.ndarray, ridge: float, weight: float, noise: float
) -> np.ndarray:
    """The B that is best together with its own regression; zero for tags that no row has.

    For any B the best W is ridge regression of Y B, which leaves tr(B'Y'(I - H)Y B) of the first
    two terms, H being its hat matrix. What remains is a quadratic in B,

        (weight Q + Y'(I - H)Y) B = weight P,

    with P = (1 - noise) Y'Y, and Q = (1 - noise)^2 Y'Y but for the diagonal, (1 - noise) Y'Y.
    """
    B = np.zeros((Y.shape[1], Y.shape[1]))
    used = np.flatnonzero(Y.any(axis=0))
    Y = Y[:, used]
    moments = Y.T @ Y
    left = Y - Y.mean(axis=0) if features.centred else Y
    unexplained = left.T @ left - features.cross(Y).T @ features.ridge(Y, ridge)
    kept = (1 - noise) * moments
    twice = (1 - noise) * kept
    np.fill_diagonal(twice, kept.diagonal())
    matrix = weight * twice + unexplained
    B[np.ix_(used, used)] = linalg.solve(matrix, weight * kept, assume_a="sym")
    return B


@with_parameters
class FastTag(LinearScores):
    """Fast image tagging: tags are completed by tags, and predicted from features [1]_.

        min  ||X W + 1 b' - Y B||^2 + ridge ||W||^2 + weight E ||Y - Y~ B||^2,

    where each tag of Y is missing from Y~ with probability ``noise``; the expectation over all
    ways to lose tags is in closed form. B completes tags, W predicts completed ones.

    Parameters
    ----------
    ridge : float, default=1.0
    weight : float, default=1.0
        Weight of the completion.
    noise : float, default=0.5
        Fraction of tags lost, at least 0 and below 1.
    n_layers : int, default=1
        How often tags are completed; each layer begins with the completed tags of the last.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (n_features, n_labels) and (n_labels,)
        W and b of the last layer.
    label_coef_ : ndarray of shape (n_labels, n_labels)
        What completes tags, all layers together: the completed tags are Y times it.

    Notes
    -----
    The paper solves for W and B in turns. The objective is one convex quadratic in both, and W
    can be eliminated: B, and then W, come from one linear system each, with no iterations.

    Unknown entries are zeros of Y, and so are unlabeled ones: the method learns from the tags that
    are there, and relies on B for the others. Rows without any observed label are left out.

    References
    ----------
    .. [1] M. Chen, A. Zheng and K. Q. Weinberger. Fast image tagging. ICML, 2013.
    """

    ridge: float = parameter(1.0, POSITIVE)
    weight: float = parameter(1.0, POSITIVE)
    noise: float = parameter(0.5, Interval(Real, 0, 1, closed="left"))
    _: KW_ONLY
    n_layers: int = parameter(1, AT_LEAST_ONE)
    fit_intercept: bool = parameter(True)

    def _fit_map(self, X: Any, Y: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = np.nan_to_num(Y)
        features = CentredFeatures(X, centre=self.fit_intercept)
        chain = np.eye(Y.shape[1])
        for _ in range(self.n_layers):
            layer = complete_tags(features, Y, self.ridge, self.weight, self.noise)
            Y, chain = Y @ layer, chain @ layer
        self.label_coef_ = np.zeros((len(seen), len(seen)))
        self.label_coef_[np.ix_(seen, seen)] = chain
        W = features.ridge(Y, self.ridge)
        means = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        return W, means - features.means @ W
