"""When candidates are scored anew, and who waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import numpy as np

from labelgap.review._candidates import Candidates

__all__ = ["Scoring"]

FEWEST_ANSWERS, GROWTH = 20, 1.25
_log = logging.getLogger(__name__)

Rescore = Callable[[Candidates, np.ndarray, np.ndarray], np.ndarray]


class Scoring:
    """Scores candidates anew whenever there are a quarter more answers than at the last time.

    Parameters
    ----------
    rescore : callable or None
        From candidates, answered positions and answers to log-odds.
    patience : float
        For so many seconds the caller waits; a scoring that takes longer serves a later call.
    """

    def __init__(self, rescore: Rescore | None, patience: float) -> None:
        self._rescore = rescore
        self._patience = patience
        self._due = FEWEST_ANSWERS
        self._running: threading.Thread | None = None
        self._made: np.ndarray | None = None

    def newest(
        self, candidates: Candidates, answered: np.ndarray, answers: np.ndarray
    ) -> np.ndarray | None:
        """New log-odds, or None when there are none since the last call."""
        if self._rescore is not None and self._running is None and answered.size >= self._due:
            self._due = int(GROWTH * answered.size) + 1
            arguments = (candidates, answered, answers)
            self._running = threading.Thread(target=self._work, args=arguments, daemon=True)
            self._running.start()
            self._running.join(None if self._patience == float("inf") else self._patience)
        if self._running is None or self._running.is_alive():
            return None
        self._running = None
        made, self._made = self._made, None
        return made

    def _work(self, candidates: Candidates, answered: np.ndarray, answers: np.ndarray) -> None:
        assert self._rescore is not None
        try:
            self._made = self._rescore(candidates, answered, answers)
        except Exception:
            # the review goes on with the scores it has
            _log.exception("candidates could not be scored anew")
