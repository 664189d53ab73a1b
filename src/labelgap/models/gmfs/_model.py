"""GMFS: features that matter when a zero may mean that nobody looked.

Model, for rows i and labels j:

    v_i ~ N(W' x_i, 1/lambda_v),   b_j ~ N(0, 1/lambda_b),   rho_ij ~ Bernoulli(theta_ij),
    y_ij ~ Bernoulli(sigmoid(v_i . b_j + a_j)) where rho_ij = 1, and 0 where rho_ij = 0,

with a spike-and-slab or Laplace prior on the rows of W. At fixed theta EM ascends

    J = sum_{y=1} log(theta sigma) + sum_{y=0} log(1 - theta sigma)
        - lambda_v/2 ||V - XW||^2 - lambda_b/2 ||B||^2 + log prior(W),

and with one theta per label J plus the log prior of theta. docs/models/gmfs has the derivation.

Reference: Xu, Wang, Wei, "To avoid the pitfall of missing labels in feature selection: a generative
model gives the answer", AAAI 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg, sparse

from labelgap._extras import require
from labelgap.fitting import Rows
from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.weighted_ridge import solve_grams
from labelgap.models.gmfs._looks import LookModel, PlainRates
from labelgap.models.gmfs._priors import WeightPrior
from labelgap.models.gmfs._rows import Params, RowSteps, Stats, feature_product

BIAS_PRECISION = 1e-2
# numbers in the systems of some columns, on a device
_DEVICE_CELLS = 2**28


class ExactSolver:
    """Solves (lambda_v X'X + diag a) D = G; factors again only when the precisions change."""

    def __init__(self, gram: np.ndarray, lambda_v: float) -> None:
        self.gram = lambda_v * gram
        self._last: tuple[bytes, list[Any]] | None = None

    def __call__(self, gradient: np.ndarray, precisions: np.ndarray) -> np.ndarray:
        key = precisions.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, [self._factor(column) for column in precisions.T]
        factors = self._last[1]
        if len(factors) == 1:
            return linalg.cho_solve(factors[0], gradient)
        columns = zip(factors, gradient.T, strict=True)
        return np.column_stack([linalg.cho_solve(factor, column) for factor, column in columns])

    def _factor(self, precisions: np.ndarray) -> Any:
        matrix = self.gram.copy()
        matrix[np.diag_indices_from(matrix)] += precisions
        return linalg.cho_factor(matrix, lower=True, overwrite_a=True)


class DeviceSolver:
    """Solves the same systems on a device of torch, those of all columns of a together."""

    def __init__(self, gram: np.ndarray, lambda_v: float, device: str) -> None:
        torch = require("torch", extra="gpu", purpose="device=")
        self.gram = lambda_v * torch.asarray(gram, dtype=torch.float64, device=device)

    def __call__(self, gradient: np.ndarray, precisions: np.ndarray) -> np.ndarray:
        xp = array_namespace(self.gram)
        right = array_like(xp, gradient, self.gram)
        if precisions.shape[1] == 1:
            L = self._factors(xp, precisions)[0]
            return to_numpy(xp.cholesky_solve(right, L))
        found = np.empty_like(gradient, dtype=np.float64)
        share = max(1, _DEVICE_CELLS // self.gram.shape[0] ** 2)
        for start in range(0, gradient.shape[1], share):
            some = slice(start, start + share)
            L = self._factors(xp, precisions[:, some])
            part = xp.matrix_transpose(right[:, some])[:, :, None]
            found[:, some] = to_numpy(xp.cholesky_solve(part, L)[:, :, 0]).T
        return found

    def _factors(self, xp: Any, precisions: np.ndarray) -> Any:
        diagonals = array_like(xp, np.ascontiguousarray(precisions.T), self.gram)
        return xp.linalg.cholesky(self.gram + xp.diag_embed(diagonals))


@dataclass(frozen=True, eq=False)
class SelectionModel:
    """Settings, and the steps for the loops of :mod:`labelgap.fitting`.

    Parameters
    ----------
    row_steps : RowSteps
    prior : WeightPrior
    looks : LookModel
    lambda_b : float
    solver : ExactSolver or DeviceSolver, optional
        Otherwise W takes ``n_cg`` conjugate-gradient steps.
    """

    row_steps: RowSteps
    prior: WeightPrior
    looks: LookModel
    lambda_b: float = 1.0
    n_cg: int = 5
    solver: ExactSolver | DeviceSolver | None = field(default=None, repr=False)

    @property
    def step(self) -> Any:
        return self.row_steps.step

    def maximise(
        self,
        stats: Stats,
        params: Params,
        rows: Rows,
        step_size: float = 1.0,
        row_scale: float = 1.0,
    ) -> Params:
        """B and the biases, theta, then W: one after the other."""
        params = self._labels_step(stats, params)
        params = self._looks_step(stats, params, rows)
        precisions = self.prior.precisions(params.weights)
        gradient = self.row_steps.lambda_v * stats.gradient - precisions * params.weights
        correction = self.solve_regression(gradient, precisions, stats.curvature, rows, row_scale)
        weights = params.weights + step_size * correction
        return params._replace(weights=weights.astype(params.weights.dtype))

    def objective(self, stats: Stats, params: Params) -> float:
        """J at ``params``, plus the log prior of theta where it is learned per label."""
        value = stats.log_posterior + self.parameter_prior(params)
        if isinstance(params.rates, PlainRates):
            value += self.looks.log_prior(stats.looks, params.rates.values)
        return value

    def parameter_prior(self, params: Params) -> float:
        """Log prior of W, B and the biases."""
        value = self.prior.log_density(params.weights)
        value -= 0.5 * self.lambda_b * _sum_of_squares(params.factors)
        return value - 0.5 * BIAS_PRECISION * _sum_of_squares(params.bias)

    def blend(self, running: Stats, fresh: Stats, step_size: float) -> Stats:
        """Running sums of what adds up; the gradient belongs to the current weights alone."""

        def mixed(before: Any, now: Any) -> Any:
            if isinstance(before, tuple):
                return type(before)(*map(mixed, before, now))
            return (1 - step_size) * before + step_size * now

        return mixed(running, fresh)._replace(gradient=fresh.gradient)

    # -- the steps ----------------------------------------------------------------------------

    def _labels_step(self, stats: Stats, params: Params) -> Params:
        c = params.factors.shape[1]
        ridge = np.append(np.full(c, self.lambda_b), BIAS_PRECISION)
        solution = solve_grams(stats.grams, stats.right_side, ridge.astype(stats.grams.dtype)).z
        return params._replace(
            factors=np.ascontiguousarray(solution[:, :c]), bias=solution[:, c].copy()
        )

    def _looks_step(self, stats: Stats, params: Params, rows: Rows) -> Params:
        learn = self.looks.learn
        if learn is None:
            return params
        if learn != "neighbors":
            return params._replace(rates=PlainRates(self.looks.mode(stats.looks)))
        excess = sparse.vstack([local.excess for local in rows.local_states()], format="csr")
        assert params.typical is not None
        rates = self.looks.neighbor_rates(stats.looks, params.typical, excess)
        return params._replace(rates=rates, typical=self.looks.mode(stats.looks)[0])

    def solve_regression(
        self,
        gradient: np.ndarray,
        precisions: np.ndarray,
        curvature: np.ndarray,
        rows: Rows,
        row_scale: float = 1.0,
    ) -> np.ndarray:
        """D with (lambda_v X'X + diag a) D = gradient, exactly or by conjugate gradient.

        ``precisions`` a has one column, or one per column of the gradient; ``curvature`` is the
        diagonal of X'X.
        """
        if self.solver is not None:
            return self.solver(gradient, precisions)
        lambda_v, design = self.row_steps.lambda_v, self.row_steps.design

        def product(direction: np.ndarray) -> np.ndarray:
            total = rows.total(feature_product, (design, direction))
            return lambda_v * row_scale * total + precisions * direction

        diagonal = np.broadcast_to(lambda_v * curvature[:, None] + precisions, gradient.shape)
        return conjugate_gradient(product, gradient, diagonal, n_steps=self.n_cg)


def _sum_of_squares(array: Any) -> float:
    return float(np.square(array, dtype=np.float64).sum())
