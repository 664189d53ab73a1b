"""How far a review has come, and how many gaps are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelgap.audit import Estimate
from labelgap.review._candidates import Candidates
from labelgap.review._posterior import Posterior, chance, with_constant
from labelgap.review._store import Kept

__all__ = ["Dispute", "Progress", "progress_of", "remaining_gaps"]

_NORMAL_95 = 1.96
_MOST_POINTS = 120


@dataclass(frozen=True)
class Dispute:
    """An entry about which reviewers differ; ``said`` in the order it was said, the last counts."""

    item: str
    label: str
    said: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Progress:
    """The state of a review.

    Attributes
    ----------
    n_candidates, n_accepted, n_rejected, n_skipped : int
    remaining : Estimate
        Gaps among the candidates that nobody accepted or rejected yet.
    beyond : float
        Gaps the audit expects outside the list of candidates.
    found : tuple of (decided, accepted)
        How many were accepted among the first so many decisions.
    by_reviewer : dict from reviewer to number of last words
    disputes : tuple of Dispute
    """

    n_candidates: int
    n_accepted: int
    n_rejected: int
    n_skipped: int
    remaining: Estimate
    beyond: float
    found: tuple[tuple[int, int], ...]
    by_reviewer: dict[str, int]
    disputes: tuple[Dispute, ...]


def remaining_gaps(candidates: Candidates, posterior: Posterior, open_: np.ndarray) -> Estimate:
    """Expected number of gaps among open candidates, with a 95% interval.

    The variance has two parts: chance, the sum of p (1 - p), and ignorance of the corrections,
    g_j' S_j g_j for each label, where g_j, the sum of p (1 - p) t_i, is how the expected number
    moves with the correction; the same for the scale that all labels share.
    """
    if not open_.size:
        return Estimate(0.0, 0.0, 0.0)
    p = chance(*posterior.log_odds(candidates, open_))
    q = p * (1 - p)
    moves = np.zeros((len(candidates.labels), candidates.traits.shape[1]))
    np.add.at(moves, candidates.columns[open_], q[:, None] * candidates.reach(open_))
    ignorance = np.einsum("jd,jde,je->", moves, posterior.covariances, moves)
    along = q @ with_constant(candidates.log_odds[open_])
    ignorance += along @ posterior.scale_covariance @ along
    total = float(p.sum())
    # on the scale of square roots, on which counts are about normal
    root = np.sqrt(total)
    half = _NORMAL_95 * float(np.sqrt(q.sum() + ignorance)) / (2 * root)
    low, high = max(0.0, root - half) ** 2, min(float(open_.size), (root + half) ** 2)
    return Estimate(total, float(low), float(high))


def progress_of(
    words: Sequence[Kept],
    histories: dict[tuple[str, str], list[tuple[str, str, str]]],
    n_candidates: int,
    remaining: Estimate,
    beyond: float,
) -> Progress:
    """The state from the last words on all entries, and all words on those said about twice."""
    counts = Counter(one.decision for one in words)
    return Progress(
        n_candidates=n_candidates,
        n_accepted=counts["accept"],
        n_rejected=counts["reject"],
        n_skipped=counts["skip"],
        remaining=remaining,
        beyond=beyond,
        found=_curve([one.decision == "accept" for one in words if _is_answer(one.decision)]),
        by_reviewer=dict(Counter(one.reviewer for one in words if _is_answer(one.decision))),
        disputes=tuple(
            Dispute(item, label, tuple((reviewer, said) for said, reviewer, _ in history))
            for (item, label), history in histories.items()
            if _differ(history)
        ),
    )


def _is_answer(decision: str) -> bool:
    return decision in ("accept", "reject")


def _differ(history: list[tuple[str, str, str]]) -> bool:
    """Whether two reviewers ended up saying different things."""
    last = {reviewer: said for said, reviewer, _ in history}
    return len({said for said in last.values() if _is_answer(said)}) > 1


def _curve(accepted: list[bool]) -> tuple[tuple[int, int], ...]:
    found = np.cumsum(accepted, dtype=int)
    step = max(1, -(-found.size // _MOST_POINTS))
    points = [(0, 0)] + [(k, int(found[k - 1])) for k in range(step, found.size + 1, step)]
    if found.size and points[-1][0] != found.size:
        points.append((found.size, int(found[-1])))
    return tuple(points)
