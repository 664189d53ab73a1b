"""What GMFS does with rows: their factors, and the sums that everything else needs.

One E step gives the weights of all entries, kappa and omega, at the current factors; under them
row n has the factors v_n that maximise the expected log-likelihood of its entries minus
lambda_v / 2 ||v_n - W' x_n||^2, a weighted ridge regression, and the statistics take the same
weights with the new factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.exposure import LabelTerms, label_terms
from labelgap.kernels.products import Features
from labelgap.kernels.weighted_ridge import weighted_grams, weighted_ridge
from labelgap.labels import Labels, State
from labelgap.models.gmfs._design import Design, DeviceDesign
from labelgap.models.gmfs._looks import LookStats, Rates, excess_looks


class Params(NamedTuple):
    """B (L x c), bias (L), W (d + 1 x c, the intercept last), theta.

    ``typical`` (L) are the gammas that sums over neighbours are stored relative to, or None.
    """

    factors: np.ndarray
    bias: np.ndarray
    weights: np.ndarray
    rates: Rates | None
    typical: np.ndarray | None = None


class Block(NamedTuple):
    """Some rows, and where they stand among all; on a device with the codes of their entries."""

    rows: slice
    features: Features
    labels: Labels
    codes: Any = None

    def states(self) -> Any:
        """Codes of the entries, beside the features."""
        return self.labels.states() if self.codes is None else self.codes


class Local(NamedTuple):
    """The factors v_n of the rows; gammas beyond the typical ones, where neighbours need them."""

    factors: Any
    excess: Any = None


class Stats(NamedTuple):
    """Sums over rows.

    ``grams`` (L x packed (c+1)(c+2)/2) weighted second moments of (v, 1) for each label;
    ``right_side`` (L x c + 1) sum of kappa (v, 1); ``gradient`` (d + 1 x c) of W, over lambda_v;
    ``curvature`` (d + 1) squared features; ``looks``; ``log_posterior`` of the rows.
    """

    grams: np.ndarray
    right_side: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    looks: LookStats
    log_posterior: float


@dataclass(frozen=True)
class RowSteps:
    """Settings that rows need, and their steps."""

    design: Design | DeviceDesign
    lambda_v: float = 1.0

    def step(self, block: Block, local: Local | None, params: Params) -> tuple[Local, Stats]:
        """New factors of the rows, and the statistics they give."""
        mean = self.design.linear(block.features, params.weights)
        xp = array_namespace(mean)
        V = mean if local is None else local.factors
        states = block.states()
        there = params._replace(
            factors=array_like(xp, params.factors, mean), bias=array_like(xp, params.bias, mean)
        )
        terms = entry_terms(states, V, there, block.rows)
        log_posterior = terms.log_likelihood - self.penalty(V, mean)
        V = self.row_factors(terms, mean, there)
        extended = xp.concat([V, xp.ones_like(V[:, :1])], axis=1)
        stats = Stats(
            grams=to_numpy(weighted_grams(terms.omega.T, extended)),
            right_side=to_numpy(terms.kappa.T @ extended),
            gradient=self.design.transposed(block.features, V - mean),
            curvature=self.design.squares(block.features),
            looks=_look_stats(terms, states),
            log_posterior=log_posterior,
        )
        if params.typical is None:
            return Local(V), stats
        return Local(V, excess_looks(to_numpy(terms.kappa), params.typical)), stats

    def row_factors(self, terms: LabelTerms, mean: Any, params: Params) -> Any:
        """v_n under the weights of the entries."""
        B, b = params.factors, params.bias
        right = (terms.kappa - terms.omega * b) @ B + self.lambda_v * mean
        return weighted_ridge(terms.omega, B, right, self.lambda_v).z

    def penalty(self, V: Any, mean: Any) -> float:
        off = to_numpy(V - mean)
        return 0.5 * self.lambda_v * float(np.square(off, dtype=np.float64).sum())


def entry_terms(states: np.ndarray, V: np.ndarray, params: Params, rows: slice) -> LabelTerms:
    """The E step: kappa, omega and the log-likelihood of the entries of some rows."""
    psi = V @ params.factors.T + params.bias
    theta = None if params.rates is None else params.rates.rows(rows)
    return label_terms(psi, states, theta)


def feature_product(block: Block, local: Any, argument: tuple[Any, np.ndarray]) -> np.ndarray:
    """X'X P of standardised features, for :meth:`labelgap.fitting.Rows.total`."""
    design, direction = argument
    return design.transposed(block.features, design.linear(block.features, direction))


def feature_gram(block: Block, local: Any, design: Any) -> np.ndarray:
    """X'X of standardised features, dense."""
    return design.gram(block.features)


def _look_stats(terms: LabelTerms, states: Any) -> LookStats:
    counts = ((states == code).sum(axis=0) for code in (State.RELEVANT, State.AMBIGUOUS))
    arrays = (to_numpy(part).astype(np.float64) for part in (terms.looked_at, *counts))
    return LookStats(*arrays)
