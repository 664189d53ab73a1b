"""An audit as tables: one line per suggestion, one per label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from labelgap.audit._result import Audit, Estimate

__all__ = ["audit_tables"]


def audit_tables(audit: Audit, *, item: str = "item") -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of the table of suggestions and of the table of labels.

    Parameters
    ----------
    audit : Audit
    item : str
        What the column of ids is called.

    Returns
    -------
    suggestions, labels : dict from name to array
        Numbers that are not known are NaN; lists of evidence are text, separated by ``"; "``.
    """
    return _suggestions(audit, item), _labels(audit)


def _suggestions(audit: Audit, item: str) -> dict[str, Any]:
    listed = audit.suggestions
    why = [one.evidence for one in listed]
    return {
        "rank": np.array([one.rank for one in listed], dtype=np.int64),
        item: _texts(one.item for one in listed),
        "label": _texts(one.label for one in listed),
        "probability": np.array([one.probability for one in listed], dtype=np.float64),
        "state": _texts(one.state for one in listed),
        "similar_items": _texts(
            "; ".join(f"{s.item} ({s.similarity:.2f})" for s in one.similar) for one in why
        ),
        "companion_labels": _texts(
            "; ".join(f"{c.label} (lift {c.lift:.1f})" for c in one.companions) for one in why
        ),
        "features": _texts(
            "; ".join(f"{f.feature} ({f.contribution:+.3f})" for f in one.features) for one in why
        ),
    }


def _labels(audit: Audit) -> dict[str, Any]:
    labels = audit.labels
    columns: dict[str, Any] = {
        "label": _texts(one.name for one in labels),
        "n_positive": np.array([one.n_positive for one in labels], dtype=np.int64),
        "observed": np.array([one.observed for one in labels], dtype=np.float64),
        "expected_missing": _numbers(one.expected_missing for one in labels),
        "too_rare": np.array([one.too_rare for one in labels], dtype=bool),
        "calibration_error": _numbers(one.calibration_error for one in labels),
    }
    for name in ("recorded", "auc", "average_precision"):
        estimates: list[Estimate | None] = [getattr(one, name) for one in labels]
        for part, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
            columns[name + suffix] = _numbers(
                None if one is None else getattr(one, part) for one in estimates
            )
    return columns


def _texts(values: Iterable[str]) -> np.ndarray:
    return np.array(list(values), dtype=object)


def _numbers(values: Iterable[float | None]) -> np.ndarray:
    return np.array([np.nan if one is None else one for one in values], dtype=np.float64)
