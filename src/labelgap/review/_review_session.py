"""A review: the questions, the decisions made so far, and what is learned between batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from labelgap.auditing import Audit, Estimate, Evidence, ReviewDecisions, Suggestion
from labelgap.estimation import MissingTotal
from labelgap.review._answer_model import (
    AnswerPosterior,
    ReviewCandidates,
    expected_probability,
    learn_from_answers,
    remaining_missing,
    review_candidates,
)
from labelgap.review._background_rescoring import BackgroundRescoring, Rescore
from labelgap.review._decision_store import DecisionStore
from labelgap.review._question_queue import choose_batch
from labelgap.review._random_part import Population, RandomPart, ReviewCertificate
from labelgap.review._review_tally import Disagreement, Entry, ReviewTally, is_answer

_BATCH_SIZE, _BATCH_FRACTION = 20, 0.05
_LEASE_SECONDS = 900.0


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
    is_random : bool
        Whether the entry was drawn at random.
    """

    suggestion: Suggestion
    probability: float
    about: Mapping[str, str]
    is_random: bool = False


@dataclass(frozen=True)
class ItemLabel:
    """A label of one item: whether the table records it, else its probability and last decision."""

    label: str
    is_positive: bool
    probability: float | None
    decision: str | None
    comment: str = ""


