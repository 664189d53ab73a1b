"""The next question: the entry whose answer is expected to gain most.

Suppose that a reviewer answers another H questions. Asked by descending probability p, they would
end at some probability, the *price* theta of a question: entries below it will not be asked, those
above will. With (x)+ = max(x, 0), an answer y to the entry of item i and label j gains

    gain_ij = p_ij + sum over the undecided entries k of label j of
              E_y[(p_kj | y - theta)+] - (E_y[p_kj | y] - theta)+.

The first part is the missing label that the answer itself may find. The second is never negative
(Jensen) and counts what the answer changes elsewhere: it is zero for entries that will be asked, or
will not, whatever the answer is, and large where the label's correction is uncertain, p is near
1/2, and many entries of the label are near the price. With t_i their reach, S_j the covariance of
the correction, q = p (1 - p) and v_i = t_i' S_j t_i, one Newton step moves the other entries by

    mean_k += t_k' S_j t_i (y - p_i) / (1 + q_i v_i),
    v_k    -= (t_k' S_j t_i)^2 q_i / (1 + q_i v_i).

A batch is chosen one entry after another. The answers to those chosen before are not known, but
that they will come is: S_j shrinks with each, so that no batch asks the same thing twice.

The look ahead is that of Jiang, S., Malkomes, G., Converse, G., Shofner, A., Moseley, B. and
Garnett, R. (2017), Efficient nonmyopic active search (ICML), with a price in place of a new ranking
for every entry and answer.
"""

from __future__ import annotations

import numpy as np

from labelgap.review._answer_model import AnswerPosterior, ReviewCandidates, expected_probability

# of a label so many entries compete for a question, and so many stand for all that it may change
_MOST_ASKED, _MOST_AFFECTED = 64, 128
# labels beyond the most promising ones compete by their probabilities alone
_MOST_LABELS = 100


def question_price(probabilities: np.ndarray, horizon: int) -> float:
    """The probability at which so many questions end, asked in descending order; 0 if none is left."""
    if horizon >= probabilities.size:
        return 0.0
    return float(
        np.partition(probabilities, probabilities.size - horizon)[probabilities.size - horizon]
    )


def choose_batch(
    candidates: ReviewCandidates,
    posterior: AnswerPosterior,
    undecided: np.ndarray,
    size: int,
    *,
    horizon: int = 2,
) -> np.ndarray:
    """Return the positions of the entries to ask about, the one with the largest gain first.

    ``undecided`` are candidates that nobody decided and nobody is deciding. ``horizon`` is how many
    such batches to look ahead; farther than the next did not pay on the sets it was tried on.
    """
    means, variances = posterior.log_odds(candidates, undecided)
    probabilities = expected_probability(means, variances)
    price = question_price(probabilities, horizon * size)
    columns = candidates.columns[undecided]
    queues = _label_queues(candidates, posterior, undecided, means, variances, price)
    is_queued = np.isin(columns, [queue.label for queue in queues])
    others = np.flatnonzero(~is_queued)
    others = others[np.argsort(-probabilities[others], kind="stable")][:size].tolist()
    chosen: list[int] = []
    while len(chosen) < min(size, undecided.size):
        best = max(queues, key=lambda queue: queue.best_gain, default=None)
        if others and (best is None or probabilities[others[0]] >= best.best_gain):
            chosen.append(int(undecided[others.pop(0)]))
        elif best is not None and best.best_gain > -np.inf:
            chosen.append(best.take())
        else:
            break
    return _filled(np.array(chosen, dtype=np.intp), undecided, probabilities, size)


def _filled(
    chosen: np.ndarray, undecided: np.ndarray, probabilities: np.ndarray, size: int
) -> np.ndarray:
    """Where the queues ran out of entries: the most probable of the rest."""
    if chosen.size >= min(size, undecided.size):
        return chosen
    rest = np.flatnonzero(~np.isin(undecided, chosen))
    rest = rest[np.argsort(-probabilities[rest], kind="stable")][: size - chosen.size]
    return np.concatenate([chosen, undecided[rest]])


