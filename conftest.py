"""Fixtures shared by the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

# two test processes share the machine: more threads only get in each other's way
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set")
    return Path(value)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real benchmark sets."""
    return _folder("LABELGAP_DATA")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    """The folder with numbers from the authors' own implementations."""
    return _folder("LABELGAP_GOLDEN")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
