"""A killed fit resumes and ends exactly where an undisturbed one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fitting.topic_problem import BLOCK_ROWS, fit, prepare, problem, same, start
from labelgap.files import replacing
from labelgap.fitting import (
    ArrayRows,
    Checkpoint,
    CheckpointError,
    DiskStore,
    LocalRows,
    PreparedBlocks,
    Trace,
    open_rows,
)
from labelgap.models.bmlpl._bmlpl_em import BMLPLLocal


def rows(block_rows: int = BLOCK_ROWS) -> LocalRows:
    X, labels = problem(gaps=True)
    return open_rows(ArrayRows(X, labels, block_rows=block_rows), prepare(True))


def checkpoint(folder, every=2, identity=None) -> Checkpoint:
    return Checkpoint(folder, local_type=BMLPLLocal, every=every, identity=identity)


class CrashError(Exception):
    pass


def crash_at(iteration: int):
    def callback(progress):
        if progress.iteration == iteration:
            raise CrashError

    return callback


@pytest.mark.parametrize("stopped_at", [0, 1, 4, 7])
def test_resumed_fit_ends_where_an_undisturbed_one_ends(tmp_path, stopped_at):
    expected, whole = fit(rows(), max_iter=9)
    with pytest.raises(CrashError):
        fit(
            rows(), max_iter=9, callback=crash_at(stopped_at), checkpoint=checkpoint(tmp_path / "c")
        )
    found, trace = fit(rows(), max_iter=9, checkpoint=checkpoint(tmp_path / "c"))
    assert same(found, expected)
    assert trace.objective == whole.objective
    assert len(trace.seconds) == 9


KILLED = """
import sys
from fitting.test_checkpoint import checkpoint, fit, rows

def report(progress):
    sys.stdout.write(f"{progress.iteration}\\n")
    sys.stdout.flush()

fit(rows(), max_iter=10**6, callback=report, checkpoint=checkpoint(sys.argv[1], every=3))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_sigkill_and_resume(tmp_path):
    """Killed from outside at some moment, perhaps while writing; then twice more."""
    moments = np.random.default_rng().integers(4, 60, size=2)
    reached = 0
    for moment in moments:
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path / "c")],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        with child:
            for line in child.stdout:
                if int(line) >= reached + moment:
                    child.kill()
                    break
        assert child.returncode == -signal.SIGKILL
        reached = int(line)
    max_iter = reached + 5
    found, trace = fit(rows(), max_iter=max_iter, checkpoint=checkpoint(tmp_path / "c", every=3))
    expected, whole = fit(rows(), max_iter=max_iter)
    assert same(found, expected), f"killed after {moments}"
    assert trace.objective == whole.objective
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "c").iterdir()) == [
        "current.json",
        "iteration",
    ]


def test_states_on_disk_resume_into_memory_and_back(tmp_path):
    expected, _ = fit(rows(), max_iter=6)
    X, labels = problem(gaps=True)
    blocks = PreparedBlocks(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(True))
    on_disk = LocalRows(blocks, DiskStore(tmp_path / "store"))
    fit(on_disk, max_iter=2, checkpoint=checkpoint(tmp_path / "c"))
    found, _ = fit(rows(), max_iter=6, checkpoint=checkpoint(tmp_path / "c"))
    assert same(found, expected)


def test_resuming_a_finished_fit_does_nothing(tmp_path):
    model_rows, saved = rows(), checkpoint(tmp_path / "c", every=1000)
    params, trace = fit(model_rows, max_iter=500, tol=1e-3, checkpoint=saved)
    assert trace.outcome == "converged"
    saved.finish(params, model_rows, trace)
    untouched = LocalRows([None] * 5)
    again, second = fit(untouched, max_iter=500, tol=1e-3, checkpoint=checkpoint(tmp_path / "c"))
    assert same(again, params)
    assert second.outcome == "converged"
    assert second.objective == trace.objective
    before = _listing(tmp_path)
    saved = checkpoint(tmp_path / "c")
    saved.resume(start(), rows(), trace := Trace())
    saved.finish(params, model_rows, trace)
    assert _listing(tmp_path) == before


def test_more_iterations_go_on_where_too_few_ended(tmp_path):
    first, saved = rows(), checkpoint(tmp_path / "c", every=1000)
    params, trace = fit(first, max_iter=3, checkpoint=saved)
    assert trace.outcome == "out_of_iterations"
    saved.finish(params, first, trace)
    found, trace = fit(rows(), max_iter=7, checkpoint=checkpoint(tmp_path / "c"))
    assert trace.n_iter == 7
    assert same(found, fit(rows(), max_iter=7)[0])