@dataclass(frozen=True)
class ReviewProgress:
    """The state of a review.

    Attributes
    ----------
    n_candidates, n_accepted, n_rejected, n_unsure, n_skipped : int
    remaining : Estimate
        Missing labels among the candidates that nobody accepted or rejected yet.
    beyond : float
        Missing labels that the audit expects outside the list of candidates.
    found : tuple of (decided, accepted)
        How many were accepted among the first so many decisions.
    by_reviewer : dict from reviewer to int
        Decisions that count.
    disagreements : tuple of Disagreement
    certificate : ReviewCertificate or None
        What the random draws prove.
    n_wanted : int or None
        Answers that the estimate was planned for; then all questions are random draws.
    """

    n_candidates: int
    n_accepted: int
    n_rejected: int
    n_unsure: int
    n_skipped: int
    remaining: Estimate
    beyond: float
    found: tuple[tuple[int, int], ...]
    by_reviewer: dict[str, int]
    disagreements: tuple[Disagreement, ...]
    certificate: ReviewCertificate | None
    n_wanted: int | None


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
    population : Population, optional, default=None
        What random draws are from; by default the candidates.
    random_fraction : float, default=0.0
        The fraction of questions drawn at random, for the certificate.
    n_wanted : int, optional, default=None
        Ask about so many random draws and nothing else, for an estimate.
    goal : float, default=0.9
        The fraction of missing labels to be found, of the certificate.
    describe : callable, optional, default=None
        From the id of an item to what a reviewer should see of it; by default the cells in the
        suggestions of the audit.
    explain : callable, optional, default=None
        From the name of a label to what a reviewer should know of it.
    labels_of : callable, optional, default=None
        From the id of an item to whether it carries each label of the table: those that it does not
        carry can be answered, too. By default the candidates alone are known.
    rescore : callable, optional, default=None
        From entries, answered entries and answers to new probabilities of the entries, as
        :class:`labelgap.auditing.AuditRescorer`. Called whenever there are a quarter more answers.
    patience : float, default=2.0
        A reviewer waits so many seconds for new scores; a scoring that takes longer goes on in the
        background and serves a later batch.
    clock : callable, default=time.monotonic
        Seconds, for the leases of questions.
    random_state : int or None, default=None
        For the random draws.

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
        population: Population | None = None,
        random_fraction: float = 0.0,
        n_wanted: int | None = None,
        goal: float = 0.9,
        describe: Callable[[str], Mapping[str, str]] | None = None,
        explain: Callable[[str], Mapping[str, str]] | None = None,
        labels_of: Callable[[str], Mapping[str, bool]] | None = None,
        rescore: Rescore | None = None,
        patience: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
        random_state: int | None = None,
    ) -> None:
        self.audit = audit
        self.store = store
        self.random_fraction, self.n_wanted = random_fraction, n_wanted
        self._candidates = review_candidates(audit) if candidates is None else candidates
        cells = {made.item: dict(made.cells) for made in audit.suggestions}
        self._describe = describe or (lambda item: cells.get(item, {}))
        self._explain = explain or (lambda _: {})
        self._labels_of = labels_of
        self._clock = clock
        self._at = {(made.item, made.label): k for k, made in enumerate(audit.suggestions)}
        self._leases: dict[Entry, tuple[str, float]] = {}
        self._lock = threading.RLock()
        self._rescoring = BackgroundRescoring(rescore, patience)
        self.random_part = RandomPart(
            population or _of_candidates(self._candidates, audit),
            store,
            goal=goal,
            random_state=random_state,
        )
        self._tally = ReviewTally()
        self._open = np.ones(self._candidates.n, dtype=bool)
        self._probabilities = np.array([made.probability for made in audit.suggestions])
        self._listed, self._decided_since = float(self._probabilities.sum()), 0.0
        self._catch_up()
        self._learn()

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
            self._catch_up()
            self._update()
            now = self._clock()
            self._leases = {
                entry: lease
                for entry, lease in self._leases.items()
                if lease[0] != client and lease[1] > now
            }
            wanted = size or batch_size(self._tally.n_answers)
            drawn = self._random_entries(wanted)
            chosen = [] if self.n_wanted is not None else self._chosen(wanted - len(drawn), drawn)
            questions = _mixed(drawn, chosen)
            for entry in questions:
                self._leases[entry] = (client, now + _LEASE_SECONDS)
            return [self._question(entry, entry in drawn) for entry in questions]

    def decide(
        self,
        item: str,
        label: str,
        decision: str,
        reviewer: str,
        request: str | None = None,
        comment: str = "",
    ) -> int:
        """Keep a decision and return its number; it is on the disk when this returns.

        Parameters
        ----------
        item, label : str
        decision : {"accept", "reject", "unsure", "skip", "withdraw"}
        reviewer : str
        request : str, optional, default=None
            See :meth:`DecisionStore.add`.
        comment : str, default=""

        Returns
        -------
        int
        """
        if self._probability(item, label) is None and self._known_labels(item).get(label, True):
            why = "is no open label" if self.knows_labels else "was not suggested"
            raise UnknownEntryError(f"{label!r} {why} for {item!r}")
        with self._lock:
            number = self.store.add(item, label, decision, reviewer, request, comment)
            self._catch_up()
            return number

    def progress(self) -> ReviewProgress:
        """Return how far the review is, and how many labels are probably still missing.

        What remains is estimated after each batch, and counted down in between.
        """
        with self._lock:
            self._catch_up()
            tally, uses_draws = self._tally, self.random_fraction > 0 or self.n_wanted is not None
            gone = self._decided_since
            remaining = Estimate(*(max(0.0, value - gone) for value in self._remaining))
            return ReviewProgress(
                n_candidates=self.n_wanted or self._candidates.n,
                n_accepted=tally.counts["accept"],
                n_rejected=tally.counts["reject"],
                n_unsure=tally.counts["unsure"],
                n_skipped=tally.counts["skip"],
                remaining=remaining,
                beyond=max(0.0, self.audit.missing.value - self._listed),
                found=tally.found(),
                by_reviewer=dict(tally.by_reviewer),
                disagreements=tally.disagreements(),
                certificate=self.random_part.certificate(tally) if uses_draws else None,
                n_wanted=self.n_wanted,
            )

    def estimate(self) -> MissingTotal:
        """Return the estimate of all missing labels from the random draws."""
        with self._lock:
            self._catch_up()
            return self.random_part.estimate(self._tally)

    def estimate_by_label(self) -> dict[str, MissingTotal]:
        """Return the estimates by label from the random draws."""
        with self._lock:
            self._catch_up()
            return self.random_part.estimate_by_label(self._tally)

    @property
    def tally(self) -> ReviewTally:
        """The counts of all decisions, those of other processes included."""
        with self._lock:
            self._catch_up()
            return self._tally

    def item(self, item: str) -> tuple[Mapping[str, str], list[ItemLabel]]:
        """Return what is known of an item and all its labels: recorded first, then by probability."""
        if item not in self.random_part.items:
            raise UnknownEntryError(f"there is no item {item!r} under review")
        known = self._known_labels(item)
        with self._lock:
            labels = []
            for label, is_positive in known.items():
                last = self._tally.last.get((item, label))
                decision = None if last is None or last.decision == "withdraw" else last.decision
                comment = "" if last is None else last.comment
                p = self._probability(item, label)
                labels.append(ItemLabel(label, is_positive, p, decision, comment))
        labels.sort(key=lambda known: (not known.is_positive, -(known.probability or 0.0)))
        return self._describe(item), labels

    @property
    def knows_labels(self) -> bool:
        """Whether all labels of an item are known, and not only those that are suggested."""
        return self._labels_of is not None

    def explain(self, label: str) -> Mapping[str, str]:
        """Return what a reviewer should know of a label."""
        return self._explain(label)

    def decisions(self) -> ReviewDecisions:
        """Return the answers that count, as a decisions file has them."""
        return self.store.answers()

    # -- internals ----------------------------------------------------------------------------

    def _known_labels(self, item: str) -> Mapping[str, bool]:
        """Whether the item carries each label that is known of it."""
        part = self.random_part
        if item not in part.items:
            return {}
        if self._labels_of is not None:
            return self._labels_of(item)
        labels = part.population.labels
        return {label: False for label in labels if self._probability(item, label) is not None}

    def _probability(self, item: str, label: str) -> float | None:
        """What is known of an entry that was suggested, or can be drawn."""
        at = self._at.get((item, label))
        if at is not None:
            return float(self._probabilities[at])
        position = self.random_part.position(item, label)
        if position is None:
            return None
        return float(self.random_part.population.probabilities[position])

    def _catch_up(self) -> None:
        """Take in the decisions that are new in the store, whoever made them."""
        for made in self.store.since(self._tally.newest):
            self._tally.add(made)
            at = self._at.get((made.item, made.label))
            if at is None:
                continue
            was_open, is_open = self._open[at], made.decision == "withdraw"
            self._open[at] = is_open
            settled = made.decision in ("accept", "reject", "unsure")
            if was_open and settled:
                self._decided_since += self._probabilities[at]
            elif is_open and not was_open:
                self._decided_since -= self._probabilities[at]

    def _answers(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the candidates that were accepted or rejected, and 1 or 0."""
        answers = [
            (self._at[entry], made.decision == "accept")
            for entry, made in self._tally.last.items()
            if is_answer(made.decision) and entry in self._at
        ]
        positions = np.array([k for k, _ in answers], dtype=np.intp)
        return positions, np.array([accepted for _, accepted in answers], dtype=float)

    def _update(self) -> None:
        """Learn from what is new: the scores of the audit's model, when due, then the posterior."""
        fresh = self._rescoring.newest(self._candidates, *self._answers())
        if fresh is not None:
            self._candidates = self._candidates._replace(log_odds=fresh)
        if fresh is not None or self._tally.newest != self._learned:
            self._learn()

    def _learn(self) -> None:
        self._learned = self._tally.newest
        self._posterior: AnswerPosterior = learn_from_answers(self._candidates, *self._answers())
        every = np.arange(self._candidates.n)
        if self._tally.n_answers:
            log_odds = self._posterior.log_odds(self._candidates, every)
            self._probabilities = expected_probability(*log_odds)
        settled = [
            self._at[entry]
            for entry, made in self._tally.last.items()
            if made.decision in ("accept", "reject", "unsure") and entry in self._at
        ]
        undecided = np.setdiff1d(every, settled)
        known = remaining_missing(self._candidates, self._posterior, undecided)
        self._remaining = (known.value, known.low, known.high)
        self._decided_since = 0.0
        self.random_part.certificate(self._tally, anew=True)

    def _random_entries(self, size: int) -> list[Entry]:
        """Random draws to be asked: those that wait and nobody has, then new ones."""
        wanted = int(np.ceil(self.random_fraction * size))
        if self.n_wanted is not None:
            wanted = size
        if not wanted:
            return []
        waiting = self.random_part.waiting(self._tally)
        entries = [entry for entry in waiting if entry not in self._leases][:wanted]
        room = wanted - len(entries)
        if self.n_wanted is not None:
            room = min(room, self.n_wanted - len(self.random_part.draws))
        entries += self.random_part.draw(max(0, room), self._tally)
        # rather ask two people the same than nobody
        return entries or waiting[:wanted] if self.n_wanted is not None else entries

    def _chosen(self, size: int, drawn: list[Entry]) -> list[Entry]:
        """The entries with the largest expected gain that nobody else was given."""
        taken = [self._at[entry] for entry in [*self._leases, *drawn] if entry in self._at]
        undecided = np.flatnonzero(self._open)
        free = undecided[~np.isin(undecided, taken)]
        possible = free if free.size else undecided
        if not possible.size:
            # what was put off comes back when nothing else is left
            skipped = [e for e, made in self._tally.last.items() if made.decision == "skip"]
            return [entry for entry in skipped if entry in self._at][:size]
        chosen = choose_batch(self._candidates, self._posterior, possible, size)
        made = (self.audit.suggestions[k] for k in chosen.tolist())
        return [(suggestion.item, suggestion.label) for suggestion in made]

    def _question(self, entry: Entry, is_random: bool) -> Question:
        at, p = self._at.get(entry), self._probability(*entry)
        assert p is not None
        if at is not None:
            suggestion = self.audit.suggestions[at]
        else:
            suggestion = Suggestion(0, *entry, p, "zero", Evidence())
        return Question(suggestion, p, self._describe(entry[0]), is_random)


def _of_candidates(candidates: ReviewCandidates, audit: Audit) -> Population:
    probabilities = np.array([made.probability for made in audit.suggestions])
    return Population(
        candidates.rows,
        candidates.columns,
        probabilities,
        list(candidates.items),
        list(candidates.labels),
    )


def _mixed(drawn: list[Entry], chosen: list[Entry]) -> list[Entry]:
    """Random draws spread among the other questions."""
    if not drawn:
        return chosen
    step = max(1, len(chosen) // len(drawn))
    mixed: list[Entry] = []
    for k, entry in enumerate(drawn):
        mixed += [*chosen[k * step : (k + 1) * step], entry]
    return mixed + chosen[len(drawn) * step :]
