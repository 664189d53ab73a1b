"""The ridge model of the audit, fitted again with answers among the labels.

An accepted entry is one more example, for its own label and for the regressions of all others on it.
Entries are scored as the audit scores them, each by regressions that its own row had no part in.

Scores become probabilities with the label frequency of the audit, c, and with g, the probability to
be recorded given the new score, counted over the labels as they were *before* the answers:
P(relevant | not recorded) = (1 - c) (g / c) / (1 - g) holds whatever the score is, as long as
whether a label was recorded had no part in the score of its row.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from labelgap.auditing._audit_input import check_input, feature_rows, states_at
from labelgap.auditing._out_of_fold import OutOfFold, count_and_calibrate
from labelgap.auditing._score_counts import ScoreBlocks, count_scores, probabilities_of, silent
from labelgap.imputers import RidgeImputer
from labelgap.labels import State


class AuditRescorer:
    """Probabilities of single entries, from the labels of an audit and answers that came after it.

    Nothing is computed before the first call.

    Parameters
    ----------
    X : features or Dataset
        As given to :func:`labelgap.audit`, like all others.
    Y : labels, default=None
    scale : bool, default=True
    random_state : int or None, default=0
    **options
        item_ids, zeros and decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap.auditing import AuditRescorer
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> entries, answered = (np.array([0, 1]), np.array([0, 0])), (np.array([2]), np.array([1]))
    >>> AuditRescorer(X, Y)(entries, answered, np.array([1])).shape
    (2,)
    """

    def __init__(
        self,
        X: Any,
        Y: Any = None,
        *,
        scale: bool = True,
        random_state: int | None = 0,
        **options: Any,
    ) -> None:
        self._checked = check_input(X, Y, **options)
        self._scale, self._random_state = scale, random_state
        self._labels = self._checked.part

    def __call__(
        self,
        entries: tuple[np.ndarray, np.ndarray],
        answered: tuple[np.ndarray, np.ndarray],
        answers: np.ndarray,
    ) -> np.ndarray:
        """Return the probability that each entry is relevant though it was not recorded.

        Parameters
        ----------
        entries : (rows, columns)
            Positions in X and Y, of labels that the audit suggests.
        answered : (rows, columns)
            Positions of the answered entries; they can be among ``entries``.
        answers : array of 0 and 1
            Whether the answered entries are relevant.
        """
        rows, columns = entries[0], self._places("entries", entries[1])
        if not np.isin(answers, (0, 1)).all() or len(answers) != len(answered[0]):
            raise ValueError("answers: give 0 or 1 for every answered entry")
        states = np.where(answers == 1, State.RELEVANT, State.NEGATIVE).astype(np.int8)
        known = self._labels.with_entries(
            answered[0], self._places("answered", answered[1]), states
        )
        model, frequency = self._model_and_frequency
        assert model.ridge is not None
        ridge = RidgeImputer(*model.ridge.penalties_).fit(model.X, known)
        decided = self._checked.decided_part
        blocks = ridge.left_out_blocks(model.X, known)
        counts = count_scores(blocks, self._labels, 1, silent, decided)
        probabilities = probabilities_of(counts, frequency)
        scores = _scores_at(ridge.left_out_blocks(model.X, known), rows, columns)
        unknown = states_at(self._labels, rows, columns) == State.UNKNOWN
        return np.where(unknown, probabilities.of_unknown(scores), probabilities.of_zeros(scores))

    @cached_property
    def _model_and_frequency(self) -> tuple[OutOfFold, float | None]:
        """The model of the audit, whose penalties are kept, and its label frequency."""
        rng = np.random.default_rng(self._random_state)
        seed = int(rng.integers(2**31 - 1))
        rows = feature_rows(self._checked.X, scale=self._scale, random_state=seed)
        model = OutOfFold(None, self._checked, rows, rng, silent)
        _, estimate, _ = count_and_calibrate(model, self._checked, 1, silent)
        return model, None if estimate is None else estimate.value

    def _places(self, name: str, columns: np.ndarray) -> np.ndarray:
        """Return places of labels among those that have a model."""
        places = self._checked.places[columns]
        for at in np.flatnonzero(places < 0):
            raise ValueError(
                f"{name}[1][{at}] is {columns[at]}: that label is carried by too few items to have "
                "a model; ask for labels that the audit suggests"
            )
        return places


def _scores_at(blocks: ScoreBlocks, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    order = np.argsort(rows, kind="stable")
    at = np.empty(rows.size)
    for part, _, scores in blocks:
        low, high = np.searchsorted(rows[order], [part.start, part.stop])
        here = order[low:high]
        at[here] = scores[rows[here] - part.start, columns[here]]
    return at
