"""From fitted parameters to honest probabilities: one shift, or a slope and a shift.

Learning takes topic weights at their most probable values, prediction integrates them out. The
two agree about which labels come first but not about how many there are: for small r predicted
probabilities come out too small. A shift of all intercepts makes the expected number of positives
among observed training entries the actual one. Rows that the fit has not seen can tell more: a
slope too, since shrunken weights make predictions too timid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelgap.fitting import Rows
from labelgap.kernels.products import Features, linear_part
from labelgap.kernels.topics import surprise_rates
from labelgap.models.bmlpl._model import Block, Local, Params

_SHIFTS = np.linspace(-4.0, 6.0, 21)


class Calibration(NamedTuple):
    """Predictions use slope * psi + shift in place of psi."""

    slope: float
    shift: float

    def apply(self, params: Params) -> Params:
        weights = self.slope * params.weights
        weights[-1] += self.shift
        return params._replace(weights=weights.astype(params.weights.dtype))


class Balance(NamedTuple):
    """Positives of some rows, and how many are expected under each shift."""

    actual: float
    expected: np.ndarray


def intercept_shift(params: Params, rows: Rows, n_blocks: int, n_products: float = 3e8) -> float:
    """The shift of the intercepts that balances expected and actual positives.

    Looks at rows spread evenly over all blocks, as many as ``n_products`` products of a topic
    with a row and a label allow.
    """
    per_row = params.topics.size * _SHIFTS.size
    n_rows = max(1, int(n_products / per_row / n_blocks))
    balance = rows.total(_balance, (params, max(n_rows, 10 // n_blocks + 1)))
    if not balance.actual > 0:
        return 0.0
    wanted = np.clip(balance.actual, balance.expected[0], balance.expected[-1])
    return float(np.interp(np.log(wanted), np.log(balance.expected), _SHIFTS))


def _balance(block: Block, local: Local | None, argument: tuple[Params, int]) -> Balance:
    params, n_rows = argument
    chosen = _spread_rows(block, n_rows)
    psi = linear_part(Features(block.features.rows[chosen], None), params.weights)
    actual = float(np.diff(block.positives.indptr)[chosen].sum())
    observed = _observed(block, chosen)
    expected = np.zeros(_SHIFTS.size)
    for position, shift in enumerate(_SHIFTS):
        probability = -np.expm1(-surprise_rates(psi + shift, params.topics, params.r))
        expected[position] = probability.sum() if observed is None else probability[observed].sum()
    return Balance(actual, np.maximum(expected, 1e-300))


def _observed(block: Block, chosen: np.ndarray) -> np.ndarray | None:
    if block.mask is None:
        return None
    stored = block.mask.entries.rows[chosen].toarray() > 0
    return ~stored if block.mask.unknown else stored


def best_calibration(params: Params, rows: Rows, n_blocks: int) -> Calibration:
    """The slope and the shift with the largest likelihood on rows the fit has not seen."""
    best = Calibration(1.0, 0.0)
    for width in (1.0, 0.25):
        slopes = best.slope * np.exp(0.6 * width * np.linspace(-1, 1, 7))
        shifts = best.shift + 3.0 * width * np.linspace(-1, 1, 13)
        grid = [Calibration(float(a), float(b)) for a in slopes for b in shifts]
        n_rows = int(2e9 / params.topics.size / len(grid) / n_blocks)
        values = rows.total(_log_likelihoods, (params, grid, max(n_rows, 10 // n_blocks + 1)))
        best = grid[int(values.argmax())]
    return best


def _log_likelihoods(
    block: Block, local: Local | None, argument: tuple[Params, list[Calibration], int]
) -> np.ndarray:
    """Summed log-likelihood of the observed entries of some rows, one entry at a time."""
    params, grid, n_rows = argument
    chosen = _spread_rows(block, n_rows)
    psi = linear_part(Features(block.features.rows[chosen], None), params.weights)
    positive = _positive(block, chosen)
    observed = _observed(block, chosen)
    values = np.empty(len(grid))
    for position, (slope, shift) in enumerate(grid):
        rates = surprise_rates(slope * psi + shift, params.topics, params.r)
        # a positive has log(1 - exp(-rate)), a zero -rate
        terms = np.where(positive, np.log(np.maximum(-np.expm1(-rates), 1e-12)), -rates)
        values[position] = terms.sum() if observed is None else terms[observed].sum()
    return values


def _spread_rows(block: Block, n_rows: int) -> np.ndarray:
    n_block = block.features.shape[0]
    return np.unique(np.linspace(0, n_block - 1, min(n_rows, n_block)).astype(np.intp))


def _positive(block: Block, chosen: np.ndarray) -> np.ndarray:
    dense = np.zeros((chosen.size, block.positives.n_labels), dtype=bool)
    for position, row in enumerate(chosen):
        start, stop = block.positives.indptr[row : row + 2]
        dense[position, block.positives.indices[start:stop]] = True
    return dense
