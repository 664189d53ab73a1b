"""Every table of an audit as columns: one row for each record, intervals in columns of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from labelgap.auditing._audit_text import audit_tables

# what a table is made of, by its name
TABLES: dict[str, Callable[[Any], Any]] = {
    "suggestions": lambda audit: audit_tables(audit)[0],
    "labels": lambda audit: audit_tables(audit)[1],
    "items": lambda audit: audit.items.worst,
    "rare_pairs": lambda audit: audit.pairs.rare,
    "duplicates": lambda audit: audit.pairs.duplicates,
    "learning_curve": lambda audit: audit.learning_curve,
    "calibration": lambda audit: audit.calibration,
    "topics": lambda audit: audit.topics or (),
    "selected_features": lambda audit: audit.selected_features or (),
    "unopened_items": lambda audit: audit.unopened_items,
    "wrong_positives": lambda audit: audit.wrong_positives,
    "claims": lambda audit: audit.claims,
}


def columns_of(audit: Any, table: str) -> dict[str, Any]:
    """Return the columns of a table of an audit."""
    if table not in TABLES:
        raise ValueError(f"table={table!r}: use one of {', '.join(map(repr, TABLES))}")
    records = TABLES[table](audit)
    if isinstance(records, dict):
        return records
    rows = [_flat(record) for record in records]
    return {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}


def _flat(record: Any) -> dict[str, Any]:
    """A record with the ends of its intervals beside their values."""
    found: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if is_dataclass(value):
            inner = _flat(value)
            first = inner.pop("value", None)
            found |= {field.name: first} if first is not None else {}
            found |= {f"{field.name}_{name}": one for name, one in inner.items()}
        else:
            found[field.name] = value
    return found
