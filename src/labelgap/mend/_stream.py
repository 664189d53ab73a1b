"""One classifier per label that learns a stream of rows, from known entries alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from labelgap.labels import Labels, observed_prevalence
from labelgap.mend._training_rows import TrainingRows
from labelgap.one_vs_rest import ConstantLabel, known_entries


def learn_more(
    models: list, estimator: Any, X: Any, labels: Labels, table: TrainingRows, class_weight: Any
) -> list:
    """Return the models of all labels after some more rows; none yet are made of the estimator."""
    if class_weight == "balanced":
        raise ValueError(
            'class_weight="balanced" needs all rows: give weights, such as {0: 1, 1: 5}'
        )
    prevalence = observed_prevalence(labels)
    models = models or [ConstantLabel(float(p)) for p in prevalence]
    weighted = table.weights is not None or class_weight is not None
    if weighted and not has_fit_parameter(clone(estimator), "sample_weight"):
        raise ValueError(f"{estimator!r} takes no sample_weight: leave out weights")
    found = []
    for label, model in enumerate(models):
        one = table.weighted(known_entries(labels, label), class_weight)
        if one.rows.size:
            model = clone(estimator) if isinstance(model, ConstantLabel) else model
            given = {"sample_weight": one.weights} if weighted else {}
            values = one.probabilities.astype(np.intp)
            model.partial_fit(X[one.rows], values, classes=np.array([0, 1]), **given)
        found.append(model)
    return found
