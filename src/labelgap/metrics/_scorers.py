"""Metrics in the form that scikit-learn's cross-validation and searches take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelgap.metrics._evaluate import check_requests, evaluate
from labelgap.metrics._registry import METRICS, get_metric


@dataclass(frozen=True, repr=False)
class Scorer:
    """Callable (estimator, X, y) -> float, greater is better. Made by `get_scorer`."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        get_metric(self.name).check_params(self.name, self.params)

    @property
    def sign(self) -> int:
        """-1 for a loss, which is negated so that greater is better."""
        return 1 if get_metric(self.name).greater_is_better else -1

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        metric = get_metric(self.name)
        return self.sign * metric(y, predict_for(metric.needs, estimator, X), **self.params)

    def __hash__(self) -> int:
        return hash((type(self), self.name, tuple(sorted(self.params))))

    def __repr__(self) -> str:
        params = "".join(f", {key}={value!r}" for key, value in self.params.items())
        scorer = f"get_scorer({self.name!r}{params})"
        return scorer if self.sign > 0 else f"-{scorer}"


@dataclass(frozen=True, repr=False)
class MultiScorer:
    """Callable (estimator, X, y) -> dict of floats, greater is better. Made by `get_multi_scorer`.

    Each kind of prediction is made once, and sorted once, for all metrics.
    """

    metrics: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_requests(self.metrics)

    def __call__(self, estimator: Any, X: Any, y: Any) -> dict[str, float]:
        requests = check_requests(self.metrics)
        needed = {metric.needs for metric, _ in requests.values()}
        made = {needs: predict_for(needs, estimator, X) for needs in sorted(needed)}
        values = evaluate(
            y,
            made.get("scores"),
            self.metrics,
            y_pred=made.get("labels"),
            y_proba=made.get("probabilities"),
        )
        return {
            name: value if requests[name][0].greater_is_better else -value
            for name, value in values.items()
        }

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(self.metrics))))

    def __repr__(self) -> str:
        return f"get_multi_scorer({dict(self.metrics)!r})"


def get_scorer(name: str, **params: Any) -> Scorer:
    """Scorer for ``scoring=`` of `cross_validate`, `GridSearchCV` and their like.

    It takes labels with gaps in any encoding, calls ``decision_function`` (or ``predict_proba``),
    ``predict_proba`` or ``predict`` as the metric needs, and negates losses.

    Parameters
    ----------
    name : str
        A name from `scorer_names`.
    **params
        Parameters of the metric, such as ``k`` or ``average``.

    Examples
    --------
    >>> from labelgap.metrics import get_scorer
    >>> get_scorer("precision_at_k", k=3)
    get_scorer('precision_at_k', k=3)
    >>> get_scorer("ranking_loss").sign
    -1
    """
    return Scorer(name, params)


def get_multi_scorer(metrics: Sequence[str] | Mapping[str, Any]) -> MultiScorer:
    """Scorer that gives several metrics from one set of predictions.

    Use it as ``scoring=`` of `cross_validate`, or of a search with ``refit=`` one of the names.

    Parameters
    ----------
    metrics : sequence of names, or mapping
        As in `evaluate`.
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    return MultiScorer(
        dict(metrics) if isinstance(metrics, Mapping) else {name: name for name in metrics}
    )


def scorer_names() -> list[str]:
    """All names that `get_scorer` takes."""
    return sorted(METRICS)


def predict_for(needs: str, estimator: Any, X: Any) -> Any:
    """The predictions a metric needs, of shape (n_rows, n_labels)."""
    if needs == "labels":
        return estimator.predict(X)
    if needs == "scores" and hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    if hasattr(estimator, "predict_proba"):
        return _positive_column(estimator.predict_proba(X), estimator)
    raise TypeError(
        f"{type(estimator).__name__} has no "
        + ("decision_function or predict_proba" if needs == "scores" else "predict_proba")
        + f", but the metric needs {needs}"
    )


def _positive_column(proba: Any, estimator: Any) -> np.ndarray:
    """P(label = 1) as one matrix, also from a list of (n_rows, n_classes) of some estimators."""
    if not isinstance(proba, list):
        return np.asarray(proba)
    classes = getattr(estimator, "classes_", [np.array([0, 1])] * len(proba))
    columns = []
    for one, known in zip(proba, classes, strict=True):
        match = np.flatnonzero(np.asarray(known) == 1)
        columns.append(one[:, match[0]] if match.size else np.zeros(len(one)))
    return np.column_stack(columns)
