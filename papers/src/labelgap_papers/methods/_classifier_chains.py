"""Chains of classifiers, each of which sees the labels before it, known or predicted."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_random_state

from labelgap.estimator import LabelGapClassifier
from labelgap.kernels.probabilities import log_odds
from labelgap.labels import Labels, observed_prevalence
from labelgap.one_vs_rest import ConstantLabel, readable_by_workers
from labelgap.parameters import AT_LEAST_ONE, parameter, with_parameters

_N_CHAINS = 10


@with_parameters
class ClassifierChains(LabelGapClassifier):
    """An ensemble of classifier chains [1]_, trained on labels with gaps.

    A chain is an order of the labels. The classifier of a label sees the features and the labels
    before it in the chain, and is trained on the rows in which its own label is known. Where a
    label before it is unknown, what the chain itself predicts for that row stands in; for new
    rows that is everywhere. The probabilities of all chains are averaged.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier with ``predict_proba``; by default
        ``LogisticRegression(solver="liblinear")``.
    n_chains : int, default=None
        By default 10 with random orders, otherwise as many as there are orders.
    order : {"random", "given"} or array of shape (n_labels,) or (n_chains, n_labels), default="random"
        A random order for each chain, the order of the columns, or orders as positions of labels.
    link : {"decision", "probability"}, default="decision"
        What stands in for an unknown label: 0 or 1, as in the paper, or its probability.
    n_jobs : int, default=None
        Number of processes, over chains.

    Attributes
    ----------
    orders_ : int array of shape (n_chains, n_labels)
    estimators_ : list of lists
        The classifiers of every chain, in its order.

    Notes
    -----
    Without gaps each chain is :class:`sklearn.multioutput.ClassifierChain`. Unlabeled zeros are
    zeros. A label of which only one value was observed has a constant prediction, its smoothed
    frequency (see :class:`labelgap.baselines.LabelPrior`).

    Each classifier has its own objective; the chain as a whole has none.

    References
    ----------
    .. [1] J. Read, B. Pfahringer, G. Holmes and E. Frank. Classifier chains for multi-label
       classification. Machine Learning 85, 2011.
    """

    estimator: Any = parameter(None, HasMethods(["fit", "predict_proba"]), None)
    _: KW_ONLY
    n_chains: int | None = parameter(None, AT_LEAST_ONE, None)
    order: Any = parameter("random", StrOptions({"random", "given"}), "array-like")
    link: str = parameter("decision", StrOptions({"decision", "probability"}))
    n_jobs: int | None = parameter(None, Integral, None)
    random_state: Any = parameter(None)

    def _template(self) -> Any:
        return LogisticRegression(solver="liblinear") if self.estimator is None else self.estimator

    def _goes_to_liblinear(self) -> bool:
        return self.estimator is None or super()._goes_to_liblinear()

    def _fit(self, X: Any, labels: Labels) -> None:
        self.orders_ = self._orders(labels.n_labels)
        X, template = readable_by_workers(X), clone(self._template())
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_chain)(template, X, labels, order, self.link) for order in self.orders_
        )

    def _orders(self, n_labels: int) -> np.ndarray:
        if isinstance(self.order, str) and self.order == "random":
            rng = check_random_state(self.random_state)
            return np.stack([rng.permutation(n_labels) for _ in range(self.n_chains or _N_CHAINS)])
        given = np.arange(n_labels) if isinstance(self.order, str) else np.asarray(self.order)
        orders = np.atleast_2d(given)
        if orders.shape[1] != n_labels or (np.sort(orders, axis=1) != np.arange(n_labels)).any():
            raise ValueError(
                f"order={self.order!r}: every chain must have each of the labels 0 to "
                f"{n_labels - 1} once"
            )
        if self.n_chains not in (None, len(orders)):
            raise ValueError(
                f"n_chains={self.n_chains}, but order has {len(orders)}: leave n_chains out, or "
                "take order='random'"
            )
        return orders

    def _predict_proba(self, X: Any) -> np.ndarray:
        X = readable_by_workers(X)
        chains = zip(self.estimators_, self.orders_, strict=True)
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(_predict_chain)(X, estimators, order, self.link) for estimators, order in chains
        )
        return np.mean(found, axis=0)

    def _decision_function(self, X: Any) -> np.ndarray:
        return log_odds(self._predict_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        accepted = get_tags(self._template()).input_tags
        tags.input_tags.sparse = accepted.sparse
        tags.input_tags.allow_nan = accepted.allow_nan
        return tags


class _Design:
    """Features, and the labels of a chain so far."""

    def __init__(self, X: Any, n_labels: int) -> None:
        self._X = X
        self._links = np.empty((X.shape[0], n_labels))

    def before(self, step: int) -> Any:
        """What the classifier at a place in the chain sees."""
        links = self._links[:, :step]
        if sparse.issparse(self._X):
            return readable_by_workers(sparse.csr_array(sparse.hstack([self._X, links])))
        return np.hstack([self._X, links])

    def set(self, step: int, values: np.ndarray, rows: Any = slice(None)) -> None:
        self._links[rows, step] = values


def _fit_chain(template: Any, X: Any, labels: Labels, order: np.ndarray, link: str) -> list:
    estimators: list = []
    design = _Design(X, labels.n_labels)
    frequency = observed_prevalence(labels)
    for step, label in enumerate(order.tolist()):
        seen = design.before(step)
        rows, y = labels.column(label)
        y = np.asarray(y).astype(np.intp)
        if 0 < y.sum() < len(y):
            estimators.append(clone(template).fit(seen[rows], y))
        else:
            estimators.append(ConstantLabel(float(frequency[label])))
        design.set(step, y, rows)
        gaps = np.setdiff1d(np.arange(labels.n_samples), rows)
        if gaps.size:
            design.set(step, _stand_in(estimators[-1], seen[gaps], link), gaps)
    return estimators


def _predict_chain(X: Any, estimators: list, order: np.ndarray, link: str) -> np.ndarray:
    probability = np.empty((X.shape[0], len(order)))
    design = _Design(X, len(order))
    for step, (label, estimator) in enumerate(zip(order.tolist(), estimators, strict=True)):
        seen = design.before(step)
        probability[:, label] = estimator.predict_proba(seen)[:, 1]
        design.set(step, _stand_in(estimator, seen, link))
    return probability


def _stand_in(estimator: Any, X: Any, link: str) -> np.ndarray:
    return estimator.predict_proba(X)[:, 1] if link == "probability" else estimator.predict(X)
