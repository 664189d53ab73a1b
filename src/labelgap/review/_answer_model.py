"""Entries to review, and what the answers so far say of them.

An entry of item i and label j is relevant with log-odds

    eta_ij = a + b s_ij + h_ij w_j . t_i,       w_j ~ N(0, diag(tau_0^2, tau^2, ..., tau^2)),

where s_ij are the log-odds of the audit and t_i = (1, traits of the item). The scale a, b is common
to all labels: is the audit overconfident or underconfident altogether? The correction w_j is the
label's own: is it missing more often than assumed, and on what kind of items? Its prior variances
are estimated from the labels together, so that labels with few answers borrow from the others. It
fades (h_ij) where the audit's probabilities are small, see :meth:`ReviewCandidates.reach`.

Answers enter by penalised maximum likelihood (Newton steps on a and b and on each w_j in turn; the
objective is convex), and the uncertainty of w_j is that of Laplace's approximation. The result
depends on the answers alone, not on their order: only the answers are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit
from sklearn.utils.extmath import randomized_svd

from labelgap.auditing import Audit, Estimate

_LEAST_PROBABILITY, _FADING, _NORMAL_95 = 1e-4, 0.05, 1.96
_MAX_ITER, _TOL = 25, 1e-4
# prior of the scale: log-odds are as good as they stand, give or take
_SCALE_MEAN = np.array([0.0, 1.0])
_SCALE_PRECISION = np.diag([1 / 0.7**2, 1 / 0.2**2])
# variances of the corrections before any answer, and how many labels that assumption counts for
_VARIANCE_OF_OFFSET, _VARIANCE_OF_TRAITS, _WORTH_LABELS = 0.5, 0.05, 2.0


class ReviewCandidates(NamedTuple):
    """Entries that a reviewer may be asked about.

    Attributes
    ----------
    rows, columns : int arrays of shape (n,)
        Positions in ``items`` and ``labels``.
    log_odds : array of shape (n,)
        Log-odds of the audit that the label is relevant for the item.
    traits : array of shape (n_items, d)
        A few numbers about each item, by which the answers for one item tell about others; the
        first is 1.
    items, labels : list of str

    See Also
    --------
    review_candidates : Makes them from an audit.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.review import ReviewCandidates
    >>> rows, columns = np.array([0, 1]), np.array([0, 0])
    >>> traits, items = np.ones((2, 1)), ["photo 1", "photo 2"]
    >>> ReviewCandidates(rows, columns, np.array([1.0, -0.5]), traits, items, ["sea"]).n
    2
    """

    rows: np.ndarray
    columns: np.ndarray
    log_odds: np.ndarray
    traits: np.ndarray
    items: Sequence[str]
    labels: Sequence[str]

    @property
    def n(self) -> int:
        return self.rows.size

    def reach(self, some: np.ndarray) -> np.ndarray:
        """Return the traits of some candidates, faded where the audit's probability p is small.

        Traits are multiplied by p / (p + 0.05): questions come from the top of the list, and their
        answers should not decide about thousands of improbable entries that nobody is asked about.
        """
        p = expit(self.log_odds[some])
        return self.traits[self.rows[some]] * (p / (p + _FADING))[:, None]


def prior_log_odds(probabilities: Any) -> np.ndarray:
    """Log-odds, kept away from certainty so that answers can change them."""
    return logit(
        np.clip(np.asarray(probabilities, dtype=float), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    )


def review_candidates(
    audit: Audit,
    item_ids: Sequence[Any] | np.ndarray | None = None,
    traits: np.ndarray | None = None,
) -> ReviewCandidates:
    """Return the suggestions of an audit as candidates for a review.

    Parameters
    ----------
    audit : Audit
    item_ids : sequence, optional, default=None
        The ids of the rows of ``traits``.
    traits : array of shape (n_items, d), optional, default=None
        From :func:`item_traits`. Without them answers tell about a label as a whole.

    Returns
    -------
    ReviewCandidates

    See Also
    --------
    Review : Asks about them.

    Examples
    --------
    >>> from labelgap import audit
    >>> from labelgap.generators import make_positive_only
    >>> from labelgap.review import item_traits, review_candidates
    >>> made = make_positive_only(120, 10, 4, density=0.3, random_state=0)
    >>> found = audit(made.X, made.labels, n_suggestions=20, random_state=0)
    >>> review_candidates(found, range(120), item_traits(made.X)).n
    20
    """
    suggestions = audit.suggestions
    if traits is None:
        items = list(dict.fromkeys(suggestion.item for suggestion in suggestions))
        traits = np.ones((len(items), 1))
    else:
        items = [str(item) for item in (() if item_ids is None else item_ids)]
    labels = [label.name for label in audit.labels]
    row_of = {item: row for row, item in enumerate(items)}
    column_of = {label: column for column, label in enumerate(labels)}
    for suggestion in suggestions:
        if suggestion.item not in row_of:
            raise ValueError(
                f"item_ids: there is no {suggestion.item!r}, for which a label is suggested"
            )
    return ReviewCandidates(
        rows=np.array([row_of[made.item] for made in suggestions], dtype=np.intp),
        columns=np.array([column_of[made.label] for made in suggestions], dtype=np.intp),
        log_odds=prior_log_odds([made.probability for made in suggestions]),
        traits=traits,
        items=items,
        labels=labels,
    )


def item_traits(X: Any, n_traits: int = 12, random_state: int = 0) -> np.ndarray:
    """Return a constant and the leading principal scores of the features, each of mean square 1.

    Columns of dense features are standardised first; rows of sparse ones are scaled to length one
    and not centred.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features)
    n_traits : int, default=12
        Principal scores to keep at most.
    random_state : int, default=0

    Returns
    -------
    array of shape (n_items, d)

    See Also
    --------
    review_candidates : Takes the traits.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.review import item_traits
    >>> item_traits(np.random.default_rng(0).normal(size=(50, 6)), 3).shape
    (50, 4)
    """
    n_items, n_features = X.shape
    rank = min(n_traits, n_features, n_items)
    if sparse.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        matrix = sparse.csr_array(sparse.diags_array(1 / np.maximum(lengths, 1e-12)) @ X)
    else:
        spread = X.std(axis=0)
        matrix = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores, values, _ = randomized_svd(matrix, rank, random_state=random_state)
    kept = scores[:, values > 1e-9 * max(values[0], 1e-300)] if rank else np.empty((n_items, 0))
    return np.column_stack([np.ones(n_items), np.sqrt(n_items) * kept])


class AnswerPosterior(NamedTuple):
    """The scale (a, b) of the audit's log-odds and the correction of each label, with covariances.

    Those of the scale, (2, 2), and of the corrections, (n_labels, d, d), are independent.
    """

    scale: np.ndarray
    scale_covariance: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def log_odds(
        self, candidates: ReviewCandidates, some: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the log-odds of some candidates."""
        traits = candidates.reach(some)
        columns = candidates.columns[some]
        base = with_constant(candidates.log_odds[some])
        mean = base @ self.scale + np.einsum("nd,nd->n", traits, self.means[columns])
        spread = np.einsum("nd,nde,ne->n", traits, self.covariances[columns], traits)
        return mean, spread + np.einsum("nd,de,ne->n", base, self.scale_covariance, base)


