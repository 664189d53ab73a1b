"""A review: the questions, the decisions made so far, and what is learned between batches."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labelgap.auditing import Audit, Decision, Estimate, ReviewDecisions, Suggestion
from labelgap.review._answer_model import (
    AnswerPosterior,
    ReviewCandidates,
    expected_probability,
    learn_from_answers,
    prior_log_odds,
    remaining_missing,
    review_candidates,
)
from labelgap.review._decision_store import DecisionStore, LastDecision
from labelgap.review._question_queue import choose_batch

__all__ = [
    "BackgroundRescoring",
    "Disagreement",
    "Question",
    "Review",
    "ReviewProgress",
    "UnknownEntryError",
    "batch_size",
]

_BATCH_SIZE, _BATCH_FRACTION = 20, 0.05
_FEWEST_ANSWERS, _GROWTH = 20, 1.25
_LEASE_SECONDS = 900.0
_MOST_POINTS = 120
_log = logging.getLogger(__name__)

Entries = tuple[np.ndarray, np.ndarray]
Rescore = Callable[[Entries, Entries, np.ndarray], np.ndarray]


class UnknownEntryError(ValueError):
    """A decision about an entry that is not under review."""


@dataclass(frozen=True)
class Question:
    """An entry to decide.

    Attributes
    ----------
    suggestion : Suggestion
    probability : float
        Probability that the label is relevant, after all answers so far.
    about : mapping from str to str
        Facts of the item that help the reviewer to decide.
    """

    suggestion: Suggestion
    probability: float
    about: Mapping[str, str]


@dataclass(frozen=True)
class Disagreement:
    """An entry on which reviewers disagree.

    ``answers`` are pairs of reviewer and decision in the order in which they were made; the last
    one counts.
    """

    item: str
    label: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ReviewProgress:
    """The state of a review.

    Attributes
    ----------
    n_candidates, n_accepted, n_rejected, n_skipped : int
    remaining : Estimate
        Missing labels among the candidates that nobody accepted or rejected yet.
    beyond : float
        Missing labels that the audit expects outside the list of candidates.
    found : tuple of (decided, accepted)
        How many were accepted among the first so many decisions.
    by_reviewer : dict from reviewer to int
        Decisions that count.
    disagreements : tuple of Disagreement
    """

    n_candidates: int
    n_accepted: int
    n_rejected: int
    n_skipped: int
    remaining: Estimate
    beyond: float
    found: tuple[tuple[int, int], ...]
    by_reviewer: dict[str, int]
    disagreements: tuple[Disagreement, ...]


def batch_size(n_answers: int) -> int:
    """Return the number of questions between two updates: 20, later 5% of the answers so far."""
    return max(_BATCH_SIZE, int(_BATCH_FRACTION * n_answers))


class Review:
    """Ask the questions with the largest expected gain, keep the answers, and learn from them.

    All methods may be called from many threads. What is known is in the store alone: a review that
    is killed and opened again goes on where it was.

    Parameters
    ----------
    audit : Audit
    store : DecisionStore
    candidates : ReviewCandidates, optional, default=None
        By default the suggestions of the audit, without traits of items.
    describe : callable, optional, default=None
        From the id of an item to what a reviewer should see of it.
    rescore : callable, optional, default=None
        From entries, answered entries and answers to new probabilities of the entries, as
        :class:`labelgap.auditing.AuditRescorer`. Called whenever there are a quarter more answers.
    patience : float, default=2.0
        A reviewer waits so many seconds for new scores; a scoring that takes longer goes on in the
        background and serves a later batch.
    clock : callable, default=time.monotonic
        Seconds, for the leases of questions.

    See Also
    --------
    ReviewServer : Shows a review in the browser.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap import audit
    >>> from labelgap.generators import make_positive_only
    >>> from labelgap.review import DecisionStore, Review
    >>> made = make_positive_only(120, 10, 4, density=0.3, random_state=0)
    >>> found = audit(made.X, made.labels, n_suggestions=30, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = DecisionStore(Path(folder, "decisions.sqlite"), found.audit_id)
    ...     review = Review(found, store)
    ...     entry = review.next_batch("me", 1)[0].suggestion
    ...     _ = review.decide(entry.item, entry.label, "accept", "Ann")
    ...     review.progress().n_accepted
    1
    """

    def __init__(
        self,
        audit: Audit,
        store: DecisionStore,
        candidates: ReviewCandidates | None = None,
        *,
        describe: Callable[[str], Mapping[str, str]] | None = None,
        rescore: Rescore | None = None,
        patience: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.audit = audit
        self.store = store
        self._candidates = review_candidates(audit) if candidates is None else candidates
        self._describe = describe or (lambda _: {})
        self._clock = clock
        self._at = {(made.item, made.label): k for k, made in enumerate(audit.suggestions)}
        self._leases: dict[int, tuple[str, float]] = {}
        self._lock = threading.Lock()
        self._rescoring = BackgroundRescoring(rescore, patience)
        decided = self._decided()
        self._learned, self._posterior = _newest(decided), self._learn(decided)

    def next_batch(self, client: str, size: int | None = None) -> list[Question]:
        """Return questions for one client, which no other client is asked meanwhile.

        Leases end when the same client asks again, or after a quarter of an hour.

        Parameters
        ----------
        client : str
        size : int, optional, default=None
            By default :func:`batch_size` of the answers so far.

        Returns
        -------
        list of Question
        """
        with self._lock:
            decided = self._decided()
            self._update(decided)
            now = self._clock()
            self._leases = {
                k: lease
                for k, lease in self._leases.items()
                if lease[0] != client and lease[1] > now
            }
            undecided = np.setdiff1d(np.arange(self._candidates.n), [k for k, _ in decided])
            free = np.setdiff1d(undecided, list(self._leases))
            # rather ask two people the same than nobody
            possible = free if free.size else undecided
            wanted = size or batch_size(len(decided))
            chosen = choose_batch(self._candidates, self._posterior, possible, wanted)
            for k in chosen.tolist():
                self._leases[k] = (client, now + _LEASE_SECONDS)
            log_odds = self._posterior.log_odds(self._candidates, chosen)
        return [
            Question(suggestion, p, self._describe(suggestion.item))
            for suggestion, p in zip(
                (self.audit.suggestions[k] for k in chosen.tolist()),
                expected_probability(*log_odds).tolist(),
                strict=True,
            )
        ]

    def decide(
        self, item: str, label: str, decision: str, reviewer: str, request: str | None = None
    ) -> int:
        """Keep a decision and return its number; it is on the disk when this returns.

        Parameters
        ----------
        item, label : str
        decision : {"accept", "reject", "skip", "withdraw"}
        reviewer : str
        request : str, optional, default=None
            See :meth:`DecisionStore.add`.

        Returns
        -------
        int
        """
        if (item, label) not in self._at:
            raise UnknownEntryError(f"{label!r} was not suggested for {item!r}")
        return self.store.add(item, label, decision, reviewer, request)

    def progress(self) -> ReviewProgress:
        """Return how far the review is, and how many labels are probably still missing."""
        with self._lock:
            decided = self._decided()
            undecided = np.setdiff1d(
                np.arange(self._candidates.n),
                [k for k, last in decided if last.decision != "skip"],
            )
            remaining = remaining_missing(self._candidates, self._posterior, undecided)
        latest = [last for _, last in decided]
        answers = [last for last in latest if _is_answer(last.decision)]
        counts = Counter(last.decision for last in latest)
        listed = sum(suggestion.probability for suggestion in self.audit.suggestions)
        return ReviewProgress(
            n_candidates=self._candidates.n,
            n_accepted=counts["accept"],
            n_rejected=counts["reject"],
            n_skipped=counts["skip"],
            remaining=remaining,
            beyond=max(0.0, self.audit.missing.value - listed),
            found=_found_curve([last.decision == "accept" for last in answers]),
            by_reviewer=dict(Counter(last.reviewer for last in answers)),
            disagreements=self._disagreements(latest),
        )

    def decisions(self) -> ReviewDecisions:
        """Return the answers that count, as a decisions file has them."""
        made = tuple(
            Decision(last.item, last.label, last.decision, last.time, last.reviewer)  # type: ignore[arg-type]
            for last in self.store.last()
            if _is_answer(last.decision)
        )
        return ReviewDecisions(self.audit.audit_id, made)

    # -- internals ----------------------------------------------------------------------------

    def _decided(self) -> list[tuple[int, LastDecision]]:
        """The last decisions that stand, with the positions of their entries."""
        return [
            (self._at[last.item, last.label], last)
            for last in self.store.last()
            if last.decision != "withdraw" and (last.item, last.label) in self._at
        ]

    def _update(self, decided: list[tuple[int, LastDecision]]) -> None:
        """Learn from what is new: the scores of the audit's model, when due, then the posterior."""
        fresh = self._rescoring.newest(self._candidates, *_answers(decided))
        if fresh is not None:
            self._candidates = self._candidates._replace(log_odds=fresh)
        if fresh is not None or _newest(decided) != self._learned:
            self._learned, self._posterior = _newest(decided), self._learn(decided)

    def _learn(self, decided: list[tuple[int, LastDecision]]) -> AnswerPosterior:
        return learn_from_answers(self._candidates, *_answers(decided))

    def _disagreements(self, latest: Sequence[LastDecision]) -> tuple[Disagreement, ...]:
        """Entries on which two reviewers' last answers differ."""
        found = []
        for last in latest:
            if last.n_reviewers < 2:
                continue
            history = self.store.history(last.item, last.label)
            final = {reviewer: decision for decision, reviewer, _ in history}
            if len({decision for decision in final.values() if _is_answer(decision)}) > 1:
                answers = tuple((reviewer, decision) for decision, reviewer, _ in history)
                found.append(Disagreement(last.item, last.label, answers))
        return tuple(found)


class BackgroundRescoring:
    """Compute new scores of candidates whenever there are a quarter more answers.

    The caller waits ``patience`` seconds; a scoring that takes longer serves a later call.
    """

    def __init__(self, rescore: Rescore | None, patience: float) -> None:
        self._rescore = rescore
        self._patience = patience
        self._due = _FEWEST_ANSWERS
        self._running: threading.Thread | None = None
        self._made: np.ndarray | None = None

    def newest(
        self, candidates: ReviewCandidates, answered: np.ndarray, answers: np.ndarray
    ) -> np.ndarray | None:
        """Return new log-odds, or None when there are none since the last call."""
        if self._rescore is not None and self._running is None and answered.size >= self._due:
            self._due = int(_GROWTH * answered.size) + 1
            arguments = (candidates, answered, answers)
            self._running = threading.Thread(target=self._work, args=arguments, daemon=True)
            self._running.start()
            self._running.join(None if self._patience == float("inf") else self._patience)
        if self._running is None or self._running.is_alive():
            return None
        self._running = None
        made, self._made = self._made, None
        return made

    def _work(
        self, candidates: ReviewCandidates, answered: np.ndarray, answers: np.ndarray
    ) -> None:
        assert self._rescore is not None
        try:
            rows, columns = candidates.rows, candidates.columns
            decided = rows[answered], columns[answered]
            self._made = prior_log_odds(self._rescore((rows, columns), decided, answers))
        except Exception:
            # the review goes on with the scores it has
            _log.exception("new scores of the candidates could not be computed")


def _is_answer(decision: str) -> bool:
    return decision in ("accept", "reject")


def _answers(decided: list[tuple[int, LastDecision]]) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the entries that were accepted or rejected, and 1 or 0."""
    answers = [(k, last.decision == "accept") for k, last in decided if last.decision != "skip"]
    positions = np.array([k for k, _ in answers], dtype=np.intp)
    return positions, np.array([accepted for _, accepted in answers], dtype=float)


def _newest(decided: list[tuple[int, LastDecision]]) -> tuple[int, int]:
    """Tells one set of decisions from another: how many stand, and the number of the newest."""
    return len(decided), max((last.number for _, last in decided), default=0)


def _found_curve(accepted: list[bool]) -> tuple[tuple[int, int], ...]:
    """Accepted among the first so many decisions, at a limited number of points."""
    found = np.cumsum(accepted, dtype=int)
    step = max(1, -(-found.size // _MOST_POINTS))
    points = [(0, 0)] + [(k, int(found[k - 1])) for k in range(step, found.size + 1, step)]
    if found.size and points[-1][0] != found.size:
        points.append((found.size, int(found[-1])))
    return tuple(points)
