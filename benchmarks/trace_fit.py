"""Which functions of the library run in a fit of Mend, and how deep: what a reader has to follow.

    python benchmarks/trace_fit.py [--zeros unlabeled] [--list]

Counts functions of labelgap only, on a small generated set with gaps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

import labelgap
from labelgap import Mend

_ROOT = Path(labelgap.__file__).parent


class Traced(NamedTuple):
    """Functions as (file, name), and the most of them that are active at once."""

    functions: list[tuple[str, str]]
    depth: int

    @property
    def files(self) -> list[str]:
        return sorted({file for file, _ in self.functions})


def trace(call: Callable[[], Any]) -> Traced:
    """Return the functions of labelgap that a call runs through."""
    seen: set[tuple[str, str]] = set()
    active, deepest = 0, 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal active, deepest
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(str(_ROOT)):
            return
        # a comprehension belongs to the function around it
        if code.co_name in ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"):
            return
        if event == "return":
            active -= 1
            return
        active += 1
        deepest = max(deepest, active)
        seen.add((str(Path(code.co_filename).relative_to(_ROOT)), code.co_qualname))

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Traced(sorted(seen), deepest)


def with_gaps(zeros: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels, of which four in ten are unknown, or are zero by mistake."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    factor = X[:, :1] + 1.5 * rng.normal(size=(300, 1))
    Y = (factor * np.linspace(1.5, 3, 6) + X[:, 1:2] + 0.5 * rng.normal(size=(300, 6)) > 1) * 1.0
    hidden = rng.random(Y.shape) < 0.4
    return X, np.where(hidden, np.nan if zeros == "negative" else 0.0, Y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zeros", choices=("negative", "unlabeled"), default="negative")
    parser.add_argument("--list", action="store_true", help="name the functions")
    given = parser.parse_args()
    X, Y = with_gaps(given.zeros)
    found = trace(lambda: Mend(LogisticRegression(), zeros=given.zeros).fit(X, Y))
    if given.list:
        print(*(f"{file}: {name}" for file, name in found.functions), sep="\n")
    print(f"{len(found.functions)} functions in {len(found.files)} files, {found.depth} deep")


if __name__ == "__main__":
    main()
