"""Several kinds of models, fitted with out-of-fold predictions and combined by greedy selection.

References
----------
Caruana, R., Niculescu-Mizil, A., Crew, G., Ksikes, A. (2004). Ensemble selection from libraries of
models. ICML.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from labelgap.fitting import Progress, counting
from labelgap.kernels.logistic import mean_log_loss
from labelgap.kernels.probabilities import (
    drawn_in_log_odds,
    log_odds,
    losses_of_means,
    weighted_mean,
)
from labelgap.labels import Labels
from labelgap.mend._imputed_targets import impute_targets
from labelgap.mend._member import Limits, Member, Teaching, accelerator, fold_of_rows
from labelgap.mend._portfolio_members import MEMBERS_OF_PRESET

_STEPS = 30
# positives after which a label's own weights count as much as the common ones
_PRIOR_POSITIVES = 200
_MOST_ENTRIES = 1_000_000
# members with less cost more than they give
_LEAST_WEIGHT = 0.05


class LeaderboardRow(NamedTuple):
    """How one member did: log-loss of out-of-fold observed entries, seconds, and mean weight.

    ``skipped`` says why a member was not fitted; its numbers are NaN then.
    """

    name: str
    log_loss: float
    seconds: float
    weight: float
    skipped: str = ""


class Portfolio(NamedTuple):
    """Fitted members and the weights of their log-odds, (n_members, n_labels), 1 per label in all."""

    members: list[Member]
    weights: np.ndarray
    leaderboard: list[LeaderboardRow]
    out_of_fold: np.ndarray
    label_frequency: Any

    def probabilities(self, X: Any) -> np.ndarray:
        """Return the probabilities of the weighted mean of the members' log-odds."""
        return weighted_mean(self.weights, (member.predict(X) for member in self.members))

    def member_probabilities(self, X: Any) -> dict[str, np.ndarray]:
        """Return the probabilities of each member by its name."""
        return {member.name: member.predict(X) for member in self.members}

    def without_training_rows(self) -> Portfolio:
        """Return the same, without what only training needs; neighbors and kernels keep rows."""
        for member in self.members:
            member.forget_training_rows()
        return self._replace(out_of_fold=self.out_of_fold[:0])


class _Fitted(NamedTuple):
    member: Member
    out_of_fold: np.ndarray
    seconds: float


