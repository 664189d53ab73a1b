"""The states of a label entry, and how they are named in arguments."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

UnstatedName = Literal["irrelevant", "unknown", "ambiguous"]
ZerosName = Literal["irrelevant", "ambiguous"]


class LabelWarning(UserWarning):
    """The labels can be used, but probably not as their owner expects."""


class State(IntEnum):
    """What one entry of a label matrix says.

    The codes are what :attr:`labelgap.Labels.entries` stores; none of them is zero, so that a
    sparse matrix of codes never confuses "stored" with "zero".
    """

    RELEVANT = 1
    IRRELEVANT = 2
    UNKNOWN = 3
    AMBIGUOUS = 4


def unstated_state(argument: str, value: State | str) -> State:
    """The state that unstored entries have, from its name."""
    for state in (State.IRRELEVANT, State.UNKNOWN, State.AMBIGUOUS):
        if value is state or value == state.name.lower():
            return state
    raise ValueError(f"{argument}={value!r}: use 'irrelevant', 'unknown' or 'ambiguous'")


def zero_state(zeros: State | str) -> State:
    """The state of a plain zero: known to be irrelevant, or 0-or-unknown."""
    if isinstance(zeros, State):
        zeros = zeros.name.lower()
    if zeros not in ("irrelevant", "ambiguous"):
        raise ValueError(
            f"zeros={zeros!r}: use 'irrelevant' (a zero means no) or 'ambiguous' "
            "(positive-only data: a zero may mean that nobody looked)"
        )
    return State.IRRELEVANT if zeros == "irrelevant" else State.AMBIGUOUS
