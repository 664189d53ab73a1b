"""Many metrics at once, sorting and counting only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labelgap.metrics._decisions import Decisions
from labelgap.metrics._inputs import check_truth
from labelgap.metrics._ranking import Comparison
from labelgap.metrics._registry import Metric, get_metric

Request = tuple[Metric, dict[str, Any]]

DEFAULT_METRICS = (
    "one_error",
    "ranking_loss",
    "coverage",
    "average_precision",
    "average_precision_label",
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
        Unknown entries do not count, ambiguous zeros count as 0.
    y_score : array of shape (n_rows, n_labels), optional
        For the ranking metrics.
    metrics : sequence of names, or mapping, optional
        Names from `METRICS`; or a mapping from any name to a name from `METRICS` or to a pair
        (name, parameters), as in ``{"P@3": ("precision_at_k", {"k": 3})}``. By default the usual
        ones that can be computed from what is given.
    y_pred : array or sparse matrix of 0 and 1, optional
        For the metrics of decisions.
    y_proba : array of shape (n_rows, n_labels), optional
        For the metrics of probabilities; also ranked when ``y_score`` is absent.

    Returns
    -------
    dict from name to value, in the order asked for
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
    needed = {metric.needs for metric, _ in requests.values()}
    # the first two hold checked truth and predictions: the metrics take them in place of y_true
    prepared = {
        "scores": (Comparison(labels, y_score) if "scores" in needed else None, None),
        "labels": (Decisions(labels, y_pred) if "labels" in needed else None, None),
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
