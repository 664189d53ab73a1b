"""Trees and forests: chances as targets, and what is said of a row by trees that did not see it."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = ["ForestAndLabels", "TreesOfChances", "is_forest", "split_by_gini"]

# scikit-learn's words on rows that every tree saw
_SEEN_BY_ALL = "Some inputs do not have OOB scores"
_REGRESSORS = {
    RandomForestClassifier: RandomForestRegressor,
    ExtraTreesClassifier: ExtraTreesRegressor,
    DecisionTreeClassifier: DecisionTreeRegressor,
    ExtraTreeClassifier: ExtraTreeRegressor,
}


def split_by_gini(estimator: Any) -> bool:
    """Whether the estimator is a tree or a forest that :class:`TreesOfChances` can stand for."""
    if type(estimator) not in _REGRESSORS:
        return False
    return estimator.criterion == "gini" and estimator.class_weight is None


class TreesOfChances(ClassifierMixin, BaseEstimator):
    """A tree or forest classifier of two classes, learned from chances of the second.

    With the mean chance p, Gini's impurity of a node is 2 p (1 - p), whether an uncertain row
    stands in it as two weighted rows or as one with a chance. The variance of chances q is half of
    that less the mean of q (1 - q), and the sum of the latter is the same however rows are split:
    the splits that lower one most lower the other most. Trees of regression, then, with each row
    once, so that the smallest leaf and the bootstrap count rows and not halves of them.

    Parameters
    ----------
    classifier : tree or forest of scikit-learn
        Its parameters are taken over.
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, chances: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        regressor = _REGRESSORS[type(self.classifier)]()
        settings = self.classifier.get_params(deep=False)
        settings |= {"criterion": "squared_error", "oob_score": False}
        for name in ("min_impurity_decrease", "ccp_alpha"):
            settings[name] /= 2
        known = regressor.get_params(deep=False)
        regressor.set_params(**{name: settings[name] for name in known if name in settings})
        self.trees_ = regressor.fit(X, chances, sample_weight=sample_weight)
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = self.trees_.n_features_in_
        return self

    @property
    def feature_importances_(self) -> np.ndarray:
        """As of the classifier: shares of what splits lower the impurity by."""
        return self.trees_.feature_importances_

    def predict_proba(self, X: Any) -> np.ndarray:
        relevant = self.trees_.predict(X)
        return np.column_stack([1 - relevant, relevant])

    def predict(self, X: Any) -> np.ndarray:
        return (self.trees_.predict(X) > 0.5).astype(np.intp)


def is_forest(estimator: Any) -> bool:
    """Whether there can be trees that did not see a row, which then speak of it."""
    return isinstance(estimator, RandomForestClassifier | ExtraTreesClassifier)


class ForestAndLabels:
    """One label: a forest of the features, then a regression on its log-odds and other labels.

    A forest that tries a few of many columns at each split seldom comes to the codes of the other
    labels. It is therefore asked about the features alone, and a logistic regression joins what it
    says with the codes. That learns from what trees say of rows they did not see.

    Parameters
    ----------
    forest : RandomForestClassifier or ExtraTreesClassifier
        It gets a bootstrap if it has none.
    variance : float
        Prior variance of the coefficients of the regression.
    """

    def __init__(self, forest: Any, variance: float) -> None:
        self.forest = forest
        self.variance = variance

    def fit(self, X: Any, codes: sparse.csr_array, values: np.ndarray) -> Self:
        """Learn from rows of features, codes of the *other* labels, and values of 0 and 1."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _SEEN_BY_ALL, UserWarning)
            forest = clone(self.forest).set_params(bootstrap=True, oob_score=True)
            self.forest_ = forest.fit(X, values)
        votes = self.forest_.oob_decision_function_
        some_left = votes.sum(axis=1) > 0
        shares = np.where(some_left, votes[:, 1], values.mean())
        self.design_ = self._design(shares, codes)
        self.values_ = values
        self.last_ = self._regression().fit(self.design_, values)
        return self

    def chances(self, X: Any, codes: sparse.csr_array) -> np.ndarray:
        """Of any rows."""
        shares = self.forest_.predict_proba(X)[:, 1]
        return self.last_.predict_proba(self._design(shares, codes))[:, 1]

    def held_out_chances(self, fold_of: np.ndarray) -> np.ndarray:
        """Of the rows of the fit: neither a tree nor the regression saw the row it speaks of.

        ``fold_of`` names the part of the rows that is left out of the regression with each row.
        """
        found = np.full(self.values_.size, self.values_.mean())
        for fold in np.unique(fold_of):
            held = fold_of == fold
            left = self.values_[~held]
            if left.size:
                found[held] = left.mean()
            if left.size and left.min() < left.max():
                last = self._regression().fit(self.design_[~held], left)
                found[held] = last.predict_proba(self.design_[held])[:, 1]
        return found

    def _design(self, shares: np.ndarray, codes: sparse.csr_array) -> sparse.csr_array:
        """Log-odds of shares of trees, half a tree for either side, beside the codes."""
        n_trees = self.forest.n_estimators
        odds = logit((n_trees * shares + 0.5) / (n_trees + 1))
        joined = sparse.hstack([sparse.csr_array(odds[:, None]), codes], format="csr")
        return sparse.csr_array(joined * np.sqrt(self.variance))

    def _regression(self) -> LogisticRegression:
        return LogisticRegression(max_iter=1000, tol=1e-3)
