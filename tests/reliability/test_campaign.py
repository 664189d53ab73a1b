"""The campaign: nothing wrong in silence, nothing raw, no crash, no hang.

A part of it runs every day, another one each day; ``campaign.py`` runs all of it and counts.
"""

from __future__ import annotations

import time

import pytest

from reliability import files, fits
from reliability.campaign import measure

# a day has its cases: what fails today is found again with the seed that is shown
TODAY = int(time.time() // 86_400)


@pytest.mark.parametrize(("module", "n"), [("fits", 300), ("files", 84)])
def test_the_cases_of_today(module, n):
    counts, failures = measure(module, n, first=TODAY * n)
    assert not failures, "\n".join(failures)
    assert counts["right"] > n / 10
    assert counts["clear error"] > n / 10


@pytest.mark.slow
@pytest.mark.parametrize(("module", "n"), [("fits", 10_000), ("files", 2_000)])
def test_the_whole_campaign(module, n):
    _, failures = measure(module, n)
    assert not failures, "\n".join(failures)


def test_every_kind_and_form_is_drawn():
    drawn = [fits.draw(seed) for seed in range(3_000)]
    assert {fit.case.name for fit in drawn} == {case.name for case in fits.cases()}
    assert {fit.x_form for fit in drawn} == set(fits.X_FORMS)
    assert {fit.y_form for fit in drawn} == set(fits.Y_FORMS)
    assert {fit.dtype for fit in drawn} == set(fits.DTYPES)
    assert {fit.labels for fit in drawn} == set(fits.LABELS)
    assert {files.draw(seed).kind for seed in range(50)} == set(files.KINDS)
