"""Logistic regressions of all labels on rows that lie in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.fitting import StoredFeatures, row_slices, sum_of
from labelgap.kernels.logistic import LogisticTargets, fit_logistic
from labelgap.kernels.logistic_sums import LogisticSums, fit_logistic_sums, logistic_sums
from labelgap.kernels.probabilities import log_odds
from labelgap.kernels.products import prepare_features
from labelgap.labels import Labels, observed_prevalence
from labelgap.memory import block_size
from labelgap.one_vs_rest._fit_labels import (
    ConstantLabel,
    are_fitted_together,
    place_models,
)

_SAMPLE_ROWS = 20_000
# arrays of coefficients, and of some rows, beside each other while a block of labels is fitted
_N_ARRAYS = 12
_START_TOLERANCE = 0.03


def fit_stored(
    estimator: Any,
    X: StoredFeatures,
    labels: Labels,
    C: np.ndarray | None = None,
    random_state: int = 0,
    prune: float = 0.0,
) -> list[Any]:
    """Return a fitted logistic regression for each label, from rows in blocks.

    The minimum is that of :func:`fit_per_label` within its tolerance. Blocks are visited once in
    each iteration, and memory holds one of them, a sample of 20,000 rows and the coefficients of
    as many labels as fit the working memory.

    Parameters
    ----------
    estimator : LogisticRegression
        One for which :func:`are_fitted_together` is true.
    X : StoredFeatures
    labels : Labels
        Those of the rows.
    C : array of shape (n_labels,), default=None
        In place of the estimator's.
    random_state : int, default=0
        Draws the sample.
    prune : float, default=0.0
        Of coefficients; see :func:`fit_together`.

    See Also
    --------
    fit_per_label : Of rows in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from labelgap.fitting import ArrayRows, StoredFeatures
    >>> from labelgap.one_vs_rest import fit_stored
    >>> X = StoredFeatures(ArrayRows(np.arange(4.0)[:, None], [[0], [0], [1], [1]], block_rows=2))
    >>> fit_stored(LogisticRegression(), X, X.labels)[0].predict([[0.0], [3.0]]).tolist()
    [0, 1]
    """
    if not are_fitted_together(estimator):
        raise ValueError(
            f"estimator={estimator!r} learns from arrays: rows in blocks need a LogisticRegression "
            "with the squared penalty and the solver lbfgs, newton-cg or newton-cholesky"
        )
    n_known, n_relevant = labels.n_observed(axis=0, unlabeled=True), labels.n_positives(axis=0)
    C = np.full(labels.n_labels, float(estimator.C)) if C is None else C
    models: list[Any] = [ConstantLabel(p) for p in observed_prevalence(labels).tolist()]
    learnable = np.flatnonzero((n_relevant > 0) & (n_relevant < n_known))
    n_samples, n_features = X.shape
    rng = np.random.default_rng(random_state)
    n_rows = min(n_samples, _SAMPLE_ROWS, block_size(n_features, fraction=1 / 4, least=1000))
    rows = np.sort(rng.permutation(n_samples)[:n_rows])
    features, sample = prepare_features(X[rows].astype(np.float64)), labels[rows]
    size = block_size(_N_ARRAYS * (n_features + 1 + n_rows // 2), fraction=1 / 2)
    for begin in range(0, learnable.size, size):
        places = learnable[begin : begin + size]
        targets = _targets(sample[:, places], n_samples / n_rows)
        rarer = np.minimum(n_relevant, n_known - n_relevant)[places].astype(np.float64)

        def sums(some: np.ndarray, W: np.ndarray, places: np.ndarray = places) -> LogisticSums:
            return X.sum(_sums_of_block, [labels[:, places[some]].with_names(None)], W)

        prevalence = n_relevant[places] / n_known[places]
        start = _start(features, targets, C[places], prevalence)
        coefficients, n_iter = fit_logistic_sums(
            sums,
            features,
            targets,
            C[places],
            rarer,
            start,
            tol=estimator.tol,
            max_iter=estimator.max_iter,
        )
        place_models(estimator, coefficients, n_iter, C, places, models, prune)
    return models


def _start(
    features: Any, targets: LogisticTargets, C: np.ndarray, prevalence: np.ndarray
) -> np.ndarray:
    """Return the minimum of the sample, loosely, where that has both values of a label."""
    W = np.zeros((features.shape[1] + 1, prevalence.size))
    W[-1] = log_odds(prevalence)
    ones = (targets.weights * targets.probabilities).sum(axis=0)
    both = np.flatnonzero((ones > 0) & (ones < targets.weights.sum(axis=0)))
    if both.size:
        part = LogisticTargets(targets.probabilities[:, both], targets.weights[:, both])
        W[:, both], _ = fit_logistic(
            features, part, C[both], start=W[:, both], tol=_START_TOLERANCE
        )
    return W


def _targets(labels: Labels, weight: float = 1.0) -> LogisticTargets:
    values = labels.to_dense(unlabeled=0.0)
    known = ~np.isnan(values)
    return LogisticTargets(np.where(known, values, 0.0), weight * known)


def _sums_of_block(X: Any, labels: Labels, W: np.ndarray) -> LogisticSums:
    parts = row_slices(X.shape[0], block_size(6 * labels.n_labels + X.shape[1])) or [slice(0, 0)]
    X = X.astype(np.float64, copy=False)
    return sum_of(
        logistic_sums(prepare_features(X[part]), _targets(labels[part]), W) for part in parts
    )
