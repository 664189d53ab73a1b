"""The rule of the statuses, by example."""

from __future__ import annotations

import math
import re

import pytest

from labelgap_papers.bench import PublishedFigure, published_figures
from labelgap_papers.reproduction import ReproductionStatus as Status
from labelgap_papers.reproduction._statuses import (
    UNPRINTED_SPREAD,
    Measured,
    p_no_better,
    status_of,
    tolerance,
)


def figure(mean: str, std: float | None = 0.01, metric: str = "average_precision"):
    return PublishedFigure(
        "RMFL", "II", "yeast", "missing=0", metric, "RMFL", float(mean), std, mean
    )


def ours(*values: float, planned: int = 10, higher: bool = True) -> Measured:
    return Measured(dict(enumerate(values)), planned, higher)


def status(printed: PublishedFigure, measured: Measured) -> Status:
    return status_of(printed, measured, p_no_better(printed, measured, 10))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.800, 0.801), Status.REPRODUCED),
        (
            (0.7895, 0.7895),
            Status.REPRODUCED,
        ),  # 0.01 of spread and half a unit of the last digit
        ((0.7894, 0.7894), Status.BELOW),
        ((0.8105, 0.8105), Status.REPRODUCED),
        ((0.83, 0.831, 0.829), Status.BEATEN),
        (
            (0.79, 0.87, 0.80),
            Status.AHEAD,
        ),  # the mean is better by 0.02, and so is its error
        ((0.83,), Status.AHEAD),  # one run of ten: nothing to test
        ((0.70,), Status.BELOW),  # a shortfall needs no test
        ((0.5, 0.6, 0.9), Status.BELOW),
    ],
)
def test_more_is_better(values, expected):
    assert status(figure("0.800"), ours(*values)) is expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.200, 0.201), Status.REPRODUCED),
        ((0.17, 0.171, 0.169), Status.BEATEN),
        ((0.23, 0.231, 0.229), Status.BELOW),
    ],
)
def test_less_is_better(values, expected):
    assert status(figure("0.200", metric="one_error"), ours(*values, higher=False)) is expected


def test_mirrored_figures_have_mirrored_statuses():
    for values in ((0.83, 0.831, 0.829), (0.79, 0.87, 0.80), (0.70, 0.71), (0.80, 0.81)):
        loss = [1 - value for value in values]
        direct = status(figure("0.800"), ours(*values))
        assert status(figure("0.200", metric="one_error"), ours(*loss, higher=False)) is direct


def test_a_spread_that_is_not_printed_is_a_hundredth():
    assert tolerance(figure("0.8000", None)) == pytest.approx(UNPRINTED_SPREAD + 0.00005)
    assert tolerance(figure("0.80", None)) == pytest.approx(UNPRINTED_SPREAD + 0.005)
    assert tolerance(figure("0.800", 0.0)) == pytest.approx(0.0005)
    spreads = [one.std for one in published_figures() if one.std is not None]
    assert sum(one <= UNPRINTED_SPREAD for one in spreads) / len(spreads) > 0.7


def test_one_official_split_needs_no_test():
    printed = figure("0.9210", None)
    assert status(printed, ours(0.947, planned=1)) is Status.BEATEN
    assert status(printed, ours(0.930, planned=1)) is Status.REPRODUCED
    assert status(printed, ours(0.900, planned=1)) is Status.BELOW


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (10.0, Status.BEATEN),
        (26, Status.REPRODUCED),
        (99, Status.REPRODUCED),
        (120, Status.BELOW),
    ],
)
def test_seconds_agree_within_a_factor_of_two(seconds, expected):
    printed = figure("50.94", None, metric="seconds_matlab_xeon_e5_2678")
    assert status(printed, ours(seconds, seconds + 1, higher=False)) is expected


def test_correction_can_take_a_win_back():
    printed, measured = figure("0.800"), ours(0.83, 0.831, 0.829)
    assert status_of(printed, measured, 0.04) is Status.BEATEN
    assert status_of(printed, measured, 0.06) is Status.AHEAD
    assert status_of(printed, measured, math.nan) is Status.AHEAD


def test_the_page_about_the_rule_names_every_status(request):
    page = request.config.rootpath / "docs" / "decisions" / "reproduction-statuses.md"
    rows = re.findall(r"^\| ([a-z ]+) \|", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rows == ["status", *(one.value for one in Status)]
    assert f"{len(published_figures()):,} published figures" in page.read_text(encoding="utf-8")


def test_statuses_are_told_apart_without_colour():
    assert len({one.symbol for one in Status}) == len(Status)
    assert len({one.meaning for one in Status}) == len(Status)
