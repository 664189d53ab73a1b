"""Factors of labels that no row carries, from their co-occurrence with seen labels.

Two ways. The paper's: a ridge regression, linear or with a kernel, from the count factors
(beta, c) of seen labels to their (v, b), applied to the unseen ones. And matching of moments: the
rows with a seen label s should have label t as often as the counts say, so that

    m_st ~ Poisson(q_s sum_n y_ns sigmoid(f_n . v_t + b_t)),   f_n = W' x_n,

with q_s the size of the corpus relative to the rows: its items with s over the rows with s. Under a
normal prior on (v_t, b_t) that is one small smooth problem per unseen label.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel

Rule = Literal["linear", "kernel"]

_BIAS_PRECISION = 1e-2
_SMALLEST_COUNT = 1e-3


class Anchors(NamedTuple):
    """Rows that moments are matched on: predicted factors (n x K) and their seen labels (n x S)."""

    factors: np.ndarray
    positives: sparse.csr_array


class LabelFactors(NamedTuple):
    """(v, b) of some labels."""

    factors: np.ndarray
    bias: np.ndarray


def map_labels(
    seen: np.ndarray, targets: LabelFactors, unseen: np.ndarray, rule: Rule, ridge: float
) -> LabelFactors:
    """(v, b) of unseen labels by regression on their count factors.

    Parameters
    ----------
    seen, unseen : arrays of shape (n, K + 1)
        beta and c of the labels.
    targets : LabelFactors
        Those of the seen labels.
    rule : {"linear", "kernel"}
        The kernel is Gaussian, as wide as the median distance of the seen labels.
    ridge : float
    """
    center = seen.mean(axis=0)
    seen, unseen = seen - center, unseen - center
    values = np.column_stack([targets.factors, targets.bias])
    mean = values.mean(axis=0)
    if rule == "linear":
        gram = seen.T @ seen
        gram[np.diag_indices_from(gram)] += ridge
        mapped = unseen @ linalg.solve(gram, seen.T @ (values - mean), assume_a="pos")
    else:
        width = _median_squared_distance(seen)
        kernel = rbf_kernel(seen, seen, gamma=1 / width)
        kernel[np.diag_indices_from(kernel)] += ridge
        dual = linalg.solve(kernel, values - mean, assume_a="pos")
        mapped = rbf_kernel(unseen, seen, gamma=1 / width) @ dual
    mapped = mapped + mean
    return LabelFactors(np.ascontiguousarray(mapped[:, :-1]), mapped[:, -1].copy())


def match_moments(
    anchors: Anchors,
    counts: np.ndarray,
    weights: np.ndarray,
    corpus_counts: np.ndarray,
    ridge: float,
    *,
    max_iter: int,
) -> LabelFactors:
    """(v, b) of labels that make the expected co-occurrences on the anchors match the counts.

    Parameters
    ----------
    anchors : Anchors
    counts, weights : arrays of shape (n_seen, n_labels)
        Weights are zero where a count is missing.
    corpus_counts : array of shape (n_seen,)
        Items of the corpus that carry each seen label; a row of the anchors stands for as many
        of them.
    ridge : float
        Precision of v around zero.
    max_iter : int
        Steps of L-BFGS.
    """
    problem = _Moments.of(anchors, counts, weights, corpus_counts, ridge)
    found = optimize.minimize(
        problem.loss_and_gradient,
        problem.start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxcor": 10},
    )
    solution = found.x.reshape(problem.start.shape)
    return LabelFactors(np.ascontiguousarray(solution[:, :-1]), solution[:, -1].copy())


def thinned(anchors: Anchors, n_most: int) -> Anchors:
    """At most ``n_most`` of the anchors, evenly spaced."""
    step = max(1, -(-len(anchors.factors) // n_most))
    return anchors if step == 1 else Anchors(anchors.factors[::step], anchors.positives[::step])


def telling_rows(anchors: Anchors) -> tuple[np.ndarray, sparse.csr_array]:
    """Factors (with a column of ones) and seen labels of the anchors that carry any."""
    dtype = anchors.factors.dtype
    telling = np.diff(anchors.positives.indptr) > 0
    factors = anchors.factors[telling]
    factors = np.column_stack([factors, np.ones(len(factors), dtype=dtype)])
    return factors, anchors.positives[telling].astype(dtype)


def corpus_scale(anchors: Anchors, corpus_counts: np.ndarray) -> np.ndarray:
    """q_s: items of the corpus per row of the anchors, among those that carry s."""
    n_rows = np.bincount(anchors.positives.indices, minlength=corpus_counts.size)
    return corpus_counts / np.maximum(n_rows, 1)


class _Moments(NamedTuple):
    factors: np.ndarray
    positives: sparse.csr_array
    by_label: sparse.csr_array
    counts: np.ndarray
    weights: np.ndarray
    scale: np.ndarray
    start: np.ndarray
    precision: np.ndarray

    @classmethod
    def of(cls, anchors, counts, weights, corpus_counts, ridge) -> _Moments:
        factors, positives = telling_rows(anchors)
        by_label = sparse.csr_array(positives.T)
        scale = corpus_scale(anchors, corpus_counts)
        expected = (weights * corpus_counts[:, None]).sum(axis=0)
        share = np.clip(((weights * counts).sum(axis=0) + 0.5) / (expected + 1), 1e-9, 1 - 1e-9)
        start = np.zeros((counts.shape[1], factors.shape[1]))
        start[:, -1] = np.log(share / (1 - share))
        precision = np.append(np.full(factors.shape[1] - 1, float(ridge)), _BIAS_PRECISION)
        return cls(factors, positives, by_label, counts, weights, scale[:, None], start, precision)

    def loss_and_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        labels = flat.reshape(self.start.shape)
        chance = expit(self.factors @ labels.T.astype(self.factors.dtype))
        rate = self.scale * (self.by_label @ chance) + _SMALLEST_COUNT
        loss = float((self.weights * (rate - self.counts * np.log(rate))).sum())
        slope = self.weights * self.scale * (1 - self.counts / rate)
        pull = (self.positives @ slope.astype(chance.dtype)) * chance * (1 - chance)
        off = labels - self.start
        gradient = pull.T.astype(np.float64) @ self.factors + self.precision * off
        return loss + 0.5 * float((self.precision * off**2).sum()), gradient.ravel()


def _median_squared_distance(points: np.ndarray) -> float:
    squares = np.square(points[:, None] - points[None]).sum(axis=-1)
    off_diagonal = squares[~np.eye(len(points), dtype=bool)]
    median = float(np.median(off_diagonal)) if off_diagonal.size else 1.0
    return median if median > 0 else 1.0
