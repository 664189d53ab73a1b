"""The closed set of what a call may come to, and who is to say so."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

# what needs an absent package was not tried, and is counted apart
ALLOWED = ("right", "clear error", "not installed")
FAILED = ("wrong answer", "raw error", "crash", "hang")

_OURS = ("/labelgap/", "/labelgap_papers/")
# scikit-learn's checks of X, y and parameters name the argument and are part of its contract
_DOORS = ("sklearn/utils/validation.py", "sklearn/utils/_param_validation.py")
_DOORS += ("sklearn/utils/multiclass.py", "sklearn/utils/_tags.py", "sklearn/base.py")
_ERRORS = (ValueError, TypeError, OSError, ImportError, LookupError)


class Outcome(NamedTuple):
    """What a call came to, and in which words."""

    kind: str
    said: str = ""
    value: Any = None


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """Call, and sort what happens; a value is right until somebody compares it."""
    try:
        return Outcome("right", value=call())
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return Outcome("clear error" if is_clear(error) else "raw error", said)


def is_clear(error: Exception) -> bool:
    """Whether the error was raised by a check of ours (or scikit-learn's at the door) with words."""
    if type(error).__module__.startswith("labelgap"):
        return True
    if isinstance(error, AssertionError) or not isinstance(error, _ERRORS):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    by_us = any(part in last.filename for part in _OURS) and "raise" in (last.line or "raise")
    at_the_door = any(last.filename.endswith(door) for door in _DOORS)
    return (by_us or at_the_door) and bool(re.search(r"\w{3,} \w{2,}", str(error)))
