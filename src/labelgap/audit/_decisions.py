"""What people decided about suggestions: a small JSON file, and what it changes in the labels.

::

    {"format": "labelgap decisions", "version": 1, "audit": "5a0c1e7d9b3f2a64",
     "decisions": [{"item": "b17", "label": "crime", "decision": "accept",
                    "time": "2026-01-05T08:30:00.000Z", "reviewer": "Ann"}]}

The report page, the review server and :func:`write_decisions` write it. Decisions are in the order
in which they were made; of several about one entry the last counts. A *reviewer* is optional.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labelgap.audit._plain import from_plain, to_plain
from labelgap.labels import Labels, State

__all__ = ["Decision", "Decisions", "apply_decisions", "read_decisions", "write_decisions"]

_FORMAT = "labelgap decisions"
_VERSION = 1


@dataclass(frozen=True)
class Decision:
    """One answer: the label belongs to the item (accept) or does not (reject)."""

    item: str
    label: str
    decision: Literal["accept", "reject"]
    time: str
    reviewer: str | None = None


@dataclass(frozen=True)
class Decisions:
    """Answers in the order they were given, and the id of the audit that asked.

    ``place`` is where they were read from, for messages.
    """

    audit: str
    decisions: tuple[Decision, ...]
    place: str = "decisions"

    def last(self) -> dict[tuple[str, str], Decision]:
        """The answer that counts, of each item and label."""
        return {(one.item, one.label): one for one in self.decisions}

    def to_dict(self) -> dict[str, Any]:
        """The contents of a decisions file."""
        kept = [
            {name: value for name, value in to_plain(one).items() if value is not None}
            for one in self.decisions
        ]
        head = {"format": _FORMAT, "version": _VERSION, "audit": self.audit}
        return {**head, "decisions": kept}


def read_decisions(path: str | Path) -> Decisions:
    """Read a decisions file.

    Raises
    ------
    ValueError
        If it is no such file; the message names the file, the place in it and what is wrong.
    """
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is no decisions file, as it is not JSON ({error})") from error
    if not isinstance(plain, dict) or plain.get("format") != _FORMAT:
        raise ValueError(
            f"{path}: is no decisions file; export one from the report page or the review page"
        )
    if plain.get("version") != _VERSION:
        raise ValueError(
            f"{path}: has layout {plain.get('version')!r}, this version of labelgap reads "
            f"{_VERSION}"
        )
    try:
        audit = from_plain(str, plain.get("audit"), "audit")
        made = from_plain(tuple[Decision, ...], plain.get("decisions"), "decisions")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Decisions(audit, made, str(path))


def write_decisions(decisions: Decisions, path: str | Path) -> None:
    """Write a decisions file; an existing one is replaced only when the new one is complete."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    text = json.dumps(decisions.to_dict(), indent=1, ensure_ascii=False)
    try:
        partial.write_text(text + "\n", encoding="utf-8")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def apply_decisions(
    labels: Labels, decisions: Decisions, item_ids: Sequence[Any] | np.ndarray
) -> Labels:
    """The labels with accepted entries relevant and rejected ones irrelevant.

    Parameters
    ----------
    labels : Labels
    decisions : Decisions
        The last one of each entry counts, over whatever the labels say.
    item_ids : sequence of length n_rows
        Compared as strings, as the audit writes them. Labels without names are called by number.

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        If a decision is about an item or a label that is not there.
    """
    row_of = _positions(item_ids)
    names = range(labels.n_labels) if labels.names is None else labels.names
    column_of = _positions(names)
    final = decisions.last()
    rows = np.array([_find(row_of, key[0], "item", decisions) for key in final], dtype=np.intp)
    columns = np.array(
        [_find(column_of, key[1], "label", decisions) for key in final], dtype=np.intp
    )
    states = np.array(
        [
            State.RELEVANT if one.decision == "accept" else State.IRRELEVANT
            for one in final.values()
        ],
        dtype=np.int8,
    )
    return labels.with_entries(rows, columns, states) if final else labels


def _positions(names: Iterable[Any]) -> dict[str, int]:
    return {str(name): position for position, name in enumerate(names)}


def _find(positions: dict[str, int], name: str, what: str, decisions: Decisions) -> int:
    if name not in positions:
        number = next(k for k, one in enumerate(decisions.decisions) if getattr(one, what) == name)
        raise ValueError(
            f"{decisions.place}: decisions[{number}] is about the {what} {name!r}, which the data "
            "do not have; these decisions belong to other data, or the column of ids is another"
        )
    return positions[name]
