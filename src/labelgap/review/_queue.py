"""Which entry to ask about next: the one whose answer is expected to gain most.

Suppose that a reviewer answers another H questions. Asked by descending chance p, they would end at
some chance, the *price* theta of a question: entries below it will not be asked, those above will.
With (x)+ = max(x, 0), an answer y to the entry of item i and label j gains

    gain_ij = p_ij + sum over the open entries k of label j of
              E_y[(p_kj | y - theta)+] - (E_y[p_kj | y] - theta)+.

The first part is the gap that the answer itself may fill. The second is never negative (Jensen) and
counts what the answer changes elsewhere: it is zero for entries that will be asked, or will not,
whatever the answer is, and large where the label's correction is uncertain (its posterior
covariance), the answer is open (p near 1/2), and many entries of the label stand near the price.
How an answer moves the chances of other entries follows from the posterior: with t_i their reach,
S_j the covariance of the correction, q = p (1 - p) and v_i = t_i' S_j t_i, one Newton step gives

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

from labelgap.review._candidates import Candidates
from labelgap.review._posterior import Posterior, chance

__all__ = ["choose_batch", "price_of_a_question"]

# of a label so many entries compete for a question, and so many stand for all that it may change
_MOST_ASKED, _MOST_JUDGED = 64, 128
# labels beyond the most promising ones compete by their chances alone
_MOST_LABELS = 100


def price_of_a_question(chances: np.ndarray, horizon: int) -> float:
    """The chance at which so many questions end, asked by descending chance; 0 if none is left."""
    if horizon >= chances.size:
        return 0.0
    return float(np.partition(chances, chances.size - horizon)[chances.size - horizon])


def choose_batch(
    candidates: Candidates, posterior: Posterior, open_: np.ndarray, size: int, *, horizon: int = 2
) -> np.ndarray:
    """Positions of the entries to ask about, the most gainful first.

    Parameters
    ----------
    candidates : Candidates
    posterior : Posterior
    open_ : int array
        Positions of the candidates that nobody decided and nobody is deciding.
    size : int
    horizon : int
        How many such batches to look ahead: this one and the next by default. Farther ahead more
        is asked for what it tells, which did not pay on the sets it was tried on.
    """
    means, variances = posterior.log_odds(candidates, open_)
    chances = chance(means, variances)
    price = price_of_a_question(chances, horizon * size)
    columns = candidates.columns[open_]
    contests = _contests(candidates, posterior, open_, means, variances, price)
    in_contest = np.isin(columns, [contest.label for contest in contests])
    others = np.flatnonzero(~in_contest)
    others = others[np.argsort(-chances[others], kind="stable")][:size].tolist()
    chosen: list[int] = []
    while len(chosen) < min(size, open_.size):
        best = max(contests, key=lambda contest: contest.best_gain, default=None)
        if others and (best is None or chances[others[0]] >= best.best_gain):
            chosen.append(int(open_[others.pop(0)]))
        elif best is not None and best.best_gain > -np.inf:
            chosen.append(best.take())
        else:
            break
    return _filled(np.array(chosen, dtype=np.intp), open_, chances, size)


def _filled(chosen: np.ndarray, open_: np.ndarray, chances: np.ndarray, size: int) -> np.ndarray:
    """Where the contests ran out of entries: the most probable of the rest."""
    if chosen.size >= min(size, open_.size):
        return chosen
    rest = np.flatnonzero(~np.isin(open_, chosen))
    rest = rest[np.argsort(-chances[rest], kind="stable")][: size - chosen.size]
    return np.concatenate([chosen, open_[rest]])


def _contests(
    candidates: Candidates,
    posterior: Posterior,
    open_: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
    price: float,
) -> list[_Contest]:
    chances = chance(means, variances)
    columns = candidates.columns[open_]
    best = np.zeros(len(candidates.labels))
    np.maximum.at(best, columns, chances)
    promising = np.argsort(-best, kind="stable")[:_MOST_LABELS]
    order = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[order], np.arange(len(candidates.labels) + 1))
    made = []
    for label in promising:
        here = order[starts[label] : starts[label + 1]]
        if here.size:
            here = here[np.argsort(-chances[here], kind="stable")]
            traits = candidates.reach(open_[here])
            beliefs = (means[here], variances[here], posterior.covariances[label])
            made.append(_Contest(int(label), open_[here], traits, *beliefs, price))
    return made


class _Contest:
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
        # entries come by descending chance; every n-th stands for its neighbours
        step = max(1, -(-entries.size // _MOST_JUDGED))
        self._weight = step
        self._judged, self._judged_means, self._judged_shared = (
            one[::step] for one in (traits, means, shared)
        )
        self._entries, self._traits, self._means, self._shared = (
            one[:_MOST_ASKED] for one in (entries, traits, means, shared)
        )
        self._weigh()

    @property
    def best_gain(self) -> float:
        return float(self._gains.max()) if self._gains.size else -np.inf

    def take(self) -> int:
        """Choose the best entry; its answer is then as good as known."""
        at = int(np.argmax(self._gains))
        entry, trait = int(self._entries[at]), self._traits[at]
        along = self._covariance @ trait
        spread = float(trait @ along)
        p = float(chance(self._means[at], spread + self._shared[at]))
        q = p * (1 - p)
        self._covariance -= np.outer(along, along) * (q / (1 + q * spread))
        keep = np.arange(self._entries.size) != at
        self._entries, self._traits = self._entries[keep], self._traits[keep]
        self._means, self._shared = self._means[keep], self._shared[keep]
        self._weigh()
        return entry

    def _weigh(self) -> None:
        along = self._traits @ self._covariance
        spread = np.einsum("nd,nd->n", along, self._traits)
        p = chance(self._means, spread + self._shared)
        self._gains = p + self._weight * self._changed(along, spread, p)

    def _changed(self, along: np.ndarray, spread: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What either answer to each entry changes about all others."""
        if not p.size:
            return p
        shared = along @ self._judged.T
        own = _spread(self._judged, self._covariance)
        q = p * (1 - p)
        damping = 1 / (1 + q * spread)
        after = np.maximum(own - shared**2 * (q * damping)[:, None], 0.0) + self._judged_shared
        moved = shared * damping[:, None]
        if_yes = chance(self._judged_means + moved * (1 - p)[:, None], after)
        if_no = chance(self._judged_means - moved * p[:, None], after)
        yes, no = p[:, None], 1 - p[:, None]
        expected = yes * if_yes + no * if_no
        worth = yes * _above(if_yes - self._price) + no * _above(if_no - self._price)
        return (worth - _above(expected - self._price)).sum(axis=1)


def _spread(traits: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """t' S t of every row."""
    return np.einsum("nd,de,ne->n", traits, covariance, traits)


def _above(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0.0)
