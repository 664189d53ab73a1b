"""Comparisons with the golden files, which also note how close the two came."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np


class Deviation(NamedTuple):
    """The largest difference of an array, relative to each entry where the tolerance is."""

    test: str
    array: str
    deviation: float
    tolerance: float
    relative: bool


class Objectives(NamedTuple):
    """What ours and the reference reach after as many iterations; 0 for a closed form."""

    test: str
    problem: str
    iterations: int
    ours: float
    theirs: float
    higher: bool


DEVIATIONS: list[Deviation] = []
OBJECTIVES: list[Objectives] = []


def assert_agrees(
    array: str, found: Any, expected: Any, *, atol: float = 0.0, rtol: float = 0.0
) -> None:
    """Equal within one of the two tolerances."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=array)
    gap = np.abs(np.asarray(found, dtype=float) - expected)
    if rtol:
        gap = gap / np.maximum(np.abs(expected), np.finfo(float).tiny)
    largest = float(np.max(gap, initial=0.0))
    DEVIATIONS.append(Deviation(_test(), array, largest, rtol or atol, bool(rtol)))


def assert_ahead(
    problem: str,
    ours: float,
    theirs: float,
    *,
    iterations: int,
    higher: bool = False,
    slack: float = 0.0,
) -> None:
    """A lower objective (or a higher one), or one that is no worse but for a fraction of it."""
    ours, theirs = float(ours), float(theirs)
    gain = ours - theirs if higher else theirs - ours
    assert gain > 0 or gain > -slack * abs(theirs), (
        f"{problem}: {ours} after {iterations} iterations, the reference {theirs}"
    )
    OBJECTIVES.append(Objectives(_test(), problem, iterations, ours, theirs, higher))


def _test() -> str:
    """The test that is running, without its folder."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").split("/")[-1].split(" ")[0]
