"""The model of the audit, fitted again with answers among the labels.

An answer does not only tell about its label: an accepted entry is one more example, for its own
label and for the regressions of all others on it. Entries are scored as the audit scores them, each
by regressions that its own row had no part in; what was answered can therefore be scored again and
compared to its answer.

Scores become chances with the share of relevant labels that is recorded, c, as the audit found it,
and with g, the chance to be recorded given the new score, counted over the labels as they were
*before* the answers: P(relevant | not recorded) = (1 - c) (g / c) / (1 - g) holds whatever the
score is, as long as whether a label was recorded had no part in the score of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from labelgap.audit._chances import chances_of
from labelgap.audit._codes import label_codes
from labelgap.audit._decisions import Decisions
from labelgap.audit._given import Zeros, check_given, states_at
from labelgap.audit._joint import JointModel, fit_joint, refit_joint
from labelgap.audit._recording import read_recorded
from labelgap.audit._rows import feature_rows
from labelgap.audit._tally import take_tally
from labelgap.labels import Labels, State

__all__ = ["ChancesAgain"]


class ChancesAgain:
    """Chances of single entries, from the labels of an audit and answers that came after it.

    Nothing is computed before the first call.

    Parameters
    ----------
    X, Y, item_ids, zeros, scale, decisions, random_state
        As :func:`labelgap.audit.audit` got them.
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        *,
        item_ids: Sequence[Any] | np.ndarray | None = None,
        zeros: Zeros = "auto",
        scale: bool = True,
        decisions: Decisions | None = None,
        random_state: int | None = 0,
    ) -> None:
        self._given = check_given(X, Y, item_ids, zeros, decisions)
        self._X, self._scale, self._random_state = X, scale, random_state
        self._labels = self._given.part
        self._place = np.full(self._given.labels.n_labels, -1)
        self._place[self._given.modelled] = np.arange(self._given.modelled.size)

    def __call__(
        self,
        entries: tuple[np.ndarray, np.ndarray],
        answered: tuple[np.ndarray, np.ndarray],
        answers: np.ndarray,
    ) -> np.ndarray:
        """How likely each entry is relevant though it was not recorded; answered ones included.

        Parameters
        ----------
        entries : (rows, columns)
            Positions in X and Y, of labels that the audit suggests.
        answered : (rows, columns)
        answers : array of 0 and 1
            Whether the answered entries are relevant.
        """
        rows, columns = entries[0], self._places("entries", entries[1])
        if not np.isin(answers, (0, 1)).all() or len(answers) != len(answered[0]):
            raise ValueError("answers: give 0 or 1 for every answered entry")
        states = np.where(answers == 1, State.RELEVANT, State.IRRELEVANT).astype(np.int8)
        known = self._labels.with_entries(
            answered[0], self._places("answered", answered[1]), states
        )
        model = _refit(self._first_model, known)
        tally = take_tally(model, self._labels, 1, _silent, self._given.decided_part)
        zeros_meant = not self._labels.ambiguous
        chances = chances_of(tally, self._share_recorded, zeros_meant=zeros_meant)
        scores = _scores_at(model, rows, columns)
        unknown = states_at(self._labels, rows, columns) == State.UNKNOWN
        return np.where(unknown, chances.of_unknown(scores), chances.of_zeros(scores))

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
        decided = self._given.decided_part
        tally = take_tally(self._first_model, self._labels, 1, _silent, decided)
        return read_recorded(tally).share.value

    def _places(self, name: str, columns: np.ndarray) -> np.ndarray:
        """Places of labels among those that have a model."""
        places = self._place[columns]
        if (places < 0).any():
            at = int(np.flatnonzero(places < 0)[0])
            raise ValueError(
                f"{name}[1][{at}] is {columns[at]}: that label is carried by too few items to have "
                "a model; ask for labels that the audit suggests"
            )
        return places


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
