"""Small problems: one thread is the fastest here, in this process and in those that tests start."""

import numba
import pytest


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    yield
    numba.set_num_threads(before)
