"""A mixture of factor models: rows are softly assigned to a few of them.

Component m has its own B, a and W; row i comes from it with probability pi_m, and theta is shared.
With l_im the log-likelihood of the row's entries under component m minus
lambda_v/2 ||v_im - W_m' x_i||^2, EM ascends

    sum_i log sum_m pi_m exp(l_im) + log priors of every component

through the responsibilities r_im, proportional to pi_m exp(l_im): every statistic of a component is
that of one model with rows weighted by r_im.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from labelgap.fitting import Rows
from labelgap.kernels.exposure import row_terms
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import weighted_grams, weighted_ridge
from labelgap.labels import State
from labelgap.models.gmfs._design import Design
from labelgap.models.gmfs._looks import LookStats, PlainRates
from labelgap.models.gmfs._model import SelectionModel
from labelgap.models.gmfs._rows import Block, Params, Stats

_NOISE = 0.5


class Components(tuple):
    """One item per component; adds up like the statistics it holds."""

    def __new__(cls, *items: Any) -> Components:
        return super().__new__(cls, items)


class MixtureParams(NamedTuple):
    """Parameters of the components, and pi (M)."""

    components: Components
    shares: np.ndarray


class MixtureLocal(NamedTuple):
    """v of every row under every component (M x n x c), and responsibilities (n x M)."""

    factors: np.ndarray
    assigned: np.ndarray


class MixtureStats(NamedTuple):
    """Statistics of the components, expected rows of each (M), and the rows' log posterior."""

    components: Components
    n_assigned: np.ndarray
    log_posterior: float


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """The steps of a mixture, made from those of one model."""

    single: SelectionModel

    def step(
        self, block: Block, local: MixtureLocal | None, params: MixtureParams
    ) -> tuple[MixtureLocal, MixtureStats]:
        """Responsibilities, then the factors of the rows under each component, and statistics."""
        steps, states = self.single.row_steps, block.labels.states()
        found, values = [], []
        for m, one in enumerate(params.components):
            mean = steps.design.linear(block.features, one.weights)
            V = mean if local is None else local.factors[m]
            theta = None if one.rates is None else one.rates.rows(block.rows)
            kappa, omega, term = row_terms(V @ one.factors.T + one.bias, states, theta)
            off = np.square(V - mean, dtype=np.float64).sum(axis=1)
            values.append(np.log(params.shares[m]) + term - 0.5 * steps.lambda_v * off)
            found.append((mean, kappa, omega))
        joint = np.column_stack(values)
        total = logsumexp(joint, axis=1)
        assigned = np.exp(joint - total[:, None])
        factors, parts = [], []
        for m, (one, weights) in enumerate(zip(params.components, found, strict=True)):
            V, part = self._component(block, states, one, weights, assigned[:, m])
            factors.append(V)
            parts.append(part)
        local = MixtureLocal(np.stack(factors), assigned)
        stats = MixtureStats(Components(*parts), assigned.sum(axis=0), float(total.sum()))
        return local, stats

    def _component(
        self,
        block: Block,
        states: np.ndarray,
        one: Params,
        weights: tuple[np.ndarray, np.ndarray, np.ndarray],
        assigned: np.ndarray,
    ) -> tuple[np.ndarray, Stats]:
        mean, kappa, omega = weights
        steps = self.single.row_steps
        right = (kappa - omega * one.bias) @ one.factors + steps.lambda_v * mean
        V = weighted_ridge(omega, one.factors, right, steps.lambda_v).z
        r = assigned.astype(V.dtype)[:, None]
        extended = np.column_stack([V, np.ones(len(V), dtype=V.dtype)])
        ambiguous = states == State.AMBIGUOUS
        looks = LookStats(
            -2 * (np.where(ambiguous, kappa, 0) * r).sum(axis=0, dtype=np.float64),
            ((states == State.RELEVANT) * r).sum(axis=0, dtype=np.float64),
            (ambiguous * r).sum(axis=0, dtype=np.float64),
        )
        stats = Stats(
            grams=weighted_grams((omega * r).T, extended),
            right_side=(kappa * r).T @ extended,
            gradient=steps.design.transposed(block.features, (V - mean) * r),
            curvature=steps.design.squares(block.features, assigned),
            looks=looks,
            log_posterior=0.0,
        )
        return V, stats

    def maximise(
        self,
        stats: MixtureStats,
        params: MixtureParams,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> MixtureParams:
        """pi, theta, then every component."""
        single = self.single
        rates = params.components[0].rates
        if single.looks.learn is not None:
            rates = PlainRates(single.looks.mode(_all_looks(stats)))
        new = []
        for m, (one, part) in enumerate(zip(params.components, stats.components, strict=True)):
            one = single._labels_step(part, one)._replace(rates=rates)
            precisions = single.prior.precisions(one.weights)
            gradient = single.row_steps.lambda_v * part.gradient - precisions * one.weights
            found = self._solve(gradient, precisions, part.curvature, rows, m, row_scale)
            weights = one.weights + step_size * found
            new.append(one._replace(weights=weights.astype(one.weights.dtype)))
        # a Dirichlet prior of one more row each keeps an empty component alive
        shares = (stats.n_assigned + 1) / (stats.n_assigned + 1).sum()
        return MixtureParams(Components(*new), shares)

    def _solve(
        self,
        gradient: np.ndarray,
        precisions: np.ndarray,
        curvature: np.ndarray,
        rows: Rows,
        m: int,
        row_scale: float,
    ) -> np.ndarray:
        steps = self.single.row_steps

        def product(direction: np.ndarray) -> np.ndarray:
            total = rows.total(weighted_product, (steps.design, direction, m))
            return steps.lambda_v * row_scale * total + precisions * direction

        diagonal = np.broadcast_to(steps.lambda_v * curvature[:, None] + precisions, gradient.shape)
        return conjugate_gradient(product, gradient, diagonal, n_steps=self.single.n_cg)

    def objective(self, stats: MixtureStats, params: MixtureParams) -> float:
        """The log posterior, with the log prior of theta and of pi."""
        value = stats.log_posterior + float(np.log(params.shares).sum())
        for one in params.components:
            value += self.single.parameter_prior(one)
        rates = params.components[0].rates
        if isinstance(rates, PlainRates):
            value += self.single.looks.log_prior(_all_looks(stats), rates.values)
        return value


def several(params: Params, n_components: int, rng: np.random.Generator) -> MixtureParams:
    """A start: the same parameters with noise of their own in every component."""
    noisy = []
    for _ in range(n_components):
        changed = {}
        for name in ("factors", "weights"):
            array = getattr(params, name)
            scale = _NOISE * float(np.sqrt(np.square(array).mean()))
            changed[name] = (array + scale * rng.normal(size=array.shape)).astype(array.dtype)
        noisy.append(params._replace(**changed))
    return MixtureParams(Components(*noisy), np.full(n_components, 1 / n_components))


def weighted_product(
    block: Block, local: MixtureLocal, argument: tuple[Design, np.ndarray, int]
) -> np.ndarray:
    """X' R X P for the responsibilities of one component."""
    design, direction, m = argument
    image = design.linear(block.features, direction)
    r = local.assigned[:, m].astype(image.dtype)[:, None]
    return design.transposed(block.features, r * image)


def _all_looks(stats: MixtureStats) -> LookStats:
    columns = zip(*(part.looks for part in stats.components), strict=True)
    return LookStats(*(sum(column) for column in columns))
