"""The label frequency of GMFS from entries that a short fit has not seen: by likelihood, or at the top.

theta and the log odds explain zeros in place of each other, and EM hardly moves theta from where
it starts. What tells them apart is how far probabilities rise where everything speaks for a
label: with theta too large they are predicted too high, with theta too small too low. Entries that
are made unknown before a fit, relevant and unlabeled ones alike, measure exactly that by the
log-likelihood of their records, theta sigma or 1 - theta sigma ("holdout").

"most_confident" makes every entry unknown once, a fifth of them at a time, and scores it by a short
fit without it. No entry is recorded with a larger probability than theta: among the entries with
the largest scores the fraction of recorded ones levels off there. Reading it needs the order of
the scores alone; a likelihood would need the shape of all of them to be right.

Given the label frequency q, the same scores psi show how steep they should be: s of

    P(recorded) = q sigmoid(t + s psi)

with the largest likelihood. A zero is a missing label with the log odds psi + log(1 - theta);
calibrated ones are s times that plus a shift with which (1 - q) / q missing labels are expected
for every recorded one. The order of the zeros stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone

from labelgap.fitting import EM, FitWarning
from labelgap.labels import Labels, LabelWarning, State
from labelgap.models.gmfs._gmfs_missing import KnownRows
from labelgap.propensity import (
    TopScoredFraction,
    calibration_shift,
    fit_slope,
    top_scored_fraction,
)

if TYPE_CHECKING:
    from labelgap.models.gmfs._gmfs import GMFS

FREQUENCIES = (0.98, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
FALLBACK = 0.7
_COARSE = (0.9, 0.7, 0.5, 0.3, 0.1)
_FRACTION = 0.1
_MAX_SAMPLES = 2000
_ITERATIONS = 15
_MAX_COMPONENTS = 4
_PARTS = 5
# of the short fits; the order of their scores hardly depends on it
_FREQUENCY = 0.7
_BINS = 1024
_SMALLEST, _LARGEST = 0.02, 0.99
_NEVER = 1e-12
_FARTHEST = 100.0


class ConfidentEstimate(NamedTuple):
    """The label frequency, the fraction it was read as, and the slope that scores should have."""

    label_frequency: float
    fraction: TopScoredFraction
    slope: float


class GMFSCalibration(NamedTuple):
    """Log odds of missing labels: slope times the model's, plus shift."""

    shift: float = 0.0
    slope: float = 1.0

    def __call__(self, probability: np.ndarray) -> np.ndarray:
        if self == (0.0, 1.0):
            return probability
        return expit(self.shift + self.slope * logit(np.clip(probability, _NEVER, 1 - _NEVER)))


def holdout_label_frequency(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator
) -> tuple[float, dict[float, float]]:
    """Return the label frequency with the largest held-out log-likelihood, and all that were tried.

    Coarse steps down from 0.9 until it gets worse, then the values beside the best one. At most
    2000 rows are used.
    """
    if not labels.unlabeled:
        return FALLBACK, {}
    X, labels = some_rows(X, labels, rng)
    hidden = _held_out(labels, rng)
    found: dict[float, float] = {}
    for frequency in _COARSE:
        found[frequency] = held_out_likelihood(estimator, X, labels, hidden, frequency)
        if found[frequency] < max(found.values()):
            break
    place = FREQUENCIES.index(max(found, key=lambda frequency: found[frequency]))
    for frequency in FREQUENCIES[max(place - 1, 0) : place + 2]:
        if frequency not in found:
            found[frequency] = held_out_likelihood(estimator, X, labels, hidden, frequency)
    return max(found, key=lambda frequency: found[frequency]), dict(sorted(found.items()))


def holdout_n_components(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator, frequency: float
) -> tuple[int, dict[int, float]]:
    """Return the number of components for held-out records, and their log-likelihood by number.

    One more while the mean gain per entry is above its standard error.
    """
    X, labels = some_rows(X, labels, rng)
    hidden = _held_out(labels, rng)
    best, so_far = 1, np.empty(0)
    found: dict[int, float] = {}
    for number in range(1, _MAX_COMPONENTS + 1):
        terms = np.concatenate(
            list(_log_likelihoods(estimator, X, labels, hidden, frequency, number, exact=False))
        )
        found[number] = float(terms.mean())
        if number > 1:
            gain = terms - so_far
            if gain.mean() <= gain.std() / np.sqrt(gain.size):
                break
        best, so_far = number, terms
    return best, found


def held_out_likelihood(
    estimator: GMFS, X: Any, labels: Labels, hidden: tuple[np.ndarray, np.ndarray], frequency: float
) -> float:
    """Return mean log-likelihood of the records at hidden coordinates, by a short fit without them."""
    terms = _log_likelihoods(estimator, X, labels, hidden, frequency, 1)
    return sum(float(some.sum()) for some in terms) / max(len(hidden[0]), 1)


def _log_likelihoods(
    estimator: GMFS,
    X: Any,
    labels: Labels,
    hidden: tuple[np.ndarray, np.ndarray],
    frequency: float,
    n_components: int,
    *,
    exact: bool = True,
) -> Iterator[np.ndarray]:
    fits = _without(estimator, X, labels, hidden, frequency, n_components, exact=exact)
    for part, places, relevance in fits:
        is_recorded = labels.states(part)[places] == State.RELEVANT
        probability = frequency * relevance
        yield np.log(np.where(is_recorded, probability, 1 - probability))


