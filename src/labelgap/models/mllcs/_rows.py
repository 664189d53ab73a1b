"""What ML-LCS does with rows: their factors, and the sums that the labels need.

Given label factors v_l with bias b_l and regression weights W, row n has the factors u_n that
maximise

    sum_l log p(y_nl | u_n . v_l + b_l) - lambda_u / 2 ||u_n - W' x_n||^2

over its known entries. Under the Polya-Gamma bound that is a weighted ridge regression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.exposure import LabelTerms, label_terms, with_soft_labels
from labelgap.kernels.products import (
    Features,
    linear_part,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)
from labelgap.kernels.weighted_ridge import weighted_grams, weighted_ridge
from labelgap.labels import State


class RowParams(Protocol):
    """What rows must know: V (S x K), b (S), W (d + 1 x K, the intercept last), theta or None."""

    @property
    def factors(self) -> np.ndarray: ...

    @property
    def bias(self) -> np.ndarray: ...

    @property
    def weights(self) -> np.ndarray: ...

    @property
    def looked_at(self) -> np.ndarray | None: ...


class Block(NamedTuple):
    """Some rows: features, the states of the seen labels as int8 codes, soft labels or None.

    Soft labels are probabilities of further labels, whose factors come after the seen ones'.
    """

    index: int  # type: ignore[assignment]
    features: Features
    states: Any
    soft: Any = None


class Local(NamedTuple):
    """The factors u_n of the rows."""

    factors: Any


class Stats(NamedTuple):
    """Sums over rows.

    ``grams`` (S x packed (K+1)(K+2)/2) weighted second moments of (u, 1) for each label;
    ``right_side`` (S x K + 1) sum of kappa (u, 1); ``gradient`` (d + 1 x K) of W, times
    1/lambda_u; ``curvature`` (d + 1) squared features; ``looked_at`` and ``candidates`` (S)
    expected looks and entries for theta; ``n_rows``; ``log_posterior`` of the rows.
    """

    grams: np.ndarray
    right_side: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    looked_at: np.ndarray
    candidates: np.ndarray
    n_rows: float
    log_posterior: float


@dataclass(frozen=True)
class RowSteps:
    """Settings that rows need, and their steps; small enough to be sent to every worker."""

    lambda_u: float = 1.0

    def step(self, block: Block, local: Local | None, params: RowParams) -> tuple[Local, Stats]:
        """New factors of the rows, and the statistics they give."""
        mean = linear_part(block.features, params.weights)
        xp, V, b, theta, prior = _on_device(block, params, mean)
        U = prior if local is None else local.factors
        U = self._moved(_terms(block, U @ V.T + b, theta), V, b, prior)
        terms = _terms(block, U @ V.T + b, theta)
        return Local(U), self._stats(xp, block, terms, U, mean)

    def settled(self, block: Block, params: RowParams, n_steps: int) -> np.ndarray:
        """The factors of rows that took no part in the fit, after so many steps."""
        _, V, b, theta, prior = _on_device(
            block, params, linear_part(block.features, params.weights)
        )
        U = prior
        for _ in range(n_steps):
            U = self._moved(_terms(block, U @ V.T + b, theta), V, b, prior)
        return to_numpy(U)

    def _moved(self, terms: LabelTerms, V: Any, b: Any, prior: Any) -> Any:
        """The minimum of the bound that touches where the terms were taken."""
        right = (terms.kappa - terms.omega * b) @ V + self.lambda_u * prior
        return weighted_ridge(terms.omega, V, right, self.lambda_u).z

    def _stats(self, xp: Any, block: Block, terms: LabelTerms, U: Any, mean: np.ndarray) -> Stats:
        ones = xp.ones_like(U[:, :1])
        extended = xp.concat([U, ones], axis=1)
        off = to_numpy(U) - mean
        penalty = 0.5 * self.lambda_u * float(np.square(off, dtype=np.float64).sum())
        return Stats(
            grams=to_numpy(weighted_grams(terms.omega.T, extended)),
            right_side=to_numpy(terms.kappa.T @ extended),
            gradient=with_intercept(transposed_times(block.features, off), off),
            curvature=squared_features(block.features),
            looked_at=to_numpy(terms.looked_at),
            candidates=_candidates(block.states),
            n_rows=float(mean.shape[0]),
            log_posterior=terms.log_likelihood - penalty,
        )


def feature_product(block: Block, local: Any, direction: np.ndarray) -> np.ndarray:
    """X'X P with a column of ones in X, for :meth:`labelgap.fitting.Rows.total`."""
    image = linear_part(block.features, direction)
    return with_intercept(transposed_times(block.features, image), image)


def feature_gram(block: Block, local: Any, argument: None) -> np.ndarray:
    """X'X with a column of ones in X, dense."""
    X = block.features.rows
    d = X.shape[1]
    gram = np.empty((d + 1, d + 1))
    inner = X.T @ X
    gram[:d, :d] = inner.toarray() if hasattr(inner, "toarray") else inner
    gram[d, :d] = gram[:d, d] = np.asarray(X.sum(axis=0)).ravel()
    gram[d, d] = X.shape[0]
    return gram


def _terms(block: Block, psi: Any, theta: Any) -> LabelTerms:
    n_seen = block.states.shape[1]
    terms = label_terms(psi[:, :n_seen], block.states, theta)
    if block.soft is None:
        return terms
    return with_soft_labels(terms, psi[:, n_seen:], block.soft)


def _on_device(block: Block, params: RowParams, mean: np.ndarray) -> tuple[Any, ...]:
    """V, b, theta and prior means beside the block's states, wherever those lie."""
    xp = array_namespace(block.states)
    arrays = (params.factors, params.bias, params.looked_at, mean)
    if xp is np:
        return (np, *arrays)
    dtype = xp.float32 if mean.dtype == np.float32 else xp.float64
    there = (
        None if part is None else array_like(xp, part, block.states, dtype=dtype) for part in arrays
    )
    return (xp, *there)


def squared_features(features: Features) -> np.ndarray:
    """The diagonal of X'X with a column of ones in X."""
    ones = np.ones((features.shape[0], 1), dtype=features.dtype)
    return np.append(squared_transposed_times(features, ones), features.shape[0])


def _candidates(states: Any) -> np.ndarray:
    """Entries whose record depends on a look: the relevant ones and the ambiguous zeros."""
    relevant = to_numpy(states) == State.RELEVANT
    ambiguous = to_numpy(states) == State.AMBIGUOUS
    return np.stack([relevant.sum(axis=0), ambiguous.sum(axis=0)], axis=1).astype(np.float64)
