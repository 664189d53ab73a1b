"""Metrics for labels with gaps: an unknown entry never counts.

Every metric takes the truth first (`labelgap.Labels`, or anything `labelgap.as_labels` accepts) and
complete predictions second. An entry whose truth is unknown has no rank, forms no pair and is in no
denominator: hiding an entry gives the same value as deleting it. Unlabeled zeros count as 0.

The same words mean the same thing everywhere:

``average``
    "micro": all entries; "macro" or "label": mean over labels; "instance", "example" or
    "samples": mean over rows.
``ties``
    What equal scores mean. "error": they count against the prediction; "correct": for it; "half":
    the mean over their orders; "first" and "last": the lower, or the higher, position ranks higher;
    "threshold" (average precision): they are cut off together.
``empty``, ``full``
    Rows (or labels) whose known entries are all irrelevant, or all relevant. "drop": they do not
    count; "keep": they count with the value the metric has there; a number: they count with that.
    By default what is undefined is dropped and what is defined is kept.
``reduce``
    False gives the values of the single rows or labels, NaN where they do not count.

A metric that is undefined altogether is NaN, with scikit-learn's ``UndefinedMetricWarning``.
`CONVENTIONS` lists which of these variants scikit-learn and published code use.
"""

from labelgap.metrics._decision_metrics import f1, hamming_loss, jaccard, subset_accuracy
from labelgap.metrics._metric_evaluation import (
    DEFAULT_METRICS,
    evaluate,
    get_multi_scorer,
    get_scorer,
)
from labelgap.metrics._metric_registry import CONVENTIONS, METRICS, Metric, convention, get_metric
from labelgap.metrics._probability_metrics import brier, calibration_error, log_loss
from labelgap.metrics._ranking_metrics import (
    auc,
    average_precision,
    coverage,
    label_ranking_average_precision,
    one_error,
    ranking_loss,
)
from labelgap.metrics._top_k_metrics import (
    ndcg_at_k,
    precision_at_k,
    propensities,
    propensity_scored_precision_at_k,
)

__all__ = [
    "CONVENTIONS",
    "DEFAULT_METRICS",
    "METRICS",
    "Metric",
    "auc",
    "average_precision",
    "brier",
    "calibration_error",
    "convention",
    "coverage",
    "evaluate",
    "f1",
    "get_metric",
    "get_multi_scorer",
    "get_scorer",
    "hamming_loss",
    "jaccard",
    "label_ranking_average_precision",
    "log_loss",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "ranking_loss",
    "subset_accuracy",
]
