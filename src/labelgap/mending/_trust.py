"""How far a completion can be trusted: what it does to predictions of entries that are known.

Some rows are set aside. On the others the classifier is trained as it is and on labels completed in
several ways, and each is judged by its order and its log-loss at the *recorded* entries of the rows
that were set aside, which it sees the features of and nothing else. Where a relevant label is
recorded with the chance c only, a classifier that predicts relevance predicts c times that for the
record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from labelgap.mending._recording import Rate, rate_of
from labelgap.yardsticks._calibration import fit_sigmoid

__all__ = [
    "Plan",
    "Trial",
    "Verdict",
    "chances_from",
    "entry_losses",
    "judge",
    "mean_loss",
    "set_aside",
]

_LEAST_VARIANCE = 1e-12


class Plan(NamedTuple):
    """A way to complete: weight of completed entries, chance that relevance is recorded, completer.

    The completer is named by its place among those that are tried.
    """

    weight: float
    recorded: Rate
    completer: int = 0


class Trial(NamedTuple):
    """Scores of held-out rows under one plan: one array per label, with what is recorded.

    ``labels`` are the positions of these labels, for plans with a rate for each.
    """

    plan: Plan
    scores: list[np.ndarray]
    values: list[np.ndarray]
    labels: Sequence[int] | None = None

    @property
    def rates(self) -> list[float]:
        """The rate of each of these labels."""
        places = range(len(self.scores)) if self.labels is None else self.labels
        return [rate_of(self.plan.recorded, label) for label in places]


class Verdict(NamedTuple):
    """The plan that was best over all labels, the labels it is used for, and the evidence.

    ``areas`` are the areas under the ROC curve of each plan over all recorded entries, which chose;
    ``log_losses`` are the mean log-losses. ``gain`` is the fall of the log-loss per recorded entry
    of each measured label, ``expected`` the same after shrinking towards what labels have in
    common. ``round_losses`` are the mean log-losses of the plan after each round of completing and
    learning that was tried; labels are completed in the first of them that has the least.
    """

    plan: Plan
    used_for: np.ndarray
    areas: dict[Plan, float]
    log_losses: dict[Plan, float]
    labels: np.ndarray
    gain: np.ndarray
    expected: np.ndarray
    round_losses: tuple[float, ...] = ()

    @property
    def n_rounds(self) -> int:
        """How often labels are completed."""
        return int(np.argmin(self.round_losses)) + 1 if self.round_losses else 1


def losses(trial: Trial, *, are_logits: bool) -> list[np.ndarray]:
    """Log-loss at every recorded entry, label by label.

    Log-odds are those of relevance; what a sigmoid makes of margins is a chance of being recorded.
    """
    chances = chances_from(trial, are_logits=are_logits)
    shares = trial.rates if are_logits else [1.0] * len(trial.scores)
    found = []
    for share, scores, values in zip(shares, trial.scores, trial.values, strict=True):
        found.append(entry_losses(share * chances(scores), values))
    return found


def entry_losses(chances: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Log-loss of single entries; no chance is nearer to 0 or 1 than 1e-6."""
    p = np.clip(chances, 1e-6, 1 - 1e-6)
    return -np.where(values == 1, np.log(p), np.log1p(-p))


def mean_loss(trial: Trial, *, are_logits: bool) -> float:
    """The mean log-loss of all recorded entries."""
    return float(np.concatenate(losses(trial, are_logits=are_logits)).mean())


def judge(trials: list[Trial], labels: np.ndarray, n_labels: int, *, are_logits: bool) -> Verdict:
    """The best plan over all labels together, and the labels that it should not be used for.

    The plan with the largest area under the ROC curve is the best: labels are ranked against each
    other in the end, and a completion that makes probabilities cautious may lower the log-loss and
    spoil the order. A first trial of the plain classifier (weight 0) is chosen where its area is
    larger than that by more than the standard error of the difference: trials are noisy, and
    completion has the benefit of the doubt. Whether a label is mended goes by the log-loss. The
    gain of each label is shrunk towards the mean gain by how much labels differ beyond their noise
    (empirical Bayes), and labels that lose by more than what remains uncertain keep their gaps.
    Labels that were not measured go by the mean.
    """
    measured = [losses(trial, are_logits=are_logits) for trial in trials]
    n_entries = max(1, sum(one.size for one in measured[0]))
    means = [sum(float(one.sum()) for one in found) / n_entries for found in measured]
    log_losses = {trial.plan: mean for trial, mean in zip(trials, means, strict=True)}
    areas = {trial.plan: _area(trial) for trial in trials}
    best = _best(trials, areas, means)
    gains = [before - after for before, after in zip(measured[0], measured[best], strict=True)]
    gain = np.array([one.mean() if one.size else 0.0 for one in gains])
    noise = np.array([one.var() / one.size if one.size > 1 else np.inf for one in gains])
    expected, spread, common, doubt = shrink(gain, noise)
    used_for = np.full(n_labels, best > 0 and common > -doubt)
    used_for[labels] = expected > -spread if best > 0 else False
    return Verdict(trials[best].plan, used_for, areas, log_losses, labels, gain, expected)


