"""How much work is left, in seconds, from the jobs that are done."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean

from labelgap.bench._measure import Job
from labelgap.bench._rows import Kind


class Expected:
    """What jobs will take: as long as jobs like them took.

    Like a job are those of the same method on the same set, then those of the method, then those
    of the set, then all.

    Parameters
    ----------
    jobs : list of Job
        Everything that is to be done.
    """

    def __init__(self, jobs: list[Job]) -> None:
        self._left = Counter((job.kind, job.cell.method, job.cell.dataset) for job in jobs)
        self._took: dict[tuple, list[float]] = defaultdict(list)
        self._spent = 0.0

    def finished(self, job: Job, seconds: float) -> None:
        kind, method, dataset = job.kind, job.cell.method, job.cell.dataset
        self._left[kind, method, dataset] -= 1
        self._spent += seconds
        for like in _likes(kind, method, dataset):
            self._took[like].append(seconds)

    def seconds(self) -> tuple[float, float]:
        """Spent, and expected in all."""
        left = sum(n * self._expected(*what) for what, n in self._left.items())
        return self._spent, self._spent + left

    def _expected(self, kind: Kind, method: str, dataset: str) -> float:
        for like in _likes(kind, method, dataset):
            if like in self._took:
                return fmean(self._took[like])
        return 1.0


def _likes(kind: Kind, method: str, dataset: str) -> list[tuple]:
    return [
        (kind, method, dataset),
        (kind, method, None),
        (kind, None, dataset),
        (kind, None, None),
    ]
