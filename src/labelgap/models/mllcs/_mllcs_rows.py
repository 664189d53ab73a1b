"""What ML-LCS does with rows: their factors, and the sums that the labels need.

Given label factors v_l with bias b_l and regression weights W, row n has the factors u_n that
maximise

    sum_l log p(y_nl | u_n . v_l + b_l) - lambda_u / 2 ||u_n - W' x_n||^2

over its known entries. Under the Polya-Gamma bound that is a weighted ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from labelgap.extras import require
from labelgap.kernels.array_namespace import array_like, array_namespace, to_numpy
from labelgap.kernels.entry_likelihood import LabelTerms, label_terms, with_soft_labels
from labelgap.kernels.products import (
    Features,
    linear_part,
    prepare_features,
    squared_transposed_times,
    transposed_times,
    with_intercept,
)
from labelgap.kernels.weighted_ridge import weighted_grams, weighted_ridge
from labelgap.labels import Labels, State
from labelgap.memory import block_size

if TYPE_CHECKING:
    from labelgap.models.mllcs._mllcs_em import MLLCSParams
    from labelgap.models.mllcs._mllcs_unseen import Teacher


class MLLCSBlock(NamedTuple):
    """Some rows: features, the states of the seen labels as int8 codes, soft labels or None.

    Soft labels are probabilities of further labels, whose factors come after the seen ones'.
    ``offsets`` (n x all of them) are what texts add to psi.
    """

    index: int  # type: ignore[assignment]
    features: Features
    states: Any
    soft: Any = None
    offsets: Any = None


class MLLCSLocal(NamedTuple):
    """The factors u_n of the rows."""

    factors: Any


class MLLCSStats(NamedTuple):
    """Sums over rows.

    ``grams`` (S x packed (K+1)(K+2)/2) weighted second moments of (u, 1) for each label;
    ``right_side`` (S x K + 1) sum of kappa (u, 1); ``gradient`` (d + 1 x K) of W, times
    1/lambda_u; ``curvature`` (d + 1) squared features; ``examined`` and ``candidates`` (S)
    expected looks and entries for theta; ``n_samples``; ``log_posterior`` of the rows.
    """

    grams: np.ndarray
    right_side: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    examined: np.ndarray
    candidates: np.ndarray
    n_samples: float
    log_posterior: float


@dataclass(frozen=True)
class MLLCSRowSteps:
    """Settings that rows need, and their steps; small enough to be sent to every worker."""

    lambda_u: float = 1.0

    def step(
        self, block: MLLCSBlock, local: MLLCSLocal | None, params: MLLCSParams
    ) -> tuple[MLLCSLocal, MLLCSStats]:
        """New factors of the rows, and the statistics they give."""
        mean = linear_part(block.features, params.weights)
        xp, V, b, theta, prior = _on_device(block, params, mean)
        U = prior if local is None else local.factors
        U = self._moved(_terms(block, U @ V.T + b, theta), V, b, prior)
        terms = _terms(block, U @ V.T + b, theta)
        return MLLCSLocal(U), self.stats(xp, block, terms, U, mean)

    def embed(self, block: MLLCSBlock, params: MLLCSParams, n_steps: int) -> np.ndarray:
        """Return the factors of rows that took no part in the fit, after so many steps."""
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

    def stats(
        self, xp: Any, block: MLLCSBlock, terms: LabelTerms, U: Any, mean: np.ndarray
    ) -> MLLCSStats:
        ones = xp.ones_like(U[:, :1])
        extended = xp.concat([U, ones], axis=1)
        off = to_numpy(U) - mean
        penalty = 0.5 * self.lambda_u * float(np.square(off, dtype=np.float64).sum())
        return MLLCSStats(
            grams=to_numpy(weighted_grams(terms.omega.T, extended)),
            right_side=to_numpy(terms.kappa.T @ extended),
            gradient=with_intercept(transposed_times(block.features, off), off),
            curvature=squared_features(block.features),
            examined=to_numpy(terms.examined),
            candidates=_candidates(block.states),
            n_samples=float(mean.shape[0]),
            log_posterior=terms.log_likelihood - penalty,
        )


def feature_product(block: MLLCSBlock, local: Any, direction: np.ndarray) -> np.ndarray:
    """Return X'X P with a column of ones in X, for :meth:`labelgap.fitting.Rows.total`."""
    image = linear_part(block.features, direction)
    return with_intercept(transposed_times(block.features, image), image)


def feature_gram(block: MLLCSBlock, local: Any, argument: None) -> np.ndarray:
    """Return X'X with a column of ones in X, dense."""
    X = block.features.rows
    d = X.shape[1]
    gram = np.empty((d + 1, d + 1))
    inner = X.T @ X
    gram[:d, :d] = inner.toarray() if hasattr(inner, "toarray") else inner
    gram[d, :d] = gram[:d, d] = np.asarray(X.sum(axis=0)).ravel()
    gram[d, d] = X.shape[0]
    return gram


