"""Two versions of a table: what people added and removed, and what an audit had said of it.

What was added later is a lower bound of what was missing. It tells how far the probabilities of an
audit hold on this table, which the labels of one version cannot; the correction goes to the next audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelgap.auditing._audit_result import Audit
from labelgap.data import Dataset
from labelgap.estimation import Recalibration, recalibrate
from labelgap.extras import require
from labelgap.labels import Labels, as_labels


@dataclass(frozen=True)
class LabelChange:
    """A label that one version records for an item and the other does not.

    ``probability`` is what the audit of the old version gave it; None where it did not suggest it.
    """

    item: str
    label: str
    probability: float | None = None


@dataclass(frozen=True, repr=False)
class TableDiff:
    """What changed between two versions of a table, among the items and labels that both have.

    Attributes
    ----------
    added, removed : tuple of LabelChange
        Added ones sorted by falling probability, where there is an audit.
    n_common : int
        Labels recorded in both versions.
    n_items, n_labels : int
        What both versions have.
    new_items, lost_items, new_labels, lost_labels : tuple of str
        What only the later, or only the earlier version has.
    suggested : tuple of (probability, 0 or 1)
        Suggestions of the audit of the old version, and whether the label was added.
    calibration : Recalibration or None
        From probabilities of the audit to those of being added; None without an audit.

    See Also
    --------
    diff : Makes one, with an example.
    """

    added: tuple[LabelChange, ...]
    removed: tuple[LabelChange, ...]
    n_common: int
    n_items: int
    n_labels: int
    new_items: tuple[str, ...]
    lost_items: tuple[str, ...]
    new_labels: tuple[str, ...]
    lost_labels: tuple[str, ...]
    suggested: tuple[tuple[float, int], ...] = ()
    calibration: Recalibration | None = None

    def __repr__(self) -> str:
        return (
            f"<TableDiff of {self.n_items:,} items x {self.n_labels:,} labels: "
            f"{len(self.added):,} added, {len(self.removed):,} removed>"
        )

    def by_label(self) -> dict[str, tuple[int, int]]:
        """Return how often each label was added and removed."""
        counts: dict[str, list[int]] = {}
        for side, changes in enumerate((self.added, self.removed)):
            for change in changes:
                counts.setdefault(change.label, [0, 0])[side] += 1
        return {
            label: (n[0], n[1])
            for label, n in sorted(counts.items(), key=lambda kv: (-kv[1][0], kv[0]))
        }

    def to_frame(self) -> Any:
        """Return the changes as a pandas data frame with the columns change, item, label, probability."""
        pandas = require("pandas", extra="frames", purpose="TableDiff.to_frame")
        rows = [("added", *vars(change).values()) for change in self.added]
        rows += [("removed", *vars(change).values()) for change in self.removed]
        return pandas.DataFrame(rows, columns=["change", "item", "label", "probability"])

    def calibrate(self, audit: Audit) -> Audit:
        """Return an audit of a later version with corrected probabilities of its suggestions.

        The order of the suggestions stays; ``missing`` is left as it is, for what was added is only a
        part of what was missing.
        """
        if self.calibration is None:
            raise ValueError("there is no calibration: give diff the audit of the old version")
        p = self.calibration([made.probability for made in audit.suggestions])
        suggestions = tuple(
            replace(made, probability=float(value))
            for made, value in zip(audit.suggestions, p, strict=True)
        )
        return replace(audit, suggestions=suggestions)


def diff(
    old: Any,
    new: Any,
    *,
    audit: Audit | None = None,
    old_ids: Sequence[Any] | np.ndarray | None = None,
    new_ids: Sequence[Any] | np.ndarray | None = None,
) -> TableDiff:
    """Compare two versions of a table: what was added and removed, and what an audit had said of it.

    Parameters
    ----------
    old, new : Dataset or labels
        Items are matched by id and labels by name; without ids or names, by position.
    audit : Audit, default=None
        Of the old version: its suggestions are compared with what was added, and a calibration is
        learned from them.
    old_ids, new_ids : sequences, default=None
        The ids of the items; None takes those of the data sets.

    Returns
    -------
    TableDiff

    See Also
    --------
    labelgap.estimation.compare_sources : Two annotators of the same items.

    Examples
    --------
    >>> from labelgap import diff
    >>> changes = diff([{"sea"}, {"sky"}, set()], [{"sea", "sky"}, set(), {"sea"}])
    >>> changes
    <TableDiff of 3 items x 2 labels: 2 added, 1 removed>
    >>> [(change.item, change.label) for change in changes.added]
    [('0', 'sky'), ('2', 'sea')]
    >>> changes.by_label()
    {'sea': (1, 0), 'sky': (1, 1)}
    """
    before, after = _Version(old, old_ids, "old"), _Version(new, new_ids, "new")
    items, labels = _shared(before.items, after.items), _shared(before.labels, after.labels)
    if not items or not labels:
        what = "item" if not items else "label"
        raise ValueError(f"new: has no {what} of the old version; are the ids and names the same?")
    was, now = before.positives(items, labels), after.positives(items, labels)
    said = {} if audit is None else {(s.item, s.label): s.probability for s in audit.suggestions}

    def changes(entries: Any) -> tuple[LabelChange, ...]:
        found = [(items[row], labels[column]) for row, column in zip(*entries, strict=True)]
        return tuple(LabelChange(*entry, said.get(entry)) for entry in found)

    added = changes(((now - was) > 0).nonzero())
    there = {(change.item, change.label) for change in added}
    known_items, known_labels = set(items), set(labels)
    suggested = tuple(
        (p, int(entry in there))
        for entry, p in said.items()
        if entry[0] in known_items and entry[1] in known_labels
    )
    if audit is not None:
        added = tuple(sorted(added, key=lambda change: -(change.probability or 0.0)))
    p, came = np.array(suggested, dtype=float).reshape(-1, 2).T
    return TableDiff(
        added=added,
        removed=changes(((was - now) > 0).nonzero()),
        n_common=int(was.multiply(now).sum()),
        n_items=len(items),
        n_labels=len(labels),
        new_items=_only(after.items, before.items),
        lost_items=_only(before.items, after.items),
        new_labels=_only(after.labels, before.labels),
        lost_labels=_only(before.labels, after.labels),
        suggested=suggested,
        calibration=None if audit is None else recalibrate(p, came),
    )


class _Version:
    """One version: the names of its items and labels, and its positives."""

    def __init__(self, table: Any, ids: Any, name: str) -> None:
        self.Y: Labels = table.Y if isinstance(table, Dataset) else as_labels(table)
        known = table.ids if ids is None and isinstance(table, Dataset) else ids
        names = range(self.Y.n_labels) if self.Y.names is None else self.Y.names
        item_ids = range(self.Y.n_samples) if known is None else known
        if len(item_ids) != self.Y.n_samples:
            raise ValueError(f"{name}_ids: {len(item_ids)} ids for {self.Y.n_samples} items")
        self.items, self.labels = _places(item_ids, f"{name}_ids"), _places(names, name)

    def positives(self, items: list[str], labels: list[str]) -> Any:
        rows = [self.items[item] for item in items]
        columns = [self.labels[label] for label in labels]
        return self.Y.positives().astype(np.int8).tocsr()[rows][:, columns]


def _places(names: Any, argument: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, name in enumerate(map(str, names)):
        if name in places:
            raise ValueError(
                f"{argument}: {name!r} comes twice; items and labels need names of their own"
            )
        places[name] = place
    return places


def _shared(first: dict[str, int], second: dict[str, int]) -> list[str]:
    return [name for name in first if name in second]


def _only(first: dict[str, int], second: dict[str, int]) -> tuple[str, ...]:
    return tuple(name for name in first if name not in second)
