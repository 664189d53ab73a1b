"""All entries that are probably relevant though not recorded, not only the first of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelgap.audit._audit import chances_from, read_recorded
from labelgap.audit._given import Zeros, check_given
from labelgap.audit._joint import Advance, fit_joint
from labelgap.audit._rows import feature_rows
from labelgap.audit._tally import take_tally

__all__ = ["Completed", "complete"]


class Completed(NamedTuple):
    """Entries by falling chance of being relevant: rows, positions of labels, and chances."""

    rows: np.ndarray
    labels: np.ndarray
    probabilities: np.ndarray


def complete(
    X: Any,
    Y: Any,
    *,
    threshold: float = 0.5,
    most: int = 1_000_000,
    zeros: Zeros = "auto",
    scale: bool = True,
    random_state: int | None = 0,
    progress: Advance | None = None,
) -> Completed:
    """The entries that are more probable than a threshold, among unknown ones and zeros in doubt.

    Parameters are those of :func:`audit`; at most ``most`` zeros and ``most`` unknown entries are
    given, the most probable.

    Returns
    -------
    Completed
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold={threshold}: must be at least 0 and below 1")
    advance = progress or (lambda stage, done, total: None)
    rng = np.random.default_rng(random_state)
    given = check_given(X, Y, None, zeros, None)
    rows = feature_rows(X, scale=scale, random_state=int(rng.integers(2**31 - 1)))
    part = given.part
    model = fit_joint(rows, part, rng, advance)
    tally = take_tally(model, part, most, advance)
    chances = chances_from(tally, read_recorded(tally) if part.ambiguous else None)
    zero = tally.best_zero if part.ambiguous else tally.best_zero.first(0)
    unknown = tally.best_unknown
    chance = np.concatenate([chances.of_zeros(zero.scores), chances.of_unknown(unknown.scores)])
    at = np.concatenate([zero.rows, unknown.rows])
    labels = given.modelled[np.concatenate([zero.labels, unknown.labels])]
    order = np.lexsort((labels, at, -chance))
    order = order[chance[order] > threshold]
    return Completed(at[order], labels[order], chance[order])
