"""A mixture of factor models: rows are softly assigned to a few of them.

Component m has its own B, a and W; row i comes from it with probability pi_m, and theta is shared.
With l_im the log-likelihood of the row's entries under component m minus
lambda_v/2 ||v_im - W_m' x_i||^2, EM ascends

    sum_i log sum_m pi_m exp(l_im) + log priors of every component

through the responsibilities r_im, proportional to pi_m exp(l_im): every statistic of a component is
that of one model with rows weighted by r_im.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from labelgap.fitting import Rows
from labelgap.kernels.entry_likelihood import row_terms
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import weighted_grams, weighted_ridge
from labelgap.labels import Labels, State
from labelgap.models.gmfs._gmfs_em import GMFSParams, GMFSStats, SelectionModel
from labelgap.models.gmfs._gmfs_features import Design, GMFSBlock
from labelgap.models.gmfs._gmfs_missing import FittedRows, KnownRows
from labelgap.models.gmfs._gmfs_priors import ExaminedStats, PlainPropensities

_NOISE = 0.5


class MixtureComponents(tuple):
    """One item per component; adds up like the statistics it holds."""

    def __new__(cls, *items: Any) -> MixtureComponents:
        return super().__new__(cls, items)


class MixtureParams(NamedTuple):
    """Parameters of the components, and pi (M)."""

    components: MixtureComponents
    fractions: np.ndarray


class MixtureLocal(NamedTuple):
    """v of every row under every component (M x n x c), and responsibilities (n x M)."""

    factors: np.ndarray
    assigned: np.ndarray


class MixtureStats(NamedTuple):
    """Statistics of the components, expected rows of each (M), and the rows' log posterior."""

    components: MixtureComponents
    n_assigned: np.ndarray
    log_posterior: float


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """The steps of a mixture, made from those of one model."""

    single: SelectionModel

    def step(
        self, block: GMFSBlock, local: MixtureLocal | None, params: MixtureParams
    ) -> tuple[MixtureLocal, MixtureStats]:
        """Responsibilities, then the factors of the rows under each component, and statistics."""
        single, states = self.single, block.labels.states()
        found, values = [], []
        for m, component in enumerate(params.components):
            mean = single.design.linear(block.features, component.weights)
            V = mean if local is None else local.factors[m]
            theta = (
                None if component.propensities is None else component.propensities.rows(block.rows)
            )
            kappa, omega, term = row_terms(V @ component.factors.T + component.bias, states, theta)
            off = np.square(V - mean, dtype=np.float64).sum(axis=1)
            values.append(np.log(params.fractions[m]) + term - 0.5 * single.lambda_v * off)
            found.append((mean, kappa, omega))
        joint = np.column_stack(values)
        total = logsumexp(joint, axis=1)
        assigned = np.exp(joint - total[:, None])
        factors, parts = [], []
        for m, (component, weights) in enumerate(zip(params.components, found, strict=True)):
            V, part = self._component(block, states, component, weights, assigned[:, m])
            factors.append(V)
            parts.append(part)
        local = MixtureLocal(np.stack(factors), assigned)
        stats = MixtureStats(MixtureComponents(*parts), assigned.sum(axis=0), float(total.sum()))
        return local, stats

    def _component(
        self,
        block: GMFSBlock,
        states: np.ndarray,
        component: GMFSParams,
        weights: tuple[np.ndarray, np.ndarray, np.ndarray],
        assigned: np.ndarray,
    ) -> tuple[np.ndarray, GMFSStats]:
        mean, kappa, omega = weights
        single = self.single
        right = (kappa - omega * component.bias) @ component.factors + single.lambda_v * mean
        V = weighted_ridge(omega, component.factors, right, single.lambda_v).z
        r = assigned.astype(V.dtype)[:, None]
        extended = np.column_stack([V, np.ones(len(V), dtype=V.dtype)])
        unlabeled = states == State.UNLABELED
        examined = ExaminedStats(
            -2 * (np.where(unlabeled, kappa, 0) * r).sum(axis=0, dtype=np.float64),
            ((states == State.RELEVANT) * r).sum(axis=0, dtype=np.float64),
            (unlabeled * r).sum(axis=0, dtype=np.float64),
        )
        stats = GMFSStats(
            grams=weighted_grams((omega * r).T, extended),
            right_side=(kappa * r).T @ extended,
            gradient=single.design.transposed(block.features, (V - mean) * r),
            curvature=single.design.squares(block.features, assigned),
            examined=examined,
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
        """Return pi, theta, then every component."""
        single = self.single
        propensities = params.components[0].propensities
        if single.propensity_model.learn is not None:
            propensities = PlainPropensities(single.propensity_model.mode(_all_examined(stats)))
        new = []
        for m, (component, part) in enumerate(
            zip(params.components, stats.components, strict=True)
        ):
            component = single._labels_step(part, component)._replace(propensities=propensities)
            precisions = single.prior.precisions(component.weights)
            gradient = single.lambda_v * part.gradient - precisions * component.weights
            found = self._solve(gradient, precisions, part.curvature, rows, m, row_scale)
            weights = component.weights + step_size * found
            new.append(component._replace(weights=weights.astype(component.weights.dtype)))
        # a Dirichlet prior of one more row each keeps an empty component alive
        fractions = (stats.n_assigned + 1) / (stats.n_assigned + 1).sum()
        return MixtureParams(MixtureComponents(*new), fractions)

    def _solve(
        self,
        gradient: np.ndarray,
        precisions: np.ndarray,
        curvature: np.ndarray,
        rows: Rows,
        m: int,
        row_scale: float,
    ) -> np.ndarray:
        single = self.single

        def product(direction: np.ndarray) -> np.ndarray:
            total = rows.total(weighted_product, (single.design, direction, m))
            return single.lambda_v * row_scale * total + precisions * direction

        diagonal = np.broadcast_to(
            single.lambda_v * curvature[:, None] + precisions, gradient.shape
        )
        return conjugate_gradient(product, gradient, diagonal, n_steps=self.single.n_cg)

    def objective(self, stats: MixtureStats, params: MixtureParams) -> float:
        """Return the log posterior, with the log prior of theta and of pi."""
        value = stats.log_posterior + float(np.log(params.fractions).sum())
        for component in params.components:
            value += self.single.parameter_prior(component)
        propensities = params.components[0].propensities
        if isinstance(propensities, PlainPropensities):
            examined = _all_examined(stats)
            value += self.single.propensity_model.log_prior(examined, propensities.values)
        return value


def several(params: GMFSParams, n_components: int, rng: np.random.Generator) -> MixtureParams:
    """Return a start: the same parameters with noise of their own in every component."""
    noisy = []
    for _ in range(n_components):
        changed = {}
        for name in ("factors", "weights"):
            array = getattr(params, name)
            scale = _NOISE * float(np.sqrt(np.square(array).mean()))
            changed[name] = (array + scale * rng.normal(size=array.shape)).astype(array.dtype)
        noisy.append(params._replace(**changed))
    return MixtureParams(MixtureComponents(*noisy), np.full(n_components, 1 / n_components))


def weighted_product(
    block: GMFSBlock, local: MixtureLocal, argument: tuple[Design, np.ndarray, int]
) -> np.ndarray:
    """Return X' R X P for the responsibilities of one component."""
    design, direction, m = argument
    image = design.linear(block.features, direction)
    r = local.assigned[:, m].astype(image.dtype)[:, None]
    return design.transposed(block.features, r * image)


def _all_examined(stats: MixtureStats) -> ExaminedStats:
    columns = zip(*(part.examined for part in stats.components), strict=True)
    return ExaminedStats(*(sum(column) for column in columns))


@dataclass(frozen=True, eq=False)
class AssignedRows(KnownRows):
    """Rows under every component, and responsibilities (n, M)."""

    components: list[FittedRows]
    assigned: np.ndarray

    @property
    def labels(self) -> Labels:  # type: ignore[override]
        return self.components[0].labels

    def __len__(self) -> int:
        return len(self.assigned)

    def parts(self) -> Iterator[slice]:
        return self.components[0].parts()

    def examined(self, part: slice) -> np.ndarray:
        return self._mean(part, lambda rows: rows.examined(part))

    def relevance(self, part: slice) -> np.ndarray:
        return self._mean(part, lambda rows: rows.relevance(part))

    def missing_label_proba(self, part: slice) -> np.ndarray:
        return self._mean(part, lambda rows: rows.missing_label_proba(part))

    def _mean(self, part: slice, of: Callable[[FittedRows], np.ndarray]) -> np.ndarray:
        weights = self.assigned[part].T[:, :, None]
        return sum(w * of(rows) for w, rows in zip(weights, self.components, strict=True))