def _label_queues(
    candidates: ReviewCandidates,
    posterior: AnswerPosterior,
    undecided: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
    price: float,
) -> list[_LabelQueue]:
    probabilities = expected_probability(means, variances)
    columns = candidates.columns[undecided]
    best = np.zeros(len(candidates.labels))
    np.maximum.at(best, columns, probabilities)
    promising = np.argsort(-best, kind="stable")[:_MOST_LABELS]
    order = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[order], np.arange(len(candidates.labels) + 1))
    made = []
    for label in promising:
        here = order[starts[label] : starts[label + 1]]
        if here.size:
            here = here[np.argsort(-probabilities[here], kind="stable")]
            traits = candidates.reach(undecided[here])
            beliefs = (means[here], variances[here], posterior.covariances[label])
            made.append(_LabelQueue(int(label), undecided[here], traits, *beliefs, price))
    return made


class _LabelQueue:
    """The entries of one label: which of them gains most, given those already chosen."""

    def __init__(
        self,
        label: int,
        entries: np.ndarray,
        traits: np.ndarray,
        means: np.ndarray,
        variances: np.ndarray,
        covariance: np.ndarray,
        price: float,
    ) -> None:
        self.label, self._price = label, price
        self._covariance = covariance.copy()
        # what is uncertain about the scale of all labels is not for one answer to settle
        shared = np.maximum(variances - _spread(traits, covariance), 0.0)
        # entries come by descending probability; every n-th stands for its neighbours
        step = max(1, -(-entries.size // _MOST_AFFECTED))
        self._weight = step
        self._affected, self._affected_means, self._affected_shared = (
            values[::step] for values in (traits, means, shared)
        )
        self._entries, self._traits, self._means, self._shared = (
            values[:_MOST_ASKED] for values in (entries, traits, means, shared)
        )
        self._find_gains()

    @property
    def best_gain(self) -> float:
        return float(self._gains.max()) if self._gains.size else -np.inf

    def take(self) -> int:
        """Choose the best entry; its answer is then as good as known."""
        at = int(np.argmax(self._gains))
        entry, trait = int(self._entries[at]), self._traits[at]
        along = self._covariance @ trait
        spread = float(trait @ along)
        p = float(expected_probability(self._means[at], spread + self._shared[at]))
        q = p * (1 - p)
        self._covariance -= np.outer(along, along) * (q / (1 + q * spread))
        keep = np.arange(self._entries.size) != at
        self._entries, self._traits = self._entries[keep], self._traits[keep]
        self._means, self._shared = self._means[keep], self._shared[keep]
        self._find_gains()
        return entry

    def _find_gains(self) -> None:
        along = self._traits @ self._covariance
        spread = np.einsum("nd,nd->n", along, self._traits)
        p = expected_probability(self._means, spread + self._shared)
        self._gains = p + self._weight * self._changed(along, spread, p)

    def _changed(self, along: np.ndarray, spread: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What either answer to each entry changes about all others."""
        if not p.size:
            return p
        shared = along @ self._affected.T
        own = _spread(self._affected, self._covariance)
        q = p * (1 - p)
        damping = 1 / (1 + q * spread)
        after = np.maximum(own - shared**2 * (q * damping)[:, None], 0.0) + self._affected_shared
        moved = shared * damping[:, None]
        if_yes = expected_probability(self._affected_means + moved * (1 - p)[:, None], after)
        if_no = expected_probability(self._affected_means - moved * p[:, None], after)
        yes, no = p[:, None], 1 - p[:, None]
        expected = yes * if_yes + no * if_no
        worth = yes * _above(if_yes - self._price) + no * _above(if_no - self._price)
        return (worth - _above(expected - self._price)).sum(axis=1)


def _spread(traits: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """t' S t of every row."""
    return np.einsum("nd,de,ne->n", traits, covariance, traits)


def _above(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0.0)
