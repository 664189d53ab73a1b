"""Which features are chosen reliably: selection repeated on other rows and other gaps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted, check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import Progress
from labelgap.labels import Labels, LabelWarning, State
from labelgap.models.gmfs._gmfs import GMFS
from labelgap.models.gmfs._gmfs_fit import selection_mask
from labelgap.parameters import AT_LEAST_ONE, parameter, with_parameters


@with_parameters
class StabilitySelection(SelectorMixin, LabelGapClassifier):
    """Select features that are chosen again on other rows, with other labels missing.

    Every repetition draws a fraction of the rows without replacement, makes a fraction of their
    positives unlabeled zeros and a fraction of their zeros unknown, fits the selector and asks for its
    best features. Predictions are those of the selector fitted to everything.

    Parameters
    ----------
    selector : estimator with ``scores_``, default=None
        :class:`GMFS` by default.
    n_features_to_select : int or float, default=None
        Features that each repetition chooses, or the fraction of them; by default those that the
        selector itself supports.
    n_repeats : int, default=50
    sample_fraction : float, default=0.5
        Fraction of the rows in each repetition.
    mask_fraction : float, default=0.1
        Fraction of the entries that each repetition hides: positives become unlabeled zeros, other
        entries unknown.
    threshold : float or None, default=0.6
        Features chosen in at least this fraction of the repetitions are kept. None keeps as many as
        a repetition chooses on average: those chosen most often, and of these the best placed.
    n_jobs : int, default=None
        Processes for the repetitions.
    callback : callable, default=None
        Called with a :class:`labelgap.fitting.Progress` after the fit to all rows and after every
        repetition; its objective is NaN. What it returns is ignored.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        Fraction of the repetitions in which a feature was chosen.
    mean_rank_ : array of shape (n_features,)
        Mean place of a feature by score, 0 for the best.
    selector_ : estimator
        The selector fitted to all rows.
    classes_, n_features_in_, feature_names_in_

    References
    ----------
    N. Meinshausen, P. Buehlmann. "Stability selection." Journal of the Royal Statistical Society
    B 72, 2010.

    See Also
    --------
    labelgap.GMFS : The default selector.

    Examples
    --------
    >>> from labelgap import GMFS
    >>> from labelgap.generators import make_positive_only
    >>> from labelgap.models.gmfs import StabilitySelection
    >>> data = make_positive_only(200, 10, 6, label_frequency=0.6, random_state=0)
    >>> selector = GMFS(3, label_frequency=0.6, max_iter=5, n_features_to_select=4)
    >>> stable = StabilitySelection(selector, n_repeats=4, random_state=0)
    >>> stable.fit(data.X, data.labels).scores_.max()
    np.float64(1.0)
    """

    _zeros = "unlabeled"

    selector: Any = parameter(None, HasMethods(["fit", "get_support"]), None)
    _: KW_ONLY
    n_features_to_select: float | None = parameter(
        None, AT_LEAST_ONE, Interval(Real, 0, 1, closed="neither"), None
    )
    n_repeats: int = parameter(50, AT_LEAST_ONE)
    sample_fraction: float = parameter(0.5, Interval(Real, 0, 1, closed="right"))
    mask_fraction: float = parameter(0.1, Interval(Real, 0, 1, closed="left"))
    threshold: float | None = parameter(0.6, Interval(Real, 0, 1, closed="right"), None)
    n_jobs: int | None = parameter(None, Integral, None)
    callback: Callable | None = parameter(None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_repeats + 1)
        template = GMFS() if self.selector is None else self.selector
        start, found = time.perf_counter(), []
        self.selector_ = _seeded(template, int(seeds[0])).fit(X, labels)
        settings = (self.sample_fraction, self.mask_fraction, self.n_features_to_select)
        self._tell(0, start)
        repetitions = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(_repetition)(template, X, labels, settings, int(seed)) for seed in seeds[1:]
        )
        for number, repetition in enumerate(repetitions, start=1):
            found.append(repetition)
            self._tell(number, start)
        chosen, scores = (np.array(part) for part in zip(*found, strict=True))
        self.scores_ = chosen.mean(axis=0)
        places = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
        self.mean_rank_ = places.mean(axis=0)

    def _tell(self, number: int, start: float) -> None:
        """Report a fit: the one to all rows, or a repetition."""
        if self.callback is not None:
            spent = time.perf_counter() - start
            self.callback(Progress(number, self.n_repeats + 1, np.nan, spent))

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
    """Return the features that one repetition chooses, and their scores; none without a positive."""
    fraction, mask, number = settings
    rng = np.random.default_rng(seed)
    n = X.shape[0]
    rows = np.sort(rng.permutation(n)[: max(2, round(fraction * n))])
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
    return selection_mask(scores, scores > 0, number, None), scores


def with_further_gaps(labels: Labels, fraction: float, rng: np.random.Generator) -> Labels:
    """Return labels with a fraction of the positives unlabeled and of the other entries unknown."""
    if fraction == 0:
        return labels
    rows, columns, states = [], [], []
    for start in range(0, labels.n_samples, 1024):
        before = labels.states(slice(start, min(start + 1024, labels.n_samples)))
        hidden = (rng.random(before.shape) < fraction) & (before != State.UNKNOWN)
        i, j = np.nonzero(hidden)
        rows.append(i + start)
        columns.append(j)
        positive = before[i, j] == State.RELEVANT
        states.append(np.where(positive, State.UNLABELED, State.UNKNOWN))
    return labels.with_entries(*(np.concatenate(part) for part in (rows, columns, states)))
