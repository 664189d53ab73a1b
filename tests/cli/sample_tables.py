"""Small tables to run the command line on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np


def table_rows(n_samples: int = 80, seed: int = 0) -> list[dict[str, Any]]:
    """Items whose two tags follow from their features; a third of the tags are unknown."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n_samples):
        age, size = rng.normal(size=2).round(3)
        known = rng.random(2) > 1 / 3
        rows.append(
            {
                "id": f"i{number}",
                "age": age,
                "size": size,
                "note": "red apple" if age > 0 else "green pear",
                "tag_a": int(age > 0) if known[0] else "",
                "tag_b": int(size > 0) if known[1] else "",
            }
        )
    return rows


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
