"""What the ledger has measured of tables 2 and 3, as rows of ``gmfs_tables``.

``labelgap bench run gmfs-2 gmfs-3`` draws the same rows and masks and tries the same settings, so
that a cell measured there is not measured again.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "reproduction" / "rows"
SIXTHS = (1, 2, 3, 4, 5)
ALL = "All features"


@lru_cache(maxsize=1)
def own_rows() -> list[dict[str, Any]]:
    """Rows that the ledger's own runs have measured."""
    files = (FOLDER / f"{name}.jsonl" for name in ("gmfs-2", "gmfs-3"))
    lines = (line for path in files if path.exists() for line in path.read_text().splitlines())
    rows = (json.loads(line) for line in lines)
    wanted = {"source": "labelgap bench", "status": "measured"}
    return [row for row in rows if wanted.items() <= row.items()]


def result_rows() -> list[dict[str, Any]]:
    """Average precision and Hamming loss of every cell, over all sizes."""
    found = []
    for row in own_rows():
        if row["kind"] != "result":
            continue
        sixths = [6] if row["method"] == ALL else list(SIXTHS)
        place = {"experiment": "tables", "dataset": row["dataset"], "method": row["method"]}
        curve = {f"{name}_by_size": values for name, values in row["curve"].items()}
        found.append({**place, **row["setting"], "run": row["run"], "sixths": sixths})
        found[-1] |= {**row["metrics"], **curve, "sizes": row["details"]["n_features"]}
    return found


def chosen_settings(name: str, rate: float, method: str) -> dict[str, Any] | None:
    """Settings that the ledger chose for a set, rate and method."""
    for row in own_rows():
        place = (row["dataset"], row["setting"].get("missing"), row["method"])
        if row["kind"] == "selection" and place == (name, rate, method):
            return row["params"]
    return None


def has(name: str, rate: float, method: str, scaling: str, run: int) -> bool:
    """Whether a cell over all sizes is there."""
    cell = {"dataset": name, "missing": rate, "method": method, "scaling": scaling, "run": run}
    return any(cell.items() <= row.items() for row in result_rows())
