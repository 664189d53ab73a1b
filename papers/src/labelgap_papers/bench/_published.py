"""The figures that the five papers print, as data."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class PublishedFigure:
    """One number of a published table, in the names that the paper gives to things.

    Attributes
    ----------
    paper, table : str
        ``("RMFL", "IV")``.
    dataset, setting, metric, method : str
        Where in the table; ``setting`` is written ``"missing=0.4"``.
    mean : float
    std : float or None
        None where the paper prints no spread.
    printed : str
        The mean with as many digits as in the paper.
    """

    paper: str
    table: str
    dataset: str
    setting: str
    metric: str
    method: str
    mean: float
    std: float | None
    printed: str

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit."""
        digits = len(self.printed.partition(".")[2])
        return 0.5 * 10.0**-digits


@cache
def published_figures() -> tuple[PublishedFigure, ...]:
    """All published figures of the five papers, in the order of their tables.

    Returns tuple of PublishedFigure
    """
    text = (
        resources.files("labelgap_papers.bench")
        .joinpath("published.csv")
        .read_text(encoding="utf-8")
    )
    return tuple(_figure(line) for line in csv.DictReader(text.splitlines()))


def _figure(line: dict[str, str]) -> PublishedFigure:
    printed, spread = line.pop("mean"), line.pop("std")
    std = float(spread) if spread else None
    return PublishedFigure(**line, mean=float(printed), std=std, printed=printed)
