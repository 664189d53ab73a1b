"""The objective of GLOCAL and its steps, each the exact minimiser over one block.

Arrays are numpy's, or all of them those of torch on one device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.kernels.array_namespace import (
    array_like,
    array_namespace,
    cholesky,
    cholesky_solve,
    to_numpy,
)
from labelgap.kernels.coordinate_descent import row_sweeps
from labelgap.kernels.products import (
    Features,
    squared_transposed_times,
    times,
    transposed_times,
)
from labelgap.kernels.weighted_ridge import unpack, weighted_grams, weighted_ridge
from labelgap_papers.kernels.proximal import inner
from labelgap_papers.methods._linear import solve_as_one

_SOLVED = 1e-12
_MOST_STEPS = 500
_N_SWEEPS = 20
# beyond these, matrices of the systems themselves cost more than products with rows of data
_MOST_FEATURES = 2000
_MOST_ENTRIES = 2**25


class Weights(NamedTuple):
    """lambda and lambda_1 to lambda_5 of the objective as it is written down."""

    regression: float
    local: float
    total: float
    rows: float
    labels: float
    features: float


class Axes(NamedTuple):
    """Orthonormal directions of features in which X'X is diagonal.

    vectors : (d, d), in columns; squares : (d,), the diagonal; grams : (d, G d), the X_g'X_g of
    the groups in these directions, side by side.
    """

    vectors: Any
    squares: Any
    grams: Any


class GLOCALProblem(NamedTuple):
    """Features, signed labels that are zero where unknown, what is observed, groups of rows.

    Steps are the same with axes and without, and far faster with them.
    """

    features: Features
    signed: Any
    observed: Any
    groups: Any
    n_groups: int
    weights: Weights
    axes: Axes | None = None

    def fractions(self) -> Any:
        """Fraction of rows in every group."""
        xp = array_namespace(self.groups)
        counts = xp.bincount(self.groups, minlength=self.n_groups)
        return array_like(xp, counts, self.signed) / len(self.groups)


class GLOCALPlace(NamedTuple):
    """Row factors (n, k), label factors (L, k), feature map (d, k), directions (G, L, width)."""

    V: Any
    U: Any
    W: Any
    Z: Any


def scaled(weights: Weights, problem: GLOCALProblem, n_factors: int) -> Weights:
    """Weights as fractions of the number of observed entries, spread over what each term sums up."""
    n, n_labels = problem.signed.shape
    d = problem.features.shape[1]
    n_observed = int(problem.observed.sum())
    sizes = (
        n_factors * n,
        (n / problem.n_groups) ** 2,
        n**2,
        n * n_factors,
        n_labels * n_factors,
        d * n_factors,
    )
    return Weights(*(w * n_observed / size for w, size in zip(weights, sizes, strict=True)))


def axes_of(problem: GLOCALProblem) -> Axes | None:
    """The axes of the features; None where there are too many."""
    X, d = problem.features.rows, problem.features.shape[1]
    xp = array_namespace(problem.signed)
    if d > _MOST_FEATURES or problem.n_groups * d**2 > _MOST_ENTRIES:
        return None
    grams = []
    for g in range(problem.n_groups):
        part = X[problem.groups == g]
        gram = part.T @ part
        grams.append(gram.toarray() if sparse.issparse(gram) else gram)
    squares, vectors = xp.linalg.eigh(sum(grams))
    turned = xp.concat([vectors.T @ gram @ vectors for gram in grams], axis=1)
    return Axes(vectors, xp.clip(squares, 0.0, None), turned)


def row_slope(problem: GLOCALProblem, place: GLOCALPlace) -> Any:
    """Derivative of the objective by V."""
    V, U, W, _ = place
    residual = problem.observed * (V @ U.T) - problem.signed
    weights = problem.weights
    slope = residual @ U + weights.rows * V
    return slope + weights.regression * (V - times(problem.features, W))


def row_step(problem: GLOCALProblem, place: GLOCALPlace) -> GLOCALPlace:
    """The best V: one small system per row, the same for all where nothing is unknown."""
    weights, U = problem.weights, place.U
    xp = array_namespace(U)
    predicted = times(problem.features, place.W)
    right_side = problem.signed @ U + weights.regression * predicted
    ridge = weights.rows + weights.regression
    if bool(problem.observed.all()):
        L = _factor(U.T @ U + ridge * array_like(xp, np.eye(U.shape[1]), U))
        return place._replace(V=cholesky_solve(xp, L, right_side.T).T)
    observed = array_like(xp, problem.observed, U)
    return place._replace(V=weighted_ridge(observed, U, right_side, ridge).z)


def label_slope(problem: GLOCALProblem, place: GLOCALPlace) -> Any:
    """Derivative of the objective by U."""
    moments = _moments(problem, times(problem.features, place.W))
    return _label_product(problem, place, moments, place.U) - problem.signed.T @ place.V


def label_step(problem: GLOCALProblem, place: GLOCALPlace) -> GLOCALPlace:
    """The best U: one system, because correlation ties all labels together."""
    V, U = place.V, place.U
    moments = _moments(problem, times(problem.features, place.W))
    slope = _label_product(problem, place, moments, U) - problem.signed.T @ V
    if U.shape[0] * U.shape[1] ** 2 <= _MOST_ENTRIES:
        return place._replace(U=U - _solve_labels(problem, place, moments, slope))
    xp = array_namespace(U)
    diagonal = array_like(xp, problem.observed.T, V) @ (V * V) + problem.weights.labels
    diagonal += xp.einsum("gkk->k", moments)  # directions have length one

    def product(move):
        return _label_product(problem, place, moments, move)

    return place._replace(U=U - _solve(product, slope, diagonal))


def _solve_labels(problem: GLOCALProblem, place: GLOCALPlace, moments: Any, slope: Any) -> Any:
    """Conjugate gradient in coordinates in which the system of each label alone is the identity.

    What is left is the correlation of different labels.
    """
    xp, k = array_namespace(slope), slope.shape[1]
    own = unpack(weighted_grams(array_like(xp, problem.observed.T, slope), place.V), k)
    own += problem.weights.labels * array_like(xp, np.eye(k), slope)
    own += xp.sum(moments, axis=0)  # directions have length one
    roots = xp.linalg.inv(_factor(own))

    def product(move):
        U = xp.einsum("lab,la->lb", roots, move)
        out = xp.zeros_like(U)
        for Z, B in zip(place.Z, moments, strict=True):
            out += Z @ ((Z.T @ U) @ B) - U @ B
        return move + xp.einsum("lab,lb->la", roots, out)

    right_side = xp.einsum("lab,lb->la", roots, slope)
    move = _solve(product, right_side, xp.ones_like(slope))
    return xp.einsum("lab,la->lb", roots, move)


def feature_slope(problem: GLOCALProblem, place: GLOCALPlace) -> Any:
    """Derivative of the objective by W."""
    ties = _ties(problem, place)
    pull = problem.weights.regression * transposed_times(problem.features, place.V)
    return _feature_product(problem, ties, place.W) - pull


def feature_step(problem: GLOCALProblem, place: GLOCALPlace) -> GLOCALPlace:
    """The best W, by one system as well."""
    features, weights = problem.features, problem.weights
    ties = _ties(problem, place)
    if problem.axes is not None:
        return place._replace(W=_solve_features(problem, problem.axes, place, ties))
    own = weights.regression + array_namespace(ties).einsum("gkk->gk", ties)[problem.groups]
    diagonal = squared_transposed_times(features, own) + weights.features

    def product(move):
        return _feature_product(problem, ties, move)

    slope = feature_slope(problem, place)
    return place._replace(W=place.W - _solve(product, slope, diagonal))


def _solve_features(problem: GLOCALProblem, axes: Axes, place: GLOCALPlace, ties: Any) -> Any:
    """Conjugate gradient along axes of features and factors that make the system diagonal, but for
    what sets the ties of a group apart from their mean."""
    weights, xp = problem.weights, array_namespace(ties)
    mean = xp.einsum("g,gkj->kj", problem.fractions(), ties)
    strengths, turn = xp.linalg.eigh(mean)
    diagonal = axes.squares[:, None] * (weights.regression + strengths) + weights.features
    apart = turn.T @ (ties - mean) @ turn

    def product(move):
        out = diagonal * move
        if weights.local:
            out += axes.grams @ (move @ apart).reshape(-1, move.shape[1])
        return out

    pull = weights.regression * transposed_times(problem.features, place.V)
    now = axes.vectors.T @ place.W @ turn
    slope = product(now) - axes.vectors.T @ pull @ turn
    return axes.vectors @ (now - _solve(product, slope, diagonal)) @ turn.T


def direction_slope(problem: GLOCALProblem, place: GLOCALPlace) -> Any:
    """Derivative of the objective by the directions of every group, without their constraint."""
    moments = _moments(problem, times(problem.features, place.W))
    U = place.U
    return array_namespace(U).stack(
        [U @ (B @ (U.T @ Z)) for B, Z in zip(moments, place.Z, strict=True)]
    )


def direction_step(problem: GLOCALProblem, place: GLOCALPlace) -> GLOCALPlace:
    """Better directions, row after row: on the processor, one row waits for the other."""
    U, directions = to_numpy(place.U), to_numpy(place.Z)
    moments = to_numpy(_moments(problem, times(problem.features, place.W)))
    found = np.empty_like(directions)
    for g, B in enumerate(moments):
        values, vectors = np.linalg.eigh(B)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        found[g] = row_sweeps(U @ root, directions[g], _N_SWEEPS)
    return place._replace(Z=array_like(array_namespace(place.Z), found, place.Z))


def objective(problem: GLOCALProblem, place: GLOCALPlace) -> float:
    V, U, W, _ = place
    weights = problem.weights
    predicted = times(problem.features, W)
    residual = problem.observed * (V @ U.T) - problem.signed
    value = _square(residual) + weights.regression * _square(V - predicted)
    value += weights.rows * _square(V) + weights.labels * _square(U) + weights.features * _square(W)
    if weights.local or weights.total:
        ties = array_namespace(U).einsum("glw,lk->gwk", place.Z, U)
        value += inner(ties @ _moments(problem, predicted), ties)
    return 0.5 * value


def _moments(problem: GLOCALProblem, predicted: Any) -> Any:
    """W'X'(total fraction_g I + local I_g)XW of every group, of shape (G, k, k)."""
    weights = problem.weights
    total = weights.total * (predicted.T @ predicted)
    moments = []
    for g, fraction in enumerate(problem.fractions()):
        part = predicted[problem.groups == g]
        moments.append(fraction * total + weights.local * (part.T @ part))
    return array_namespace(predicted).stack(moments)


def _ties(problem: GLOCALProblem, place: GLOCALPlace) -> Any:
    """What multiplies the predicted factors of a row in group g: (G, k, k)."""
    xp = array_namespace(place.U)
    roots = xp.einsum("glw,lk->gwk", place.Z, place.U)
    products = xp.einsum("gwk,gwj->gkj", roots, roots)
    shared = xp.einsum("g,gkj->kj", problem.fractions(), products)
    return problem.weights.total * shared + problem.weights.local * products


def _label_product(problem: GLOCALProblem, place: GLOCALPlace, moments: Any, U: Any) -> Any:
    V = place.V
    out = (problem.observed * (V @ U.T)).T @ V + problem.weights.labels * U
    if problem.weights.local or problem.weights.total:
        for Z, B in zip(place.Z, moments, strict=True):
            out += Z @ ((Z.T @ U) @ B)
    return out


def _feature_product(problem: GLOCALProblem, ties: Any, W: Any) -> Any:
    predicted = times(problem.features, W)
    weighted = problem.weights.regression * predicted
    for g in range(problem.n_groups):
        rows = problem.groups == g
        weighted[rows] += predicted[rows] @ ties[g]
    return transposed_times(problem.features, weighted) + problem.weights.features * W


def _solve(product: Callable[[Any], Any], right_side: Any, diagonal: Any) -> Any:
    return solve_as_one(product, right_side, diagonal, n_steps=_MOST_STEPS, tol=_SOLVED)


def _factor(matrices: Any) -> Any:
    """Lower factors, with the same error in every library where there are none."""
    xp = array_namespace(matrices)
    stack = matrices if matrices.ndim == 3 else matrices[None, :, :]
    factors, failed = cholesky(xp, stack)
    if failed is not None:
        raise np.linalg.LinAlgError(
            f"system {failed} of GLOCAL is not positive definite: scale the features, raise "
            "lambda_3 and lambda_4, or take fewer factors"
        )
    return factors if matrices.ndim == 3 else factors[0, :, :]


def _square(values: Any) -> float:
    return inner(values, values)
