"""The steps: each minimises the objective over a part of the parameters, or moves it downwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy import sparse

from labelgap.fitting import Monitor
from labelgap.kernels.coordinate_descent import RowTerms, coordinate_sweeps
from labelgap.kernels.linear_solvers import conjugate_gradient
from labelgap.kernels.low_rank import low_rank_path, thin_svd
from labelgap.kernels.masked_targets import (
    MaskedTarget,
    best_offset,
    masked_cross,
    masked_product,
    row_cross,
    squared_cross,
)
from labelgap.kernels.products import one_blas_thread
from labelgap.models.imvwl._imvwl_objective import (
    IMVWLParams,
    IMVWLProblem,
    label_image,
    objective,
)
from labelgap.models.imvwl._scaled_views import ScaledView

# rows whose mean is a first column of U
_ROWS_PER_FACTOR = 20
_FIRST_SWEEPS = 5
_FIRST_LABEL_STEPS = 20
_MOST_SWEEPS = 2000
_PRECISION = 1e-12


class RowSystem:
    """The least squares problems of the rows of V, up to what changes with U and F.

    Rows with the same views share a matrix; a row with some labels observed has terms of its own,
    for the observed labels or, where these are more than half, for the unknown ones, which are
    then taken away from the Gram matrix of all labels.
    """

    def __init__(self, problem: IMVWLProblem) -> None:
        self.problem = problem
        n_views = len(problem.views)
        bits = np.zeros((problem.n_samples, n_views + 1), dtype=bool)
        for position, view in enumerate(problem.views):
            bits[view.rows, position] = True
        labels = None
        if problem.target is not None and problem.alpha > 0:
            all_labels, labels = _label_terms(problem.target, problem.alpha)
            bits[problem.labelled, n_views] = all_labels
        self.kinds, pattern = np.unique(bits, axis=0, return_inverse=True)
        self.pattern = pattern.ravel()
        self.weights = self._own_terms(labels)
        self.has_missing = any(view.missing is not None for view in problem.views)

    def _own_terms(self, labels: sparse.csr_array | None) -> sparse.csr_array | None:
        problem = self.problem
        parts = []
        if labels is not None:
            parts.append(_spread(labels, problem.labelled, problem.n_samples))
        if any(view.missing is not None for view in problem.views):
            for view in problem.views:
                width = view.columns.stop - view.columns.start
                empty = sparse.csr_array((len(view.rows), width))
                missing = empty if view.missing is None else view.missing
                parts.append(_spread(missing, view.rows, problem.n_samples))
        if not parts:
            return None
        weights = sparse.csr_array(sparse.hstack(parts, format="csr"))
        return weights if weights.nnz else None

    def sweep(self, params: IMVWLParams, n_sweeps: int, tol: float = 0.0) -> np.ndarray:
        """Return V after sweeps over the coordinates of every row."""
        problem, U, F = self.problem, params.U, params.F
        k = U.shape[1]
        linear = np.zeros((problem.n_samples, k))
        grams = np.zeros((len(problem.views) + 1, k, k))
        for position, view in enumerate(problem.views):
            own = U[view.columns]
            linear[view.rows] += view.times(own)
            grams[position] = own.T @ own
        factors = []
        if problem.target is not None and problem.alpha > 0:
            linear[problem.labelled] += problem.alpha * row_cross(problem.target, F, params.offset)
            grams[-1] = problem.alpha * (F @ F.T)
            factors.append(F.T)
        if self.has_missing:
            factors.extend(U[view.columns] for view in problem.views)
        shared = np.einsum("pv,vij->pij", self.kinds.astype(np.float64), grams)
        shared += problem.ridge * np.eye(k)
        terms = None if self.weights is None else RowTerms(self.weights, np.vstack(factors))
        return coordinate_sweeps(
            params.V, linear, shared, self.pattern, terms, n_sweeps=n_sweeps, tol=tol
        )


def _label_terms(target: MaskedTarget, alpha: float) -> tuple[np.ndarray, sparse.csr_array]:
    """Which rows start from the Gram matrix of all labels, and the terms that make it theirs."""
    if target.mask is None:
        return np.ones(target.shape[0], dtype=bool), sparse.csr_array(target.shape)
    whole = 2 * target.mask.sum(axis=1) > target.shape[1]
    terms = sparse.csr_array(target.mask ^ whole[:, None], dtype=np.float64)
    terms.data = np.repeat(np.where(whole, -alpha, alpha), np.diff(terms.indptr))
    return whole, terms


def _spread(terms: sparse.csr_array, rows: np.ndarray, n_samples: int) -> sparse.csr_array:
    """The same terms in a matrix of all rows."""
    counts = np.zeros(n_samples + 1, dtype=np.int64)
    counts[rows + 1] = np.diff(terms.indptr)
    parts = (terms.data, terms.indices, np.cumsum(counts))
    return sparse.csr_array(parts, shape=(n_samples, terms.shape[1]))


def step_views(
    problem: IMVWLProblem, V: np.ndarray, U: np.ndarray, n_sweeps: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return U after sweeps over its coordinates, and X_v' V of every view."""
    U, crosses = U.copy(), []
    for view in problem.views:
        own = V[view.rows]
        cross = view.transposed_times(own)
        shared = (own.T @ own + problem.ridge * np.eye(V.shape[1]))[None]
        terms = _column_terms(view, own)
        U[view.columns] = coordinate_sweeps(
            U[view.columns], cross, shared, None, terms, n_sweeps=n_sweeps
        )
        crosses.append(cross)
    return U, crosses


