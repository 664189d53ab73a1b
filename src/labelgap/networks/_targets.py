"""Dense targets of some rows: 1, 0, probabilities, and NaN where there is nothing to learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labelgap.labels import Labels


def observed_targets(labels: Labels) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of rows that gives their observed entries, NaN where unknown."""

    def targets(rows: np.ndarray) -> np.ndarray:
        return labels[rows].to_dense(unknown=np.nan, unlabeled=0.0, dtype=np.float32)

    return targets


def targets_of_rows(
    targets: Callable[[np.ndarray], np.ndarray], some: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the same function for some of the rows, numbered anew."""
    return lambda rows: targets(some[rows])


def stacked_targets(
    pseudo_labels: Sequence[np.ndarray], n_networks: int, shape: tuple[int, int]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of rows that gives the pseudo-labels of each network."""
    shapes = {np.shape(one) for one in pseudo_labels}
    if len(pseudo_labels) != n_networks or shapes != {shape}:
        raise ValueError(
            f"pseudo_labels has {len(pseudo_labels)} arrays of the shapes {sorted(shapes)}: give "
            f"{n_networks} of the shape {shape}, one for each network"
        )
    return lambda rows: np.stack([one[rows] for one in pseudo_labels])
