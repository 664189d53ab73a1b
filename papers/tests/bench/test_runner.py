"""Runs: nothing is lost, nothing is run twice, and what goes wrong is said."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from bench.toy import write_toy
from labelgap_papers.bench import Kind, RowStore, Status, load_experiments, run_experiments
from labelgap_papers.bench._measure import defined
from labelgap_papers.bench.protocols.protocol import Scores

pytestmark = pytest.mark.usefixtures("data_dir")
TESTS = Path(__file__).parents[1]


def run(folder: Path, rows: Path, budget: str = "full", **options):
    experiments = load_experiments(folder)
    return run_experiments(["toy"], experiments, RowStore(rows), budget, **options)


def facts(rows: Path) -> dict[str, tuple]:
    """What rows say, without seconds, memory and machine."""
    found = RowStore(rows).rows("toy")
    assert len({(row.kind, row.cell.key) for row in found}) == len(found), "something ran twice"
    return {
        f"{row.kind} {row.cell.key}": (row.status, row.reason, row.params, row.metrics, row.scores)
        for row in found
    }


def test_a_second_run_has_nothing_to_do(tmp_path):
    folder, rows = write_toy(tmp_path / "e"), tmp_path / "rows"
    first = run(folder, rows)
    assert first.counts == {Status.MEASURED: 12}
    assert (first.n_choices, first.n_there) == (2, 0)
    before = RowStore(rows).path("toy").read_bytes()
    second = run(folder, rows)
    assert (second.counts, second.n_there) == ({}, 12)
    assert RowStore(rows).path("toy").read_bytes() == before


def test_rows_describe_themselves(tmp_path):
    folder, rows = write_toy(tmp_path / "e"), tmp_path / "rows"
    run(folder, rows, "smoke", threads=1)
    results = RowStore(rows).rows("toy", Kind.RESULT)
    assert len(results) == 4
    for row in results:
        assert set(row.metrics) >= {"average_precision", "hamming_loss"}
        assert row.budget == "smoke"
        assert row.versions["numpy"]
        assert row.cpu
        assert row.blas
        assert row.threads == 1
        assert row.fit_seconds >= 0
        assert row.predict_seconds >= 0
        assert row.fit_cpu_seconds >= 0
        assert row.peak_gigabytes is None or row.peak_gigabytes > 0.01
    choice = RowStore(rows).rows("toy", Kind.SELECTION)[0]
    assert len(choice.candidates) == len(choice.scores) == 2
    assert choice.params in choice.candidates


def test_first_runs_come_first(tmp_path):
    run(write_toy(tmp_path / "e"), tmp_path / "rows")
    runs = [row.run for row in RowStore(tmp_path / "rows").rows("toy", Kind.RESULT)]
    assert runs == sorted(runs)
    assert len(set(runs)) == 3


def test_parallel_rows_are_the_serial_ones(tmp_path):
    folder = write_toy(tmp_path / "e")
    run(folder, tmp_path / "serial")
    run(folder, tmp_path / "parallel", n_jobs=2)
    assert facts(tmp_path / "parallel") == facts(tmp_path / "serial")


def test_killed_and_started_again_gives_the_same_rows(tmp_path):
    slow = 'slow = { uses = "bench.toy:slow", grid = { shrink = [0.0, 1.0] } }'
    folder = write_toy(tmp_path / "e", slow)
    run(folder, tmp_path / "whole")
    broken = tmp_path / "broken"
    n_kills = 0
    while True:
        process = _start(folder, broken)
        there = _n_lines(broken)
        while process.poll() is None and _n_lines(broken) < there + 8:
            time.sleep(0.01)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        n_kills += 1
        with RowStore(broken).path("toy").open("ab") as file:
            file.write(b'{"experiment": "toy", "data')
    assert n_kills >= 2
    assert facts(broken) == facts(tmp_path / "whole")


def _start(folder: Path, rows: Path) -> subprocess.Popen:
    options = ["--experiments", str(folder), "--rows", str(rows), "--budget", "full"]
    command = [sys.executable, "-m", "labelgap.cli", "bench", "run", "toy", *options]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, **quiet)


def _n_lines(rows: Path) -> int:
    path = RowStore(rows).path("toy")
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_what_goes_wrong_is_a_status_with_a_reason(tmp_path):
    folder = write_toy(
        tmp_path / "e",
        'broken = "bench.toy:failing"',
        'greedy = { uses = "bench.toy:failing", params = { how = "memory" } }',
        'absent = { not_built = "nobody has written it" }',
    )
    summary = run(folder, tmp_path / "rows", "smoke", methods=["broken", "greedy", "absent"])
    assert summary.counts == {Status.FAILED: 2, Status.OUT_OF_MEMORY: 2}
    found = {row.method: row for row in RowStore(tmp_path / "rows").rows("toy", Kind.RESULT)}
    assert {name: (row.status, row.reason) for name, row in found.items()} == {
        "broken": (Status.FAILED, "RuntimeError: it was asked to fail"),
        "greedy": (Status.OUT_OF_MEMORY, "no room for 9 numbers"),
        "absent": (Status.NOT_BUILT, "nobody has written it"),
    }


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_takes_too_long_is_stopped(tmp_path, n_jobs):
    line = 'slow = { uses = "bench.toy:slow", params = { sleep = 600.0 } }'
    folder = write_toy(tmp_path / "e", line)
    summary = run(folder, tmp_path / "rows", "smoke", methods=["slow"], seconds=0.5, n_jobs=n_jobs)
    assert summary.counts == {Status.TIMED_OUT: 2}
    row = RowStore(tmp_path / "rows").rows("toy", Kind.RESULT)[0]
    assert row.reason == "stopped after 0.5 seconds, the limit of the budget"


@pytest.mark.parametrize(
    ("uses", "message"),
    [("bench.toy:nothing", "bench.toy has no 'nothing'"), ("no_such_module:x", "on PYTHONPATH")],
)
def test_a_factory_that_is_not_there_stops_the_run_before_it_begins(tmp_path, uses, message):
    folder = write_toy(tmp_path / "e", f'missing = "{uses}"')
    with pytest.raises(ValueError, match=message):
        run(folder, tmp_path / "rows", "smoke")
    assert RowStore(tmp_path / "rows").rows("toy") == []


def test_what_is_no_number_is_named():
    found = Scores({"a": math.nan, "b": 0.5}, {"objective": [2.0, math.inf]}, {"n": 1})
    assert defined(found) == {
        "metrics": {"b": 0.5},
        "curve": {},
        "details": {"n": 1, "undefined": ["a", "objective"]},
    }


def test_failures_are_tried_again_when_asked(tmp_path):
    folder = write_toy(tmp_path / "e", 'broken = "bench.toy:failing"')
    only = {"methods": ["broken"], "budget": "smoke"}
    assert run(folder, tmp_path / "rows", **only).counts == {Status.FAILED: 2}
    assert run(folder, tmp_path / "rows", **only).counts == {}
    assert run(folder, tmp_path / "rows", **only, retry=True).counts == {Status.FAILED: 2}


def test_settings_that_cannot_be_chosen_fail_their_cells(tmp_path):
    line = 'broken = { uses = "bench.toy:failing", grid = { how = ["fail", "stop"] } }'
    folder = write_toy(tmp_path / "e", line)
    summary = run(folder, tmp_path / "rows", methods=["broken"])
    assert summary.counts == {Status.FAILED: 6}
    row = RowStore(tmp_path / "rows").rows("toy", Kind.RESULT)[0]
    assert row.reason.startswith("no settings were chosen: RuntimeError: it was asked to")


@pytest.mark.slow
def test_a_killed_worker_takes_nothing_else_along(tmp_path):
    line = 'killed = { uses = "bench.toy:failing", params = { how = "killed" } }'
    folder = write_toy(tmp_path / "e", line)
    summary = run(folder, tmp_path / "rows", "smoke", n_jobs=2)
    assert summary.counts == {Status.MEASURED: 4, Status.OUT_OF_MEMORY: 2}


def test_larger_budgets_measure_again_what_smaller_ones_tuned_less(tmp_path):
    folder, rows = write_toy(tmp_path / "e"), tmp_path / "rows"
    run(folder, rows, "smoke")
    summary = run(folder, rows, "small")
    assert summary.counts[Status.MEASURED] == 8
    best = RowStore(rows).results("toy")
    assert Counter(row.budget for row in best) == {"small": 8}
    again = run(folder, rows, "smoke")
    assert (again.counts, again.n_there) == ({}, 4)


def test_borrowed_cells_are_measured_once_and_elsewhere(tmp_path):
    folder = write_toy(tmp_path / "e")
    path = write_toy(tmp_path / "e", name="copy") / "copy" / "experiment.toml"
    path.write_text('borrows = ["toy"]\n' + path.read_text(), encoding="utf-8")
    store = RowStore(tmp_path / "rows")
    summary = run_experiments(["copy", "toy"], load_experiments(folder), store, "smoke")
    assert summary.counts == {Status.MEASURED: 4}
    assert store.experiments() == ["toy"]


def test_unavailable_data_is_told_and_leaves_no_row(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELGAP_DATA", str(tmp_path))
    monkeypatch.setenv("LABELGAP_CACHE", str(tmp_path / "cache"))
    folder = write_toy(tmp_path / "e")
    path = folder / "toy" / "experiment.toml"
    text = path.read_text().replace("emotions = 3", "corel5k_multiview = 1")
    path.write_text(text, encoding="utf-8")
    summary = run(folder, tmp_path / "rows", "smoke")
    assert list(summary.unavailable) == ["corel5k_multiview"]
    assert RowStore(tmp_path / "rows").rows("toy") == []


def test_progress_ends_where_it_said_it_would(tmp_path):
    told: list[tuple[str, int, int]] = []
    folder = write_toy(tmp_path / "e")
    run(folder, tmp_path / "rows", "smoke", progress=lambda *what: told.append(what))
    assert told[-1][1] == told[-1][2] > 0
    assert [one[1] for one in told] == sorted(one[1] for one in told)
    assert told[0][0] == "toy: constant on emotions, run 1"


def test_models_on_a_device_give_the_same_rows_and_the_rows_say_so(tmp_path):
    pytest.importorskip("torch")
    folder = write_toy(tmp_path / "e", 'LEML = { uses = "leml", grid = { ridge = [1.0, 10.0] } }')
    plain, there = tmp_path / "plain", tmp_path / "there"
    run(folder, plain, "smoke", methods=["LEML", "means"])
    run(folder, there, "smoke", methods=["LEML", "means"], device="cpu")
    rows = {row.cell.key + row.kind: row for row in RowStore(there).rows("toy")}
    assert {row.method for row in rows.values() if row.device == "cpu"} == {"LEML"}
    for row in RowStore(plain).rows("toy"):
        assert row.device == ""
        same = rows[row.cell.key + row.kind]
        assert same.params == row.params
        assert same.metrics == pytest.approx(row.metrics, abs=1e-6)


@pytest.mark.parametrize("device", ["nowhere", "cuda:99", "meta", "hpu"])
def test_a_device_that_is_not_there_stops_the_run_before_it_begins(tmp_path, device):
    pytest.importorskip("torch")
    folder, rows = write_toy(tmp_path / "e"), tmp_path / "rows"
    with pytest.raises(ValueError, match=f"device='{device}' cannot be used here"):
        run(folder, rows, "smoke", device=device)
    assert not list(rows.glob("*"))


def test_settings_that_a_plan_fixes_may_be_in_its_grid(tmp_path):
    """A search tells all settings of what it tried, the fixed ones among them."""
    line = 'fixed = { uses = "bench.toy:means", params = { shrink = 0.5 }, '
    folder = write_toy(tmp_path / "e", line + "grid = { shrink = [0.0, 0.5] } }")
    summary = run(folder, tmp_path / "rows", "smoke", methods=["fixed"])
    assert summary.counts == {Status.MEASURED: 2}
    assert {row.params["shrink"] for row in RowStore(tmp_path / "rows").results("toy")} == {0.5}


def test_the_memory_of_a_device_is_memory(tmp_path):
    line = 'full = { uses = "bench.toy:failing", params = { how = "device memory" } }'
    folder = write_toy(tmp_path / "e", line)
    summary = run(folder, tmp_path / "rows", "smoke", methods=["full"])
    assert summary.counts == {Status.OUT_OF_MEMORY: 2}
