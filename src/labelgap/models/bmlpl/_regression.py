"""The regression of topic weights on features: K linear systems per global step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from labelgap.fitting import FitDivergedError, Rows
from labelgap.kernels.gram import weighted_gram
from labelgap.kernels.linear_solvers import conjugate_gradient

if TYPE_CHECKING:
    from labelgap.models.bmlpl._model import Block, Local, Params, Stats, TopicModel

_GRAM_BYTES = 2**28


def solve_regression(
    model: TopicModel,
    stats: Stats,
    params: Params,
    rows: Rows,
    step_size: float,
    row_scale: float,
) -> tuple[np.ndarray, np.ndarray]:
    """New weights and their approximate posterior variances (the latter for tau).

    Solves (X' Omega_k X + diag tau) delta_k = X'(kappa_k - Omega_k psi_k) - tau o w_k for the
    correction of the current weights, exactly or by a few conjugate-gradient steps from zero.
    """
    tau = params.tau[:, None]
    gradient = stats.gradient - tau * params.weights
    if model.solver == "exact":
        correction, variance = _solve_exactly(
            gradient, params, rows, row_scale, want_variance=model.learn_tau
        )
    else:
        diagonal = stats.curvature + tau
        variance = 1 / diagonal
        product = partial(_hessian_product, model, rows, tau, row_scale)
        correction = conjugate_gradient(product, gradient, diagonal, n_steps=model.n_cg)
    return params.weights + step_size * correction, variance


def _hessian_product(
    model: TopicModel, rows: Rows, tau: np.ndarray, row_scale: float, direction: np.ndarray
) -> np.ndarray:
    return row_scale * rows.total(model.curvature_product, direction) + tau * direction


def _solve_exactly(
    gradient: np.ndarray, params: Params, rows: Rows, row_scale: float, *, want_variance: bool
) -> tuple[np.ndarray, np.ndarray]:
    correction, variance = np.empty_like(gradient), np.zeros_like(gradient)
    for topics in topic_chunks(*gradient.shape):
        hessians = row_scale * rows.total(block_gram, topics)
        for position, k in enumerate(range(topics.start, topics.stop)):
            factor = factorise(hessians[position], params.tau)
            correction[:, k] = linalg.cho_solve(factor, gradient[:, k])
            if want_variance:
                invert = linalg.lapack.get_lapack_funcs("potri", (factor[0],))
                variance[:, k] = np.diag(invert(factor[0], lower=factor[1])[0])
    return correction, variance


def factorise(hessian: np.ndarray, tau: np.ndarray) -> Any:
    """Cholesky factor of a Hessian plus its prior precision."""
    hessian = hessian.copy()
    hessian[np.diag_indices_from(hessian)] += tau
    try:
        return linalg.cho_factor(hessian, lower=True)
    except (linalg.LinAlgError, ValueError) as error:
        raise FitDivergedError(
            f"the regression cannot be solved exactly ({error}): scale the features "
            "(StandardScaler, Normalizer), regularise more, or take solver='cg'"
        ) from error


def topic_chunks(n_weights: int, n_topics: int) -> list[slice]:
    """Slices of topics whose Hessians fit the memory set aside for them."""
    step = int(max(1, min(n_topics, _GRAM_BYTES // (8 * n_weights**2))))
    return [slice(k, min(k + step, n_topics)) for k in range(0, n_topics, step)]


def block_gram(block: Block, local: Local, topics: slice) -> np.ndarray:
    """X' Omega_k X with a column of ones in X, for some topics: shape (chunk, d + 1, d + 1)."""
    return weighted_gram(block.features, np.ascontiguousarray(local.omega[:, topics]))
