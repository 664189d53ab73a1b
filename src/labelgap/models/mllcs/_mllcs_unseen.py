"""Factors of labels that no sample carries, from their co-occurrence with seen labels.

The paper's way is a ridge regression, linear or with a kernel, from the count factors (beta, c) of
seen labels to their (v, b), applied to the unseen ones. Matching of moments: the rows with a seen
label s should have label t as often as the counts say, so that

    m_st ~ Poisson(q_s sum_n y_ns sigmoid(f_n . v_t + b_t)),   f_n = W' x_n,

with q_s the size of the corpus relative to the rows: its items with s over the rows with s. Under a
normal prior on (v_t, b_t) that is one small smooth problem per unseen label.

"constrained" then takes unseen labels as latent ones that must agree with the counts. Let q_nt be
the probability that row n carries the unseen label t. Among all q that give the counted
co-occurrences, sum_n y_ns q_nt = m_st / q_s, the one closest to the model's own prediction
sigmoid(psi_nt) is

    q_nt = sigmoid(psi_nt + sum_s y_ns theta_st),

and theta minimises the convex sum_n log(1 + exp(psi_nt + theta_t . y_n)) - theta_t . m_t
+ slack/2 ||theta_t||^2, at which the constraints hold up to slack times theta (posterior
regularisation, Ganchev et al., 2010). The factors of rows and labels are then fitted again, with q
as soft labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.extmath import safe_sparse_dot

from labelgap.cooccurrence import Cooccurrence
from labelgap.kernels.polya_gamma import polya_gamma_mean
from labelgap.kernels.probabilities import log_odds
from labelgap.kernels.weighted_ridge import weighted_ridge
from labelgap.models.mllcs._mllcs_counts import BIAS_PRECISION, CooccurrenceCounts, count_factors
from labelgap.models.mllcs._mllcs_em import MLLCSParams
from labelgap.models.mllcs._mllcs_text import TextMap, TextPrior

Mapping = Literal["linear", "kernel"]

MOST_ANCHORS = 20_000
_MOST_STEPS = 60
_MOST_PRETENDED = 50
_SMALLEST_COUNT = 1e-3
_ROUNDS = 3
_STEPS_PER_ROUND = 2


class Anchors(NamedTuple):
    """Rows that moments are matched on: predicted factors (n x K) and their seen labels (n x S).

    ``items`` (n x d) are their features, where these are of one kind with the texts of labels.
    """

    factors: np.ndarray
    positives: sparse.csr_array
    items: Any = None

    def thinned(self, n_most: int) -> Anchors:
        """At most so many of the rows, evenly spaced."""
        step = max(1, -(-len(self.factors) // n_most))
        return self.picked(slice(None, None, step)) if step > 1 else self

    def picked(self, rows: Any) -> Anchors:
        """Some of the rows."""
        items = None if self.items is None else self.items[rows]
        return Anchors(self.factors[rows], self.positives[rows], items)

    def informative(self) -> Anchors:
        """The rows that carry a seen label: no count speaks of others."""
        return self.picked(np.diff(self.positives.indptr) > 0)


class LabelFactors(NamedTuple):
    """(v, b) of some labels."""

    factors: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class UnseenRule:
    """The rule that gives labels factors from their counts, with all it knows of a fit.

    ``columns`` are the columns of the seen labels among the counts and ``offset`` the psi of
    counts without factors, ``corpus_counts`` the items of the corpus that carry each seen label,
    and ``prevalence`` the fraction of relevant entries among the observed ones. ``text`` maps texts of
    labels to the prior of their factors.
    """

    unseen: str
    lambda_beta: float
    lambda_map: float
    slack: float
    params: MLLCSParams
    anchors: Anchors
    corpus_counts: np.ndarray
    columns: np.ndarray
    offset: float
    prevalence: float
    text: TextMap | None = None

    @property
    def uses_map(self) -> bool:
        """Whether labels get their factors by a regression on count factors."""
        return self.unseen in ("linear", "kernel")

    def estimate(
        self,
        table: np.ndarray,
        left_out: np.ndarray | None = None,
        n_anchors: int = MOST_ANCHORS,
        max_iter: int = _MOST_STEPS,
        prior: TextPrior | None = None,
    ) -> LabelFactors:
        """(v, b) of labels with these counts (n_seen, n_new), NaN where one is missing.

        ``left_out`` are seen labels that the rule must not learn from; moments are matched on at
        most ``n_anchors`` rows, in at most ``max_iter`` steps. Labels that nothing connects keep
        their prior: that of their text, or :func:`labelgap.zero_shot.prior_of_unconnected`.
        """
        observed = ~np.isnan(table)
        weights, values = observed.astype(float), np.nan_to_num(table)
        connected = self.connected(table)
        if self.uses_map:
            estimated = self._map(values, weights, left_out)
        elif connected.any():
            anchors = self.anchors.thinned(n_anchors).informative()
            start = None if prior is None else prior.factors
            offsets = self._offsets(anchors, prior)
            counts = values, weights, self.corpus_counts
            how: dict[str, Any] = {"max_iter": max_iter, "prior": start, "offsets": offsets}
            estimated = match_moments(anchors, *counts, self.lambda_map, **how)
        factors = np.zeros((table.shape[1], self.params.factors.shape[1]))
        bias = log_odds(self.prevalence / (observed.T @ self.corpus_counts + 1))
        if prior is not None:
            factors, bias = prior.factors.copy(), prior.bias.copy()
        if connected.any():
            factors[connected] = estimated.factors[connected]
            bias[connected] = estimated.bias[connected]
        return LabelFactors(factors, bias)

    def connected(self, table: np.ndarray) -> np.ndarray:
        """Which labels with these counts have met a seen one."""
        return np.nan_to_num(table).sum(axis=0) > 0

    def prior(
        self, vectors: Any, table: np.ndarray, left_out: np.ndarray | None = None
    ) -> TextPrior | None:
        """The prior from texts of labels with these counts; None without texts.

        A map from counts has no place for what texts add directly to a label with counts.
        """
        if self.text is None or vectors is None:
            return None
        found = self.text.prior(vectors, left_out)
        if self.uses_map and found.direct is not None:
            alone = sparse.diags_array((~self.connected(table)).astype(float))
            return found._replace(direct=sparse.csr_array(alone @ found.direct))
        return found

    def _offsets(self, anchors: Anchors, prior: TextPrior | None) -> np.ndarray | float:
        if self.text is None or prior is None:
            return 0.0
        return self.text.offsets(anchors.items, prior)

    def error(self, cooccurrence: Cooccurrence) -> float:
        """How far psi is off when some seen labels are treated as if they were unseen."""
        n_seen = cooccurrence.n_seen
        if n_seen == 1:
            return np.inf
        # a map needs others to be learned from
        n_chosen = min(max(n_seen // 2, 1), _MOST_PRETENDED)
        chosen = np.unique(np.linspace(0, n_seen - 1, n_chosen).astype(int))
        table = cooccurrence.dense()[:, cooccurrence.seen[chosen]]
        # of itself an unseen label would have no count
        table[chosen, np.arange(chosen.size)] = np.nan
        vectors = None if self.text is None else self.text.vectors[chosen]
        prior = self.prior(vectors, table, chosen)
        estimated = self.estimate(table, chosen, prior=prior)
        factors, bias = self.params.factors[chosen], self.params.bias[chosen]
        sample = self.anchors.picked(slice(None, None, max(1, len(self.anchors.factors) // 1000)))
        off = sample.factors @ (estimated.factors - factors).T + (estimated.bias - bias)
        off = off + self._offsets(sample, prior)
        return float(np.sqrt(np.square(off).mean()))

    def teacher(
        self,
        cooccurrence: Cooccurrence,
        unseen: np.ndarray,
        start: LabelFactors,
        prior: TextPrior | None = None,
    ) -> Teacher:
        """What gives rows soft labels of unseen ones, which have these factors so far."""
        scale = corpus_scale(self.anchors, self.corpus_counts)
        targets = cooccurrence.dense(missing=0.0)[:, unseen] / np.maximum(scale, 1e-12)[:, None]
        counted = cooccurrence.observed[:, unseen]
        weights = self.params.weights
        anchors = self.anchors.informative()
        offsets = self._offsets(anchors, prior)
        teacher = tilted_labels(
            anchors, weights, targets, counted, start, self.lambda_map, self.slack, prior, offsets
        )
        if self.text is None or prior is None or prior.direct is None:
            return teacher
        return teacher._replace(direct=prior.direct, shift=np.asarray(self.text.shift(prior)))

    def _map(
        self, values: np.ndarray, weights: np.ndarray, left_out: np.ndarray | None
    ) -> LabelFactors:
        params = self.params
        counts = CooccurrenceCounts(values, weights, self.columns, self.offset)
        new = count_factors(counts, params, self.lambda_beta)
        known = np.column_stack([params.beta, params.column_bias])[self.columns]
        kept = np.ones(len(known), dtype=bool)
        if left_out is not None:
            kept[left_out] = False
        targets = LabelFactors(params.factors[kept], params.bias[kept])
        mapping: Any = self.unseen
        return map_labels(known[kept], targets, new, mapping, self.lambda_map)


# -- the paper's regression -----------------------------------------------------------------------


def map_labels(
    seen: np.ndarray, targets: LabelFactors, unseen: np.ndarray, rule: Mapping, ridge: float
) -> LabelFactors:
    """Return (v, b) of unseen labels by regression on their count factors.

    ``seen`` and ``unseen`` (n x K + 1) are beta and c of the labels, ``targets`` those of the seen
    ones. The kernel is Gaussian, as wide as the median distance of the seen labels.
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