def _column_terms(view: ScaledView, V: np.ndarray) -> RowTerms | None:
    if view.missing is None:
        return None
    return RowTerms(sparse.csr_array(view.missing.T.tocsr()), V)


def step_labels(
    problem: IMVWLProblem, params: IMVWLParams, n_steps: int, image: np.ndarray | None = None
) -> IMVWLParams:
    """Return W, S and the offset, given V; ``image`` is V' (M o (V W S)) where it is at hand."""
    target = problem.target
    if target is None or problem.alpha == 0:
        return params
    rows = params.V[problem.labelled]
    gram = rows.T @ rows
    if problem.with_offset:
        params = params._replace(offset=best_offset(target, rows, params.F))
    cross = masked_cross(target, rows, params.offset)
    W = _step_w(problem, rows, gram, cross, params, n_steps, image)
    params = params._replace(W=W)
    if params.T is None:
        return params
    if params.basis is None:
        params = reduce_basis(params)
    T = _step_s(problem, rows, gram, cross, params.W, params.T, n_steps)
    return balance_labels(problem, params._replace(T=T))


def _step_w(problem, rows, gram, cross, params: IMVWLParams, n_steps: int, image) -> np.ndarray:
    """Steps of conjugate gradient, or the solution where all labels are observed."""
    W, T, target = params.W, params.T, problem.target
    ratio = problem.ridge / problem.alpha
    right = cross if T is None else cross @ T.T
    if target.mask is None:
        return _solve_two_sided(gram, None if T is None else T @ T.T, ratio, right, W)

    def product(P: np.ndarray) -> np.ndarray:
        inner = P if T is None else P.reshape(W.shape) @ T
        image = masked_product(target, rows, inner)
        image = image if T is None else (image @ T.T).reshape(P.shape)
        return image + ratio * P

    diagonal = squared_cross(target, rows)
    diagonal = (diagonal if T is None else diagonal @ (T * T).T) + ratio
    # columns of W are independent systems without S, and one large system with it
    shape = W.shape if T is None else (W.size, 1)
    diagonal = np.maximum(diagonal, 1e-12 * max(diagonal.max(), 1e-300)).reshape(shape)
    if image is None:
        image = masked_product(target, rows, params.F)
    residual = (right - (image if T is None else image @ T.T) - ratio * W).reshape(shape)
    correction = conjugate_gradient(product, residual, diagonal, n_steps=n_steps)
    return W + correction.reshape(W.shape)


def _solve_two_sided(gram, right_gram, ratio, right, W) -> np.ndarray:
    """gram X right_gram + ratio X = right, for two symmetric matrices, nearest to W."""
    values, vectors = np.linalg.eigh(gram)
    if right_gram is None:
        other_values, other = np.ones(right.shape[1]), np.eye(right.shape[1])
    else:
        other_values, other = np.linalg.eigh(right_gram)
    curvature = np.outer(values, other_values) + ratio
    safe = curvature > 1e-12 * max(curvature.max(), 1e-300)
    inner = vectors.T @ right @ other
    start = vectors.T @ W @ other
    solved = np.where(safe, inner / np.where(safe, curvature, 1.0), start)
    return vectors @ solved @ other.T


def reduce_basis(params: IMVWLParams) -> IMVWLParams:
    """Return S restricted to the row space of W, which changes no score."""
    left, values, right = thin_svd(params.W)
    return params._replace(W=left * values, T=right @ params.T, basis=right.T)


def _step_s(problem, rows, gram, cross, W, start, n_steps: int) -> np.ndarray:
    """Proximal gradient steps on alpha ||M o (V W T - Y)||^2 + beta ||T||_*."""
    scale = 2 * problem.alpha
    largest = scale * float(np.linalg.eigvalsh(W.T @ gram @ W)[-1])
    if largest <= 0:
        return np.zeros_like(start)

    def product(T: np.ndarray) -> np.ndarray:
        return scale * (W.T @ masked_product(problem.target, rows, W @ T, gram))

    path = low_rank_path(product, scale * (W.T @ cross), problem.beta, start, curvature=largest)
    *_, last = islice(path, n_steps)
    return last.Z


