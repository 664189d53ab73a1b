"""Which features are chosen reliably: selection repeated on other rows and other gaps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Progress
from labelgap.labels import Labels, LabelWarning, State
from labelgap.models.gmfs._checks import support
from labelgap.models.gmfs._estimator import GMFS

__all__ = ["StabilitySelection"]


class StabilitySelection(SelectorMixin, LabelGapClassifier):
    """How often each feature is selected over random halves of the rows with further gaps.

    Every repetition draws a share of the rows without replacement, makes a share of their
    positives ambiguous zeros and a share of their zeros unknown, fits the selector and asks for its
    best features. Predictions are those of the selector fitted to everything.

    Parameters
    ----------
    selector : estimator with ``scores_``, optional
        By default :class:`GMFS`.
    n_features_to_select : int or float, optional
        Features that each repetition chooses, or the share of them; by default those that the
        selector itself supports.
    n_repeats : int
    rows : float
        Share of the rows in each repetition.
    mask : float
        Share of the entries that each repetition hides: positives become ambiguous zeros, other
        entries unknown.
    threshold : float or None
        Features chosen in at least this share of the repetitions are kept. None keeps as many as
        a repetition chooses on average: those chosen most often, and of these the best placed.
    n_jobs : int, optional
        Processes for the repetitions.
    callback : callable, optional
        Called with a :class:`labelgap.fitting.Progress` after every repetition, whose objective is
        NaN: there is none. What it returns is not looked at.
    random_state : int, RandomState or None

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Share of the repetitions in which a feature was chosen.
    mean_rank_ : array of shape (n_features,)
        Mean place of a feature by score, 0 for the best.
    selector_ : estimator
        The selector fitted to all rows.
    classes_, n_features_in_, feature_names_in_

    References
    ----------
    N. Meinshausen, P. Buehlmann. "Stability selection." Journal of the Royal Statistical Society
    B 72, 2010.
    """

    _zeros = "ambiguous"
    _parameter_constraints: ClassVar[dict[str, list]] = {
        "selector": [HasMethods(["fit", "get_support"]), None],
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            None,
        ],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "rows": [Interval(Real, 0, 1, closed="right")],
        "mask": [Interval(Real, 0, 1, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="right"), None],
        "n_jobs": [Integral, None],
        "callback": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        selector: Any = None,
        *,
        n_features_to_select: float | None = None,
        n_repeats: int = 50,
        rows: float = 0.5,
        mask: float = 0.1,
        threshold: float | None = 0.6,
        n_jobs: int | None = None,
        callback: Callable | None = None,
        random_state: Any = None,
    ) -> None:
        self.selector = selector
        self.n_features_to_select = n_features_to_select
        self.n_repeats = n_repeats
        self.rows = rows
        self.mask = mask
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.callback = callback
        self.random_state = random_state

    def _fit(self, X: Any, labels: Labels) -> None:
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_repeats + 1)
        template = GMFS() if self.selector is None else self.selector
        self.selector_ = _seeded(template, int(seeds[0])).fit(X, labels)
        number = self.n_features_to_select
        settings = (self.rows, self.mask, number)
        start = time.perf_counter()
        repetitions = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(_repetition)(template, X, labels, settings, int(seed)) for seed in seeds[1:]
        )
        found = []
        for number, repetition in enumerate(repetitions):
            found.append(repetition)
            if self.callback is not None:
                spent = time.perf_counter() - start
                self.callback(Progress(number, self.n_repeats, np.nan, spent))
        chosen, scores = (np.array(part) for part in zip(*found, strict=True))
        self.scores_ = chosen.mean(axis=0)
        places = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
        self.mean_rank_ = places.mean(axis=0)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        if self.threshold is not None:
            return self.scores_ >= self.threshold
        kept = np.lexsort((self.mean_rank_, -self.scores_))[: max(1, round(self.scores_.sum()))]
        return np.isin(np.arange(self.scores_.size), kept)

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.selector_._decision_function(X)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return self.selector_._predict_proba(X)


def _seeded(template: Any, seed: int) -> Any:
    selector = clone(template)
    if "random_state" in selector.get_params(deep=False):
        selector.set_params(random_state=seed)
    return selector


def _repetition(
    template: Any, X: Any, labels: Labels, settings: tuple[float, float, Any], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The features that one repetition chooses, and their scores; none where nothing is left."""
    share, mask, number = settings
    rng = np.random.default_rng(seed)
    n = X.shape[0]
    rows = np.sort(rng.permutation(n)[: max(2, round(share * n))])
    part = with_further_gaps(labels[rows], mask, rng)
    if not part.n_positives():
        return np.zeros(X.shape[1], dtype=bool), np.zeros(X.shape[1])
    with warnings.catch_warnings():
        # a label may lose its few positives in a repetition
        warnings.simplefilter("ignore", LabelWarning)
        selector = _seeded(template, seed).fit(X[rows], part)
    scores = selector.scores_
    if number is None:
        return selector.get_support(), scores
    return support(scores, scores > 0, number, None), scores


def with_further_gaps(labels: Labels, share: float, rng: np.random.Generator) -> Labels:
    """A share of the positives as ambiguous zeros, and of the other entries as unknown."""
    if share == 0:
        return labels
    rows, columns, states = [], [], []
    for start in range(0, labels.n_rows, 1024):
        before = labels.states(slice(start, min(start + 1024, labels.n_rows)))
        hidden = (rng.random(before.shape) < share) & (before != State.UNKNOWN)
        i, j = np.nonzero(hidden)
        rows.append(i + start)
        columns.append(j)
        positive = before[i, j] == State.RELEVANT
        states.append(np.where(positive, State.AMBIGUOUS, State.UNKNOWN))
    return labels.with_entries(*(np.concatenate(part) for part in (rows, columns, states)))
