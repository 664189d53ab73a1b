"""One model over (item, label) entries: how much texts say beside the score of a model per label.

With s_ij the out-of-fold log-odds of a model per label, n_ij the cosine of label j with the nearest word
of item i, and f_j the fraction of items that carry j,

    logit P(recorded_ij) = a + b s_ij + c n_ij + d log f_j,      b, c >= 0,

with four numbers learned over all labels together, so that a rare label borrows from all; where several
models score the entries, each has its b. Two kinds of
zeros are left out when zeros are unlabeled, since they say nothing about relevance: those of items
without any label, which nobody may have opened, and those of labels that the item names. People often
leave out what the name already says: where that is learned, c is negative. Named labels are learned
from where hardly any label is recorded that its item does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.kernels.nonnegative_logistic import fit_nonnegative_logistic
from labelgap.labels import Labels, State
from labelgap.memory import block_size
from labelgap.text._text_match import TextMatch

_MOST_ENTRIES = 2_000_000
_LARGEST_SCORE = 15.0
_FEWEST_RECORDED = 20


Scores = np.ndarray | Sequence[np.ndarray]


class _Weights(NamedTuple):
    score: tuple[float, ...]
    text: float
    frequency: float
    intercept: float


class TextEntryModel(BaseEstimator):
    """Combine scores of entries with what the texts of items and labels say.

    A logistic regression over entries, with the same few weights for all labels, learned from items
    that carry a label and entries whose label the item does not name. Scores and texts never count
    against a label.

    Parameters
    ----------
    l2 : float, default=1.0
        Ridge penalty of the weights of standardised columns.
    random_state : int, RandomState or None, default=0
        Of the items to learn from where there are over two million entries.

    Attributes
    ----------
    weights_ : named tuple
        ``score`` (one number per array of scores), ``text``, ``frequency`` and ``intercept``.

    See Also
    --------
    labelgap.text.match_texts : What the texts say about each entry.
    labelgap.audit : Uses it with ``item_text=``.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.text import TextEntryModel, match_texts
    >>> texts = ["red car", "red bus", "blue car", "blue bus"] * 5
    >>> match = match_texts(texts, ["car", "bus"], encoder="tfidf")
    >>> Y = np.array([["car" in text, "bus" in text] for text in texts], dtype=float)
    >>> model = TextEntryModel().fit(np.zeros((20, 2)), as_labels(Y), match)
    >>> model.weights_.text > 0, model.weights_.score
    (True, (0.0,))
    """

    def __init__(self, *, l2: float = 1.0, random_state: Any = 0) -> None:
        self.l2 = l2
        self.random_state = random_state

    def fit(
        self,
        scores: Scores,
        labels: Labels,
        match: TextMatch,
        entries: Any = None,
        *,
        text_weight: float | None = None,
    ) -> Self:
        """Learn the weights.

        Parameters
        ----------
        scores : array of shape (n_items, n_labels), or sequence of such arrays
            Log-odds from models that were fitted without the item.
        labels : Labels
            Unknown entries are left out.
        match : TextMatch
        entries : bool array of shape (n_items, n_labels), default=None
            Which entries to learn from; None takes all.
        text_weight : float, default=None
            The weight of the texts, where it is known; None learns it.
        """
        several = _several(scores, match.shape)
        _check_shapes(several, labels, match)
        n_relevant = labels.n_positives(axis=0)
        self._log_frequency = np.log((n_relevant + 0.5) / (labels.n_samples + 1))
        found, n = self._entries(several, labels, match, entries), len(several)
        if found is None:  # nothing to learn from: the scores stay as they are
            weight = 0.0 if text_weight is None else text_weight
            self.weights_ = _Weights((1 / n,) * n, weight, 0.0, 0.0)
            return self
        design, y = found
        offset: Any = 0.0
        if text_weight is not None:
            offset, design = text_weight * design[:, n], np.delete(design, n, axis=1)
        n_free = n + (text_weight is None)
        *slopes, frequency, intercept = map(
            float, fit_nonnegative_logistic(design, y, self.l2, n_free, offset)
        )
        text = slopes[n] if text_weight is None else text_weight
        self.weights_ = _Weights(tuple(slopes[:n]), text, frequency, intercept)
        return self

    def decision_function(self, scores: Scores, match: TextMatch) -> np.ndarray:
        """Return the log-odds of every entry, (n_items, n_labels).

        Parameters
        ----------
        scores, match : as in :meth:`fit`, of these items
        """
        check_is_fitted(self)
        several, (n_items, n_labels) = _several(scores, match.shape), match.shape
        slopes = np.array([*self.weights_.score, self.weights_.text, self.weights_.frequency])
        out = np.empty(match.shape)
        for rows in _blocks(n_items, n_labels):
            columns = self._columns([score[rows] for score in several], match.best(rows))
            out[rows] = columns @ slopes + self.weights_.intercept
        return out

    def _entries(
        self, scores: Sequence[np.ndarray], labels: Labels, match: TextMatch, entries: Any
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return columns and targets of the entries to learn from; None where none is recorded."""
        columns, targets, is_named = [], [], []
        for part in self._informative(labels):
            states, named = labels[part].states(), match.named[part].toarray()
            known = states != State.UNKNOWN
            if entries is not None:
                known &= entries[part]
            block = [score[part] for score in scores], match.best(part)
            columns.append(self._columns(*block)[known])
            targets.append((states == State.RELEVANT)[known])
            is_named.append(named[known])
        if not any(target.any() for target in targets):
            return None
        design, y, named = (np.concatenate(arrays) for arrays in (columns, targets, is_named))
        if labels.unlabeled and y[~named].sum() >= _FEWEST_RECORDED:
            # a name says it already: whether it was recorded as well says little about other entries
            design, y = design[~named], y[~named]
        return design, y.astype(float)

    def _informative(self, labels: Labels) -> Iterator[np.ndarray]:
        """Rows to learn from, in pieces: those with a label, at most two million entries."""
        rows = np.arange(labels.n_samples)
        if labels.unlabeled:
            rows = rows[labels.n_positives(axis=1) > 0]
        most = max(1, _MOST_ENTRIES // labels.n_labels)
        if rows.size > most:
            rng = check_random_state(self.random_state)
            rows = np.sort(rng.choice(rows, most, replace=False))
        yield from _pieces(rows, labels.n_labels)

    def _columns(self, scores: Sequence[np.ndarray], nearest: np.ndarray) -> np.ndarray:
        limited = [np.clip(score, -_LARGEST_SCORE, _LARGEST_SCORE) for score in scores]
        frequency = np.broadcast_to(self._log_frequency, nearest.shape)
        return np.stack([*limited, nearest, frequency], axis=-1)


def _several(scores: Scores, shape: tuple[int, int]) -> list[np.ndarray]:
    arrays = [scores] if np.shape(scores) == shape else list(scores)
    return [np.asarray(array) for array in arrays]


def _check_shapes(scores: Sequence[np.ndarray], labels: Labels, match: TextMatch) -> None:
    shapes = {np.shape(score) for score in scores}
    if shapes != {labels.shape} or match.shape != labels.shape:
        raise ValueError(
            f"scores have shape {sorted(shapes)}, labels {labels.shape} and texts compare "
            f"{match.shape}: all need one row per item and one column per label"
        )


def _blocks(n_rows: int, n_labels: int) -> Iterator[slice]:
    size = block_size(4 * n_labels)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _pieces(rows: np.ndarray, n_labels: int) -> Iterator[np.ndarray]:
    for part in _blocks(rows.size, n_labels):
        yield rows[part]
