"""Many sweeps over coordinates, with and without jumps: the rows of image placed by their features.

A factorisation of image's features is fitted by IMVWL with one view; its rows are then placed
without their labels, from the start that predictions have, until no coordinate moves by more than
1e-12 of the largest, as in a fit. Sweeps alone are sixteen at a time, after which a jump would
come.

    python benchmarks/nonnegative_jumps.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

from labelgap import IMVWL
from labelgap.data import load_dataset
from labelgap.kernels.nonnegative import coordinate_sweeps
from result_rows import ResultRows

FACTORS = (0.1, 0.25, 0.5, 1.0)
MOST_SWEEPS = 2000
TOL = 1e-12


def alone(Z: np.ndarray, linear: np.ndarray, gram: np.ndarray) -> np.ndarray:
    going = np.arange(len(Z))
    for _ in range(MOST_SWEEPS // 16):
        before = Z[going]
        after = coordinate_sweeps(before, linear[going], gram, n_sweeps=16, tol=TOL)
        Z[going] = after
        moves = np.abs(after - before).max(axis=1)
        going = going[moves > TOL * after.max(axis=1)]
        if not going.size:
            break
    return Z


def jumping(Z: np.ndarray, linear: np.ndarray, gram: np.ndarray) -> np.ndarray:
    return coordinate_sweeps(Z, linear, gram, n_sweeps=MOST_SWEEPS, tol=TOL)


def measured(way: Callable[..., np.ndarray], *parts: np.ndarray) -> tuple[np.ndarray, float]:
    began = time.process_time()
    found = way(parts[0].copy(), *parts[1:])
    return found, time.process_time() - began


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("nonnegative_jumps", key=("factors",))
    data = load_dataset("image")
    X = np.asarray(data.X) - np.asarray(data.X).min(axis=0)
    for share in FACTORS:
        if rows.find(factors=share):
            continue
        model = IMVWL(n_factors=share, max_iter=30, random_state=0).fit(X, data.Y)
        U = model.params_.U
        scaled = X / np.sqrt(np.mean(np.square(X).sum(axis=1)))
        gram = (U.T @ U + 1e-6 * np.eye(U.shape[1]))[None]
        parts = np.zeros((len(X), U.shape[1])), scaled @ U, gram
        jumping(*(part[:20] for part in parts[:2]), gram)
        (near, slow), (found, fast) = measured(alone, *parts), measured(jumping, *parts)
        loss = [float(np.square(Z @ U.T - scaled).sum()) for Z in (near, found)]
        row = {"factors": share, "k": U.shape[1], "sweeps_seconds": slow, "jumps_seconds": fast}
        rows.add(row | {"ratio": slow / fast, "sweeps_loss": loss[0], "jumps_loss": loss[1]})


if __name__ == "__main__":
    main()
