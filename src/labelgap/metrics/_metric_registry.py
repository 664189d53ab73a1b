"""Every metric of the library by name, and the variants that other code computes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from labelgap.metrics._decision_metrics import f1, hamming_loss, jaccard, subset_accuracy
from labelgap.metrics._metric_inputs import check_choice
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
    propensity_scored_precision_at_k,
)

Needs = Literal["scores", "probabilities", "labels"]


@dataclass(frozen=True)
class Metric:
    """A metric and what you must know to use it.

    Attributes
    ----------
    function : callable (y_true, y_other, **params)
    greater_is_better : bool
    needs : {"scores", "probabilities", "labels"}
        What ``y_other`` is.
    description : str
    params : mapping
        Parameters that are part of the name, such as the average.

    See Also
    --------
    get_metric : look one up by name.

    Examples
    --------
    >>> from labelgap.metrics import get_metric
    >>> get_metric("f1_macro").params
    {'average': 'macro'}
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
    "label_ranking_average_precision": Metric(
        label_ranking_average_precision,
        True,
        "scores",
        "precision at each relevant label, mean over rows",
    ),
    "average_precision": Metric(
        average_precision, True, "scores", "precision at each relevant row, mean over labels"
    ),
    "average_precision_micro": Metric(
        average_precision,
        True,
        "scores",
        "precision at each relevant entry, of all entries",
        {"average": "micro"},
    ),
    "precision_at_k": Metric(precision_at_k, True, "scores", "relevant fraction of the k best"),
    "ndcg_at_k": Metric(ndcg_at_k, True, "scores", "discounted gain of the k best"),
    **{
        f"precision_at_{k}": Metric(
            precision_at_k, True, "scores", f"relevant fraction of the {k} best", {"k": k}
        )
        for k in (1, 3, 5)
    },
    "propensity_scored_precision_at_k": Metric(
        propensity_scored_precision_at_k, True, "scores", "precision@k in which rare labels weigh"
    ),
    "auc_micro": Metric(auc, True, "scores", "ROC area, all entries", {"average": "micro"}),
    "auc_macro": Metric(auc, True, "scores", "ROC area, label mean", {"average": "macro"}),
    "auc_instance": Metric(auc, True, "scores", "ROC area, row mean", {"average": "instance"}),
    "auc_top_t": Metric(auc, True, "scores", "area of the top-T curve", {"average": "top_t"}),
    "hamming_loss": Metric(hamming_loss, False, "labels", "fraction of wrong entries"),
    "subset_accuracy": Metric(subset_accuracy, True, "labels", "rows without a wrong entry"),
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
    """Return the registered metric of that name.

    See Also
    --------
    METRICS : all of them.

    Examples
    --------
    >>> from labelgap.metrics import get_metric
    >>> get_metric("coverage").greater_is_better
    False
    """
    if name not in METRICS:
        raise ValueError(f"unknown metric {name!r}: use one of {', '.join(sorted(METRICS))}")
    return METRICS[name]


_ZHANG_ROWS = {"empty": "drop", "full": "drop"}

CONVENTIONS: dict[str, dict[str, dict[str, Any]]] = {
    # the defaults of scikit-learn 1.9 on complete labels
    "scikit-learn": {
        "ranking_loss": {"empty": 0.0, "full": 0.0},
        "coverage": {"zero_based": False, "empty": 0.0},
        "label_ranking_average_precision": {"empty": 1.0},
        "average_precision": {"empty": 0.0},
        "ndcg_at_k": {"empty": 0.0},
        "f1_macro": {"undefined": 0.0},
        "jaccard": {"undefined": 0.0},
    },
    # M.-L. Zhang's MATLAB routines, copied into most published code (labels -1/+1)
    "zhang": {
        "one_error": {"ties": "correct", **_ZHANG_ROWS},
        "ranking_loss": {},
        "coverage": {"ties": "last", "empty": -1.0},
        "label_ranking_average_precision": {"ties": "last", **_ZHANG_ROWS},
    },
    # the code collected with SSWL and iMVWL
    "imvwl": {
        "one_error": {"ties": "correct", **_ZHANG_ROWS},
        "ranking_loss": {},
        "coverage": {"ties": "first", "normalize": True, "empty": -1.0},
        "label_ranking_average_precision": {"ties": "last", **_ZHANG_ROWS},
        "auc_top_t": {"ties": "first", "empty": "true_negative"},
        "auc_macro": {"ties": "first", "empty": 0.0, "full": 1.0},
    },
    # Kimura's MLC toolbox (MATLAB, labels 0/1)
    "mlc_toolbox": {
        "one_error": {"ties": "correct"},
        "ranking_loss": {},
        "coverage": {"ties": "last", "normalize": True, "empty": -1.0},
        "label_ranking_average_precision": {"ties": "last"},
        "precision_at_k": {"ties": "first"},
        "ndcg_at_k": {"ties": "first", "empty": 0.0},
        "auc_macro": {},
        "f1_macro": {"undefined": "drop"},
        "jaccard": {"undefined": "drop"},
    },
    # the measures of DICNet and later multi-view code
    "dicnet": {
        "one_error": {"ties": "first"},
        "ranking_loss": {"empty": 0.0, "full": 0.0},
        "coverage": {"ties": "last", "normalize": True, "empty": -1.0},
        "label_ranking_average_precision": {"ties": "last", "empty": 0.0},
        "auc_top_t": {"ties": "last"},
        "auc_macro": {},
        "f1_macro": {"undefined": 0.0},
    },
}


def convention(source: str, metric: str) -> dict[str, Any]:
    """Return the parameters that make a metric count as another implementation does.

    Parameters
    ----------
    source : {"scikit-learn", "zhang", "imvwl", "mlc_toolbox", "dicnet"}
    metric : str
        Name of a registered metric the implementation defines.

    See Also
    --------
    CONVENTIONS : all of them.

    Examples
    --------
    >>> from labelgap.metrics import convention
    >>> convention("scikit-learn", "coverage")
    {'zero_based': False, 'empty': 0.0}
    """
    check_choice("source", source, tuple(CONVENTIONS))
    check_choice("metric", metric, tuple(CONVENTIONS[source]))
    return dict(CONVENTIONS[source][metric])
