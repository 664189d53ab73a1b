"""What the decisions so far amount to, kept up to date one decision at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from labelgap.review._decision_store import StoredDecision

_MOST_POINTS = 120
Entry = tuple[str, str]


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
class ReviewerAgreement:
    """How often two reviewers agree about the entries that both accepted or rejected.

    ``kappa`` is Cohen's: agreement beyond what their rates of acceptance alone would give; None where
    either gave the same answer throughout.
    """

    first: str
    second: str
    n_both: int
    n_agree: int
    kappa: float | None


class ReviewTally:
    """Counts that follow the decisions; each :meth:`add` takes constant time."""

    def __init__(self) -> None:
        self.newest = 0
        self.last: dict[Entry, StoredDecision] = {}
        self.first_numbers: dict[Entry, int] = {}
        self.counts: Counter[str] = Counter()
        self.by_reviewer: Counter[str] = Counter()
        self._answers: dict[Entry, dict[str, str]] = {}
        self._histories: dict[Entry, list[tuple[str, str]]] = {}
        self._disagree: dict[Entry, None] = {}
        self._found = [0]
        self._is_ordered = True

    def add(self, made: StoredDecision) -> None:
        """Take in a decision; they come in the order of their numbers."""
        entry = (made.item, made.label)
        before = self.last.get(entry)
        if before is not None:
            self._count(before, -1)
            # a changed answer moves to the end of the curve, which is then drawn anew
            self._is_ordered &= not is_answer(before.decision)
            del self.last[entry]
        self.newest = made.number
        self.last[entry] = made
        if made.decision not in ("skip", "withdraw"):
            self.first_numbers.setdefault(entry, made.number)
        self._count(made, 1)
        if is_answer(made.decision) and self._is_ordered:
            self._found.append(self._found[-1] + (made.decision == "accept"))
        self._histories.setdefault(entry, []).append((made.reviewer, made.decision))
        answers = self._answers.setdefault(entry, {})
        answers.pop(made.reviewer, None)
        if is_answer(made.decision):
            answers[made.reviewer] = made.decision
        self._disagree.pop(entry, None)
        if len(set(answers.values())) > 1:
            self._disagree[entry] = None

    def _count(self, made: StoredDecision, step: int) -> None:
        self.counts[made.decision] += step
        if is_answer(made.decision):
            self.by_reviewer[made.reviewer] += step
            if not self.by_reviewer[made.reviewer]:
                del self.by_reviewer[made.reviewer]

    @property
    def n_answers(self) -> int:
        return self.counts["accept"] + self.counts["reject"]

    def decided(self, *, but: Iterable[str] = ("withdraw",)) -> dict[Entry, StoredDecision]:
        """Return the last decisions that stand, the oldest one first."""
        return {entry: made for entry, made in self.last.items() if made.decision not in but}

    def found(self) -> tuple[tuple[int, int], ...]:
        """Return how many were accepted among the first so many answers, at some points."""
        if not self._is_ordered:
            self._found, self._is_ordered = [0], True
            for made in self.last.values():
                if is_answer(made.decision):
                    self._found.append(self._found[-1] + (made.decision == "accept"))
        n = len(self._found) - 1
        step = max(1, -(-n // _MOST_POINTS))
        points = [(k, self._found[k]) for k in range(0, n + 1, step)]
        if points[-1][0] != n:
            points.append((n, self._found[n]))
        return tuple(points)

    def disagreements(self) -> tuple[Disagreement, ...]:
        """Return the entries on which the last answers of two reviewers differ."""
        return tuple(
            Disagreement(*entry, tuple(self._histories[entry])) for entry in self._disagree
        )

    def agreement(self) -> tuple[ReviewerAgreement, ...]:
        """Return how far each two reviewers agree."""
        tables: dict[Entry, Counter[Entry]] = {}
        for answers in self._answers.values():
            names = sorted(answers)
            for k, first in enumerate(names):
                for second in names[k + 1 :]:
                    pair = answers[first], answers[second]
                    tables.setdefault((first, second), Counter())[pair] += 1
        return tuple(_agreement(*names, table) for names, table in sorted(tables.items()))


def _agreement(first: str, second: str, table: Counter[Entry]) -> ReviewerAgreement:
    n = table.total()
    agree = table["accept", "accept"] + table["reject", "reject"]
    yes = [
        sum(count for pair, count in table.items() if pair[side] == "accept") / n for side in (0, 1)
    ]
    expected = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    kappa = None if set(yes) <= {0.0, 1.0} else round((agree / n - expected) / (1 - expected), 4)
    return ReviewerAgreement(first, second, n, agree, kappa)


def is_answer(decision: str) -> bool:
    """Return whether a decision says what the label of an entry is."""
    return decision in ("accept", "reject")
