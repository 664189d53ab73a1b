"""The rate of looks that predicts entries best which the fit has not seen.

theta and the log odds explain zeros in place of each other, and EM hardly moves theta from where
it starts. What tells them apart is how far probabilities rise where everything speaks for a
label: with theta too large they are promised too high, with theta too small too low. Entries that
are made unknown before a fit, relevant and ambiguous ones alike, measure exactly that by the
log-likelihood of their records, theta sigma or 1 - theta sigma.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from labelgap.fitting import EM, FitWarning
from labelgap.labels import Labels, LabelWarning, State

if TYPE_CHECKING:
    from labelgap.models.gmfs._estimator import GMFS

RATES = (0.98, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_COARSE = (0.9, 0.7, 0.5, 0.3, 0.1)
_SHARE = 0.1
_MOST_ROWS = 2000
_ITERATIONS = 15
FALLBACK = 0.7
_MOST_COMPONENTS = 4


def best_rate(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator
) -> tuple[float, dict[float, float]]:
    """The rate with the largest held-out log-likelihood, and all that were tried.

    Coarse steps down from 0.9 until it gets worse, then the rates beside the best one. At most
    2000 rows are used.
    """
    if not labels.ambiguous:
        return FALLBACK, {}
    X, labels = some_rows(X, labels, rng)
    hidden = _held_out(labels, rng)
    found: dict[float, float] = {}
    for rate in _COARSE:
        found[rate] = held_out_likelihood(estimator, X, labels, hidden, rate)
        if found[rate] < max(found.values()):
            break
    place = RATES.index(max(found, key=lambda rate: found[rate]))
    for rate in RATES[max(place - 1, 0) : place + 2]:
        if rate not in found:
            found[rate] = held_out_likelihood(estimator, X, labels, hidden, rate)
    return max(found, key=lambda rate: found[rate]), dict(sorted(found.items()))


def best_number(
    estimator: GMFS, X: Any, labels: Labels, rng: np.random.Generator, rate: float
) -> tuple[int, dict[int, float]]:
    """The number of components for held-out records, and their log-likelihood by number.

    One more while the mean gain per entry is above its standard error.
    """
    X, labels = some_rows(X, labels, rng)
    hidden = _held_out(labels, rng)
    best, so_far = 1, np.empty(0)
    found: dict[int, float] = {}
    for number in range(1, _MOST_COMPONENTS + 1):
        terms = np.concatenate(
            list(_log_likelihoods(estimator, X, labels, hidden, rate, number, exact=False))
        )
        found[number] = float(terms.mean())
        if number > 1:
            gain = terms - so_far
            if gain.mean() <= gain.std() / np.sqrt(gain.size):
                break
        best, so_far = number, terms
    return best, found


def held_out_likelihood(
    estimator: GMFS, X: Any, labels: Labels, hidden: tuple[np.ndarray, np.ndarray], rate: float
) -> float:
    """Mean log-likelihood of the records at hidden coordinates, by a short fit without them."""
    terms = _log_likelihoods(estimator, X, labels, hidden, rate, 1)
    return sum(float(some.sum()) for some in terms) / max(len(hidden[0]), 1)


def _log_likelihoods(
    estimator: GMFS,
    X: Any,
    labels: Labels,
    hidden: tuple[np.ndarray, np.ndarray],
    rate: float,
    n_components: int,
    *,
    exact: bool = True,
) -> Iterator[np.ndarray]:
    fits = _without(estimator, X, labels, hidden, rate, n_components, exact=exact)
    for part, places, chance in fits:
        recorded = labels.states(part)[places] == State.RELEVANT
        chance = rate * chance
        yield np.log(np.where(recorded, chance, 1 - chance))


def held_out_relevance(
    estimator: GMFS, X: Any, labels: Labels, hidden: tuple[np.ndarray, np.ndarray], rate: float
) -> np.ndarray:
    """P(relevant) at hidden coordinates, row-major, by a short fit without them."""
    found = _without(estimator, X, labels, hidden, rate)
    return np.concatenate([chance for _, _, chance in found])


def some_rows(X: Any, labels: Labels, rng: np.random.Generator) -> tuple[Any, Labels]:
    """At most 2000 rows, in their order."""
    chosen = np.sort(rng.permutation(X.shape[0])[:_MOST_ROWS])
    return X[chosen], labels.with_names(None)[chosen]


def _without(
    estimator: GMFS,
    X: Any,
    labels: Labels,
    hidden: tuple[np.ndarray, np.ndarray],
    rate: float,
    n_components: int = 1,
    *,
    exact: bool = True,
) -> Iterator[tuple[slice, tuple[np.ndarray, np.ndarray], np.ndarray]]:
    """Slices of rows, hidden places in them, and P(relevant) there by a fit without the places."""
    rows, columns = hidden
    exact = exact and estimator.n_features_in_ <= X.shape[0]
    loop = EM(_ITERATIONS, 0.0, solver="exact" if exact else "cg", n_cg=5)
    settings: dict[str, Any] = {"observability": rate, "calibrate": False}
    settings |= {"n_components": n_components}
    settings |= {"inference": loop, "callback": None, "random_state": 0}
    short = clone(estimator).set_params(**settings)
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
    """Row-major coordinates of a share of the entries that are relevant or ambiguous."""
    rows, columns = [], []
    for start in range(0, labels.n_rows, 256):
        states = labels.states(slice(start, min(start + 256, labels.n_rows)))
        told = (states == State.RELEVANT) | (states == State.AMBIGUOUS)
        found = np.nonzero(told & (rng.random(states.shape) < _SHARE))
        rows.append(found[0] + start)
        columns.append(found[1])
    return np.concatenate(rows), np.concatenate(columns)