def balance_labels(problem: IMVWLProblem, params: IMVWLParams) -> IMVWLParams:
    """Return the cheapest W and S with the same product."""
    if params.T is None or 0 in (problem.beta, problem.ridge):
        return params
    if problem.target is None or problem.alpha == 0:
        return params
    left, values, right = thin_svd(params.F)
    w = np.cbrt(problem.beta * values / (2 * problem.ridge))
    s = np.divide(values, w, out=np.zeros_like(values), where=w > 0)
    return params._replace(W=left * w, T=s[:, None] * right, basis=right.T)


def balance_factors(problem: IMVWLProblem, params: IMVWLParams) -> tuple[IMVWLParams, np.ndarray]:
    """The cheapest lengths of the columns of V and of the rows of U' and W with the same products.

    Returns also the numbers by which the columns of V were multiplied.
    """
    k = params.U.shape[1]
    if problem.ridge == 0:
        return params, np.ones(k)
    ours = np.einsum("nk,nk->k", params.V, params.V)
    others = np.einsum("dk,dk->k", params.U, params.U)
    if problem.target is not None:
        others = others + np.einsum("kr,kr->k", params.W, params.W)
    some = (ours > 0) & (others > 0)
    scale = np.ones(k)
    scale[some] = (others[some] / ours[some]) ** 0.25
    balanced = params._replace(V=params.V * scale, U=params.U / scale, W=params.W / scale[:, None])
    return balanced, scale


@one_blas_thread()
def random_start(
    views: list[ScaledView], n_samples: int, n_features: int, k: int, rng
) -> np.ndarray:
    """Return U whose columns are means of a few rows, with noise so that no entry starts at zero."""
    U = np.zeros((n_features, k))
    chosen = [
        rng.choice(n_samples, min(_ROWS_PER_FACTOR, n_samples), replace=False) for _ in range(k)
    ]
    for view in views:
        picks = np.zeros((len(view.rows), k))
        for factor, rows in enumerate(chosen):
            picks[np.isin(view.rows, rows), factor] = 1.0
        counts = picks.sum(axis=0)
        picks[:, counts == 0] = 1.0
        means = view.transposed_times(picks / picks.sum(axis=0))
        width = view.columns.stop - view.columns.start
        noise = 0.1 * means.mean() * rng.random((width, k))
        U[view.columns] = means * rng.uniform(0.5, 1.5, size=(width, k)) + noise
    return U


@one_blas_thread()
def first_params(
    problem: IMVWLProblem, U: np.ndarray, n_labels: int, correlation: bool
) -> IMVWLParams:
    """Return V from U by the views alone, then W and S from V."""
    k = U.shape[1]
    params = IMVWLParams(
        V=np.zeros((problem.n_samples, k)),
        U=np.array(U, dtype=np.float64),
        W=np.zeros((k, n_labels)),
        T=np.eye(n_labels) if correlation else None,
        basis=None,
        offset=np.zeros(n_labels),
    )
    views_only = replace(problem, target=None)
    params = params._replace(V=RowSystem(views_only).sweep(params, _FIRST_SWEEPS))
    params, _ = balance_factors(views_only, params)
    return step_labels(problem, params, _FIRST_LABEL_STEPS)


def descend(
    problem: IMVWLProblem,
    params: IMVWLParams,
    monitor: Monitor,
    *,
    n_sweeps: int,
    n_steps: int,
) -> IMVWLParams:
    """Alternate the steps until the monitor says stop; the objective never increases."""
    system = RowSystem(problem)
    image = None

    def improve(params: IMVWLParams) -> tuple[IMVWLParams, float]:
        nonlocal image
        params = step_labels(problem, params, n_steps, image)
        params = params._replace(V=system.sweep(params, n_sweeps))
        U, crosses = step_views(problem, params.V, params.U, n_sweeps)
        params, scale = balance_factors(problem, params._replace(U=U))
        params = balance_labels(problem, params)
        image = label_image(problem, params)
        crosses = [cross * scale for cross in crosses]
        return params, objective(problem, params, crosses, image).total

    return _repeat(improve, params, monitor)


def descend_labels(
    problem: IMVWLProblem, params: IMVWLParams, monitor: Monitor, *, n_steps: int
) -> IMVWLParams:
    """Return W and S alone, for a subspace that is given."""

    image = None

    def improve(params: IMVWLParams) -> tuple[IMVWLParams, float]:
        nonlocal image
        params = step_labels(problem, params, n_steps, image)
        image = label_image(problem, params)
        return params, objective(replace(problem, views=[]), params, image=image).total

    return _repeat(improve, params, monitor)


def _repeat(improve: Callable, params: IMVWLParams, monitor: Monitor) -> IMVWLParams:
    for _ in range(monitor.max_iter):
        with one_blas_thread():
            params, value = improve(params)
        if monitor.record(value):
            break
    monitor.finish()
    return params


@one_blas_thread()
def fold_in(problem: IMVWLProblem, params: IMVWLParams) -> np.ndarray:
    """Return the minimising V of the rows of a problem, for given U, W and S."""
    k = params.U.shape[1]
    start = params._replace(V=np.zeros((problem.n_samples, k)))
    return RowSystem(problem).sweep(start, _MOST_SWEEPS, _PRECISION)
