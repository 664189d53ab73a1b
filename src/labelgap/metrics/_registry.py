"""Every metric of the library by name: one line each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgap.metrics._at_k import ndcg_at_k, precision_at_k, propensity_scored_precision_at_k
from labelgap.metrics._auc import auc
from labelgap.metrics._calibration import calibration_error
from labelgap.metrics._decisions import f1, hamming_loss, jaccard, subset_accuracy
from labelgap.metrics._instance import average_precision, coverage, one_error, ranking_loss
from labelgap.metrics._probabilistic import brier, log_loss

Needs = Literal["scores", "probabilities", "labels"]


@dataclass(frozen=True)
class Metric:
    """A metric and what one must know to use it.

    Attributes
    ----------
    function : callable (y_true, y_other, **params)
    greater_is_better : bool
    needs : {"scores", "probabilities", "labels"}
        What ``y_other`` is.
    description : str
    params : mapping
        Parameters that are part of the name, such as the average.
    """

    function: Callable[..., Any]
    greater_is_better: bool
    needs: Needs
    description: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, y_true: Any, y_other: Any, **params: Any) -> Any:
        return self.function(y_true, y_other, **{**self.params, **params})

    def check_params(self, name: str, params: Mapping[str, Any]) -> None:
        """Raise when the metric has no such parameters, or misses one it cannot do without."""
        try:
            inspect.signature(self.function).bind(None, None, **{**self.params, **params})
        except TypeError as error:
            known = list(inspect.signature(self.function).parameters)[2:]
            raise TypeError(f"{name}: {error}; its parameters are {', '.join(known)}") from None
        if not params.get("reduce", True):
            raise TypeError(f"{name}: reduce=False gives no single number to compare by")


_MEAN = {"micro": "all entries", "macro": "mean over labels", "example": "mean over rows"}

METRICS: dict[str, Metric] = {
    "one_error": Metric(one_error, False, "scores", "the top-ranked label is not relevant"),
    "ranking_loss": Metric(ranking_loss, False, "scores", "label pairs in the wrong order"),
    "coverage": Metric(coverage, False, "scores", "depth of the last relevant label"),
    "average_precision": Metric(
        average_precision, True, "scores", "precision at each relevant label, mean over rows"
    ),
    "average_precision_label": Metric(
        average_precision,
        True,
        "scores",
        "precision at each relevant row, mean over labels",
        {"average": "label"},
    ),
    "precision_at_k": Metric(precision_at_k, True, "scores", "relevant share of the k best"),
    "ndcg_at_k": Metric(ndcg_at_k, True, "scores", "discounted gain of the k best"),
    **{
        f"precision_at_{k}": Metric(
            precision_at_k, True, "scores", f"relevant share of the {k} best", {"k": k}
        )
        for k in (1, 3, 5)
    },
    "propensity_scored_precision_at_k": Metric(
        propensity_scored_precision_at_k, True, "scores", "precision@k in which rare labels weigh"
    ),
    "auc": Metric(auc, True, "scores", "label-wise area under the ROC curve, or `average`"),
    "auc_micro": Metric(auc, True, "scores", "ROC area, all entries", {"average": "micro"}),
    "auc_macro": Metric(auc, True, "scores", "ROC area, label mean", {"average": "macro"}),
    "auc_instance": Metric(auc, True, "scores", "ROC area, row mean", {"average": "instance"}),
    "auc_top_t": Metric(auc, True, "scores", "area of the top-T curve", {"average": "top_t"}),
    "hamming_loss": Metric(hamming_loss, False, "labels", "share of wrong entries"),
    "subset_accuracy": Metric(subset_accuracy, True, "labels", "rows without a wrong entry"),
    "f1": Metric(f1, True, "labels", "label-wise F1, or `average`"),
    **{
        f"f1_{average}": Metric(f1, True, "labels", f"F1, {meaning}", {"average": average})
        for average, meaning in _MEAN.items()
    },
    "jaccard": Metric(jaccard, True, "labels", "overlap of predicted and relevant labels"),
    "log_loss": Metric(log_loss, False, "probabilities", "-log probability of the truth"),
    "brier": Metric(brier, False, "probabilities", "squared error of the probability"),
    "calibration_error": Metric(
        calibration_error, False, "probabilities", "probability against frequency, over bins"
    ),
}


def get_metric(name: str) -> Metric:
    """The registered metric of that name."""
    if name not in METRICS:
        raise ValueError(f"unknown metric {name!r}: use one of {', '.join(sorted(METRICS))}")
    return METRICS[name]
