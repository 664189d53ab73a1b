"""The model of the audit, fitted again with the answers among the labels.

An answer does not only tell about its label: an accepted entry is one more example, for its own
label and for the regressions of all others on it. Entries are scored as the audit scores them, each
by regressions that its own row had no part in; what was answered can therefore be scored again and
compared to its answer.

Scores become chances with the share of relevant labels that is recorded, c, as the audit found it,
and with g, the chance to be recorded given the new score, counted over the labels as they were
*before* the review: P(relevant | not recorded) = (1 - c) (g / c) / (1 - g) holds whatever the score
is, as long as whether a label was recorded had no part in the score of its row.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from labelgap.audit._audit import read_recorded
from labelgap.audit._chances import chances_of
from labelgap.audit._codes import label_codes
from labelgap.audit._given import check_given
from labelgap.audit._joint import JointModel, fit_joint, refit_joint
from labelgap.audit._rows import feature_rows
from labelgap.audit._tally import take_tally
from labelgap.labels import Labels, State
from labelgap.review._candidates import Candidates, prior_log_odds

__all__ = ["Rescorer"]

_BLOCK = 4096


class Rescorer:
    """Gives all candidates new log-odds, from the labels and the answers so far.

    Nothing is computed before the first call.

    Parameters
    ----------
    X, Y, zeros, scale, random_state
        As :func:`labelgap.audit.audit` got them.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        *,
        zeros: Literal["auto", "irrelevant", "ambiguous"] = "auto",
        scale: bool = True,
        random_state: int | None = 0,
    ) -> None:
        given = check_given(X, Y, None, zeros, None)
        self._X, self._scale, self._random_state = X, scale, random_state
        self._labels = given.part
        self._place = np.full(given.labels.n_labels, -1)
        self._place[given.modelled] = np.arange(given.modelled.size)

    def __call__(
        self, candidates: Candidates, answered: np.ndarray, answers: np.ndarray
    ) -> np.ndarray:
        """Log-odds of all candidates, the answered ones included.

        Parameters
        ----------
        candidates : Candidates
            Of the data this was made from: rows and columns are those of X and Y.
        answered, answers : arrays
            Positions of decided candidates, and 0 or 1.
        """
        columns = self._place[candidates.columns]
        states = np.where(answers == 1, State.RELEVANT, State.IRRELEVANT).astype(np.int8)
        known = self._labels.with_entries(candidates.rows[answered], columns[answered], states)
        model = _refit(self._first_model, known)
        tally = take_tally(model, self._labels, 1, _silent)
        zeros_meant = not self._labels.ambiguous
        chances = chances_of(tally, self._share_recorded, zeros_meant=zeros_meant)
        scores = _scores_at(model, candidates.rows, columns)
        unknown = self._is_unknown(candidates.rows, columns)
        return prior_log_odds(
            np.where(unknown, chances.of_unknown(scores), chances.of_zeros(scores))
        )

    @cached_property
    def _first_model(self) -> JointModel:
        """The model of the audit, whose penalties stay."""
        rng = np.random.default_rng(self._random_state)
        seed = int(rng.integers(2**31 - 1))
        rows = feature_rows(self._X, None, scale=self._scale, random_state=seed)
        return fit_joint(rows, self._labels, rng, _silent)

    @cached_property
    def _share_recorded(self) -> float:
        if not self._labels.ambiguous:
            return 1.0
        return read_recorded(take_tally(self._first_model, self._labels, 1, _silent)).share.value

    def _is_unknown(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        found = np.empty(rows.size, dtype=bool)
        for start in range(0, self._labels.n_rows, _BLOCK):
            here = np.flatnonzero((rows >= start) & (rows < start + _BLOCK))
            if here.size:
                states = self._labels.states(slice(start, start + _BLOCK))
                found[here] = states[rows[here] - start, columns[here]] == State.UNKNOWN
        return found


def _refit(model: JointModel, labels: Labels) -> JointModel:
    """The same rows and penalties with other labels."""
    return refit_joint(replace(model, codes=label_codes(labels)), np.arange(labels.n_rows))


def _scores_at(model: JointModel, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    order = np.argsort(rows, kind="stable")
    found = np.empty(rows.size)
    for part, scores in model.blocks():
        low, high = np.searchsorted(rows[order], [part.start, part.stop])
        here = order[low:high]
        found[here] = scores[rows[here] - part.start, columns[here]]
    return found


def _silent(stage: str, done: int, total: int | None) -> None:
    pass
