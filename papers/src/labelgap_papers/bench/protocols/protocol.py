"""What a protocol draws, and what every protocol answers: drawing, hiding, divisions, scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from labelgap.data import list_datasets
from labelgap.labels import Labels
from labelgap.views import Views


@dataclass(frozen=True)
class Task:
    """One drawing of a set: rows to learn from, and rows to be scored on.

    Attributes
    ----------
    dataset : str
    X, X_test : array or sparse array
    Y : Labels
        What a learner may see.
    Y_test : Labels
        Complete; or, where settings are chosen, observed training labels.
    views : Views, optional
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
    views: Views | None = None
    cooccurrence: Any = None
    unseen: Any = None
    complete: Labels | None = None
    large: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scores:
    """What a fitted method reached on the test rows."""

    metrics: dict[str, float]
    curve: dict[str, list[float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


Setting = Mapping[str, Any]


class Protocol:
    """How a paper splits a set, hides labels and scores; the base of all protocols.

    Attributes
    ----------
    keys : tuple of str
        Settings that the protocol reads. All others are parameters of the methods.
    tuning_keys : tuple of str
        Those on which the choice of a method's settings may depend.
    options : dict from name to default
        What an experiment may say once for all its cells.
    """

    keys: ClassVar[tuple[str, ...]] = ()
    tuning_keys: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, **options: Any) -> None:
        unknown = options.keys() - self.options.keys()
        if unknown:
            known = ", ".join(self.options) or "none"
            raise ValueError(f"no option {sorted(unknown)[0]!r} of the protocol; it has: {known}")
        self.chosen = {**self.options, **options}

    def known_datasets(self) -> set[str]:
        """Names of the sets that can be drawn from."""
        return set(list_datasets())

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        """The drawing of one run; the same for every method."""
        raise NotImplementedError

    def divisions(self, task: Task) -> list[Task]:
        """Tasks within the training rows, scored on their observed labels, to choose settings."""
        raise NotImplementedError(f"{type(self).__name__} cannot choose settings: give no grid")

    def criterion(self, task: Task) -> str:
        """The metric by which settings are chosen; more is better."""
        raise NotImplementedError

    def fit(self, model: Any, task: Task) -> Any:
        return model.fit(task.X, task.Y)

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        """Scores on the test rows."""
        raise NotImplementedError

    def score_choice(self, model: Any, task: Task) -> float:
        """The criterion on a division."""
        return self.score(model, task, {}).metrics[self.criterion(task)]


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Something to rank labels by: decision values, or probabilities of a method without them."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.asarray(model.predict_proba(X))


def objective_of(model: Any) -> dict[str, list[float]]:
    """The objective of every iteration of a fit."""
    trace = getattr(model, "trace_", None)
    return {} if trace is None else {"objective": [float(value) for value in trace.objective]}


def fewer_rows(task: Task, most: int | None) -> Task:
    """At most so many of the training rows, for choosing settings."""
    if most is None or task.Y.n_samples <= most:
        return task
    kept, _ = shuffled(task.Y.n_samples, most, 0)
    return parted(task, kept, kept[:0])


def shuffled(n_samples: int, first: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted positions of the first part of a permutation, and of the rest."""
    order = np.random.default_rng(seed).permutation(n_samples)
    return np.sort(order[:first]), np.sort(order[first:])


def parted(task: Task, fit: np.ndarray, held: np.ndarray, **others: Any) -> Task:
    """A task within the training rows: fitted to some, scored on the known labels of others."""
    values = {name: getattr(task, name) for name in ("dataset", "views", "large", "extra")}
    values |= {"X": task.X[fit], "Y": task.Y[fit], "X_test": task.X[held], "Y_test": task.Y[held]}
    return Task(**{**values, **others})
