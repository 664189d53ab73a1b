"""What a model must write to be fitted by every loop over every kind of rows."""

from __future__ import annotations

from typing import Any, Protocol

from labelgap.fitting._rows import Rows


class RowModel(Protocol):
    """A model whose unknowns are local to a row, or global with additive statistics.

    Blocks, local states, statistics and parameters are named tuples of arrays; the model itself
    holds settings only, so that it can be sent to other processes.
    """

    def start(self, block: Any, params: Any) -> Any:
        """The local state of a block before the first step."""

    def step(self, block: Any, local: Any, params: Any) -> tuple[Any, Any]:
        """New local state and statistics of a block: the E step and the M step of its rows."""

    def maximise(
        self,
        stats: Any,
        params: Any,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> Any:
        """New parameters from summed statistics; may ask ``rows`` for further sums.

        In online EM ``rows`` is the mini-batch, each row standing for ``row_scale`` rows, and
        steps that rest on the mini-batch alone are taken with length ``step_size``.
        """

    def objective(self, stats: Any, params: Any) -> float:
        """The objective at ``params``, from the statistics of the step taken there."""

    def blend(self, running: Any, fresh: Any, step_size: float) -> Any:
        """Exponentially weighted statistics for online EM."""