def with_constant(log_odds: np.ndarray) -> np.ndarray:
    """Rows (1, s), to be multiplied by the scale."""
    return np.column_stack([np.ones(log_odds.size), log_odds])


def expected_probability(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the expected sigmoid of a normal variable, by MacKay's approximation."""
    return expit(mean / np.sqrt(1 + np.pi / 8 * variance))


def learn_from_answers(
    candidates: ReviewCandidates, answered: np.ndarray, answers: np.ndarray
) -> AnswerPosterior:
    """Return what answers of 0 and 1 to the answered candidates say of all candidates."""
    n_labels, d = len(candidates.labels), candidates.traits.shape[1]
    variances = np.full(d, _VARIANCE_OF_TRAITS)
    variances[0] = _VARIANCE_OF_OFFSET
    scale, means = _SCALE_MEAN.copy(), np.zeros((n_labels, d))
    scale_covariance = np.linalg.inv(_SCALE_PRECISION)
    traits = candidates.reach(answered)
    columns = candidates.columns[answered]
    base = with_constant(candidates.log_odds[answered])
    answers_of = [(int(j), np.flatnonzero(columns == j)) for j in np.unique(columns)]
    covariances = {}
    for _ in range(_MAX_ITER if answered.size else 0):
        before = scale.copy(), means.copy()
        own = np.einsum("nd,nd->n", traits, means[columns])
        scale, scale_covariance = _newton(base, answers, own, scale, _SCALE_PRECISION, _SCALE_MEAN)
        precision = np.diag(1 / variances)
        for j, here in answers_of:
            means[j], covariances[j] = _newton(
                traits[here], answers[here], base[here] @ scale, means[j], precision, np.zeros(d)
            )
        variances = _pooled(means, covariances, d)
        if max(np.abs(scale - before[0]).max(), np.abs(means - before[1]).max()) < _TOL:
            break
    spread = np.broadcast_to(np.diag(variances), (n_labels, d, d)).copy()
    for j, covariance in covariances.items():
        spread[j] = covariance
    return AnswerPosterior(scale, scale_covariance, means, spread)


def _newton(
    design: np.ndarray,
    answers: np.ndarray,
    offset: np.ndarray,
    start: np.ndarray,
    precision: np.ndarray,
    prior_mean: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """One damped Newton step on a penalised logistic regression, and the inverse curvature."""
    fitted = expit(offset + design @ start)
    gradient = design.T @ (answers - fitted) - precision @ (start - prior_mean)
    curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design + precision
    inverse = np.linalg.inv(curvature)
    step = inverse @ gradient
    longest = float(np.abs(step).max())
    return start + step * min(1.0, 2.0 / max(longest, 1e-12)), inverse


def _pooled(means: np.ndarray, covariances: dict[int, np.ndarray], d: int) -> np.ndarray:
    """Prior variances that suit the corrections so far: one of offsets, one of all traits."""
    squares = np.array([means[j] ** 2 + np.diag(one) for j, one in covariances.items()])
    n = len(squares)
    offset = (_WORTH_LABELS * _VARIANCE_OF_OFFSET + squares[:, 0].sum()) / (_WORTH_LABELS + n)
    variances = np.full(d, offset)
    if d > 1:
        mean_square = squares[:, 1:].mean(axis=1).sum()
        variances[1:] = (_WORTH_LABELS * _VARIANCE_OF_TRAITS + mean_square) / (_WORTH_LABELS + n)
    return variances


def remaining_missing(
    candidates: ReviewCandidates, posterior: AnswerPosterior, undecided: np.ndarray
) -> Estimate:
    """Return how many undecided candidates are probably missing labels, with a 95% interval.

    The variance has two parts: that of the draws, the sum of p (1 - p), and that of the
    corrections, g_j' S_j g_j for each label, where g_j, the sum of p (1 - p) t_i, is how the
    expected number moves with the correction; the same for the scale that all labels share.
    """
    if not undecided.size:
        return Estimate(0.0, 0.0, 0.0)
    p = expected_probability(*posterior.log_odds(candidates, undecided))
    q = p * (1 - p)
    moves = np.zeros((len(candidates.labels), candidates.traits.shape[1]))
    np.add.at(moves, candidates.columns[undecided], q[:, None] * candidates.reach(undecided))
    variance = np.einsum("jd,jde,je->", moves, posterior.covariances, moves)
    along = q @ with_constant(candidates.log_odds[undecided])
    variance += along @ posterior.scale_covariance @ along
    total = float(p.sum())
    # on the scale of square roots, on which counts are about normal
    root = np.sqrt(total)
    half = _NORMAL_95 * float(np.sqrt(q.sum() + variance)) / (2 * root)
    low, high = max(0.0, root - half) ** 2, min(float(undecided.size), (root + half) ** 2)
    return Estimate(total, float(low), float(high))
