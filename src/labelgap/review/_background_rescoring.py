"""New scores of the candidates, computed beside the review."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import numpy as np

from labelgap.review._answer_model import ReviewCandidates, prior_log_odds

_FEWEST_ANSWERS, _GROWTH = 20, 1.25
_log = logging.getLogger(__name__)

Entries = tuple[np.ndarray, np.ndarray]
Rescore = Callable[[Entries, Entries, np.ndarray], np.ndarray]


class BackgroundRescoring:
    """Compute new scores of candidates whenever there are a quarter more answers.

    The caller waits ``patience`` seconds; a scoring that takes longer serves a later call.
    """

    def __init__(self, rescore: Rescore | None, patience: float) -> None:
        self._rescore = rescore
        self._patience = patience
        self._due = _FEWEST_ANSWERS
        self._running: threading.Thread | None = None
        self._made: np.ndarray | None = None

    def newest(
        self, candidates: ReviewCandidates, answered: np.ndarray, answers: np.ndarray
    ) -> np.ndarray | None:
        """Return new log-odds, or None when there are none since the last call."""
        if self._rescore is not None and self._running is None and answered.size >= self._due:
            self._due = int(_GROWTH * answered.size) + 1
            arguments = (candidates, answered, answers)
            self._running = threading.Thread(target=self._work, args=arguments, daemon=True)
            self._running.start()
            self._running.join(None if self._patience == float("inf") else self._patience)
        if self._running is None or self._running.is_alive():
            return None
        self._running = None
        made, self._made = self._made, None
        return made

    def _work(
        self, candidates: ReviewCandidates, answered: np.ndarray, answers: np.ndarray
    ) -> None:
        assert self._rescore is not None
        try:
            rows, columns = candidates.rows, candidates.columns
            decided = rows[answered], columns[answered]
            self._made = prior_log_odds(self._rescore((rows, columns), decided, answers))
        except Exception:
            # the review goes on with the scores it has
            _log.exception("new scores of the candidates could not be computed")
