"""Cross-validation over the weights of RMFL, with what they share computed once per fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import KFold, ParameterGrid, check_cv
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from labelgap import metrics
from labelgap.estimator import LabelGapClassifier
from labelgap.fitting import FitWarning
from labelgap.labels import Labels, LabelWarning
from labelgap.models.rmfl._rmfl import RMFL
from labelgap.models.rmfl._rmfl_features import draw_seed, prepare, working_rows
from labelgap.models.rmfl._rmfl_labels import signed_targets
from labelgap.parameters import AT_LEAST_ONE, parameter, with_parameters

_SEARCHED = ("lambda_1", "lambda_2", "lambda_3", "lambda_4", "ridge_v")
_TURNS = ("lambda_4", "lambda_3", "ridge_v", "lambda_1", "lambda_2")
_FEWEST_PER_ROW = 7


@with_parameters
class RMFLCV(LabelGapClassifier):
    """Fit :class:`RMFL` with weights chosen by cross-validation on the observed entries.

    Kernel, neighbour graph, reconstruction weights and the eigenvectors of the centred kernel are
    computed once per fold and serve every candidate; only lambda_4 / lambda_3 enters the
    regression, as a shift of the eigenvalues.

    Parameters
    ----------
    estimator : RMFL, default=None
        All other settings.
    lambda_1 : sequence of float, default=(0.1, 1.0, 10.0)
        Values to try.
    lambda_2 : sequence of float, default=(0.01, 1.0, 100.0)
    lambda_3 : sequence of float, default=(0.1, 1.0, 10.0, 100.0)
    lambda_4 : sequence of float, default=(0.0625, 0.25, 1.0, 4.0)
    ridge_v : sequence of float, default=(3.0, 10.0, 30.0)
    search : {"coordinate", "grid"}, default="coordinate"
        One weight after the other, beginning with the middle of each list, until no change of one
        weight helps; or all combinations.
    n_candidates : int, default=None
        Try at most so many combinations, of a grid random ones; by default all.
    cv : int or splitter, default=5
        Folds of shuffled rows, or how to split.
    scoring : str, default=None
        A metric of :data:`labelgap.metrics.METRICS`. By default the label ranking average precision;
        or, where gaps leave fewer than seven labels of a row in the mean, too few to rank (and
        with one label), the area under the ROC curve of all observed entries together.
    n_jobs : int, default=None
        Threads, one fold each.
    random_state : int, RandomState or None, default=None
        For folds and random combinations; and for the fits where ``estimator`` has none.

    Attributes
    ----------
    best_params_ : dict
    best_score_ : float
    best_estimator_ : RMFL
        Fitted to all rows.
    cv_results_ : dict
        ``params``, ``mean_test_score``, ``std_test_score``, ``split_test_score`` (candidates x
        folds) and ``param_<name>``; scores are such that larger is better.
    label_correlation_ : array of shape (n_labels, n_labels)
        Of the best estimator.

    See Also
    --------
    RMFL : The model with given weights.

    Examples
    --------
    >>> from labelgap import RMFL, RMFLCV
    >>> from labelgap.generators import make_low_rank
    >>> data = make_low_rank(60, 8, 6, random_state=0)
    >>> search = RMFLCV(RMFL(3, max_iter=20, tol=0), n_candidates=4, cv=2, random_state=0)
    >>> sorted(search.fit(data.X, data.labels).best_params_)
    ['lambda_1', 'lambda_2', 'lambda_3', 'lambda_4', 'ridge_v']
    """

    estimator: RMFL | None = parameter(None, RMFL, None)
    _: KW_ONLY
    lambda_1: Sequence[float] = parameter((0.1, 1.0, 10.0), "array-like")
    lambda_2: Sequence[float] = parameter((0.01, 1.0, 100.0), "array-like")
    lambda_3: Sequence[float] = parameter((0.1, 1.0, 10.0, 100.0), "array-like")
    lambda_4: Sequence[float] = parameter((0.0625, 0.25, 1.0, 4.0), "array-like")
    ridge_v: Sequence[float] = parameter((3.0, 10.0, 30.0), "array-like")
    search: Literal["grid", "coordinate"] = parameter("coordinate")
    n_candidates: int | None = parameter(None, AT_LEAST_ONE, None)
    cv: Any = parameter(5, Interval(Integral, 2, None, closed="left"), HasMethods(["split"]))
    scoring: str | None = parameter(None, StrOptions(set(metrics.METRICS)), None)
    n_jobs: int | None = parameter(None, Integral, None)
    random_state: Any = parameter(None)

    def _fit(self, X: Any, labels: Labels) -> None:
        seed = draw_seed(self.random_state)
        values = self._values()
        base = RMFL() if self.estimator is None else clone(self.estimator)
        if base.map is not None:
            raise ValueError(
                "estimator: RMFLCV searches weights for f in closed form; leave map out, and give it "
                "to an RMFL with best_params_"
            )
        if not isinstance(base.random_state, Integral):
            fixed = seed if base.random_state is None else draw_seed(base.random_state)
            base.set_params(random_state=fixed)
        if self.target_.kind != "multilabel":
            base.set_params(thresholds="zero")
        rows = working_rows(X)
        metric = self.scoring or default_metric(labels)
        splits = list(self._splitter(labels.n_samples, seed).split(np.zeros(labels.n_samples)))
        with Parallel(n_jobs=self.n_jobs, prefer="threads") as threads:
            if self.search == "grid":
                candidates = self._grid(values, seed)
                scores = threads(
                    delayed(_score_fold)(base, candidates, rows, labels, split, metric)
                    for split in splits
                )
            else:
                folds = threads(
                    delayed(_SharedFold)(base, rows, labels, split, metric) for split in splits
                )
                candidates, scores = _search_by_turns(values, self.n_candidates, folds, threads)
        self._choose(candidates, np.array(scores).T)
        self.best_estimator_ = clone(base).set_params(**self.best_params_)
        self.best_estimator_.fit(X, labels)

    def _values(self) -> dict[str, list[float]]:
        found = {name: [float(value) for value in getattr(self, name)] for name in _SEARCHED}
        for name, values in found.items():
            if not values:
                raise ValueError(f"{name} is empty: give at least one value")
        return found

    def _grid(self, values: dict[str, list[float]], seed: int) -> list[dict[str, float]]:
        found = list(ParameterGrid(values))
        if self.n_candidates is None or self.n_candidates >= len(found):
            return found
        drawn = np.random.default_rng(seed).permutation(len(found))[: self.n_candidates]
        return [found[place] for place in np.sort(drawn)]

    def _splitter(self, n_samples: int, seed: int) -> Any:
        if not isinstance(self.cv, Integral):
            return check_cv(self.cv)
        if n_samples < 2:
            raise ValueError(f"n_samples={n_samples}: cross-validation needs at least two rows")
        return KFold(min(int(self.cv), n_samples), shuffle=True, random_state=seed)

    def _choose(self, candidates: list[dict[str, float]], scores: np.ndarray) -> None:
        defined = np.ma.masked_invalid(scores)
        means = np.ma.filled(defined.mean(axis=1), -np.inf)
        spread = np.ma.filled(defined.std(axis=1), np.nan)
        best = int(means.argmax())
        self.best_params_ = candidates[best]
        self.best_score_ = float(means[best])
        self.cv_results_ = {
            "params": candidates,
            "split_test_score": scores,
            "mean_test_score": means,
            "std_test_score": spread,
            **{f"param_{name}": np.array([c[name] for c in candidates]) for name in _SEARCHED},
        }

    def _decision_function(self, X: Any) -> np.ndarray:
        return self.best_estimator_._decision_function(X)

    def _predict_proba(self, X: Any) -> np.ndarray:
        return self.best_estimator_._predict_proba(X)

    def impute(self, Y: Any, X: Any = None) -> np.ndarray:
        """Return labels with scores in their gaps; see :meth:`RMFL.impute`."""
        check_is_fitted(self)
        X = None if X is None else self._validate_predict(X)
        if self.target_.kind != "multilabel":
            Y = self.target_.read(Y)
        return self.best_estimator_.impute(Y, X)

    @property
    def label_correlation_(self) -> np.ndarray:
        check_is_fitted(self)
        return self.best_estimator_.label_correlation_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def default_metric(labels: Labels) -> str:
    """Return the metric to choose settings by: of ranks in rows, or of all entries if rows have few.

    Examples
    --------
    >>> default_metric(Labels.from_dense([[1, 0, 1], [0, 1, 0]]))
    'label_ranking_average_precision'
    """
    few = labels.n_observed(axis=1, unlabeled=True).mean() < _FEWEST_PER_ROW
    pooled = labels.n_labels == 1 or (labels.has_unknown and few)
    return "auc_micro" if pooled else "label_ranking_average_precision"


class _SharedFold:
    """One split: what the candidates have in common, and their scores."""

    def __init__(self, base: RMFL, X: Any, labels: Labels, split: tuple, metric: str) -> None:
        train, test = split
        pairwise = get_tags(base).input_tags.pairwise
        self._model = _for_rows(clone(base), train)
        self._seed = draw_seed(base.random_state)
        self._prepared = prepare(
            self._model,
            X[np.ix_(train, train)] if pairwise else X[train],
            self._seed,
            many_ratios=True,
        )
        self._mapped = self._prepared.features(X[np.ix_(test, train)] if pairwise else X[test])
        self._targets, self._truth = signed_targets(labels[train]), labels[test]
        self._metric = metric

    def score(self, candidate: dict[str, float]) -> float:
        model = self._model.set_params(**candidate)
        with warnings.catch_warnings():
            for category in (LabelWarning, FitWarning, UndefinedMetricWarning):
                warnings.simplefilter("ignore", category)
            model._learn(self._prepared, self._targets, self._seed, model.thresholds)
            return _score(model, self._mapped, self._truth, self._metric)


def _score_fold(
    base: RMFL, candidates: list[dict], X: Any, labels: Labels, split: tuple, metric: str
) -> list[float]:
    """The score of every candidate on one fold."""
    fold = _SharedFold(base, X, labels, split, metric)
    return [fold.score(candidate) for candidate in candidates]


def _search_by_turns(
    values: dict[str, list[float]], most: int | None, folds: list[_SharedFold], threads: Parallel
) -> tuple[list[dict[str, float]], list[list[float]]]:
    """Candidates in the order in which they were tried, and their scores on every fold."""
    tried: dict[tuple, float] = {}
    scores: list[list[float]] = [[] for _ in folds]

    def value(candidate: dict[str, float]) -> float:
        place = tuple(candidate.values())
        if place not in tried:
            if most is not None and len(tried) >= most:
                return -np.inf
            new = threads(delayed(fold.score)(candidate) for fold in folds)
            for known, one in zip(scores, new, strict=True):
                known.append(one)
            mean = np.ma.masked_invalid(new).mean()
            tried[place] = -np.inf if mean is np.ma.masked else float(mean)
        return tried[place]

    best = {name: several[len(several) // 2] for name, several in values.items()}
    changed = True
    while changed:
        changed = False
        for name in _TURNS:
            options = [{**best, name: one} for one in values[name]]
            winner = max(options, key=value)
            if value(winner) > value(best):
                best, changed = winner, True
    return [dict(zip(values, place, strict=True)) for place in tried], scores


def _for_rows(model: RMFL, rows: np.ndarray) -> RMFL:
    """A graph or a start of the user, cut to some rows."""
    if not isinstance(model.graph, str):
        model.set_params(graph=model.graph.tocsr()[rows][:, rows])
    if not isinstance(model.init, str):
        U, Z = model.init
        model.set_params(init=(np.asarray(U)[rows], Z))
    return model


def _score(model: RMFL, mapped: Any, truth: Labels, name: str) -> float:
    metric = metrics.get_metric(name)
    scores = model._score_mapped(mapped)
    if metric.needs != "scores":
        scores = model._probabilities(scores)
    if metric.needs == "labels":
        scores = (scores > 0.5).astype(np.int64)
    value = float(metric(truth, scores))
    return value if metric.greater_is_better else -value
