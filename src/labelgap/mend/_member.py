"""What a member of the portfolio is, what it learns from, and what a preset lets it cost."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from labelgap.extras import require
from labelgap.labels import Labels

# about two minutes of two processors
_OPERATIONS = 6e12
# how much more an accelerator does in the same time
_ON_A_DEVICE = 200
_MANY_ENTRIES, _FEWEST_FOLDS, _MORE_OPERATIONS = 20_000_000, 3, 5
_LABELS_TO_CHOOSE_BY = 60


class Limits(NamedTuple):
    """What a preset allows: rows of a kernel matrix, seconds and number of trees, folds.

    ``operations`` are floating-point operations of the members whose work can be counted before it
    begins: networks, and lines of many labels.
    """

    kernel_rows: int
    tree_seconds: float
    n_trees: int
    n_folds: int
    operations: float
    device: str | None
    n_jobs: int | None

    @classmethod
    def of(cls, preset: str, device: str | None, n_jobs: int | None) -> Limits:
        """Return the limits of a preset; those of "fast" are those of "balanced"."""
        operations = _OPERATIONS * (1 if device is None or device == "cpu" else _ON_A_DEVICE)
        if preset != "best":
            return cls(3000, 60.0, 200, 5, operations, device, n_jobs)
        return cls(10_000, 600.0, 500, 10, 10 * operations, device, n_jobs)

    def for_table(self, n_samples: int, n_labels: int) -> Limits:
        """Return the same with fewer folds and more operations where entries are very many."""
        if n_samples * n_labels <= _MANY_ENTRIES:
            return self
        n_folds = min(self.n_folds, _FEWEST_FOLDS)
        return self._replace(n_folds=n_folds, operations=_MORE_OPERATIONS * self.operations)


class ImputedTargets(NamedTuple):
    """Labels without gaps: 1, 0, and the probability of being relevant of what was not known.

    Attributes
    ----------
    of_fold : sequence of float32 arrays of shape (n_samples, n_labels)
        What may be learned without a fold: no label of its rows has a part in it.
    of_all : float32 array of shape (n_samples, n_labels)
        What is learned from all rows: the mean over the folds.
    label_frequency : float or array of shape (n_labels,)
        A model that learns from the values predicts relevance; of being recorded it predicts this
        part.
    has_gaps : bool
        Whether anything was imputed.
    """

    of_fold: Sequence[np.ndarray]
    of_all: np.ndarray
    label_frequency: Any
    has_gaps: bool


class Teaching(NamedTuple):
    """What a member learns from. ``imputed`` is there for those that ask for it.

    ``folds`` are the same for all members: row i is predicted out of fold by what did not learn
    from the rows of its fold. ``found`` has settings that one member chose and others take over.
    """

    X: Any
    labels: Labels
    folds: np.ndarray
    found: dict[str, Any]
    imputed: ImputedTargets | None = None

    @property
    def n_folds(self) -> int:
        return int(self.folds.max()) + 1

    @property
    def has_gaps(self) -> bool:
        """Whether any label may be missing."""
        return bool(self.labels.has_unknown or self.labels.unlabeled)

    def imputed_without(self, fold: int) -> np.ndarray:
        """Return imputed labels of the rows outside of a fold; of all rows where it is -1."""
        assert self.imputed is not None
        values = self.imputed.of_all if fold < 0 else self.imputed.of_fold[fold]
        return values[self.folds != fold]


class Member:
    """A kind of model. ``fit`` returns out-of-fold probabilities, or None where it gave up.

    Members that get a weight are then fitted to all rows by ``refit``, and predict. Probabilities
    are those of being recorded. Members that learn from the observed entries alone are fitted
    first and impute the labels for the others.
    """

    name = ""
    learns_from_imputed = False

    def __init__(self, limits: Limits, seed: int) -> None:
        self.limits = limits
        self.seed = seed
        self.gave_up = ""

    def reason_to_skip(self, teaching: Teaching) -> str:
        """Return why this member is of no use here, or nothing."""
        return ""

    def fit(self, teaching: Teaching, seconds: float | None) -> np.ndarray | None:
        raise NotImplementedError

    def refit(self, teaching: Teaching, seconds: float | None) -> None:
        """Learn from all rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return probabilities of shape (n_samples, n_labels)."""
        return self.model.predict_proba(X)  # type: ignore[attr-defined]

    def predict_without(self, fold: int, X: Any) -> np.ndarray:
        """Return probabilities by what did not learn from a fold, of members that impute."""
        raise NotImplementedError

    def forget_training_rows(self) -> None:
        """Drop what predictions do not need."""


def accelerator() -> str | None:
    """Return the device of networks and lines where torch has one beside the processor."""
    if find_spec("torch") is None:
        return None
    torch = require("torch", extra="networks", purpose="Mend")
    return "cuda" if torch.cuda.is_available() else None


def labels_to_choose_by(labels: Labels) -> np.ndarray:
    """Return at most 119 labels of any prevalence, by which settings are chosen."""
    order = np.argsort(-labels.n_positives(axis=0), kind="stable")
    return np.sort(order[:: max(1, labels.n_labels // _LABELS_TO_CHOOSE_BY)])


def fold_of_rows(
    n_samples: int, n_folds: int, rng: np.random.Generator, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return the fold of each row; rows of one group, numbered from 0, are in one fold."""
    if groups is None:
        return rng.permutation(n_samples) % min(n_folds, n_samples)
    present, codes = np.unique(groups, return_inverse=True)
    return rng.permutation(present.size)[codes] % min(n_folds, present.size)
