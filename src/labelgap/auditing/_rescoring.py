"""The probabilities of an audit, moved by answers that came after it.

An accepted entry is one more example, for its own label and for the regressions of all others on it.
The ridge regressions of all labels on the features and on each other are fitted with the answers and
without, each item left out of what scores it; the log-odds of an entry move with its score, beyond
what all scores move.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from labelgap.auditing._audit_input import check_input, feature_rows
from labelgap.auditing._entry_probabilities import probabilities_at
from labelgap.auditing._loss_model import LossModel, estimate_loss
from labelgap.auditing._out_of_fold import OutOfFold, ScoreSource
from labelgap.auditing._score_counts import ScoreBlocks, silent
from labelgap.imputers import RidgeImputer
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import State

_MOST_ROWS = 2000


class _Start(NamedTuple):
    """The models of the audit, and ridge regressions of all items before the answers.

    ``slope`` turns differences of ridge scores into differences of log-odds.
    """

    model: OutOfFold
    loss: LossModel
    ridge: RidgeImputer
    slope: float


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
        start = self._start
        said = probabilities_at(start.model, start.loss, rows, columns)
        if not len(answers):
            return said
        X = start.model.rows.inputs
        before = _scores_at(start.ridge.left_out_blocks(X, self._labels), rows, columns)
        ridge = RidgeImputer(*start.ridge.penalties_).fit(X, known)
        after = _scores_at(ridge.left_out_blocks(X, known), rows, columns)
        # answers raise the level of all scores, which says nothing of what is still missing
        slope, level = np.polyfit(before, after, 1) if np.ptp(before) > 0 else (1.0, 0.0)
        moved = after - (slope * before + level)
        return np.asarray(expit(log_odds(said) + start.slope * moved))

    @cached_property
    def _start(self) -> _Start:
        rng = np.random.default_rng(self._random_state)
        seed = int(rng.integers(2**31 - 1))
        rows = feature_rows(self._checked.X, scale=self._scale, random_state=seed)
        model = OutOfFold(ScoreSource(), self._checked, rows, rng, silent)
        loss = estimate_loss(model, self._checked, silent)
        ridge = RidgeImputer(random_state=seed).fit(rows.inputs, self._labels)
        return _Start(model, loss, ridge, self._slope(ridge, rows.inputs))

    def _slope(self, ridge: RidgeImputer, X: Any) -> float:
        """Return how much the log-odds of being recorded rise with the score."""
        n = min(self._labels.n_samples, _MOST_ROWS)
        part = np.linspace(0, self._labels.n_samples - 1, n).astype(np.intp)
        (scores,) = ridge.left_out_parts(X, self._labels, [part])
        truth = self._labels[part].to_dense(unlabeled=0.0)
        known = ~np.isnan(truth)
        model = LogisticRegression(C=1e3).fit(scores[known][:, None], truth[known] > 0)
        return max(0.0, float(model.coef_[0, 0]))

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
