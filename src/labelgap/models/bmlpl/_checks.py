"""What a fit asks of its settings and of the data before it starts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgap.fitting import EM, Gibbs, OnlineEM
from labelgap.labels import LabelWarning
from labelgap.models.bmlpl._prepare import Survey

if TYPE_CHECKING:
    from labelgap.models.bmlpl._estimator import BMLPL


def check_settings(estimator: BMLPL, settings: EM | OnlineEM | Gibbs) -> None:
    """Each setting by itself, and together with the way of fitting."""
    estimator._validate_params()
    if not estimator.eta >= 1 and not isinstance(settings, Gibbs):
        raise ValueError(
            f"eta={estimator.eta}: below 1 the most probable topics are unbounded; use 1 or more, "
            "or Gibbs sampling, which takes any positive value"
        )
    if estimator.weights != "map" and isinstance(settings, Gibbs):
        raise ValueError("weights='mean' belongs to EM: Gibbs sampling draws the topic weights")
    if estimator.calibration == "held out" and not isinstance(settings, EM):
        raise ValueError("calibration='held out' rehearses the fit by EM; use inference='em'")
    if estimator.checkpoint is None:
        return
    if not isinstance(settings, EM):
        raise ValueError("checkpoint: only a fit by EM can resume; use inference='em'")
    if settings.n_init > 1:
        raise ValueError("checkpoint: resume works with one start; set n_init=1")


def check_data(facts: Survey, classes: Any) -> None:
    """Raise when nothing can be learned; warn of labels about which nothing can be learned."""
    if facts.n_not_finite:
        raise ValueError(
            f"X has {facts.n_not_finite} values that are NaN or infinite: impute them first"
        )
    empty = np.flatnonzero(facts.label_counts == 0)
    if empty.size == facts.label_counts.size:
        raise ValueError(
            "y has no positive entry at all: this model learns from positives; "
            "check the coding of the labels (1 = relevant)"
        )
    if empty.size:
        warnings.warn(
            f"label {np.asarray(classes).tolist()[empty[0]]!r}"
            + (f" and {empty.size - 1} others have" if empty.size > 1 else " has")
            + " no positive: it is predicted with a probability of zero, or nearly",
            LabelWarning,
            stacklevel=6,
        )
