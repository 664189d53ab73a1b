"""Many metrics at once, and scorers for scikit-learn's cross-validation and searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelgap.metrics._decision_metrics import CheckedDecisions
from labelgap.metrics._metric_inputs import check_truth, in_order_of
from labelgap.metrics._metric_registry import Metric, get_metric
from labelgap.metrics._ranked_entries import CheckedScores

Request = tuple[Metric, dict[str, Any]]

DEFAULT_METRICS = (
    "one_error",
    "ranking_loss",
    "coverage",
    "label_ranking_average_precision",
    "average_precision",
    "precision_at_1",
    "precision_at_3",
    "precision_at_5",
    "auc_micro",
    "auc_macro",
    "auc_instance",
    "hamming_loss",
    "subset_accuracy",
    "f1_micro",
    "f1_macro",
    "f1_example",
    "log_loss",
    "brier",
    "calibration_error",
)


def evaluate(
    y_true: Any,
    y_score: Any = None,
    metrics: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    y_pred: Any = None,
    y_proba: Any = None,
) -> dict[str, float]:
    """Compute several metrics; the scores are sorted, and the decisions counted, only once.

    Parameters
    ----------
    y_true : Labels or anything `labelgap.as_labels` accepts
        Unknown entries do not count, unlabeled zeros count as 0. The rows and labels of frames are
        matched by name, where they have names.
    y_score : array of shape (n_samples, n_labels), default=None
        For the ranking metrics.
    metrics : sequence of names, or mapping, default=None
        Names from `METRICS`; or a mapping from any name to a name from `METRICS` or to a pair
        (name, parameters), as in ``{"P@3": ("precision_at_k", {"k": 3})}``. By default the usual
        ones that can be computed from what is given.
    y_pred : array or sparse matrix of 0 and 1, default=None
        For the metrics of decisions.
    y_proba : array of shape (n_samples, n_labels), default=None
        For the metrics of probabilities; also ranked when ``y_score`` is absent.

    Returns
    -------
    dict from name to value, in the order asked for

    See Also
    --------
    get_multi_scorer : the same inside cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.metrics import evaluate
    >>> Y = np.array([[1, 0, np.nan], [0, 1, 1]])
    >>> scores = np.array([[0.9, 0.2, 0.6], [0.7, 0.8, 0.3]])
    >>> evaluate(Y, scores, ["one_error", "precision_at_1"])
    {'one_error': 0.0, 'precision_at_1': 1.0}
    """
    if y_score is None:
        y_score = y_proba
    given = {"scores": y_score, "labels": y_pred, "probabilities": y_proba}
    if metrics is None:
        metrics = [m for m in DEFAULT_METRICS if given[get_metric(m).needs] is not None]
        if not metrics:
            raise ValueError("give y_score, y_proba or y_pred: there is nothing to evaluate")
    requests = check_requests(metrics)
    _check_given(requests, given)
    labels = check_truth(y_true)
    y_score = in_order_of(y_true, y_score, "y_score")
    y_pred = in_order_of(y_true, y_pred, "y_pred")
    y_proba = in_order_of(y_true, y_proba, "y_proba")
    needed = {metric.needs for metric, _ in requests.values()}
    # the first two hold checked truth and predictions: the metrics take them in place of y_true
    prepared = {
        "scores": (CheckedScores(labels, y_score) if "scores" in needed else None, None),
        "labels": (CheckedDecisions(labels, y_pred) if "labels" in needed else None, None),
        "probabilities": (labels, y_proba),
    }
    return {
        name: metric(*prepared[metric.needs], **params)
        for name, (metric, params) in requests.items()
    }


def check_requests(metrics: Sequence[str] | Mapping[str, Any]) -> dict[str, Request]:
    """Resolve what the caller asks for to metrics and their parameters."""
    if isinstance(metrics, str):
        metrics = [metrics]
    if not isinstance(metrics, Mapping):
        metrics = {name: name for name in metrics}
    requests = {}
    for name, wanted in metrics.items():
        registered, params = (wanted, {}) if isinstance(wanted, str) else wanted
        metric = get_metric(registered)
        metric.check_params(registered, params)
        requests[name] = (metric, dict(params))
    return requests


def _check_given(requests: Mapping[str, Request], given: Mapping[str, Any]) -> None:
    arguments = {"scores": "y_score", "labels": "y_pred", "probabilities": "y_proba"}
    for name, (metric, _) in requests.items():
        if given[metric.needs] is None:
            raise ValueError(f"{name} needs {metric.needs}: give {arguments[metric.needs]}")


@dataclass(frozen=True, repr=False)
class Scorer:
    """What `get_scorer` returns; ``sign`` is -1 for a loss, so that greater is better."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        get_metric(self.name).check_params(self.name, self.params)

    @property
    def sign(self) -> int:
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
    """What `get_multi_scorer` returns: each kind of prediction is made, and sorted, only once."""

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
    """Return a scorer for ``scoring=`` of `cross_validate`, `GridSearchCV` and their like.

    It takes labels with gaps in any encoding, calls ``decision_function`` (or ``predict_proba``),
    ``predict_proba`` or ``predict`` as the metric needs, and negates losses.

    Parameters
    ----------
    name : str
        A name from `METRICS`.
    **params
        Parameters of the metric, such as ``k`` or ``average``.

    See Also
    --------
    get_multi_scorer : several metrics from one set of predictions.

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
    """Return a scorer that gives several metrics from one set of predictions.

    Use it as ``scoring=`` of `cross_validate`, or of a search with ``refit=`` one of the names.

    Parameters
    ----------
    metrics : sequence of names, or mapping
        As in `evaluate`.

    See Also
    --------
    get_scorer : a single metric.

    Examples
    --------
    >>> from labelgap.metrics import get_multi_scorer
    >>> get_multi_scorer(["f1_macro", "coverage"])
    get_multi_scorer({'f1_macro': 'f1_macro', 'coverage': 'coverage'})
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    return MultiScorer(
        dict(metrics) if isinstance(metrics, Mapping) else {name: name for name in metrics}
    )


def predict_for(needs: str, estimator: Any, X: Any) -> Any:
    """The predictions a metric needs, of shape (n_samples, n_labels)."""
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
    """P(label = 1) as one matrix, also from a list of (n_samples, n_classes) of some estimators."""
    if not isinstance(proba, list):
        return np.asarray(proba)
    classes = getattr(estimator, "classes_", [np.array([0, 1])] * len(proba))
    columns = []
    for values, known in zip(proba, classes, strict=True):
        match = np.flatnonzero(np.asarray(known) == 1)
        columns.append(values[:, match[0]] if match.size else np.zeros(len(values)))
    return np.column_stack(columns)
