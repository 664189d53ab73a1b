"""The suggestion model: every label from the features and all other labels, every row left out.

One ridge regression per label on the features and the other labels of an item, in all of which
the item itself takes no part; see :mod:`labelgap.kernels.joint_ridge` for why one inversion gives
them all. Its cost does not depend on the number of rows beyond one product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgap.audit._codes import Codes, label_codes
from labelgap.audit._rows import FeatureRows
from labelgap.kernels.joint_ridge import (
    left_out_residuals,
    penalised_inverse,
    regression_weights,
    residuals,
)
from labelgap.labels import Labels

__all__ = ["Advance", "JointModel", "fit_joint"]

Advance = Callable[[str, int, int | None], None]
"""Called with what is going on, how much is done and of how much (None: not known)."""

_FEATURE_PENALTIES = (10.0, 3.0, 30.0, 1.0, 100.0)
_LABEL_PENALTIES = (5.0, 1.0, 25.0)
_INTERCEPT_PENALTY = 1e-6
_TRIAL_ROWS = 2000
_BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class JointModel:
    """Regressions of all labels on the features and each other.

    ``inverse`` is P over the intercept, the inputs and the labels, in this order.
    """

    rows: FeatureRows
    codes: Codes
    inverse: np.ndarray
    penalties: tuple[float, float]

    @property
    def n_labels(self) -> int:
        return self.codes.matrix.shape[1]

    @property
    def columns(self) -> slice:
        """Where the labels are in the inverse."""
        return slice(self.inverse.shape[0] - self.n_labels, self.inverse.shape[0])

    def scores(self, part: slice | np.ndarray) -> np.ndarray:
        """What all other rows, and all else known of a row, say of each label, (n_part, L)."""
        pieces = _pieces(self.rows, self.codes, part)
        found = left_out_residuals(pieces, self.inverse, self.columns)
        return self.codes.scores(pieces[-1].toarray(), found)

    def new_scores(self, part: slice | np.ndarray) -> np.ndarray:
        """The same for rows that had no part in the fit."""
        pieces = _pieces(self.rows, self.codes, part)
        return self.codes.scores(
            pieces[-1].toarray(), residuals(pieces, self.inverse, self.columns)
        )

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, some at a time, with their scores."""
        size = max(1, _BLOCK_CELLS // self.inverse.shape[0])
        for start in range(0, self.rows.n_rows, size):
            part = slice(start, min(start + size, self.rows.n_rows))
            yield part, self.scores(part)

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the inputs and of the other labels in the regression of one label."""
        first = self.columns.start
        weights = regression_weights(self.inverse, first + label)
        return weights[1:first], weights[first:]


def fit_joint(
    rows: FeatureRows, labels: Labels, rng: np.random.Generator, advance: Advance
) -> JointModel:
    """Choose the penalties and fit.

    The penalties of features and labels are those with the smallest squared left-out error at
    known entries of at most 2,000 rows, one after the other. Every label must have known ones
    and zeros.
    """
    codes = label_codes(labels)
    gram = _gram(rows, codes)
    trial = np.sort(rng.permutation(rows.n_rows)[:_TRIAL_ROWS])
    truth = labels[trial].to_dense()
    n_steps, done = len(_FEATURE_PENALTIES) + len(_LABEL_PENALTIES) - 1, 0
    best, least = None, np.inf

    def attempt(penalties: tuple[float, float]) -> None:
        nonlocal best, least, done
        advance("choosing how far to trust features and labels", done, n_steps)
        model = _fit(rows, codes, gram, penalties)
        error = float(np.nanmean((model.scores(trial) - truth) ** 2))
        if error < least:
            best, least = model, error
        done += 1

    for one in _FEATURE_PENALTIES:
        attempt((one, _LABEL_PENALTIES[0]))
    assert best is not None
    for other in _LABEL_PENALTIES[1:]:
        attempt((best.penalties[0], other))
    advance("choosing how far to trust features and labels", n_steps, n_steps)
    return best


def refit_joint(model: JointModel, some: np.ndarray) -> JointModel:
    """The same penalties, learned from some rows alone."""
    gram = _gram(model.rows, model.codes, some)
    return _fit(model.rows, model.codes, gram, model.penalties)


def _fit(
    rows: FeatureRows, codes: Codes, gram: np.ndarray, penalties: tuple[float, float]
) -> JointModel:
    n_inputs, n_labels = rows.inputs.shape[1], codes.matrix.shape[1]
    damping = np.repeat([_INTERCEPT_PENALTY * rows.n_rows, *penalties], [1, n_inputs, n_labels])
    return JointModel(rows, codes, penalised_inverse(gram, damping), penalties)


def _pieces(rows: FeatureRows, codes: Codes, part: Any) -> list[Any]:
    inputs = rows.inputs[part]
    return [np.ones((inputs.shape[0], 1)), inputs, codes.matrix[part]]


def _gram(rows: FeatureRows, codes: Codes, some: np.ndarray | None = None) -> np.ndarray:
    pieces = _pieces(rows, codes, slice(None) if some is None else some)
    return np.block([[_dense(left.T @ right) for right in pieces] for left in pieces])


def _dense(product: Any) -> np.ndarray:
    return product.toarray() if hasattr(product, "toarray") else np.asarray(product)
