"""What every protocol answers: how rows are drawn, hidden, divided for tuning, and judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from labelgap.bench._task import Judgement, Task

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

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        """The drawing of one run; the same for every method."""
        raise NotImplementedError

    def divisions(self, task: Task) -> list[Task]:
        """Tasks within the training rows, judged by their observed labels, to choose settings."""
        raise NotImplementedError(f"{type(self).__name__} cannot choose settings: give no grid")

    def criterion(self, task: Task) -> str:
        """The metric by which settings are chosen; more is better."""
        raise NotImplementedError

    def fit(self, model: Any, task: Task) -> Any:
        return model.fit(task.X, task.Y)

    def judge(self, model: Any, task: Task, setting: Setting) -> Judgement:
        """Scores on the test rows."""
        raise NotImplementedError

    def judge_choice(self, model: Any, task: Task) -> float:
        """The criterion on a division."""
        return self.judge(model, task, {}).metrics[self.criterion(task)]


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
    if most is None or task.Y.n_rows <= most:
        return task
    kept, _ = shuffled(task.Y.n_rows, most, 0)
    return parted(task, kept, kept[:0])


def shuffled(n_rows: int, first: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted positions of the first part of a permutation, and of the rest."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[:first]), np.sort(order[first:])


def parted(task: Task, fit: np.ndarray, held: np.ndarray, **others: Any) -> Task:
    """A task within the training rows: fitted to some, judged by the known labels of others."""
    values = {name: getattr(task, name) for name in ("dataset", "groups", "large", "extra")}
    values |= {"X": task.X[fit], "Y": task.Y[fit], "X_test": task.X[held], "Y_test": task.Y[held]}
    return Task(**{**values, **others})
