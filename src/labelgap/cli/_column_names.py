"""The columns of a table that options name, and those that look like labels."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from labelgap.cli._terminal import BadInputError
from labelgap.data import match_columns
from labelgap.labels import labels_of_vector, read_label_column

_MOST_SHOWN = 12


def match_names(path: Path, columns: list[str], option: str, wanted: list[str]) -> list[str]:
    """The columns that names and patterns stand for, in the order of the table."""
    chosen, stranger = match_columns(columns, wanted)
    require_columns(path, columns, option, [stranger])
    return chosen


def require_columns(path: Path, columns: list[str], option: str, names: Any) -> None:
    for name in names:
        if name is not None and name not in columns:
            more = ", ..." if len(columns) > _MOST_SHOWN else ""
            shown = ", ".join(columns[:_MOST_SHOWN]) + more
            raise BadInputError(
                f"{option} {name}: {path} has no such column; its columns are {shown}"
            )


def likely_labels(frame: Any) -> str:
    """A hint at the column that lists labels, the one with the fewest, or at columns of yes and no."""
    listed: dict[str, int] = {}
    decided = []
    for name in frame.columns:
        try:
            found = labels_of_vector(frame[name])
            if found is not None:
                listed[str(name)] = found.n_labels
            elif {0.0, 1.0} <= set(read_label_column(frame[name])):
                decided.append(str(name))
        except ValueError:
            continue
    if listed:
        best = min(listed, key=listed.__getitem__)
        return f" (column {best!r} looks like one that lists labels: --labels {shlex.quote(best)})"
    if not decided:
        return ""
    shown = ",".join(decided[:_MOST_SHOWN])
    more = f" and {len(decided) - _MOST_SHOWN} more" if len(decided) > _MOST_SHOWN else ""
    return f" (of yes and no: --labels {shlex.quote(shown)}{more})"