def _terms(block: MLLCSBlock, psi: Any, theta: Any) -> LabelTerms:
    n_seen = block.states.shape[1]
    if block.offsets is not None:
        psi = psi + block.offsets
    terms = label_terms(psi[:, :n_seen], block.states, theta)
    if block.soft is not None:
        terms = with_soft_labels(terms, psi[:, n_seen:], block.soft)
    if block.offsets is None:
        return terms
    # kappa psi - omega psi^2 / 2 in terms of psi without the offset
    return terms._replace(kappa=terms.kappa - terms.omega * block.offsets)


def _on_device(block: MLLCSBlock, params: MLLCSParams, mean: np.ndarray) -> tuple[Any, ...]:
    """V, b, theta and prior means beside the block's states, wherever those lie."""
    xp = array_namespace(block.states)
    arrays = (params.factors, params.bias, params.label_frequency, mean)
    if xp is np:
        return (np, *arrays)
    dtype = xp.float32 if mean.dtype == np.float32 else xp.float64
    there = (
        None if part is None else array_like(xp, part, block.states, dtype=dtype) for part in arrays
    )
    return (xp, *there)


def squared_features(features: Features) -> np.ndarray:
    """Return the diagonal of X'X with a column of ones in X."""
    ones = np.ones((features.shape[0], 1), dtype=features.dtype)
    return np.append(squared_transposed_times(features, ones), features.shape[0])


def _candidates(states: Any) -> np.ndarray:
    """Entries whose record depends on a look: the relevant ones and the unlabeled zeros."""
    relevant = to_numpy(states) == State.RELEVANT
    unlabeled = to_numpy(states) == State.UNLABELED
    return np.stack([relevant.sum(axis=0), unlabeled.sum(axis=0)], axis=1).astype(np.float64)


class MLLCSSurvey(NamedTuple):
    """Sums over rows before a fit."""

    n_samples: int
    squared_norm: float


def survey_block(block: tuple[Any, Labels], local: Any, argument: Any) -> MLLCSSurvey:
    """Return the scale of some rows, for :meth:`labelgap.fitting.Rows.total`."""
    X = block[0]
    values = X.data if sparse.issparse(X) else X
    return MLLCSSurvey(X.shape[0], float(np.square(values, dtype=np.float64).sum()))


def default_block_rows(n_labels: int) -> int:
    """Return how many samples have entries that fit the memory of one block."""
    return block_size(n_labels, fraction=1 / 8, least=256)


def block_maker(dtype: Any, device: str | None, teacher: Teacher | None = None) -> Any:
    """Return :func:`prepare_block` with everything but the rows given; it can be sent elsewhere."""
    return partial(prepare_block, dtype, device, teacher)


def prepare_block(
    dtype: Any, device: str | None, teacher: Teacher | None, index: int, X: Any, labels: Labels
) -> MLLCSBlock:
    """Return a block: features ready for products, states of the seen labels, on a device."""
    states: Any = labels.states()
    features = prepare_features(X.astype(dtype, copy=False))
    soft: Any = None
    offsets: Any = None
    if teacher is not None:
        factors = linear_part(features, teacher.weights)
        offsets = teacher.offsets(X)
        soft = teacher.soft_labels(factors, labels.where(State.RELEVANT), offsets).astype(dtype)
        if offsets is not None:
            none = np.zeros(states.shape, dtype=dtype)
            offsets = np.concatenate([none, offsets.astype(dtype)], axis=1)
    if device is not None:
        torch = require("torch", extra="gpu", purpose="device=")
        states = torch.asarray(states, device=device)
        soft = None if soft is None else torch.asarray(soft, device=device)
        offsets = None if offsets is None else torch.asarray(offsets, device=device)
    return MLLCSBlock(index, features, states, soft, offsets)


def gather_rows(
    source: Any, n_most: int, convert: Callable[[Any], Any]
) -> tuple[Any, sparse.csr_array]:
    """Return what ``convert`` makes of evenly spaced samples, ``n_most`` at most, and their labels."""
    step = max(1, -(-source.n_samples // n_most))
    parts, positives = [], []
    for index in range(len(source)):
        X, labels = source[index]
        chosen = np.arange(0, X.shape[0], step)
        parts.append(convert(X[chosen]))
        positives.append(labels[chosen].where(State.RELEVANT))
    stack = sparse.vstack if sparse.issparse(parts[0]) else np.concatenate
    return stack(parts), sparse.csr_array(sparse.vstack(positives))


def with_ones(factors: np.ndarray) -> np.ndarray:
    """Return factors with a column of ones, for a bias."""
    return np.column_stack([factors, np.ones(len(factors), dtype=factors.dtype)])
