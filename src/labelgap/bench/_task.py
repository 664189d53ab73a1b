"""What a protocol draws and a method gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from labelgap.labels import Labels
from labelgap.views import ViewGroups


@dataclass(frozen=True)
class Task:
    """One drawing of a set: rows to learn from, and rows to be judged by.

    Attributes
    ----------
    dataset : str
    X, X_test : array or sparse array
    Y : Labels
        What a learner may see.
    Y_test : Labels
        Complete; or, where settings are chosen, observed training labels.
    groups : ViewGroups, optional
    cooccurrence, unseen : optional
        Counts of labels with each other, and the columns without training labels.
    complete : Labels, optional
        The training labels before anything was hidden, for oracles alone.
    large : bool
        Whether the set is large enough for methods to try a reduced grid.
    extra : dict
        What single protocols add.
    """

    dataset: str
    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels
    groups: ViewGroups | None = None
    cooccurrence: Any = None
    unseen: Any = None
    complete: Labels | None = None
    large: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """What a fitted method reached on the test rows."""

    metrics: dict[str, float]
    curve: dict[str, list[float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
