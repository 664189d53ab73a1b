"""The user's classifier as Mend uses it: labels learned, guessed and tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.base import is_regressor

from labelgap.labels import Labels
from labelgap.mending._guesses import held_out_guesses
from labelgap.mending._soft_label import SoftLabel
from labelgap.mending._soft_targets import fit_labels, scores_of
from labelgap.mending._trust import Plan, Trial
from labelgap.yardsticks._calibration import fit_sigmoid
from labelgap.yardsticks._label_prior import observed_frequency
from labelgap.yardsticks._per_label import ConstantLabel, known_entries

__all__ = ["Learner"]

_ROUND_FOLDS = 3


@dataclass(frozen=True)
class Learner:
    """A classifier or regressor of single labels, and where it is fitted."""

    template: Any
    n_jobs: int | None = None
    device: str | None = None

    @property
    def gives_probabilities(self) -> bool:
        return hasattr(self.template, "predict_proba")

    @property
    def scores_are_logits(self) -> bool:
        """Whether the sigmoid of a score is the probability."""
        return self.gives_probabilities and not is_regressor(self.template)

    def learn(
        self, X: Any, soft: Iterator[SoftLabel], frequency: np.ndarray, start: list | None = None
    ) -> list:
        """A model of every label."""
        return fit_labels(
            self.template, X, soft, frequency, start=start, n_jobs=self.n_jobs, device=self.device
        )

    def learn_plain(self, X: Any, labels: Labels, some: np.ndarray) -> list:
        """Models of some labels from what is known of them."""
        known = (SoftLabel(*known_entries(labels, label)) for label in some.tolist())
        return self.learn(X, known, observed_frequency(labels)[some])

    def guesses(
        self, X: Any, labels: Labels, wanted: np.ndarray, soft: list[SoftLabel]
    ) -> sparse.csr_array:
        """What is said of labels that are not known, by models of completed ones."""
        frequency = observed_frequency(labels)[wanted]

        def guess(others: Any, part: Iterator[SoftLabel], rows: Any) -> Iterator[np.ndarray]:
            models = self.learn(X[others], part, frequency)
            asked, held = X[rows], labels[rows]
            for label, model in zip(wanted, models, strict=True):
                scores = scores_of(model, asked)
                if not self.scores_are_logits and not isinstance(model, ConstantLabel):
                    scores = _as_logits(scores, held, int(label))
                yield expit(scores)

        return held_out_guesses(guess, labels, wanted, soft, _ROUND_FOLDS)

    def trial(
        self,
        X: Any,
        held: Labels,
        aside: np.ndarray,
        some: np.ndarray,
        models: list,
        plan: Plan,
    ) -> Trial:
        """What models of some labels say of the recorded entries of rows set aside."""
        scores, values = [], []
        for label, model in zip(some.tolist(), models, strict=True):
            rows, known = held.column(label)
            scores.append(scores_of(model, X[aside[rows]]))
            values.append(known)
        return Trial(plan, scores, values, some.tolist())


def _as_logits(scores: np.ndarray, labels: Labels, label: int) -> np.ndarray:
    """Margins, or predictions of a regressor, as log-odds of what is recorded."""
    rows, values = labels.column(label)
    if not 0 < values.sum() < values.size:
        return scores
    slope, offset = fit_sigmoid(scores[rows], values)
    return slope * scores + offset