def _median_squared_distance(points: np.ndarray) -> float:
    squares = np.square(points[:, None] - points[None]).sum(axis=-1)
    off_diagonal = squares[~np.eye(len(points), dtype=bool)]
    median = float(np.median(off_diagonal)) if off_diagonal.size else 1.0
    return median if median > 0 else 1.0


# -- moments --------------------------------------------------------------------------------------


def match_moments(
    anchors: Anchors,
    counts: np.ndarray,
    weights: np.ndarray,
    corpus_counts: np.ndarray,
    ridge: float,
    *,
    max_iter: int,
    prior: np.ndarray | None = None,
    offsets: np.ndarray | float = 0.0,
) -> LabelFactors:
    """Return (v, b) of labels that make the expected co-occurrences on the anchors match the counts.

    ``counts`` and ``weights`` are (n_seen x n_labels), with weights of zero where a count is
    missing; ``corpus_counts`` (n_seen) are the items of the corpus that carry each seen label: a
    row of the anchors, all of which carry a seen label, stands for as many of them. ``ridge`` is the
    precision of v around ``prior``, zero by default; ``offsets`` are what else psi has.
    """
    F, positives = with_ones_and_labels(anchors)
    by_label = sparse.csr_array(positives.T)
    scale = corpus_scale(anchors, corpus_counts)[:, None]
    expected = (weights * corpus_counts[:, None]).sum(axis=0)
    fraction = np.clip(((weights * counts).sum(axis=0) + 0.5) / (expected + 1), 1e-9, 1 - 1e-9)
    start = np.zeros((counts.shape[1], F.shape[1]))
    start[:, -1] = np.log(fraction / (1 - fraction))
    if prior is not None:
        start[:, :-1] = prior
    precision = np.append(np.full(F.shape[1] - 1, float(ridge)), BIAS_PRECISION)

    def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        labels = flat.reshape(start.shape)
        probability = expit(F @ labels.T.astype(F.dtype) + offsets)
        rate = scale * (by_label @ probability) + _SMALLEST_COUNT
        loss = float((weights * (rate - counts * np.log(rate))).sum())
        slope = weights * scale * (1 - counts / rate)
        rows = (positives @ slope.astype(probability.dtype)) * probability * (1 - probability)
        off = labels - start
        gradient = rows.T.astype(np.float64) @ F + precision * off
        return loss + 0.5 * float((precision * off**2).sum()), gradient.ravel()

    options = {"maxiter": max_iter, "maxcor": 10}
    solved = optimize.minimize(
        loss_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    solution = solved.x.reshape(start.shape)
    return LabelFactors(np.ascontiguousarray(solution[:, :-1]), solution[:, -1].copy())


def with_ones_and_labels(anchors: Anchors) -> tuple[np.ndarray, sparse.csr_array]:
    """Return factors of anchors with a column of ones, and their seen labels as numbers."""
    dtype = anchors.factors.dtype
    ones = np.ones(len(anchors.factors), dtype=dtype)
    return np.column_stack([anchors.factors, ones]), anchors.positives.astype(dtype)


def corpus_scale(anchors: Anchors, corpus_counts: np.ndarray) -> np.ndarray:
    """Return q_s: items of the corpus per row of the anchors, among those that carry s."""
    n_samples = np.bincount(anchors.positives.indices, minlength=corpus_counts.size)
    return corpus_counts / np.maximum(n_samples, 1)


# -- soft labels that agree with the counts -------------------------------------------------------


class Teacher(NamedTuple):
    """What gives a row its soft labels: W (d + 1 x K), (v, b) of unseen labels, theta (S x U).

    ``direct`` (U x d) is what texts add to psi for each feature, and ``shift`` (U) its mean.
    """

    weights: np.ndarray
    factors: np.ndarray
    bias: np.ndarray
    theta: np.ndarray
    direct: Any = None
    shift: np.ndarray | None = None

    def offsets(self, X: Any) -> np.ndarray | None:
        """What texts add to psi of rows with these features; None without texts."""
        if self.direct is None:
            return None
        return np.asarray(safe_sparse_dot(X, self.direct.T, dense_output=True)) - self.shift

    def soft_labels(
        self, row_factors: np.ndarray, positives: sparse.csr_array, offsets: np.ndarray | None
    ) -> np.ndarray:
        """q for rows with these predicted factors, seen labels and offsets."""
        dtype = row_factors.dtype
        psi = row_factors @ self.factors.T.astype(dtype) + self.bias.astype(dtype)
        psi += positives.astype(dtype) @ self.theta.astype(dtype)
        return expit(psi if offsets is None else psi + offsets.astype(dtype))


def tilted_labels(
    anchors: Anchors,
    weights: np.ndarray,
    targets: np.ndarray,
    counted: np.ndarray,
    start: LabelFactors,
    ridge: float,
    slack: float,
    text: TextPrior | None = None,
    offsets: np.ndarray | float = 0.0,
) -> Teacher:
    """Return soft labels from alternating between theta and the factors of unseen labels, a few rounds.

    ``weights`` are those that gave the anchors' factors; ``targets`` (n_seen x n_unseen) are
    co-occurrences expected in the anchors, ``counted`` says where there is a count at all;
    ``ridge`` is the precision of v around zero, or around the prior from ``text``.
    """
    factors, positives = with_ones_and_labels(anchors)
    labels = np.column_stack([start.factors, start.bias])
    prior = np.zeros_like(labels)
    prior[:, -1] = start.bias
    if text is not None:
        prior[:, :-1] = text.factors
    precision = np.append(np.full(labels.shape[1] - 1, float(ridge)), BIAS_PRECISION)
    theta = np.zeros_like(targets)
    for _ in range(_ROUNDS):
        psi = factors @ labels.T.astype(factors.dtype) + offsets
        theta = best_tilt(psi, positives, targets, counted, theta, slack)
        q = expit(psi + positives @ theta.astype(psi.dtype))
        for _ in range(_STEPS_PER_ROUND):
            omega = polya_gamma_mean(1.0, factors @ labels.T.astype(factors.dtype) + offsets)
            right = (q - 0.5 - omega * offsets).T @ factors + precision * prior
            labels = weighted_ridge(omega.T, factors, right, precision).z
    return Teacher(weights, labels[:, :-1].copy(), labels[:, -1].copy(), theta)


def best_tilt(
    psi: np.ndarray,
    positives: sparse.csr_array,
    targets: np.ndarray,
    counted: np.ndarray,
    start: np.ndarray,
    slack: float,
    *,
    max_iter: int = 20,
) -> np.ndarray:
    """Return theta of all unseen labels; zero where there is no count."""
    by_label = sparse.csr_array(positives.T)

    def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = flat.reshape(targets.shape)
        tilted = psi + positives @ theta.astype(psi.dtype)
        expected = by_label @ expit(tilted)
        loss = float(np.logaddexp(0, tilted).sum(dtype=np.float64))
        loss += float((0.5 * slack * theta**2 - theta * targets).sum())
        gradient = np.where(counted, expected - targets + slack * theta, 0.0)
        return loss, gradient.ravel()

    options = {"maxiter": max_iter}
    solved = optimize.minimize(
        loss_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    return solved.x.reshape(targets.shape)
