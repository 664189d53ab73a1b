"""Methods and an experiment that take no time, or go wrong in every way there is."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

TOY = """
title = "A toy"
paper = "RMFL"
table = "toy"
protocol = "unknown-per-row"
candidates = 4

[[settings]]
missing = [0.4, 0.6]

[datasets]
emotions = 3

[metrics]
average_precision = "higher"
hamming_loss = "lower"

[methods]
constant = "bench.toy:constant"
means = { uses = "bench.toy:means", grid = { shrink = [0.0, 0.5, 1.0, 2.0] } }

[budgets.smoke]
runs = 1
candidates = 2

[budgets.small]
runs = 2
"""


def write_toy(folder: Path, *lines: str, name: str = "toy") -> Path:
    """The toy experiment below a folder, with further lines in its table of methods."""
    where = folder / name
    where.mkdir(parents=True)
    text = TOY.replace(
        "\n[budgets.smoke]", "".join(f"{line}\n" for line in lines) + "\n[budgets.smoke]"
    )
    (where / "experiment.toml").write_text(text, encoding="utf-8")
    return folder


class OutOfMemoryError(RuntimeError):
    """As torch has it."""


class Means:
    """Scores of a label that all rows share, after it has slept or done worse."""

    def __init__(self, shrink: float = 0.0, sleep: float = 0.0, fail: str = "") -> None:
        self.shrink, self.sleep, self.fail = shrink, sleep, fail

    def fit(self, X: object, Y: object) -> Means:
        time.sleep(self.sleep)
        if self.fail == "memory":
            raise MemoryError("no room for 9 numbers")
        if self.fail == "device memory":
            raise OutOfMemoryError("no room there")
        if self.fail == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fail:
            raise RuntimeError(f"it was asked to {self.fail}")
        values = Y.to_dense()
        self.means = np.nansum(values, axis=0) / (np.isfinite(values).sum(axis=0) + self.shrink)
        return self

    def decision_function(self, X: object) -> np.ndarray:
        return np.tile(self.means - 0.5, (X.shape[0], 1))

    def predict(self, X: object) -> np.ndarray:
        return (self.decision_function(X) > 0).astype(int)


def constant() -> Means:
    return Means()


def means(**params: float) -> Means:
    return Means(**params)


def slow(sleep: float = 0.15, **params: float) -> Means:
    return Means(sleep=sleep, **params)


def failing(how: str = "fail") -> Means:
    return Means(fail=how)
