"""The objective of GLOCAL and its steps, each the exact minimiser over one block."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from labelgap.baselines._linear import solve_as_one
from labelgap.kernels.oblique import row_sweeps
from labelgap.kernels.products import (
    Features,
    squared_transposed_times,
    times,
    transposed_times,
)
from labelgap.kernels.weighted_ridge import unpack, weighted_grams, weighted_ridge

__all__ = [
    "Axes",
    "Place",
    "Problem",
    "Weights",
    "axes_of",
    "direction_step",
    "feature_step",
    "label_step",
    "objective",
    "row_step",
    "scaled",
]

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

    vectors: np.ndarray
    squares: np.ndarray
    grams: np.ndarray


class Problem(NamedTuple):
    """Features, signed labels that are zero where unknown, what is observed, groups of rows.

    Steps are the same with axes and without, and far faster with them.
    """

    features: Features
    signed: np.ndarray
    observed: np.ndarray
    groups: np.ndarray
    n_groups: int
    weights: Weights
    axes: Axes | None = None

    def shares(self) -> np.ndarray:
        """Share of rows in every group."""
        return np.bincount(self.groups, minlength=self.n_groups) / len(self.groups)


class Place(NamedTuple):
    """Row factors (n, k), label factors (L, k), feature map (d, k), directions (G, L, width)."""

    V: np.ndarray
    U: np.ndarray
    W: np.ndarray
    Z: np.ndarray


def scaled(weights: Weights, problem: Problem, n_factors: int) -> Weights:
    """Weights as shares of the number of observed entries, spread over what each term sums up."""
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


def axes_of(problem: Problem) -> Axes | None:
    """The axes of the features; None where there are too many."""
    X, d = problem.features.rows, problem.features.shape[1]
    if d > _MOST_FEATURES or problem.n_groups * d**2 > _MOST_ENTRIES:
        return None
    grams = []
    for g in range(problem.n_groups):
        part = X[problem.groups == g]
        gram = part.T @ part
        grams.append(gram.toarray() if sparse.issparse(gram) else gram)
    squares, vectors = linalg.eigh(np.sum(grams, axis=0))
    turned = np.hstack([vectors.T @ gram @ vectors for gram in grams])
    return Axes(vectors, np.maximum(squares, 0.0), turned)


def row_slope(problem: Problem, place: Place) -> np.ndarray:
    """Derivative of the objective by V."""
    V, U, W, _ = place
    residual = problem.observed * (V @ U.T) - problem.signed
    weights = problem.weights
    slope = residual @ U + weights.rows * V
    return slope + weights.regression * (V - times(problem.features, W))


def row_step(problem: Problem, place: Place) -> Place:
    """The best V: one small system per row, the same for all where nothing is unknown."""
    weights = problem.weights
    predicted = times(problem.features, place.W)
    right_side = problem.signed @ place.U + weights.regression * predicted
    ridge = weights.rows + weights.regression
    if problem.observed.all():
        matrix = place.U.T @ place.U + ridge * np.eye(place.U.shape[1])
        return place._replace(V=linalg.solve(matrix, right_side.T, assume_a="pos").T)
    observed = problem.observed.astype(np.float64)
    return place._replace(V=weighted_ridge(observed, place.U, right_side, ridge).z)


def label_slope(problem: Problem, place: Place) -> np.ndarray:
    """Derivative of the objective by U."""
    moments = _moments(problem, times(problem.features, place.W))
    return _label_product(problem, place, moments, place.U) - problem.signed.T @ place.V


def label_step(problem: Problem, place: Place) -> Place:
    """The best U: one system, because correlation ties all labels together."""
    V, U = place.V, place.U
    moments = _moments(problem, times(problem.features, place.W))
    slope = _label_product(problem, place, moments, U) - problem.signed.T @ V
    if U.size * U.shape[1] <= _MOST_ENTRIES:
        return place._replace(U=U - _solve_labels(problem, place, moments, slope))
    diagonal = problem.observed.T.astype(np.float64) @ (V * V) + problem.weights.labels
    diagonal += np.einsum("gkk->k", moments)  # directions have length one

    def product(move):
        return _label_product(problem, place, moments, move)

    return place._replace(U=U - _solve(product, slope, diagonal))


def _solve_labels(
    problem: Problem, place: Place, moments: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    """Conjugate gradient in coordinates in which the system of each label alone is the identity.

    What is left is the correlation of different labels.
    """
    k = slope.shape[1]
    own = unpack(weighted_grams(problem.observed.T.astype(np.float64), place.V), k)
    own[:, range(k), range(k)] += problem.weights.labels
    own += moments.sum(axis=0)  # directions have length one
    roots = np.linalg.inv(np.linalg.cholesky(own))

    def product(move):
        U = np.einsum("lab,la->lb", roots, move)
        out = np.zeros_like(U)
        for Z, B in zip(place.Z, moments, strict=True):
            out += Z @ ((Z.T @ U) @ B) - U @ B
        return move + np.einsum("lab,lb->la", roots, out)

    right_side = np.einsum("lab,lb->la", roots, slope)
    move = _solve(product, right_side, np.ones_like(slope))
    return np.einsum("lab,la->lb", roots, move)


def feature_slope(problem: Problem, place: Place) -> np.ndarray:
    """Derivative of the objective by W."""
    ties = _ties(problem, place)
    pull = problem.weights.regression * transposed_times(problem.features, place.V)
    return _feature_product(problem, ties, place.W) - pull


def feature_step(problem: Problem, place: Place) -> Place:
    """The best W, by one system as well."""
    features, weights = problem.features, problem.weights
    ties = _ties(problem, place)
    if problem.axes is not None:
        return place._replace(W=_solve_features(problem, problem.axes, place, ties))
    own = weights.regression + np.einsum("gkk->gk", ties)[problem.groups]
    diagonal = squared_transposed_times(features, own) + weights.features

    def product(move):
        return _feature_product(problem, ties, move)

    slope = feature_slope(problem, place)
    return place._replace(W=place.W - _solve(product, slope, diagonal))


def _solve_features(problem: Problem, axes: Axes, place: Place, ties: np.ndarray) -> np.ndarray:
    """Conjugate gradient along axes of features and factors that make the system diagonal, but for
    what sets the ties of a group apart from their mean."""
    weights = problem.weights
    mean = np.tensordot(problem.shares(), ties, 1)
    strengths, turn = np.linalg.eigh(mean)
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


def direction_slope(problem: Problem, place: Place) -> np.ndarray:
    """Derivative of the objective by the directions of every group, without their constraint."""
    moments = _moments(problem, times(problem.features, place.W))
    U = place.U
    return np.stack([U @ (B @ (U.T @ Z)) for B, Z in zip(moments, place.Z, strict=True)])


def direction_step(problem: Problem, place: Place) -> Place:
    """Better directions, row after row."""
    Z = place.Z.copy()
    for g, B in enumerate(_moments(problem, times(problem.features, place.W))):
        values, vectors = np.linalg.eigh(B)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        Z[g] = row_sweeps(place.U @ root, Z[g], _N_SWEEPS)
    return place._replace(Z=Z)


def objective(problem: Problem, place: Place) -> float:
    V, U, W, _ = place
    weights = problem.weights
    predicted = times(problem.features, W)
    residual = problem.observed * (V @ U.T) - problem.signed
    value = _square(residual) + weights.regression * _square(V - predicted)
    value += weights.rows * _square(V) + weights.labels * _square(U) + weights.features * _square(W)
    if weights.local or weights.total:
        ties = np.einsum("glw,lk->gwk", place.Z, U)
        moments = _moments(problem, predicted)
        value += float(np.einsum("gwk,gkj,gwj->", ties, moments, ties))
    return 0.5 * value


def _moments(problem: Problem, predicted: np.ndarray) -> np.ndarray:
    """W'X'(total share_g I + local I_g)XW of every group, of shape (G, k, k)."""
    weights, k = problem.weights, predicted.shape[1]
    total = weights.total * (predicted.T @ predicted)
    moments = np.empty((problem.n_groups, k, k))
    for g, share in enumerate(problem.shares()):
        part = predicted[problem.groups == g]
        moments[g] = share * total + weights.local * (part.T @ part)
    return moments


def _ties(problem: Problem, place: Place) -> np.ndarray:
    """What multiplies the predicted factors of a row in group g: (G, k, k)."""
    roots = np.einsum("glw,lk->gwk", place.Z, place.U)
    products = np.einsum("gwk,gwj->gkj", roots, roots)
    shared = np.einsum("g,gkj->kj", problem.shares(), products)
    return problem.weights.total * shared + problem.weights.local * products


def _label_product(
    problem: Problem, place: Place, moments: np.ndarray, U: np.ndarray
) -> np.ndarray:
    V = place.V
    out = (problem.observed * (V @ U.T)).T @ V + problem.weights.labels * U
    if problem.weights.local or problem.weights.total:
        for Z, B in zip(place.Z, moments, strict=True):
            out += Z @ ((Z.T @ U) @ B)
    return out


def _feature_product(problem: Problem, ties: np.ndarray, W: np.ndarray) -> np.ndarray:
    predicted = times(problem.features, W)
    weighted = problem.weights.regression * predicted
    for g in range(problem.n_groups):
        rows = problem.groups == g
        weighted[rows] += predicted[rows] @ ties[g]
    return transposed_times(problem.features, weighted) + problem.weights.features * W


def _solve(
    product: Callable[[np.ndarray], np.ndarray], right_side: np.ndarray, diagonal: np.ndarray
) -> np.ndarray:
    return solve_as_one(product, right_side, diagonal, n_steps=_MOST_STEPS, tol=_SOLVED)


def _square(values: np.ndarray) -> float:
    return float(np.vdot(values, values))
