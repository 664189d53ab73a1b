"""Linear algebra and numba on the cores that are idle."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from labelgap.cli import _app
from labelgap.cli._app import idle_cores, on_idle_cores


def blas_threads() -> list[int]:
    np.eye(2) @ np.eye(2)
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.mark.parametrize(
    ("own", "idle", "given"),
    [(2, 1.9, 2), (2, 0.8, 1), (2, 0.0, 1), (4, 44.0, 4), (4, 2.2, 2), (4, None, 4)],
)
def test_what_others_use_is_left_to_them(monkeypatch, own, idle, given):
    monkeypatch.setattr("joblib.cpu_count", lambda: own)
    monkeypatch.setattr(_app, "_idle_now", lambda: idle)
    assert idle_cores() == given


def test_idle_cores_are_counted_by_their_ticks(monkeypatch, tmp_path):
    statistics = tmp_path / "stat"
    monkeypatch.setattr(_app, "_STATISTICS", statistics)
    assert _app._idle_now() is None
    ticks = os.sysconf("SC_CLK_TCK")

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        statistics.write_text(f"cpu 9 9 9 {700 + round(2 * seconds * ticks)} 0 9 9\ncpu0 1")

    monkeypatch.setattr(_app, "time", SimpleNamespace(sleep=sleep, perf_counter=Clock(0.1)))
    statistics.write_text("cpu 9 9 9 690 10 9 9\ncpu0 1")
    assert _app._idle_now() == pytest.approx(2.0)


class Clock:
    """Time that passes only when it is asked for."""

    def __init__(self, step: float) -> None:
        self.step, self.now = step, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_busy_machine_gets_one_thread_unless_told(monkeypatch):
    before, of_numba = blas_threads(), numba.get_num_threads()
    monkeypatch.setattr(_app, "idle_cores", lambda: 1)
    for name in _app._THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with on_idle_cores():
        assert set(blas_threads()) == {1}
        assert numba.get_num_threads() == 1
    assert blas_threads() == before
    assert numba.get_num_threads() == of_numba
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with on_idle_cores():
        assert blas_threads() == before