def fit_portfolio(
    X: Any,
    labels: Labels,
    *,
    preset: str,
    time_limit: float | None,
    device: str | None,
    n_jobs: int | None,
    frequency_of: Callable[[np.ndarray], Any],
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> Portfolio:
    """Fit the members that pay, choose their weights and drop those without any.

    Those that need no complete labels come first; their mean imputes the labels for the others.
    ``frequency_of`` is given its log-odds, and returns the label frequency. Rows of one of the
    ``groups`` are in one fold. The callback is called after each kind of model.
    """
    members = MEMBERS_OF_PRESET[preset]
    limits = Limits.of(preset, device or accelerator(), n_jobs).for_table(*labels.shape)
    rows, values = observed_values(labels, rng)
    folds = fold_of_rows(labels.n_samples, limits.n_folds, rng, groups)
    building = _Building(Teaching(X, labels, folds, {}), rows, values, frequency_of, time_limit)
    step = (lambda: None) if callback is None else counting(callback, len(members))
    for make in members:
        if make.learns_from_imputed:
            building.impute()
        building.add(make(limits, int(rng.integers(2**31 - 1))))
        step()
    return building.finish()


class _Building:
    """A portfolio while its members are fitted, one after the other."""

    def __init__(
        self,
        teaching: Teaching,
        rows: np.ndarray,
        values: np.ndarray,
        frequency_of: Callable[[np.ndarray], Any],
        time_limit: float | None,
    ) -> None:
        self.teaching = teaching
        self.rows, self.values = rows, values
        self.frequency_of = frequency_of
        self.time_limit = time_limit
        self.begin = time.perf_counter()
        self.fitted: list[_Fitted] = []
        self.leaderboard: list[LeaderboardRow] = []
        self.label_frequency: Any = None

    def seconds_left(self) -> float | None:
        if self.time_limit is None:
            return None
        return self.time_limit - (time.perf_counter() - self.begin)

    def _is_half_over(self) -> bool:
        spent = time.perf_counter() - self.begin
        return self.time_limit is not None and spent > 0.5 * self.time_limit

    def impute(self) -> None:
        """Impute the labels by the mean of the members so far, once."""
        if self.teaching.imputed is not None:
            return
        weights, mean = self._weighted_mean(self.fitted)
        members = [one.member for one in self.fitted]
        self._find_frequency(mean)
        imputed = impute_targets(self.teaching, members, weights, mean, self.label_frequency)
        self.teaching = self.teaching._replace(imputed=imputed)

    def add(self, member: Member) -> None:
        """Fit a member, or say why not."""
        start, left = time.perf_counter(), self.seconds_left()
        reason = member.reason_to_skip(self.teaching)
        if not reason and self.fitted and self._is_half_over():
            reason = f"the time limit of {self.time_limit:g} s is near"
        found = None
        if not reason:
            found = member.fit(self.teaching, left)
            reason = member.gave_up
        if found is None:
            self.leaderboard.append(LeaderboardRow(member.name, np.nan, np.nan, 0.0, reason))
        else:
            self.fitted.append(_Fitted(member, found, time.perf_counter() - start))

    def finish(self) -> Portfolio:
        """Choose the weights, and fit those that have some to all rows."""
        used = worth_keeping([one.out_of_fold[self.rows] for one in self.fitted], self.values)
        weights, mean = self._weighted_mean([self.fitted[k] for k in used])
        weight_of = dict(zip(used, weights.mean(axis=1).tolist(), strict=True))
        for k, (member, out_of_fold, seconds) in enumerate(self.fitted):
            start = time.perf_counter()
            if k in weight_of:
                left = self.seconds_left()
                member.refit(self.teaching, None if left is None else max(0.0, left))
            seconds += time.perf_counter() - start
            loss = mean_log_loss(out_of_fold[self.rows], self.values)
            row = LeaderboardRow(member.name, loss, seconds, weight_of.get(k, 0.0))
            self.leaderboard.append(row)
        # the skipped ones, without a loss, come last
        self.leaderboard.sort(key=lambda row: (bool(row.skipped), row.log_loss))
        self._find_frequency(mean)
        members = [self.fitted[k].member for k in used]
        return Portfolio(members, weights, self.leaderboard, mean, self.label_frequency)

    def _find_frequency(self, mean: np.ndarray) -> None:
        if self.label_frequency is None:
            unlabeled = self.teaching.labels.unlabeled
            self.label_frequency = self.frequency_of(log_odds(mean)) if unlabeled else 1.0

    def _weighted_mean(self, fitted: Sequence[_Fitted]) -> tuple[np.ndarray, np.ndarray]:
        weights = shrunken_weights([one.out_of_fold[self.rows] for one in fitted], self.values)
        mean = weighted_mean(weights, (one.out_of_fold for one in fitted))
        return weights, mean.astype(np.float32)


def worth_keeping(out_of_fold: Sequence[np.ndarray], values: np.ndarray) -> list[int]:
    """Return the positions of the members with more than a little weight for all labels."""
    weights = greedy_weights(out_of_fold, values)
    return np.flatnonzero(weights >= min(_LEAST_WEIGHT, weights.max())).tolist()


def observed_values(labels: Labels, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows and their labels, NaN where unknown: enough to choose weights by."""
    n_rows = max(1, min(labels.n_samples, _MOST_ENTRIES // max(labels.n_labels, 1)))
    rows = np.sort(rng.permutation(labels.n_samples)[:n_rows])
    return rows, labels[rows].to_dense(unknown=np.nan, unlabeled=0.0)


def shrunken_weights(out_of_fold: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return weights of each member for each label, drawn to those for all labels.

    A label with n positives has the mean of its own and the common ones, n : 200, of shape
    (n_members, n_labels).
    """
    common = greedy_weights(out_of_fold, values)
    weights = np.repeat(common[:, None], values.shape[1], axis=1)
    if len(out_of_fold) == 1:
        return weights
    n_positive = np.nansum(values, axis=0)
    own_counts = n_positive / (n_positive + _PRIOR_POSITIVES)
    for label in np.flatnonzero(own_counts > 0.1):
        own = greedy_weights([oof[:, [label]] for oof in out_of_fold], values[:, [label]])
        weights[:, label] += own_counts[label] * (own - common)
    return weights


def greedy_weights(probabilities: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return weights of a mean with the least log-loss, found by adding one member at a time.

    Parameters
    ----------
    probabilities : sequence of arrays of shape (n_samples, n_labels)
        Out-of-fold probabilities of each member, whose log-odds are averaged.
    values : array of shape (n_samples, n_labels)
        1, 0, and NaN where unknown.
    """
    known = ~np.isnan(values)
    signs = 2 * values[known].astype(np.float64) - 1
    scores = np.stack([signs * drawn_in_log_odds(p[known]) for p in probabilities], axis=1)
    counts = np.zeros(len(probabilities))
    weights, least = np.full(counts.size, 1 / counts.size), np.inf
    if not signs.size:
        return weights
    total = np.zeros(signs.size)
    for step in range(1, _STEPS + 1):
        losses = losses_of_means(total, scores, step)
        best = int(np.argmin(losses))
        total += scores[:, best]
        counts[best] += 1
        if losses[best] < least:
            least, weights = losses[best], counts / step
    return weights
