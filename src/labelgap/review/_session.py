"""A review: candidates, the store of decisions, and the queue between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgap.audit import Audit, Decision, Decisions, Suggestion
from labelgap.review._candidates import Candidates, candidates_of
from labelgap.review._posterior import Posterior, chance, learn
from labelgap.review._progress import Progress, progress_of, remaining_gaps
from labelgap.review._queue import choose_batch
from labelgap.review._scoring import Scoring
from labelgap.review._store import DecisionStore, Kept

__all__ = ["Question", "Review", "UnknownEntryError"]

BATCH_SIZE = 20
BATCH_SHARE = 0.05
_LEASE_SECONDS = 900.0


class UnknownEntryError(ValueError):
    """A decision about an entry that nobody asked about."""


@dataclass(frozen=True)
class Question:
    """An entry to decide: the suggestion, its chance after all answers so far, and what it shows.

    ``about`` are facts of the item for the reviewer to judge by, names to values.
    """

    suggestion: Suggestion
    chance: float
    about: Mapping[str, str]


def batch_size(n_answers: int) -> int:
    """Questions between two updates of the model: 20, later a twentieth of the answers so far."""
    return max(BATCH_SIZE, int(BATCH_SHARE * n_answers))


class Review:
    """Asks the most gainful questions, keeps the answers, and learns from them between batches.

    All methods may be called from many threads. What is known is in the store alone: a review that
    is killed and opened again goes on where it was.

    Parameters
    ----------
    audit : Audit
    store : DecisionStore
    candidates : Candidates, optional
        By default the suggestions of the audit, without traits of items.
    describe : callable, optional
        From the id of an item to what a reviewer should see of it.
    rescore : callable, optional
        From candidates, positions of the answered ones and answers to new log-odds of all
        candidates; see :class:`Rescorer`. Called whenever there are a quarter more answers.
    patience : float
        A reviewer waits so many seconds for a new scoring; one that takes longer goes on in the
        background and serves a later batch.
    clock : callable
        Seconds, for the leases of questions.
    """

    def __init__(
        self,
        audit: Audit,
        store: DecisionStore,
        candidates: Candidates | None = None,
        *,
        describe: Callable[[str], Mapping[str, str]] | None = None,
        rescore: Callable[[Candidates, np.ndarray, np.ndarray], np.ndarray] | None = None,
        patience: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.audit = audit
        self.store = store
        self._candidates = candidates_of(audit) if candidates is None else candidates
        self._describe = describe or (lambda _: {})
        self._clock = clock
        self._at = {(one.item, one.label): k for k, one in enumerate(audit.suggestions)}
        self._leases: dict[int, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._scoring = Scoring(rescore, patience)
        words = self._words()
        self._learned, self._posterior = _newest(words), self._learn(words)

    def next_batch(self, client: str, size: int | None = None) -> list[Question]:
        """Questions for one client, which no other client is asked meanwhile.

        Leases end when the same client asks again, or after a quarter of an hour.
        """
        with self._lock:
            words = self._words()
            self._update(words)
            now = self._clock()
            self._leases = {
                k: lease
                for k, lease in self._leases.items()
                if lease[0] != client and lease[1] > now
            }
            undecided = np.setdiff1d(np.arange(self._candidates.n), [k for k, _ in words])
            free = np.setdiff1d(undecided, list(self._leases))
            # rather ask two people the same than nobody
            open_ = free if free.size else undecided
            wanted = size or batch_size(len(words))
            chosen = choose_batch(self._candidates, self._posterior, open_, wanted)
            for k in chosen.tolist():
                self._leases[k] = (client, now + _LEASE_SECONDS)
            chances = chance(*self._posterior.log_odds(self._candidates, chosen))
        return [self._question(int(k), float(p)) for k, p in zip(chosen, chances, strict=True)]

    def decide(
        self, item: str, label: str, decision: str, reviewer: str, request: str | None = None
    ) -> int:
        """Keep a decision; it is on the disk when this returns."""
        if (item, label) not in self._at:
            raise UnknownEntryError(f"{label!r} was not suggested for {item!r}")
        return self.store.add(item, label, decision, reviewer, request)

    def progress(self) -> Progress:
        """How far the review has come; gaps left are estimated with the newest model."""
        with self._lock:
            words = self._words()
            undecided = np.setdiff1d(
                np.arange(self._candidates.n),
                [k for k, word in words if word.decision != "skip"],
            )
            remaining = remaining_gaps(self._candidates, self._posterior, undecided)
        again = [word for _, word in words if word.n_reviewers > 1]
        histories = {
            (one.item, one.label): self.store.history(one.item, one.label) for one in again
        }
        last = [word for _, word in words]
        return progress_of(last, histories, self._candidates.n, remaining, self._beyond())

    def decisions(self) -> Decisions:
        """The answers that count, as a decisions file has them."""
        made = tuple(
            Decision(one.item, one.label, one.decision, one.time, one.reviewer)  # type: ignore[arg-type]
            for one in self.store.last()
            if one.decision in ("accept", "reject")
        )
        return Decisions(self.audit.audit_id, made)

    # -- internals ----------------------------------------------------------------------------

    def _words(self) -> list[tuple[int, Kept]]:
        """The last words that stand, with the positions of their entries."""
        return [
            (self._at[one.item, one.label], one)
            for one in self.store.last()
            if one.decision != "withdraw" and (one.item, one.label) in self._at
        ]

    def _update(self, words: list[tuple[int, Kept]]) -> None:
        """Learn from what is new: the scores of the audit's model, when due, then the posterior."""
        fresh = self._scoring.newest(self._candidates, *_answers(words))
        if fresh is not None:
            self._candidates = self._candidates._replace(log_odds=fresh)
        if fresh is not None or _newest(words) != self._learned:
            self._learned, self._posterior = _newest(words), self._learn(words)

    def _learn(self, words: list[tuple[int, Kept]]) -> Posterior:
        return learn(self._candidates, *_answers(words))

    def _question(self, k: int, p: float) -> Question:
        suggestion = self.audit.suggestions[k]
        return Question(suggestion, p, self._describe(suggestion.item))

    def _beyond(self) -> float:
        """Gaps outside the list: all that the audit expects, less those it expects in the list."""
        expected = self.audit.summary.expected_missing
        listed = sum(one.probability for one in self.audit.suggestions)
        return 0.0 if expected is None else max(0.0, expected.value - listed)


def _answers(words: list[tuple[int, Kept]]) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the entries that were accepted or rejected, and 1 or 0."""
    said = [(k, word.decision == "accept") for k, word in words if word.decision != "skip"]
    positions = np.array([k for k, _ in said], dtype=np.intp)
    return positions, np.array([value for _, value in said], dtype=float)


def _newest(words: list[tuple[int, Any]]) -> tuple[int, int]:
    """Tells one set of words from another: how many stand, and the number of the newest."""
    return len(words), max((word.number for _, word in words), default=0)
