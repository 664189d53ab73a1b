"""The random part of a review: entries drawn from all that are not recorded, and what they prove.

Which entry is drawn next depends on what was decided before, never on what was not: a stratum at random,
then an entry at random among those that nobody decided. The weight of a draw and the number of the last
decision before it are kept with it, so that bounds can be computed anew from the store.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from labelgap.estimation import (
    MissingTotal,
    SamplingDesign,
    TotalBounds,
    answers_for_width,
    certified_recall,
    design_sample,
    estimate_missing,
)
from labelgap.review._decision_store import DecisionStore, RandomDraw
from labelgap.review._review_tally import Entry, ReviewTally


@dataclass(frozen=True)
class Population:
    """The entries that a review is about: all that are not recorded, or the suggestions of an audit.

    Attributes
    ----------
    rows, columns : int arrays
        Positions in ``items`` and ``labels``.
    probabilities : array
    items, labels : list of str
    """

    rows: np.ndarray
    columns: np.ndarray
    probabilities: np.ndarray
    items: list[str]
    labels: list[str]

    def entry(self, position: int) -> Entry:
        return self.items[self.rows[position]], self.labels[self.columns[position]]


@dataclass(frozen=True)
class ReviewCertificate:
    """What the random draws prove so far, with 95% confidence, whenever one looks.

    Attributes
    ----------
    n_drawn : int
        Random draws that were answered, in their order.
    upper : int
        No more labels than that are missing, found ones included.
    recall : float
        At least this fraction of them was found.
    goal : float
    holds : bool
    """

    n_drawn: int
    upper: int
    recall: float
    goal: float
    holds: bool


class RandomPart:
    """Draw entries at random, follow their answers, and bound what is missing.

    Parameters
    ----------
    population : Population
    store : DecisionStore
    goal : float, default=0.9
        The fraction of missing labels to be found.
    random_state : int, Generator or None, default=None
        None draws differently in every process: two servers on one file do not ask the same.

    See Also
    --------
    labelgap.estimation.TotalBounds : The bounds.
    """

    def __init__(
        self,
        population: Population,
        store: DecisionStore,
        *,
        goal: float = 0.9,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.population, self.store, self.goal = population, store, goal
        self.design: SamplingDesign = design_sample(population.probabilities)
        self._rng = np.random.default_rng(random_state)
        self._lock = threading.RLock()
        self._starts = np.concatenate([[0], np.cumsum(self.design.sizes)])
        # positions of each stratum, those that left the population behind the others
        self._order = self.design.order.copy()
        self._left = self.design.sizes.copy()
        self._place = np.empty(self._order.size, dtype=np.intp)
        self._place[self._order] = np.arange(self._order.size)
        self._row_of = {name: row for row, name in enumerate(population.items)}
        self._column_of = {name: column for column, name in enumerate(population.labels)}
        codes = population.rows.astype(np.int64) * len(population.labels) + population.columns
        self._by_code = np.argsort(codes, kind="stable")
        self._codes = codes[self._by_code]
        self.draws: list[RandomDraw] = []
        self._drawn_at: set[Entry] = set()
        self._seen = 0
        for drawn in store.draws():
            self._keep(drawn)
        self._reset()

    def _reset(self) -> None:
        self._bounds = TotalBounds(self.design.n_entries, self.design.largest_weight, sides="upper")
        self._n_followed = self._n_found_drawn = 0

    # -- drawing ------------------------------------------------------------------------------

    def draw(self, n: int, tally: ReviewTally) -> list[Entry]:
        """Draw entries that nobody decided, and keep them before anybody is asked."""
        with self._lock:
            self._remove_decided(tally)
            fresh = []
            for _ in range(n):
                open_strata = np.flatnonzero(self._left)
                if not open_strata.size:
                    break
                stratum = int(self._rng.choice(open_strata))
                left = int(self._left[stratum])
                position = int(self._order[self._starts[stratum] + self._rng.integers(left)])
                entry = self.population.entry(position)
                weights = open_strata.size * float(left), open_strata.size * float(self._left.max())
                fresh.append(RandomDraw(*entry, *weights, tally.newest))
                self._remove(position)
            self.store.add_draws(fresh)
            for drawn in fresh:
                self._keep(drawn)
            return [(drawn.item, drawn.label) for drawn in fresh]

    def waiting(self, tally: ReviewTally) -> list[Entry]:
        """Return the entries that were drawn and not answered, the first one first."""
        return [
            (drawn.item, drawn.label)
            for drawn in self.draws[self._n_followed :]
            if not _is_answered(tally, (drawn.item, drawn.label))
        ]

    @property
    def items(self) -> dict[str, int]:
        """The items and their rows."""
        return self._row_of

    def position(self, item: str, label: str) -> int | None:
        """Return the position of an entry in the population."""
        row, column = self._row_of.get(item), self._column_of.get(label)
        if row is None or column is None:
            return None
        code = row * len(self.population.labels) + column
        at = int(np.searchsorted(self._codes, code))
        known = at < self._codes.size and self._codes[at] == code
        return int(self._by_code[at]) if known else None

    def _remove_decided(self, tally: ReviewTally) -> None:
        fresh = [entry for entry, number in tally.first_numbers.items() if number > self._seen]
        self._seen = tally.newest
        for entry in fresh:
            position = self.position(*entry)
            if position is not None:
                self._remove(position)

    def _remove(self, position: int) -> None:
        stratum = int(self.design.strata[position])
        place, last = (
            int(self._place[position]),
            int(self._starts[stratum] + self._left[stratum]) - 1,
        )
        if place > last:
            return
        other = int(self._order[last])
        self._order[place], self._order[last] = other, position
        self._place[other], self._place[position] = place, last
        self._left[stratum] -= 1

    def _keep(self, drawn: RandomDraw) -> None:
        entry = (drawn.item, drawn.label)
        self._drawn_at.add(entry)
        self.draws.append(drawn)
        position = self.position(*entry)
        if position is not None:
            self._remove(position)

    # -- what the answers say -----------------------------------------------------------------

    def certificate(self, tally: ReviewTally, *, anew: bool = False) -> ReviewCertificate:
        """Return what is proved: the bound follows the draws in order, up to the first open one."""
        with self._lock:
            if anew:
                self._reset()
            elsewhere: list[int] | None = None
            while self._n_followed < len(self.draws):
                drawn = self.draws[self._n_followed]
                if not _is_answered(tally, (drawn.item, drawn.label)):
                    break
                if elsewhere is None:
                    elsewhere = self._found_elsewhere(tally)
                last = tally.last[drawn.item, drawn.label]
                answer = None if last.decision == "unsure" else float(last.decision == "accept")
                found_before = self._n_found_drawn + bisect_right(elsewhere, drawn.after)
                self._bounds.add(answer, drawn.weight, found_before, largest_weight=drawn.largest)
                self._n_found_drawn += answer == 1.0
                self._n_followed += 1
            n_found = tally.counts["accept"]
            # what nobody answered is all that can still be missing
            most = n_found + max(0, self.design.n_entries - tally.n_answers)
            upper = max(min(self._bounds.upper, most), n_found)
            recall = certified_recall(n_found, upper) if self._n_followed else 0.0
            return ReviewCertificate(
                self._n_followed, upper, round(recall, 4), self.goal, recall >= self.goal
            )

    def _found_elsewhere(self, tally: ReviewTally) -> list[int]:
        """The numbers of the first decisions on accepted entries that were not drawn."""
        return sorted(
            tally.first_numbers[entry]
            for entry, last in tally.last.items()
            if last.decision == "accept" and entry not in self._drawn_at
        )

    def estimate(self, tally: ReviewTally) -> MissingTotal:
        """Return the estimate from all draws that were answered."""
        positions, answers = self._draws_and_answers(tally)
        made = estimate_missing(self.design, positions, answers)
        assert isinstance(made, MissingTotal)
        return made

    def estimate_by_label(self, tally: ReviewTally) -> dict[str, MissingTotal]:
        """Return estimates for every label with an entry in the population."""
        positions, answers = self._draws_and_answers(tally)
        made = estimate_missing(self.design, positions, answers, labels=self.population.columns)
        assert isinstance(made, list)
        return dict(zip(self.population.labels, made, strict=False))

    def _draws_and_answers(self, tally: ReviewTally) -> tuple[np.ndarray, np.ndarray]:
        positions, answers = [], []
        for drawn in self.draws:
            last, position = tally.last.get((drawn.item, drawn.label)), self.position(*drawn[:2])
            if last is None or position is None or last.decision in ("skip", "withdraw"):
                continue
            positions.append(position)
            answers.append(np.nan if last.decision == "unsure" else last.decision == "accept")
        return np.array(positions, dtype=np.intp), np.array(answers, dtype=float)

    def answers_for_width(self, width: float) -> int | None:
        """Return about how many answers an interval of that width takes."""
        return answers_for_width(self.design, width)


def _is_answered(tally: ReviewTally, entry: Entry) -> bool:
    last = tally.last.get(entry)
    return last is not None and last.decision in ("accept", "reject", "unsure")
