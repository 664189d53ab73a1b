"""Checks of parameters of Mend that depend on the labels, or on each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelgap.labels import Labels
from labelgap.mend._self_training import frequency_of_labels, frequency_reached


def check_defaults(mend: Any) -> None:
    """Raise a ValueError where a parameter is given that several kinds of models do not have."""
    defaults = {"imputer": None, "imputed_weights": (1.0,), "ensemble": "auto", "max_iter": 1}
    if mend.target_.kind == "multilabel":
        defaults["class_weight"] = None
    for name, default in defaults.items():
        given = getattr(mend, name)
        if (tuple(given.tolist()) if isinstance(given, np.ndarray) else given) != default:
            raise ValueError(
                f"{name} is for one classifier per label: give an estimator, such as "
                "LogisticRegression()"
            )


def check_stored(mend: Any) -> None:
    """Raise a ValueError where a parameter is given that models of rows in blocks do not have."""
    if not isinstance(mend.estimator, str):
        raise ValueError(
            f"estimator={mend.estimator!r} needs all rows in one array: leave it out for rows in "
            "blocks, or raise sklearn's working_memory"
        )
    for name in ("time_limit", "device", "callback"):
        if getattr(mend, name) is not None:
            raise ValueError(f"{name} is for rows in one array: leave it out for rows in blocks")
    check_defaults(mend)


def _check_frequencies(given: np.ndarray, n_labels: int) -> None:
    """Raise a ValueError unless there is a label frequency in (0, 1] for each label."""
    if given.shape != (n_labels,):
        raise ValueError(
            f"label_frequency has the shape {given.shape}; give one number, or one for each of the "
            f"{n_labels} labels"
        )
    wrong = np.flatnonzero(~((given > 0) & (given <= 1)))
    if wrong.size:
        raise ValueError(
            f"label_frequency[{wrong[0]}] = {given[wrong[0]]:g}: give a number above 0 and up to 1"
        )


def check_class_weight(class_weight: Any) -> None:
    """Raise a ValueError unless there is a weight of at least 0 for 0 and 1, or for one of them."""
    if not isinstance(class_weight, Mapping):
        return
    strange = [key for key in class_weight if key not in (0, 1)]
    if strange:
        raise ValueError(
            f"class_weight has the key {strange[0]!r}: give weights of 0 (irrelevant) and 1 "
            "(relevant), which hold for every label"
        )
    for key, weight in class_weight.items():
        if not (isinstance(weight, (int, float)) and 0 < weight < np.inf):
            raise ValueError(f"class_weight[{key}] = {weight!r}: give a number above 0")


def given_thresholds(threshold: Any, n_labels: int) -> np.ndarray | None:
    """Return thresholds that are given as numbers, one for each label; None for a rule."""
    if isinstance(threshold, str):
        return None
    values = np.asarray(threshold, dtype=float)
    if values.shape not in ((), (n_labels,)):
        raise ValueError(
            f"threshold has the shape {values.shape}; give one number, or one for each of the "
            f"{n_labels} labels"
        )
    values = np.array(np.broadcast_to(values, n_labels))
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        raise ValueError(f"threshold[{wrong[0]}] = {values[wrong[0]]:g}: give a number in [0, 1]")
    return values


def given_frequency(label_frequency: Any, n_labels: int) -> np.ndarray | None:
    """Return the given label frequency; None where it is estimated."""
    if isinstance(label_frequency, str):
        return None
    given = np.asarray(label_frequency, dtype=float)
    if given.ndim:
        _check_frequencies(given, n_labels)
    return given


def frequency_of(label_frequency: Any, scores: np.ndarray, labels: Labels) -> Any:
    """Return the given label frequency, or what out-of-fold scores say of it."""
    if not labels.unlabeled:
        return 1.0
    given = given_frequency(label_frequency, labels.n_labels)
    if given is not None:
        return given if given.ndim else float(given)
    reached = np.zeros(labels.n_labels)
    for label in range(labels.n_labels):
        rows, values = labels.column(label)
        reached[label] = frequency_reached(scores[rows, label], values)
    found = frequency_of_labels(reached, per_label=label_frequency == "per_label")
    return found if found.ndim else float(found)
