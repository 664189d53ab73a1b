"""Rankings of features, each made once and kept: what the other GMFS scripts classify with.

A ranking serves raw and standardised features and every number of features kept. They lie in the
folder ``gmfs_rankings`` of the cache (``LABELGAP_CACHE``), or in ``LABELGAP_RANKINGS``.

    python benchmarks/gmfs_rankings.py [sets] [--rates 0.4] [--methods FSNM GMFS] [--runs 1 2]

makes those that ``gmfs_tables`` asks for, every setting a method may choose among them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import gmfs_methods
from gmfs_data import (
    DIVISIONS,
    FIRST_RUN,
    LARGE,
    RATES,
    SETS,
    TUNING_ROWS,
    Run,
    draw_run,
    inner_run,
    run_numbers,
)
from gmfs_methods import FILTERS, TUNED, Settings, ranking
from labelgap.data import cache_folder

drawn = lru_cache(maxsize=2)(draw_run)


class Place(NamedTuple):
    """Where a ranking is made: a run, or a division of its training rows to choose settings in."""

    dataset: str
    missing: float
    run: int
    division: int | None = None

    def draw(self) -> Run:
        run = drawn(self.dataset, self.missing, self.run)
        if self.division is None:
            return run
        return inner_run(run, self.division, TUNING_ROWS.get(self.dataset))


class Ranking(NamedTuple):
    """Features, the best first, and the seconds that it took."""

    order: np.ndarray
    seconds: float


def stored_ranking(place: Place, method: str, settings: Settings) -> Ranking:
    """The ranking of a method, made when it is asked for first."""
    path = _path(place, method, settings)
    if path.exists():
        with np.load(path) as found:
            return Ranking(found["order"].astype(np.intp), float(found["seconds"]))
    run = place.draw()
    start = time.perf_counter()
    order = ranking(method, run, place.run, settings)
    seconds = time.perf_counter() - start
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.npz")
    np.savez_compressed(unfinished, order=order.astype(np.uint16), seconds=seconds)
    unfinished.replace(path)
    return Ranking(order, seconds)


def _path(place: Place, method: str, settings: Settings) -> Path:
    given = os.environ.get("LABELGAP_RANKINGS")
    folder = Path(given) if given else cache_folder() / "gmfs_rankings"
    key = json.dumps([*place, method, settings], sort_keys=True)
    division = "" if place.division is None else f"-division{place.division}"
    name = f"{place.dataset}-{place.missing}-{place.run}{division}-{method.replace(' ', '_')}"
    return folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.npz"


def places(dataset: str, rate: float, method: str, runs: list[int]) -> list[Place]:
    """All that the tables need of a method, in the order of their need."""
    found = []
    if method in TUNED:
        parts = range(DIVISIONS.get(dataset, 1))
        found = [Place(dataset, rate, FIRST_RUN, part) for part in parts]
    return found + [Place(dataset, rate, run) for run in runs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=[*SETS, *LARGE])
    parser.add_argument("--rates", nargs="*", type=float, default=list(RATES))
    parser.add_argument("--runs", nargs="*", type=int, help="1 to 5, or 1 and 2, by default")
    parser.add_argument("--methods", nargs="*", default=[*FILTERS, *TUNED])
    parser.add_argument("--device", help="device of torch for the fits of tuned methods")
    arguments = parser.parse_args()
    gmfs_methods.DEVICE = arguments.device
    warnings.simplefilter("ignore")
    for name in arguments.sets:
        for rate in arguments.rates:
            for method in arguments.methods:
                candidates = TUNED[method][1] if method in TUNED else [{}]
                start = time.perf_counter()
                for place in places(name, rate, method, arguments.runs or run_numbers(name)):
                    for settings in candidates:
                        stored_ranking(place, method, settings)
                print(name, rate, method, f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
