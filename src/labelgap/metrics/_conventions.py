"""The variants that other code computes, as parameters of our metrics."""

from __future__ import annotations

from typing import Any

from labelgap.metrics._inputs import check_choice

_ZHANG_ROWS = {"empty": "drop", "full": "drop"}

CONVENTIONS: dict[str, dict[str, dict[str, Any]]] = {
    # the defaults of scikit-learn 1.9 on complete labels
    "scikit-learn": {
        "ranking_loss": {"empty": 0.0, "full": 0.0},
        "coverage": {"zero_based": False, "empty": 0.0},
        "average_precision": {"empty": 1.0},
        "average_precision_label": {"empty": 0.0},
        "ndcg_at_k": {"empty": 0.0},
        "f1": {"undefined": 0.0},
        "jaccard": {"undefined": 0.0},
    },
    # M.-L. Zhang's MATLAB routines, copied into most published code (labels -1/+1)
    "zhang": {
        "one_error": {"ties": "correct", **_ZHANG_ROWS},
        "ranking_loss": {},
        "coverage": {"ties": "last", "empty": -1.0},
        "average_precision": {"ties": "last", **_ZHANG_ROWS},
    },
    # the code collected with SSWL and iMVWL
    "imvwl": {
        "one_error": {"ties": "correct", **_ZHANG_ROWS},
        "ranking_loss": {},
        "coverage": {"ties": "first", "normalize": True, "empty": -1.0},
        "average_precision": {"ties": "last", **_ZHANG_ROWS},
        "auc_top_t": {"ties": "first", "empty": "true_negative"},
        "auc": {"ties": "first", "empty": 0.0, "full": 1.0},
    },
    # Kimura's MLC toolbox (MATLAB, labels 0/1)
    "mlc_toolbox": {
        "one_error": {"ties": "correct"},
        "ranking_loss": {},
        "coverage": {"ties": "last", "normalize": True, "empty": -1.0},
        "average_precision": {"ties": "last"},
        "precision_at_k": {"ties": "first"},
        "ndcg_at_k": {"ties": "first", "empty": 0.0},
        "auc": {},
        "f1": {"undefined": "drop"},
        "jaccard": {"undefined": "drop"},
    },
    # the measures of DICNet and later multi-view code
    "dicnet": {
        "one_error": {"ties": "first"},
        "ranking_loss": {"empty": 0.0, "full": 0.0},
        "coverage": {"ties": "last", "normalize": True, "empty": -1.0},
        "average_precision": {"ties": "last", "empty": 0.0},
        "auc_top_t": {"ties": "last"},
        "auc_macro": {},
        "f1": {"undefined": 0.0},
    },
}


def convention(source: str, metric: str) -> dict[str, Any]:
    """Parameters that make a metric count as another implementation does.

    Parameters
    ----------
    source : {"scikit-learn", "zhang", "imvwl", "mlc_toolbox", "dicnet"}
    metric : str
        Name of a registered metric the implementation defines.

    Examples
    --------
    >>> from labelgap.metrics import convention
    >>> convention("scikit-learn", "coverage")
    {'zero_based': False, 'empty': 0.0}
    """
    check_choice("source", source, tuple(CONVENTIONS))
    check_choice("metric", metric, tuple(CONVENTIONS[source]))
    return dict(CONVENTIONS[source][metric])