def held_out_relevance(
    estimator: GMFS, X: Any, labels: Labels, hidden: tuple[np.ndarray, np.ndarray], frequency: float
) -> np.ndarray:
    """Return P(relevant) at hidden coordinates, row-major, by a short fit without them."""
    found = _without(estimator, X, labels, hidden, frequency)
    return np.concatenate([relevance for _, _, relevance in found])


def some_rows(X: Any, labels: Labels, rng: np.random.Generator) -> tuple[Any, Labels]:
    """Return at most 2000 rows, in their order."""
    chosen = np.sort(rng.permutation(X.shape[0])[:_MAX_SAMPLES])
    return X[chosen], labels.with_names(None)[chosen]


def _without(
    estimator: GMFS,
    X: Any,
    labels: Labels,
    hidden: tuple[np.ndarray, np.ndarray],
    frequency: float,
    n_components: int = 1,
    *,
    exact: bool = True,
) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray], np.ndarray]]:
    """Slices of rows, hidden places in them, and P(relevant) there by a fit without the places."""
    rows, columns = hidden
    exact = exact and estimator.n_features_in_ <= X.shape[0]
    loop = EM(_ITERATIONS, 0.0, solver="exact" if exact else "cg", n_cg=5)
    short = clone(estimator).set_params(
        label_frequency=frequency,
        propensity="fixed",
        calibrate=False,
        n_components=n_components,
        inference=loop,
        max_iter=None,
        tol=None,
        callback=None,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        warnings.simplefilter("ignore", FitWarning)
        fitted = short.fit(X, labels.hide(rows, columns))._rows
    position = 0
    for part in fitted.parts():
        stop = int(np.searchsorted(rows, part.stop))
        places = rows[position:stop] - part.start, columns[position:stop]
        yield part, places, fitted.relevance(part)[places]
        position = stop


def _held_out(labels: Labels, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Row-major coordinates of a fraction of the entries that are relevant or unlabeled."""
    rows, columns = [], []
    for start in range(0, labels.n_samples, 256):
        states = labels.states(slice(start, min(start + 256, labels.n_samples)))
        asked = (states == State.RELEVANT) | (states == State.UNLABELED)
        found = np.nonzero(asked & (rng.random(states.shape) < _FRACTION))
        rows.append(found[0] + start)
        columns.append(found[1])
    return np.concatenate(rows), np.concatenate(columns)


def most_confident_label_frequency(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator
) -> ConfidentEstimate | None:
    """Return the estimate from held-out records of at most 2000 rows; None if there are too few."""
    if not labels.unlabeled:
        return None
    X, labels = some_rows(X, labels, rng)
    psi, states = held_out_scores(estimator, X, labels, rng)
    asked = ~np.isnan(psi)
    psi, recorded = psi[asked], states[asked] == State.RELEVANT
    fraction = top_scored_fraction(psi, recorded)
    if fraction is None or not recorded.any():
        return None
    frequency = float(np.clip(fraction.value, _SMALLEST, _LARGEST))
    return ConfidentEstimate(frequency, fraction, fit_slope(psi, recorded, frequency))


def held_out_scores(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return log odds of each relevant or unlabeled entry by fits without it (or NaN), and states."""
    states = labels.states()
    asked = (states == State.RELEVANT) | (states == State.UNLABELED)
    part = rng.integers(_PARTS, size=states.shape, dtype=np.int8)
    psi = np.full(states.shape, np.nan)
    for number in range(_PARTS):
        rows, columns = np.nonzero(asked & (part == number))
        relevance = held_out_relevance(estimator, X, labels, (rows, columns), _FREQUENCY)
        psi[rows, columns] = logit(np.clip(relevance, _NEVER, 1 - _NEVER))
    return psi, states


def calibrate(rows: KnownRows, estimate: ConfidentEstimate) -> GMFSCalibration:
    """Return the shift with which as many missing labels are expected as the label frequency says.

    The zeros' log odds are counted by bins, some rows at a time.
    """
    edges = np.linspace(logit(_NEVER), logit(1 - _NEVER), _BINS + 1)
    n, total = np.zeros(_BINS), np.zeros(_BINS)
    for part in rows.parts():
        probability = rows.missing_label_proba(part)
        odds = logit(np.clip(probability[~np.isnan(probability)], _NEVER, 1 - _NEVER))
        n += np.histogram(odds, edges)[0]
        total += np.histogram(odds, edges, weights=odds)[0]
    centre, n = total[n > 0] / n[n > 0], n[n > 0]
    frequency, slope = estimate.label_frequency, estimate.slope
    wanted = (1 - frequency) / frequency * float(rows.labels.n_positives())
    if not 0 < wanted < n.sum():
        return GMFSCalibration(slope=slope)
    widest = _FARTHEST * (1 + slope)
    shift = calibration_shift(slope * centre, wanted, counts=n, farthest=widest)
    return GMFSCalibration(shift, slope)
