"""How far a completion can be trusted: what it does to predictions of entries that are known.

Some rows are set aside. On the others the classifier is trained as it is and on labels completed in
several ways, and each is judged by its order and its log-loss at the *recorded* entries of the rows
that were set aside, which it sees the features of and nothing else. Where a relevant label is
recorded with the chance c only, a classifier that predicts relevance predicts c times that for the
record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from labelgap.yardsticks._calibration import fit_sigmoid

__all__ = ["Plan", "Trial", "Verdict", "chances_from", "judge", "set_aside"]

_LEAST_VARIANCE = 1e-12


class Plan(NamedTuple):
    """A way to complete: weight of completed entries, chance that relevance is recorded, completer.

    The completer is named by its place among those that are tried.
    """

    weight: float
    recorded: float
    completer: int = 0


class Trial(NamedTuple):
    """Scores of held-out rows under one plan: one array per label, with what is recorded."""

    plan: Plan
    scores: list[np.ndarray]
    values: list[np.ndarray]


class Verdict(NamedTuple):
    """The plan that was best over all labels, the labels it is used for, and the evidence.

    ``areas`` are the areas under the ROC curve of each plan over all recorded entries, which chose;
    ``log_losses`` are the mean log-losses. ``gain`` is the fall of the log-loss per recorded entry
    of each measured label, ``expected`` the same after shrinking towards what labels have in
    common.
    """

    plan: Plan
    used_for: np.ndarray
    areas: dict[Plan, float]
    log_losses: dict[Plan, float]
    labels: np.ndarray
    gain: np.ndarray
    expected: np.ndarray


def losses(trial: Trial, *, are_logits: bool) -> list[np.ndarray]:
    """Log-loss at every recorded entry, label by label.

    Log-odds are those of relevance; what a sigmoid makes of margins is a chance of being recorded.
    """
    chances, share = chances_from(trial, are_logits=are_logits), 1.0
    if are_logits:
        share = trial.plan.recorded
    found = []
    for scores, values in zip(trial.scores, trial.values, strict=True):
        p = np.clip(share * chances(scores), 1e-6, 1 - 1e-6)
        found.append(-np.where(values == 1, np.log(p), np.log1p(-p)))
    return found


def judge(trials: list[Trial], labels: np.ndarray, n_labels: int, *, are_logits: bool) -> Verdict:
    """The best plan over all labels together, and the labels that it should not be used for.

    The plan with the largest area under the ROC curve is the best: labels are ranked against each
    other in the end, and a completion that makes probabilities cautious may lower the log-loss and
    spoil the order. The first trial is that of the plain classifier. Whether a label is mended goes
    by the log-loss. Gains of single labels are noisy: each is
    shrunk towards the mean gain by how much labels differ beyond their noise (empirical Bayes), and
    labels with an expected loss keep their gaps. Labels that were not measured go by the mean.
    """
    measured = [losses(trial, are_logits=are_logits) for trial in trials]
    n_entries = max(1, sum(one.size for one in measured[0]))
    means = [sum(float(one.sum()) for one in found) / n_entries for found in measured]
    log_losses = {trial.plan: mean for trial, mean in zip(trials, means, strict=True)}
    areas = {trial.plan: _area(trial) for trial in trials}
    best = max(range(len(trials)), key=lambda place: (areas[trials[place].plan], -means[place]))
    gains = [before - after for before, after in zip(measured[0], measured[best], strict=True)]
    gain = np.array([one.mean() if one.size else 0.0 for one in gains])
    noise = np.array([one.var() / one.size if one.size > 1 else np.inf for one in gains])
    expected, common = shrink(gain, noise)
    used_for = np.full(n_labels, best > 0 and common > 0)
    used_for[labels] = expected > 0 if best > 0 else False
    return Verdict(trials[best].plan, used_for, areas, log_losses, labels, gain, expected)


def _area(trial: Trial) -> float:
    values = np.concatenate(trial.values)
    if values.min() == values.max():
        return 0.5
    return float(roc_auc_score(values, np.concatenate(trial.scores)))


def shrink(values: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, float]:
    """Posterior means under a normal prior whose mean and variance fit the values, and that mean.

    The variance between is the method-of-moments estimate of DerSimonian and Laird.
    """
    noise = np.maximum(noise, _LEAST_VARIANCE)
    precision = 1 / noise
    mean = float((precision * values).sum() / max(precision.sum(), 1e-300))
    excess = float((precision * (values - mean) ** 2).sum()) - (np.isfinite(noise).sum() - 1)
    scale = precision.sum() - (precision**2).sum() / max(precision.sum(), 1e-300)
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    weights = 1 / (noise + between)
    mean = float((weights * values).sum() / max(weights.sum(), 1e-300))
    share = np.where(np.isfinite(noise), between / (between + noise), 0.0)
    return mean + share * (values - mean), mean


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
