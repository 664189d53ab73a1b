"""Which imputed labels to trust: candidates compared on rows that were held out.

Some rows are held out. On the others the classifier is trained as it is and on labels imputed in
several ways, and each candidate is compared by its order and its log-loss at the *recorded* entries
of the held-out rows, of which it sees the features only. Where a relevant label is recorded with
the probability c, a classifier that predicts relevance predicts c times that for the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from labelgap.kernels.logistic import log_losses
from labelgap.kernels.probabilities import fit_sigmoid

_LEAST_VARIANCE = 1e-12


class Candidate(NamedTuple):
    """A way to impute: the weight of imputed entries, the label frequency, and the imputer.

    The label frequency is one number, or one per label; the imputer is named by its position among
    those that are tried. Weight 0 stands for the classifier without imputed labels.

    Examples
    --------
    >>> from labelgap.mend import Candidate
    >>> Candidate(1.0, 0.7)
    Candidate(weight=1.0, label_frequency=0.7, imputer=0)
    """

    weight: float
    label_frequency: float | tuple[float, ...]
    imputer: int = 0


PLAIN = Candidate(0.0, 1.0)


class CandidateScores(NamedTuple):
    """Scores of a candidate at recorded entries of held-out rows, one array per label.

    ``sigmoid`` turns scores into probabilities where they are no log-odds; ``losses`` are
    log-losses of the records, ``area`` is that under the ROC curve over all of them.
    """

    candidate: Candidate
    scores: list[np.ndarray]
    values: list[np.ndarray]
    probabilities: list[np.ndarray]
    losses: list[np.ndarray]
    sigmoid: tuple[float, float] | None
    mean_loss: float
    area: float


class ValidationResult(NamedTuple):
    """The candidate that was best over all labels, the labels it is used for, and the evidence.

    Attributes
    ----------
    candidate : Candidate
    used_for : bool array of shape (n_labels,)
    candidates : tuple of Candidate
        All that were tried.
    areas : tuple of float
        Area under the ROC curve of each over all recorded entries, by which it was chosen.
    log_losses : tuple of float
        Mean log-loss of each.
    labels : int array
        Labels that took part.
    gain, expected : arrays
        How far the log-loss per recorded entry of each of these labels falls, before and after
        shrinking towards what the labels have in common.
    iteration_losses : tuple of float
        Mean log-losses after each self-training iteration that was tried; the first that is least
        is used.

    See Also
    --------
    labelgap.Mend : Has one as ``validation_``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from labelgap import Mend
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> Y = np.where(rng.random((200, 2)) < 0.3, np.nan, X > 0)
    >>> Mend(LogisticRegression()).fit(X, Y).validation_.labels.tolist()
    [0, 1]
    """

    candidate: Candidate
    used_for: np.ndarray
    candidates: tuple[Candidate, ...]
    areas: tuple[float, ...]
    log_losses: tuple[float, ...]
    labels: np.ndarray
    gain: np.ndarray
    expected: np.ndarray
    iteration_losses: tuple[float, ...] = ()

    @property
    def n_iter(self) -> int:
        """How often labels are imputed and learned from."""
        return int(np.argmin(self.iteration_losses)) + 1 if self.iteration_losses else 1


def score_candidate(
    candidate: Candidate,
    scores: list[np.ndarray],
    values: list[np.ndarray],
    labels: Sequence[int] | None = None,
    *,
    are_logits: bool = True,
) -> CandidateScores:
    """Return scores with what follows from them.

    Log-odds are those of relevance; what a sigmoid makes of other scores is a probability of being
    recorded. ``labels`` are the positions of the labels, for candidates with a frequency for each.
    """
    every_score, every_value = np.concatenate(scores), np.concatenate(values)
    frequencies = np.ones(len(scores))
    if are_logits:
        sigmoid, probabilities = None, [expit(some) for some in scores]
        frequency = np.asarray(candidate.label_frequency)
        places = np.arange(len(scores)) if labels is None else np.asarray(labels)
        frequencies = frequencies * (frequency[places] if frequency.ndim else frequency)
    else:
        slope, offset = sigmoid = fit_sigmoid(every_score, every_value)
        probabilities = [expit(slope * some + offset) for some in scores]
    losses = [
        log_losses(c * p, y) for c, p, y in zip(frequencies, probabilities, values, strict=True)
    ]
    constant = every_value.min() == every_value.max()
    area = 0.5 if constant else float(roc_auc_score(every_value, every_score))
    mean = float(np.concatenate(losses).mean())
    return CandidateScores(candidate, scores, values, probabilities, losses, sigmoid, mean, area)


def select_candidate(
    scored: list[CandidateScores], labels: np.ndarray, n_labels: int
) -> ValidationResult:
    """Return the best candidate over all labels, and the labels it should not be used for.

    The candidate with the largest area under the ROC curve is the best: predictions rank labels
    against each other, and imputed labels that make probabilities underconfident can lower the
    log-loss and spoil the order. A first candidate with weight 0 is chosen only where its area is
    larger by more than the standard error of the difference: a few held-out rows are noisy, and
    imputation helps more often than not. Whether it is used for a label is decided by the log-loss.
    The gain of each label is shrunk towards the mean gain by how much labels differ beyond their
    noise (empirical Bayes), and labels that lose by more than what remains uncertain keep their
    gaps. Labels that took no part follow the mean.
    """
    plain = scored[0]
    has_plain = plain.candidate.weight == 0 and len(scored) > 1
    pool = scored[1:] if has_plain else scored
    ranks = [(one.area, -one.mean_loss) for one in pool]
    best = pool[ranks.index(max(ranks))]
    if has_plain and plain.area - best.area > area_difference_error(plain, best):
        best = plain
    gains = [before - after for before, after in zip(plain.losses, best.losses, strict=True)]
    gain = np.array([one.mean() if one.size else 0.0 for one in gains])
    noise = np.array([one.var() / one.size if one.size > 1 else np.inf for one in gains])
    expected, spread, common, uncertainty = shrink(gain, noise)
    used_for = np.full(n_labels, best is not plain and common > -uncertainty)
    used_for[labels] = expected > -spread if best is not plain else False
    tried = tuple(one.candidate for one in scored)
    areas = tuple(one.area for one in scored)
    losses = tuple(one.mean_loss for one in scored)
    return ValidationResult(best.candidate, used_for, tried, areas, losses, labels, gain, expected)


def area_difference_error(first: CandidateScores, second: CandidateScores) -> float:
    """Return the standard error of the difference of two areas on the same entries (DeLong).

    The area is the mean over relevant entries of the fraction of irrelevant ones below them, and
    the mean over irrelevant ones of the fraction of relevant ones above; both vary.
    """
    relevant = np.concatenate(first.values) == 1
    if relevant.all() or not relevant.any():
        return 0.0
    fractions = []
    for scored in (first, second):
        scores = np.concatenate(scored.scores)
        for side in (relevant, ~relevant):
            others = np.sort(scores[~side])
            below = np.searchsorted(others, scores[side], side="left")
            not_above = np.searchsorted(others, scores[side], side="right")
            fractions.append((below + not_above) / (2 * others.size))
    pairs = zip(fractions[:2], fractions[2:], strict=True)
    return float(sum((one - other).var() / one.size for one, other in pairs) ** 0.5)


class Shrunk(NamedTuple):
    """Posterior means and standard deviations, and those of what values have in common."""

    values: np.ndarray
    spread: np.ndarray
    mean: float
    uncertainty: float


def shrink(values: np.ndarray, noise: np.ndarray) -> Shrunk:
    """Return the posterior under a normal prior whose mean and variance fit the values.

    The variance between is the method-of-moments estimate of DerSimonian and Laird.
    """
    noise = np.maximum(noise, _LEAST_VARIANCE)
    precision = 1 / noise
    mean = float((precision * values).sum() / max(precision.sum(), 1e-300))
    excess = float((precision * (values - mean) ** 2).sum()) - (np.isfinite(noise).sum() - 1)
    scale = precision.sum() - (precision**2).sum() / max(precision.sum(), 1e-300)
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    weights = 1 / (noise + between)
    variance = 1 / max(float(weights.sum()), 1e-300)
    mean = float((weights * values).sum() * variance)
    known = np.isfinite(noise)
    fraction = np.where(known, between / (between + noise), 0.0)
    left = np.where(known, fraction * np.where(known, noise, 0.0), between)
    spread = np.sqrt(left + (1 - fraction) ** 2 * variance)
    return Shrunk(mean + fraction * (values - mean), spread, mean, variance**0.5)


def hold_out(
    n_samples: int, fraction: float, rng: Any, groups: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from and rows held out, both in order; groups are not divided."""
    n_held = max(1, int(fraction * n_samples))
    if groups is None:
        order = rng.permutation(n_samples)
    else:
        position = rng.permutation(int(groups.max()) + 1)[groups]
        order = np.argsort(position, kind="stable")
        # the group at the border stays with those to learn from, unless it is the only one
        first = position[order]
        n_held = int((first < first[n_held]).sum()) or int((first == first[0]).sum())
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def expected_f1_threshold(probabilities: np.ndarray) -> float:
    """Return the threshold with the largest expected F1 score, if the probabilities are right.

    With the m largest of them decided relevant, expected hits are their sum S_m, and
    F1 is about 2 S_m / (m + S_n).
    """
    ordered = np.sort(probabilities)[::-1]
    sums = np.cumsum(ordered)
    if not sums.size or sums[-1] <= 0:
        return 0.5
    expected = 2 * sums / (np.arange(1, ordered.size + 1) + sums[-1])
    best = int(np.argmax(expected))
    below = ordered[best + 1] if best + 1 < ordered.size else 0.0
    return float((ordered[best] + below) / 2)


def expected_f1_helps(probabilities: list[np.ndarray], values: list[np.ndarray]) -> bool:
    """Return whether these thresholds give a larger F1 than 0.5 does, in the mean over labels."""
    gain = 0.0
    for p, y in zip(probabilities, values, strict=True):
        if not y.any():
            continue
        for threshold, sign in ((expected_f1_threshold(p), 1), (0.5, -1)):
            chosen = p > threshold
            gain += sign * float(2 * (chosen & (y == 1)).sum() / max(chosen.sum() + y.sum(), 1))
    return gain > 0
