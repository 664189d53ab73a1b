"""All entries that are probably relevant though not recorded, not only the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from labelgap.audit._chances import chances_from
from labelgap.audit._decisions import Decisions
from labelgap.audit._given import Given, Zeros, check_given
from labelgap.audit._joint import Advance, fit_joint
from labelgap.audit._recording import read_recorded
from labelgap.audit._rows import FeatureRows, feature_rows
from labelgap.audit._tally import take_tally
from labelgap.mending import Mend

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
    model: Literal["joint", "mend"] = "joint",
    zeros: Zeros = "auto",
    scale: bool = True,
    item_ids: Sequence[Any] | np.ndarray | None = None,
    decisions: Decisions | None = None,
    random_state: int | None = 0,
    progress: Advance | None = None,
) -> Completed:
    """The entries that are more probable than a threshold, among unknown ones and zeros in doubt.

    Parameters
    ----------
    X, Y, zeros, scale, item_ids, decisions, random_state, progress
        As in :func:`audit`. What people decided is not completed again.
    threshold : float
    most : int
        At most so many zeros, and so many unknown entries, are given, the most probable.
    model : {"joint", "mend"}
        "joint" is that of :func:`audit`. "mend" takes the completion of :class:`labelgap.Mend`,
        which leaves labels as they are where its trials say that completing them hurts.

    Returns
    -------
    Completed
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold={threshold}: must lie between 0 and 1")
    if model not in ("joint", "mend"):
        raise ValueError(f"model={model!r}: use 'joint' or 'mend'")
    advance = progress or (lambda stage, done, total: None)
    rng = np.random.default_rng(random_state)
    given = check_given(X, Y, item_ids, zeros, decisions)
    rows = feature_rows(X, scale=scale, random_state=int(rng.integers(2**31 - 1)))
    if model == "mend":
        advance("trying whether completed labels help", 0, None)
        found = _mended(rows, given, most, random_state)
    else:
        found = _joint(rows, given, most, rng, advance)
    at, labels, chance = found
    order = np.lexsort((labels, at, -chance))
    order = order[chance[order] > threshold]
    return Completed(at[order], labels[order], chance[order])


def _joint(
    rows: FeatureRows, given: Given, most: int, rng: np.random.Generator, advance: Advance
) -> Completed:
    part = given.part
    fitted = fit_joint(rows, part, rng, advance)
    tally = take_tally(fitted, part, most, advance, given.decided_part)
    chances = chances_from(tally, read_recorded(tally) if part.ambiguous else None)
    zero = tally.best_zero if part.ambiguous else tally.best_zero.first(0)
    unknown = tally.best_unknown
    return Completed(
        np.concatenate([zero.rows, unknown.rows]),
        given.modelled[np.concatenate([zero.labels, unknown.labels])],
        np.concatenate([chances.of_zeros(zero.scores), chances.of_unknown(unknown.scores)]),
    )


def _mended(rows: FeatureRows, given: Given, most: int, random_state: int | None) -> Completed:
    mend = Mend(zeros="ambiguous" if given.part.ambiguous else "irrelevant")
    mend.set_params(random_state=random_state).fit(rows.inputs, given.part)
    filled = mend.completed_.chances.tocoo()
    best = np.argsort(-filled.data, kind="stable")[:most]
    return Completed(filled.row[best], given.modelled[filled.col[best]], filled.data[best])
