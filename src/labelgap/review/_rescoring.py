"""New log-odds of all candidates, from the model of the audit with the answers among its labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgap.audit import ChancesAgain
from labelgap.review._candidates import Candidates, prior_log_odds

__all__ = ["Rescorer"]


class Rescorer:
    """Gives all candidates new log-odds, from the labels and the answers so far.

    Nothing is computed before the first call.

    Parameters
    ----------
    X, Y : data of the audit
    how : keywords
        As :func:`labelgap.audit.audit` got them; see :class:`labelgap.audit.ChancesAgain`.
    """

    def __init__(self, X: Any, Y: Any, **how: Any) -> None:
        self._chances = ChancesAgain(X, Y, **how)

    def __call__(
        self, candidates: Candidates, answered: np.ndarray, answers: np.ndarray
    ) -> np.ndarray:
        """Log-odds of all candidates, the answered ones included.

        Parameters
        ----------
        candidates : Candidates
            Of the data this was made from: rows and columns are those of X and Y.
        answered, answers : arrays
            Positions of decided candidates, and 0 or 1.
        """
        rows, columns = candidates.rows, candidates.columns
        found = self._chances((rows, columns), (rows[answered], columns[answered]), answers)
        return prior_log_odds(found)
