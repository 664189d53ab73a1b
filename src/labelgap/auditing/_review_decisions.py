"""Decisions about suggestions: a small JSON file, and what it changes in the labels.

::

    {"format": "labelgap decisions", "version": 1, "audit": "5a0c1e7d9b3f2a64",
     "decisions": [{"item": "b17", "label": "crime", "decision": "accept",
                    "time": "2026-01-05T08:30:00.000Z", "reviewer": "Ann"}]}

The report page, the review server and :func:`write_decisions` write it. Decisions are in the order
in which they were made; of several about one entry the last counts. A *reviewer* is optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labelgap._records import from_plain, to_plain
from labelgap.files import read_json, replacing
from labelgap.labels import Labels, State

_FORMAT = "labelgap decisions"
_VERSION = 1
_REMEDY = "export one from the report page or the review page"


@dataclass(frozen=True)
class Decision:
    """One answer: the label belongs to the item (accept) or does not (reject).

    Examples
    --------
    >>> from labelgap.auditing import Decision
    >>> Decision("b17", "crime", "accept", "2026-01-05T08:30:00.000Z").decision
    'accept'
    """

    item: str
    label: str
    decision: Literal["accept", "reject"]
    time: str
    reviewer: str | None = None


@dataclass(frozen=True)
class ReviewDecisions:
    """Answers in the order they were given, and the id of the audit that they are about.

    ``place`` is where they were read from, for messages.

    Examples
    --------
    >>> from labelgap.auditing import Decision, ReviewDecisions
    >>> time = "2026-01-05T08:30:00.000Z"
    >>> answers = (Decision("b1", "crime", "accept", time), Decision("b1", "crime", "reject", time))
    >>> ReviewDecisions("5a0c1e7d9b3f2a64", answers).last()["b1", "crime"].decision
    'reject'
    """

    audit: str
    decisions: tuple[Decision, ...]
    place: str = "decisions"

    def last(self) -> dict[tuple[str, str], Decision]:
        """Return the answer that counts, of each item and label."""
        return {(decision.item, decision.label): decision for decision in self.decisions}

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of a decisions file."""
        decisions = [
            {name: value for name, value in to_plain(decision).items() if value is not None}
            for decision in self.decisions
        ]
        head = {"format": _FORMAT, "version": _VERSION, "audit": self.audit}
        return {**head, "decisions": decisions}


def read_decisions(path: str | Path) -> ReviewDecisions:
    """Read a decisions file; a ValueError names the file, the place in it and what is wrong.

    Examples
    --------
    >>> import tempfile
    >>> from labelgap.auditing import ReviewDecisions, read_decisions, write_decisions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_decisions(ReviewDecisions("5a0c1e7d9b3f2a64", ()), f"{folder}/decisions.json")
    ...     read_decisions(f"{folder}/decisions.json").audit
    '5a0c1e7d9b3f2a64'
    """
    try:
        plain = read_json(Path(path).read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: is no decisions file, as {error}; {_REMEDY}") from error
    if not isinstance(plain, dict) or plain.get("format") != _FORMAT:
        raise ValueError(f"{path}: is no decisions file; {_REMEDY}")
    if plain.get("version") != _VERSION:
        raise ValueError(
            f"{path}: has layout {plain.get('version')!r}, this version of labelgap reads "
            f"{_VERSION}"
        )
    try:
        audit = from_plain(str, plain.get("audit"), "audit")
        decisions = from_plain(tuple[Decision, ...], plain.get("decisions"), "decisions")
    except ValueError as error:
        raise ValueError(f"{path}: {error}; {_REMEDY}") from error
    return ReviewDecisions(audit, decisions, str(path))


def write_decisions(decisions: ReviewDecisions, path: str | Path) -> None:
    """Write a decisions file; an existing one is replaced only when the new one is complete.

    See Also
    --------
    read_decisions : The inverse, with an example.
    """
    text = json.dumps(decisions.to_dict(), indent=1, ensure_ascii=False)
    with replacing(path) as (partial,):
        partial.write_text(text + "\n", encoding="utf-8")


def apply_decisions(
    labels: Labels, decisions: ReviewDecisions, item_ids: Sequence[Any] | np.ndarray
) -> Labels:
    """Return the labels with accepted entries relevant and rejected ones irrelevant.

    Parameters
    ----------
    labels : Labels
    decisions : ReviewDecisions
        The last one of each entry counts, whatever the labels say. A ValueError names a decision
        about an item or a label that the data do not have.
    item_ids : sequence of length n_samples
        Compared as strings, as the audit writes them. Labels without names are called by number.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap import as_labels
    >>> from labelgap.auditing import Decision, ReviewDecisions, apply_decisions
    >>> accepted = Decision("b1", "0", "accept", "2026-01-05T08:30:00.000Z")
    >>> decisions = ReviewDecisions("5a0c1e7d9b3f2a64", (accepted,))
    >>> np.asarray(apply_decisions(as_labels(np.zeros((2, 1))), decisions, ["b1", "b2"])).tolist()
    [[1], [0]]
    """
    if not decisions.decisions:
        return labels
    return labels.with_entries(*entries_of(decisions, item_ids, names_of(labels)))


def names_of(labels: Labels) -> Iterable[Any]:
    """Return the names of labels, or their numbers where they have none."""
    return range(labels.n_labels) if labels.names is None else labels.names


def entries_of(
    decisions: ReviewDecisions, item_ids: Iterable[Any], names: Iterable[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and states of the entries that were decided."""
    row_of, column_of = _positions(item_ids), _positions(names)
    final = decisions.last().values()
    rows = [_find(row_of, decision.item, "item", decisions) for decision in final]
    columns = [_find(column_of, decision.label, "label", decisions) for decision in final]
    accepted = np.array([decision.decision == "accept" for decision in final])
    states = np.where(accepted, State.RELEVANT, State.NEGATIVE).astype(np.int8)
    return np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp), states


def _positions(names: Iterable[Any]) -> dict[str, int]:
    return {str(name): position for position, name in enumerate(names)}


def _find(positions: dict[str, int], name: str, what: str, decisions: ReviewDecisions) -> int:
    if name not in positions:
        names = [getattr(decision, what) for decision in decisions.decisions]
        raise ValueError(
            f"{decisions.place}: decisions[{names.index(name)}] is about the {what} {name!r}, "
            "which the data do not have; these decisions belong to other data, or the column of "
            "ids is another"
        )
    return positions[name]
