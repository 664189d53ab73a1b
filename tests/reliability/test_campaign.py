"""The campaign: nothing wrong in silence, nothing raw, no crash, no hang.

A part of it runs every day, another one each day; ``campaign.py`` runs all of it and counts.
"""

from __future__ import annotations

import time

import pytest

from reliability import calls, campaign, documents, files, fits
from reliability.campaign import measure
from reliability.children import run_cases
from reliability.outcomes import Outcome

# a day has its cases: what fails today is found again with the seed that is shown
TODAY = int(time.time() // 86_400)


@pytest.mark.parametrize(
    ("module", "n"), [("fits", 300), ("calls", 100), ("files", 100), ("documents", 90)]
)
def test_the_cases_of_today(module, n):
    counts, failures = measure(module, range(TODAY * n, (TODAY + 1) * n))
    assert not failures, "\n".join(failures)
    assert counts["right"] > n / 10
    assert counts["clear error"] > n / 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "n"),
    [("fits", 10_000), ("calls", 2_000), ("files", 2_000), ("documents", 2_000)],
)
def test_the_whole_campaign(module, n):
    _, failures = measure(module, range(n))
    assert not failures, "\n".join(failures)


def test_every_kind_and_form_is_drawn():
    drawn = [fits.draw(seed) for seed in range(3_000)]
    assert {fit.name for fit in drawn} == set(fits.cases())
    assert {calls.draw(seed).name for seed in range(200)} == set(calls.CALLS)
    assert {fit.x_form for fit in drawn} == set(fits.X_FORMS)
    assert {fit.y_form for fit in drawn} == set(fits.Y_FORMS)
    assert {fit.dtype for fit in drawn} == set(fits.DTYPES)
    assert {fit.labels for fit in drawn} == set(fits.LABELS)
    assert {fit.asked for fit in drawn} == {*fits.ASKED, *fits.REFUSED}
    assert {files.draw(seed).kind for seed in range(50)} == set(files.KINDS)
    assert {documents.draw(seed).kind for seed in range(50)} == set(documents.KINDS)


def test_rows_are_resumed_and_failures_counted(tmp_path, monkeypatch, capsys):
    rows = tmp_path / "rows.jsonl"
    tried = []

    def run_cases(module, seeds, n_processes, deadline):
        for seed in seeds:
            tried.append(seed)
            yield seed, Outcome("crash" if seed == 1 else "not installed" if seed == 2 else "right")

    monkeypatch.setattr(campaign, "run_cases", run_cases)
    for n in (3, 4):
        monkeypatch.setattr("sys.argv", ["campaign.py", "--fits", str(n), "--rows", str(rows)])
        campaign.main()
    assert tried == [0, 1, 2, 2, 3]
    assert "| fits | 3 | 2 | 0 | 0 | 0 | 1 | 0 |" in capsys.readouterr().out


def test_cases_of_several_processes_all_come_and_none_after_the_deadline():
    assert sorted(seed for seed, _ in run_cases("files", range(6), 2)) == list(range(6))
    assert not list(run_cases("files", range(6), 2, deadline=0.0))
