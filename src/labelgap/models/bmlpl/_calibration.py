"""Calibration in the large: as many expected positives as there are.

Learning takes topic weights at their most probable values, prediction integrates them out. The
two agree about which labels come first but not about how many there are: for small r predicted
probabilities come out too small. One number mends that, a shift of all intercepts
with which the expected number of positives among observed training entries is the actual one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelgap.fitting import Rows
from labelgap.kernels.products import Features
from labelgap.kernels.topics import surprise_rates
from labelgap.models.bmlpl._model import Block, Local, Params, linear_part

_SHIFTS = np.linspace(-4.0, 6.0, 21)


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
    n_block = block.features.shape[0]
    chosen = np.unique(np.linspace(0, n_block - 1, min(n_rows, n_block)).astype(np.intp))
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