def test_stopped_fit_goes_on_exactly(tmp_path):
    stopped, saved = rows(), checkpoint(tmp_path / "c")
    params, trace = fit(
        stopped, max_iter=9, callback=lambda progress: progress.iteration == 4, checkpoint=saved
    )
    assert trace.outcome == "stopped"
    saved.finish(params, stopped, trace)
    found, trace = fit(rows(), max_iter=9, checkpoint=checkpoint(tmp_path / "c"))
    assert same(found, fit(rows(), max_iter=9)[0])


def test_another_fit_is_refused_by_name(tmp_path):
    identity = {"alpha": 1.0, "labels": np.arange(3), "deep": {"n": [1, np.int64(2)]}}
    fit(rows(), max_iter=2, checkpoint=checkpoint(tmp_path / "c", identity=identity))
    fit(rows(), max_iter=2, checkpoint=checkpoint(tmp_path / "c", identity=identity))
    for name, value in (("alpha", 2.0), ("labels", np.arange(4)), ("new", None), ("deep", {})):
        other = checkpoint(tmp_path / "c", identity={**identity, name: value})
        if name == "new":
            fit(rows(), max_iter=2, checkpoint=other)  # None and absent say the same
            continue
        with pytest.raises(CheckpointError, match=f"another fit: {name} was"):
            fit(rows(), max_iter=2, checkpoint=other)
    with pytest.raises(TypeError, match=r"identity\['f'\] is a function"):
        checkpoint(tmp_path / "c", identity={"f": crash_at})


def test_other_blocks_are_refused(tmp_path):
    fit(rows(), max_iter=2, checkpoint=checkpoint(tmp_path / "c"))
    with pytest.raises(ValueError, match="local states of other blocks"):
        fit(rows(block_rows=40), max_iter=4, checkpoint=checkpoint(tmp_path / "c"))


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_truncate, _flip, Path.unlink])
@pytest.mark.parametrize("name", ["*/global.npz", "*/block-000003.npz", "current.json"])
def test_damage_is_found_before_anything_is_restored(tmp_path, damage, name):
    fit(rows(), max_iter=2, checkpoint=checkpoint(tmp_path / "c"))
    damage(next((tmp_path / "c").glob(name)))
    fresh, trace = rows(), Trace()
    if name == "current.json" and damage is Path.unlink:
        assert same(checkpoint(tmp_path / "c").resume(start(), fresh, trace), start())
        return
    with pytest.raises(CheckpointError, match=r"is damaged.*delete the folder"):
        checkpoint(tmp_path / "c").resume(start(), fresh, trace)
    assert list(fresh.local_states()) == [None] * 5
    assert trace.n_iter == 0


def test_failed_write_leaves_the_last_one(tmp_path):
    saved, model_rows = checkpoint(tmp_path / "c"), rows()
    params, trace = fit(model_rows, max_iter=2, checkpoint=saved)
    before = _listing(tmp_path)

    class Broken(LocalRows):
        def local_states(self):
            yield from list(super().local_states())[:2]
            raise CrashError

    broken = Broken(model_rows.blocks, model_rows.store)
    with pytest.raises(CrashError):
        saved.write(params, broken, trace)
    assert _listing(tmp_path) == before
    assert not [name for name in before if name.endswith(".part")]


def test_what_a_killed_write_left_is_removed(tmp_path):
    fit(rows(), max_iter=2, checkpoint=checkpoint(tmp_path / "c"))
    (tmp_path / "c" / "iteration-000004-left").mkdir()
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    with replacing(tmp_path / "x") as (mine,):
        mine.write_text("")
        host = mine.name.split("-")[1]
    name = f".partial-{host}-{int(dead.stdout)}-01234567-current.json"
    (tmp_path / "c" / name).write_text("")
    assert fit(rows(), max_iter=4, checkpoint=checkpoint(tmp_path / "c"))[1].n_iter == 4
    assert len(list((tmp_path / "c").iterdir())) == 2


def test_bad_arguments_are_refused(tmp_path):
    (tmp_path / "file.npz").write_text("")
    with pytest.raises(CheckpointError, match="is a file"):
        checkpoint(tmp_path / "file.npz")
    with pytest.raises(ValueError, match="every=0"):
        checkpoint(tmp_path / "c", every=0)


def _listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
