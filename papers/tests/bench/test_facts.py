"""What rows say of code and machine."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import labelgap
from labelgap_papers.bench._machine import forget_peak, machine_facts, peak_gigabytes


def test_facts_are_told():
    facts = machine_facts()
    assert set(facts) == {"commit", "versions", "cpu", "blas", "python"}
    assert facts["versions"]["numpy"] == np.__version__
    assert {"labelgap", "scipy", "sklearn", "numba"} < set(facts["versions"])
    assert re.search(r"\d+ processors$", facts["cpu"])
    assert re.fullmatch(r"([0-9a-f]{7,}\+?)?", facts["commit"])


def test_a_tree_that_is_not_installed_has_a_version(monkeypatch):
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    machine_facts.cache_clear()
    assert machine_facts()["versions"]["labelgap"] == labelgap.__version__


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="a system without it")
def test_the_peak_begins_again():
    def touch(gigabytes: float) -> None:
        np.ones(int(gigabytes * 2**30 / 8))

    touch(0.4)
    high = peak_gigabytes()
    forget_peak()
    low = peak_gigabytes()
    assert low < high - 0.3
    touch(0.2)
    assert low + 0.1 < peak_gigabytes() < high
