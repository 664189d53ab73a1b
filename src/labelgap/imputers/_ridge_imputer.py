"""Ridge regression of every label on the features and other labels, each row left out.

One inversion gives the regressions of all labels on all others, and all predictions that leave
their own row out; see :mod:`labelgap.kernels.joint_ridge`. Beyond some thousands of labels each is
regressed on those alone that stand most beside it (:mod:`labelgap.kernels.sparse_ridge`). The rows
take part in sums only, so that they may lie in blocks on disk or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np

from labelgap.fitting import take_rows
from labelgap.imputers._imputer import Imputer
from labelgap.imputers._ridge_regressions import (
    CooccurringRegressions,
    JointRegressions,
    LabelCodes,
    Regressions,
    label_codes,
)
from labelgap.labels import Labels
from labelgap.memory import block_size

_FEATURE_PENALTIES = (10.0, 3.0, 30.0, 1.0, 100.0)
_LABEL_PENALTIES = (5.0, 1.0, 25.0)
_VALIDATION_ROWS, _VALIDATION_LABELS = 2000, 500
_MOST_JOINT, _N_COOCCURRING = 4000, 50
_CHOOSING = "choosing penalties of features and labels"

Progress = Callable[[str, int, int | None], None]


class RidgeImputer(Imputer):
    """Impute by ridge regressions of every label on the features and other labels.

    The default of :func:`labelgap.audit`. Every label needs known ones and zeros; features should
    be on one scale (:func:`labelgap.auditing.feature_rows`). They may lie in blocks
    (:class:`labelgap.fitting.StoredFeatures`).

    Parameters
    ----------
    feature_penalty, label_penalty : float or None, default=None
        Penalties of the weights of features and of labels. None chooses those with the smallest
        squared leave-one-out error at known entries of at most 2,000 rows, one after the other.
    random_state : int, Generator or None, default=0
        Draws these rows.
    n_cooccurring : int or None, default=None
        On how many other labels each is regressed: those that stand beside it most often. None
        takes all others up to 4,000 labels, which needs a matrix of labels x labels, and 50 beyond.

    Attributes
    ----------
    penalties_ : tuple of float
        Of features and of labels.
    regressions_ : object
        The regressions of all labels.

    See Also
    --------
    PerLabelImputer : One classifier of any kind per label.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import as_labels
    >>> from labelgap.imputers import RidgeImputer
    >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    >>> imputer = RidgeImputer().fit(X, as_labels(Y))
    >>> [column.shape for column in imputer.columns(X, as_labels(Y))]
    [(50,), (50,), (50,)]
    """

    regressions_: Regressions
    penalties_: tuple[float, float]

    def __init__(
        self,
        feature_penalty: float | None = None,
        label_penalty: float | None = None,
        random_state: Any = 0,
        n_cooccurring: int | None = None,
    ) -> None:
        self.feature_penalty = feature_penalty
        self.label_penalty = label_penalty
        self.random_state = random_state
        self.n_cooccurring = n_cooccurring

    def fit(
        self,
        X: Any,
        labels: Labels,
        wanted: np.ndarray | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Choose the penalties and fit; see :class:`Imputer`."""
        codes = self._start(labels, wanted)
        sums = self._sums(X, codes)
        given = self.feature_penalty, self.label_penalty
        feature_penalties = _FEATURE_PENALTIES if given[0] is None else (given[0],)
        label_penalties = _LABEL_PENALTIES if given[1] is None else (given[1],)
        candidates = [(penalty, label_penalties[0]) for penalty in feature_penalties]
        n_steps = len(feature_penalties) + len(label_penalties) - 1
        if n_steps == 1:
            return self._solve(sums, X, candidates[0])
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(labels.n_samples)[:_VALIDATION_ROWS])
        part, features, some = codes.take(rows), X[rows], None
        if self._most_cooccurring() is not None:
            some = np.sort(rng.permutation(labels.n_labels)[:_VALIDATION_LABELS])
        truth = (labels[rows] if some is None else labels[rows, some]).to_dense()
        best, found, least = candidates[0], None, np.inf
        for step in range(n_steps):
            if progress is not None:
                progress(_CHOOSING, step, n_steps)
            if step == len(feature_penalties):
                candidates += [(best[0], penalty) for penalty in label_penalties[1:]]
            self._solve(sums, X, candidates[step], some)
            codes_of_some = self.regressions_.left_out(features, part, some)
            scores = self._scores(codes_of_some, slice(None) if some is None else some)
            error = float(np.nanmean((scores - truth) ** 2))
            if error < least:
                best, found, least = candidates[step], self.regressions_, error
        assert found is not None
        self.regressions_, self.penalties_ = found, best
        if some is not None:
            self._solve(sums, X, best)
        if progress is not None:
            progress(_CHOOSING, n_steps, n_steps)
        return self

    def columns(self, X: Any, labels: Labels) -> Iterator[np.ndarray]:
        """Yield the scores, clipped to [0, 1], of each wanted label in all rows."""
        codes = label_codes(labels, like=self.codes_)
        size = block_size(labels.n_samples)
        for start in range(0, self.wanted_.size, size):
            some = self.wanted_[start : start + size]
            scores = self._scores(self.regressions_.predict(X, codes, some), some)
            yield from np.clip(scores, 0, 1).T

    def left_out_blocks(self, X: Any, labels: Labels) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield scores of the rows of the fit, each from all other rows.

        Scores estimate the label, 0 or 1, and can lie somewhat outside. They come with their rows
        and labels, some rows at a time and all labels.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        """
        size, n = block_size(X.shape[1] + labels.n_labels), labels.n_samples
        parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        for rows, scores in zip(parts, self.left_out_parts(X, labels, parts), strict=True):
            yield rows, slice(0, labels.n_labels), scores

    def left_out_parts(self, X: Any, labels: Labels, parts: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yield scores as :meth:`left_out_blocks` does, of parts of the rows one after the other.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        parts : iterable of slices or int arrays
        """
        yield from map(self.left_out_scorer(X, labels), parts)

    def left_out_scorer(self, X: Any, labels: Labels) -> Callable[[Any], np.ndarray]:
        """Return a function of rows that gives their scores as :meth:`left_out_parts` does.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        """
        codes = label_codes(labels)

        def scores(rows: Any) -> np.ndarray:
            return self._scores(self.regressions_.left_out(X[rows], codes.take(rows)))

        return scores

    def held_out_scores(
        self, X: Any, labels: Labels, learned: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Return the scores of some rows, learned with the same penalties from others alone.

        Parameters
        ----------
        X, labels
            As given to :meth:`fit`.
        learned, rows : int arrays
        """
        codes = label_codes(labels)
        other = RidgeImputer(*self.penalties_, n_cooccurring=self.n_cooccurring)
        other._start(labels, None)
        learned = np.sort(learned)
        part = take_rows(X, learned)
        other._solve(other._sums(part, codes.take(learned)), X, self.penalties_)
        everything = np.arange(labels.n_labels)
        return other._scores(other.regressions_.predict(X[rows], codes.take(rows), everything))

    def weights(self, label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the features and of the other labels in the regression of one."""
        return self.regressions_.weights(label)

    def _start(self, labels: Labels, wanted: np.ndarray | None) -> LabelCodes:
        codes = label_codes(labels)
        self.codes_ = codes._replace(matrix=None, positives=None)
        self.wanted_ = np.arange(labels.n_labels) if wanted is None else np.asarray(wanted)
        return codes

    def _most_cooccurring(self) -> int | None:
        """On how many labels each is regressed; None for all others."""
        if self.n_cooccurring is None and self.codes_.prevalence.size > _MOST_JOINT:
            return _N_COOCCURRING
        return self.n_cooccurring

    def _sums(self, X: Any, codes: LabelCodes) -> Any:
        form = JointRegressions if self._most_cooccurring() is None else CooccurringRegressions
        return form.sums(X, codes)

    def _solve(
        self, sums: Any, X: Any, penalties: tuple[float, float], labels: np.ndarray | None = None
    ) -> Self:
        most, (n_samples, n_features) = self._most_cooccurring(), X.shape
        if most is None:
            self.regressions_ = JointRegressions.solve(sums, n_samples, n_features, penalties)
        else:
            self.regressions_ = CooccurringRegressions.solve(
                sums, n_samples, penalties, most, labels
            )
        self.penalties_ = penalties
        return self

    def _scores(self, codes: np.ndarray, labels: Any = slice(None)) -> np.ndarray:
        return self.codes_.scores(codes, labels)
