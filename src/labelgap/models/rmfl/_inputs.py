"""What users give, in the form the steps work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from labelgap.labels import Labels
from labelgap.models.rmfl._model import Targets


def draw_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


def working_rows(X: Any) -> Any:
    """In double precision: inverses of kernel matrices need it."""
    return X.astype(np.float64)


def signed_targets(labels: Labels) -> Targets:
    """+1, -1 and 0 for unknown, and the mask unless everything is known."""
    known = labels.to_dense(unknown=0.5, ambiguous=0.0)
    known *= 2
    known -= 1
    observed = (known != 0).astype(np.float64) if labels.has_unknown else None
    return Targets(known, observed)
