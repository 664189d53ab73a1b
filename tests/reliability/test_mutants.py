"""Faults are put where code is, one at a time, and keep the lines of the source."""

from __future__ import annotations

import pytest

from reliability.forks import TOO_LONG, Job, run_jobs
from reliability.mutants import mutant, n_mutants

SOURCE = '''
"""Words."""
LIMIT = 3


class Box:
    def inner(self, n: int = 4) -> int:
        if n < LIMIT and not self.full:
            raise ValueError(f"{n + 1} is less")
        return sum(
            k * 2
            for k in range(n)
        )
'''


def test_every_fault_is_another_one():
    found = [mutant(SOURCE, number) for number in range(n_mutants(SOURCE))]
    assert [(fault.function, fault.after) for fault in found] == [
        ("", "LIMIT = 4"),
        ("", "def inner(self, n: int=5) -> int:"),
        ("Box.inner", "if not (n < LIMIT and (not self.full)):"),
        ("Box.inner", "if n < LIMIT or not self.full:"),
        ("Box.inner", "if n <= LIMIT and (not self.full):"),
        ("Box.inner", "if n < LIMIT and self.full:"),
        ("Box.inner", "return sum((k / 2 for k in range(n)))"),
        ("Box.inner", "return sum((k * 3 for k in range(n)))"),
    ]
    assert [fault.lines for fault in found[-2:]] == [range(10, 14)] * 2
    assert found[2].lines == range(8, 9)


def test_a_class_has_its_name_once():
    fault = mutant("class A:\n    class B:\n        def f(self):\n            return 1\n", 0)
    assert fault.function == "A.B.f"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_jobs_end_as_they_end_and_the_long_ones_are_stopped():
    def forever() -> int:
        while True:
            pass

    def fails() -> int:
        raise RuntimeError

    jobs = [Job("a", lambda: 3, 20.0), Job("b", forever, 0.2), Job("c", fails, 20.0)]
    assert dict(run_jobs(jobs, 2)) == {"a": 3, "b": TOO_LONG, "c": 99}