def _best(trials: list[Trial], areas: dict[Plan, float], means: list[float]) -> int:
    """The place of the plan that is used."""
    has_plain = trials[0].plan.weight == 0 and len(trials) > 1
    some = range(1 if has_plain else 0, len(trials))
    best = max(some, key=lambda place: (areas[trials[place].plan], -means[place]))
    behind = areas[trials[0].plan] - areas[trials[best].plan]
    if has_plain and behind > doubt_of_areas(trials[0], trials[best]):
        return 0
    return best


def _area(trial: Trial) -> float:
    values = np.concatenate(trial.values)
    if values.min() == values.max():
        return 0.5
    return float(roc_auc_score(values, np.concatenate(trial.scores)))


def doubt_of_areas(first: Trial, second: Trial) -> float:
    """Standard error of the difference of two areas on the same entries (DeLong).

    The area is the mean over relevant entries of the share of irrelevant ones below them, and the
    mean over irrelevant ones of the share of relevant ones above; both vary.
    """
    relevant = np.concatenate(first.values) == 1
    if relevant.all() or not relevant.any():
        return 0.0
    shares = []
    for trial in (first, second):
        scores = np.concatenate(trial.scores)
        shares.append((_below(scores[relevant], scores[~relevant]),
                       _below(scores[~relevant], scores[relevant])))  # fmt: skip
    variance = 0.0
    for one, other in zip(*shares, strict=True):
        variance += float((one - other).var()) / one.size
    return variance**0.5


def _below(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """For each score the share of the others below it; ties count half."""
    ordered = np.sort(others)
    less = np.searchsorted(ordered, scores, side="left")
    return (less + np.searchsorted(ordered, scores, side="right")) / (2 * ordered.size)


class Shrunk(NamedTuple):
    """Posterior means and standard deviations, and those of what values have in common."""

    values: np.ndarray
    spread: np.ndarray
    mean: float
    doubt: float


def shrink(values: np.ndarray, noise: np.ndarray) -> Shrunk:
    """The posterior under a normal prior whose mean and variance fit the values.

    The variance between is the method-of-moments estimate of DerSimonian and Laird.
    """
    noise = np.maximum(noise, _LEAST_VARIANCE)
    precision = 1 / noise
    mean = float((precision * values).sum() / max(precision.sum(), 1e-300))
    excess = float((precision * (values - mean) ** 2).sum()) - (np.isfinite(noise).sum() - 1)
    scale = precision.sum() - (precision**2).sum() / max(precision.sum(), 1e-300)
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    weights = 1 / (noise + between)
    doubt = 1 / max(float(weights.sum()), 1e-300)
    mean = float((weights * values).sum() * doubt)
    known = np.isfinite(noise)
    share = np.where(known, between / (between + noise), 0.0)
    left = np.where(known, share * np.where(known, noise, 0.0), between)
    spread = np.sqrt(left + (1 - share) ** 2 * doubt)
    return Shrunk(mean + share * (values - mean), spread, mean, doubt**0.5)


def chances_from(trial: Trial, *, are_logits: bool) -> Callable[[np.ndarray], np.ndarray]:
    """What makes probabilities of scores: one sigmoid for all labels, unless they are log-odds."""
    if are_logits:
        return expit
    scores, values = np.concatenate(trial.scores), np.concatenate(trial.values)
    slope, offset = fit_sigmoid(scores, values)
    return lambda some: expit(slope * some + offset)


def set_aside(n_rows: int, share: float, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows set aside, both in order."""
    order = rng.permutation(n_rows)
    n_aside = max(1, int(share * n_rows))
    return np.sort(order[n_aside:]), np.sort(order[:n_aside])
