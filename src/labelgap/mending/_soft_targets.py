"""Classifiers and regressors fitted to labels that are known, or known in part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_expit
from sklearn import get_config
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from labelgap.mending._forests import TreesOfChances, split_by_gini
from labelgap.mending._ridges import fit_ridges, share_a_factorisation
from labelgap.mending._soft_label import SoftLabel, rounded
from labelgap.yardsticks._label_prior import log_odds
from labelgap.yardsticks._per_label import ConstantLabel, probability_of_rows, score_rows
from labelgap.yardsticks._together import are_fitted_together, fit_together, scores_together

__all__ = ["all_scores", "fit_labels", "fit_soft", "mean_log_odds", "scores_of"]

# copies of a known row where rows cannot be weighted
_COPIES = 4


def fit_soft(estimator: Any, X: Any, label: SoftLabel) -> Any:
    """A clone of the estimator, fitted to the chances.

    A regressor takes them as targets. A classifier sees an uncertain row twice, as relevant with
    the weight of its chance and as irrelevant with the rest; of a pipeline, its last step does. One
    that takes no weights sees it as often as the weights say. Trees and forests that split by
    Gini's impurity see it once, with its chance.
    """
    model = clone(estimator)
    weighted = _weight_name(model)
    if is_regressor(model):
        part = X[label.rows]
        if (label.weights == 1).all():
            return model.fit(part, label.chances)
        if weighted:
            return model.fit(part, label.chances, **{weighted: label.weights})
        copies = _repeats(label.weights)
        return model.fit(_rows(X, label.rows, copies), np.repeat(label.chances, copies))
    if split_by_gini(model) and not label.is_certain:
        # nodes of certain rows are not split further
        return TreesOfChances(model).fit(X[label.rows], rounded(label.chances), label.weights)
    rows, values, weights = _both_ways(label)
    if (weights == 1).all():
        return model.fit(X[rows], values)
    if weighted:
        return model.fit(X[rows], values, **{weighted: weights})
    copies = _repeats(weights)
    return model.fit(_rows(X, rows, copies), np.repeat(values, copies))


def _weight_name(model: Any) -> str | None:
    """The argument of ``fit`` that takes weights of rows: of a pipeline, that of its last step."""
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    if isinstance(model, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = model.steps[-1]
        inner = None if last in (None, "passthrough") else _weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return None


def fit_labels(
    estimator: Any,
    X: Any,
    soft: Iterable[SoftLabel],
    frequency: np.ndarray,
    *,
    start: Sequence[Any] | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> list:
    """A fitted estimator for every label, together where that is possible.

    Labels of one value have a constant prediction, ``frequency``. ``start`` are models of the same
    labels; fits that are made together begin with them.
    """
    if are_fitted_together(estimator):
        return _all_together(estimator, X, soft, frequency, start, device)
    if share_a_factorisation(estimator):
        return _ridges(estimator, X, soft, frequency)
    return list(
        Parallel(n_jobs=n_jobs)(
            delayed(_fit_one)(estimator, X, one, float(frequency[place]))
            for place, one in enumerate(soft)
        )
    )


def _all_together(
    estimator: Any,
    X: Any,
    soft: Iterable[SoftLabel],
    frequency: np.ndarray,
    start: Sequence[Any] | None,
    device: str | None,
) -> list:
    models: list[Any] = [ConstantLabel(float(one)) for one in frequency]
    learned: list[int] = []

    def learnable() -> Iterator[SoftLabel]:
        for place, one in enumerate(soft):
            if not one.is_constant:
                learned.append(place)
                yield one

    # read after the labels that they belong to
    begun = None if start is None else (start[learned[place]] for place in count())
    fitted = fit_together(estimator, X, learnable(), start=begun, device=device)
    for place, model in zip(learned, fitted, strict=True):
        models[place] = model
    return models


def _ridges(estimator: Any, X: Any, soft: Iterable[SoftLabel], frequency: np.ndarray) -> list:
    models: list[Any] = [ConstantLabel(float(one)) for one in frequency]
    learnable = ((place, one) for place, one in enumerate(soft) if not one.is_constant)
    for place, model in fit_ridges(estimator, X, learnable):
        models[place] = model
    return models


def _fit_one(estimator: Any, X: Any, one: SoftLabel, frequency: float) -> Any:
    return ConstantLabel(frequency) if one.is_constant else fit_soft(estimator, X, one)


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Log-odds where there are probabilities, else margins or predictions of a regressor."""
    if is_regressor(model):
        return np.ravel(model.predict(X))
    if isinstance(model, LogisticRegression | ConstantLabel) or not hasattr(model, "predict_proba"):
        return np.ravel(score_rows(model, X))
    return log_odds(probability_of_rows(model, X))


def all_scores(models: Sequence[Any], X: Any) -> np.ndarray:
    """The same of many models, of shape (n_rows, n_models); at once where they are linear."""
    if not models:
        return np.empty((X.shape[0], 0))
    if all(type(one) in (LogisticRegression, ConstantLabel) for one in models):
        return scores_together(models, X)
    return np.column_stack([scores_of(one, X) for one in models])


def _both_ways(label: SoftLabel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, values of 0 and 1 and weights: known rows first, in their order."""
    chances = rounded(label.chances)
    certain = (chances == 0) | (chances == 1)
    unsure = ~certain
    rows = np.concatenate([label.rows[certain], label.rows[unsure], label.rows[unsure]])
    n_unsure = int(unsure.sum())
    values = np.concatenate([chances[certain], np.ones(n_unsure), np.zeros(n_unsure)])
    shares = label.weights[unsure]
    weights = np.concatenate(
        [label.weights[certain], shares * chances[unsure], shares * (1 - chances[unsure])]
    )
    kept = weights > 0
    return rows[kept], values[kept].astype(np.intp), weights[kept]


def _repeats(weights: np.ndarray) -> np.ndarray:
    """Whole numbers of copies, whose sums follow those of the weights: small ones are not lost."""
    whole = np.floor(_COPIES * np.cumsum(weights) + 0.5)
    return np.diff(whole, prepend=0.0).astype(np.intp)


def _rows(X: Any, rows: np.ndarray, copies: np.ndarray) -> Any:
    chosen = X[np.repeat(rows, copies)]
    return sparse.csr_array(chosen) if sparse.issparse(X) else chosen


def mean_log_odds(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Log-odds of the mean of the two probabilities."""
    relevant = np.logaddexp(log_expit(first), log_expit(second))
    return relevant - np.logaddexp(log_expit(-first), log_expit(-second))
