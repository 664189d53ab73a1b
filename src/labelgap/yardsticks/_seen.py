"""One classifier per seen label, for methods that go on from there."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import clone

from labelgap.labels import Labels, LabelWarning
from labelgap.yardsticks._binary_relevance import BinaryRelevance


def fit_seen(
    estimator: Any, X: Any, labels: Labels, *, unknown: str, n_jobs: int | None
) -> BinaryRelevance:
    """Binary relevance on labels that were validated, and warned of, before."""
    template = None if estimator is None else clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return BinaryRelevance(template, unknown=unknown, n_jobs=n_jobs).fit(X, labels)
