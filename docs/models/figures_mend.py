"""The figures of the page of Mend, drawn by ``figures.py``. Fields that they need:

- ranks, rivals: ``metric``, ``method``, ``mean_rank``, ``blocks``, ``friedman_p``,
  ``critical_difference``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labelgap.bench import Ranking
from labelgap.plots import plot_critical_difference

Rows = list[dict[str, Any]]


def draw_ranks(rows: Rows) -> Any:
    """Mean ranks by average precision, with the methods that cannot be told apart."""
    some = [row for row in rows if row["metric"] == "average_precision"]
    ranking = Ranking(
        methods=tuple(row["method"] for row in some),
        mean_ranks=tuple(row["mean_rank"] for row in some),
        n_blocks=some[0]["blocks"],
        friedman_p=some[0]["friedman_p"],
        critical_difference=some[0]["critical_difference"],
        alpha=0.05,
    )
    return plot_critical_difference(ranking, "mended").figure


DRAWN: dict[str, Callable[[Rows], Any]] = {
    "mend_ranks": draw_ranks,
    "mend_rivals": draw_ranks,
}
