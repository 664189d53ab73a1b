"""Labels in the form the steps take."""

from __future__ import annotations

import numpy as np

from labelgap.kernels.masked_targets import MaskedTarget
from labelgap.labels import Labels, State


def read_labels(labels: Labels) -> tuple[np.ndarray, MaskedTarget | None]:
    """The rows with an observed label, and their labels; ambiguous zeros count as zeros."""
    labelled = np.flatnonzero(labels.n_observed(axis=1, ambiguous=True))
    if not labelled.size:
        return labelled, None
    part = labels[labelled]
    ones = part.positives().astype(np.float64)
    complete = part.n_observed(ambiguous=True) == part.n_rows * part.n_labels
    mask = None if complete else part.states() != State.UNKNOWN
    return labelled, MaskedTarget(ones, mask)


def observed_log_odds(labels: Labels) -> np.ndarray:
    """Log-odds of each label where it is observed, drawn a little towards those of all labels."""
    n_observed = labels.n_observed(axis=0, ambiguous=True)
    n_ones = labels.n_positives(axis=0)
    pooled = (n_ones.sum() + 0.5) / (n_observed.sum() + 1)
    share = (n_ones + pooled) / (n_observed + 1)
    return np.log(share / (1 - share))


def observed_pairs(target: MaskedTarget, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels (0 and 1) of all observed entries."""
    values = target.ones.toarray()
    if target.mask is None:
        return scores.ravel(), values.ravel()
    return scores[target.mask], values[target.mask]
