"""What a published figure is worth once we have measured it too.

The rule is explained in ``docs/decisions/reproduction-statuses.md``; this module is its only
implementation.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from labelgap_papers.bench import PublishedFigure
from labelgap_papers.bench.statistics import better_than_published

ALPHA = 0.05
UNPRINTED_SPREAD = 0.01
"""Stands in for a spread that the paper does not print; seven of ten printed ones are smaller."""
TIME_FACTOR = 2.0
"""Seconds on two machines agree when neither is more than so many times the other."""


class ReproductionStatus(StrEnum):
    """Exactly one for each published figure."""

    REPRODUCED = "reproduced"
    BEATEN = "beaten"
    AHEAD = "ahead"
    BELOW = "below"
    REFUTED = "refuted"
    NOT_MEASURED = "not measured"
    NOT_BUILT = "not built"
    DATA_NOT_PUBLIC = "data not public"

    @property
    def symbol(self) -> str:
        """Tells statuses apart without colour."""
        return _SYMBOLS[self]

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]

    @property
    def short(self) -> str:
        """For narrow cells."""
        return self.value.removeprefix("data ")

    @property
    def slug(self) -> str:
        return self.value.replace(" ", "-")


_SYMBOLS = {
    ReproductionStatus.REPRODUCED: "=",
    ReproductionStatus.BEATEN: "▲",
    ReproductionStatus.AHEAD: "△",
    ReproductionStatus.BELOW: "▼",
    ReproductionStatus.REFUTED: "✗",
    ReproductionStatus.NOT_MEASURED: "·",
    ReproductionStatus.NOT_BUILT: "□",
    ReproductionStatus.DATA_NOT_PUBLIC: "∅",
}
_MEANINGS = {
    ReproductionStatus.REPRODUCED: "within the published spread",
    ReproductionStatus.BEATEN: "better by more than the published spread, and significantly",
    ReproductionStatus.AHEAD: "better by more than the published spread, not significantly",
    ReproductionStatus.BELOW: "worse by more than the published spread",
    ReproductionStatus.REFUTED: "worse, with evidence that the printed figure cannot be right",
    ReproductionStatus.NOT_MEASURED: "data and method are here, rows are not",
    ReproductionStatus.NOT_BUILT: "the method is not part of this library",
    ReproductionStatus.DATA_NOT_PUBLIC: "the data cannot be had",
}
MEASURED = (
    ReproductionStatus.REPRODUCED,
    ReproductionStatus.BEATEN,
    ReproductionStatus.AHEAD,
    ReproductionStatus.BELOW,
    ReproductionStatus.REFUTED,
)
"""Statuses that stand on rows of ours."""


@dataclass(frozen=True)
class Measured:
    """What our rows say where a published figure stands.

    values : mapping from run to value
    planned : int. Runs that the experiment asks for.
    higher_is_better : bool
    budget : str. The smallest budget among the rows.
    sought : bool. Whether settings were chosen among as many candidates as the full budget grants.
    """

    values: Mapping[int, float]
    planned: int
    higher_is_better: bool = True
    budget: str = "full"
    sought: bool = True

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values.values())

    @property
    def std(self) -> float | None:
        return statistics.stdev(self.values.values()) if self.n > 1 else None

    @property
    def complete(self) -> bool:
        """Whether all planned runs are there, with settings sought as hard as planned."""
        return self.n >= self.planned and self.sought


def is_time(figure: PublishedFigure) -> bool:
    return figure.metric.startswith("seconds")


def tolerance(figure: PublishedFigure) -> float:
    """How far from the printed mean still counts as the same."""
    if is_time(figure):
        return figure.mean * (TIME_FACTOR - 1)
    return (UNPRINTED_SPREAD if figure.std is None else figure.std) + figure.rounding


def p_no_better(figure: PublishedFigure, ours: Measured, published_runs: int | None) -> float:
    """P value of the hypothesis that we are no better; NaN where no test is possible."""
    sign = 1.0 if ours.higher_is_better else -1.0
    values = [sign * value for value in ours.values.values()]
    return better_than_published(values, sign * figure.mean, figure.std, published_runs)


def status_of(figure: PublishedFigure, ours: Measured, p: float) -> ReproductionStatus:
    """The status on a figure that was measured, before reasons are asked.

    figure : PublishedFigure
    ours : Measured
    p : float. See `p_no_better`; corrected for the number of figures that were tested together.
    Returns ReproductionStatus. REPRODUCED, BEATEN, AHEAD or BELOW.
    """
    advantage = ours.mean - figure.mean if ours.higher_is_better else figure.mean - ours.mean
    within = tolerance(figure)
    if is_time(figure):
        slower, faster = ours.mean / figure.mean, figure.mean / ours.mean
        if slower > TIME_FACTOR:
            return ReproductionStatus.BELOW
        return ReproductionStatus.BEATEN if faster > TIME_FACTOR else ReproductionStatus.REPRODUCED
    if advantage < -within - 1e-12:
        return ReproductionStatus.BELOW
    if advantage <= within + 1e-12:
        return ReproductionStatus.REPRODUCED
    # one official split has no runs to test over: there the tolerance alone decides
    return ReproductionStatus.BEATEN if ours.planned == 1 or p < ALPHA else ReproductionStatus.AHEAD
