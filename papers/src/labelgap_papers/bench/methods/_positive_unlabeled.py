"""What is usually done where zeros may be missing labels, with a logistic regression per label.

C is 10 for sparse features and 1 for dense ones everywhere, so that only the treatment of zeros differs.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self
from unittest.mock import patch

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from labelgap import LabelNet, Mend, losses
from labelgap.labels import Labels
from labelgap.one_vs_rest import SoftLabel, all_scores, fit_labels
from labelgap.propensity import unlabeled_posterior
from labelgap_papers.bench.methods._method import Method
from labelgap_papers.bench.protocols.protocol import Task

_FOLDS = 3
_ITERATIONS = 10
_SMOOTHING = 0.1
_FEWEST_POSITIVES = 10
_NEVER = 1e-6


class PositiveUnlabeledLogistic:
    """Logistic regressions that treat unlabeled zeros in one of the classic ways.

    Parameters
    ----------
    how : {"negative", "smoothing", "em", "elkan-noto"}
        A zero is irrelevant; is it with 0.95 (and a one relevant with 0.95); is relevant with the
        posterior of expectation maximisation, given one label frequency; or is irrelevant, and
        probabilities are divided by the label frequency of each label. Label frequencies are those of
        Elkan and Noto: the mean probability of recorded positives, from models of other rows.
    C : float
    """

    def __init__(self, how: str, C: float) -> None:
        self.how, self.C = how, C

    def fit(self, X: Any, Y: Labels) -> Self:
        values = Y.to_dense(unknown=np.nan, unlabeled=0.0)
        self._scale = np.ones(Y.n_labels)
        if self.how == "smoothing":
            values = (1 - _SMOOTHING) * values + _SMOOTHING / 2
        if self.how in ("em", "elkan-noto"):
            common, each = self._frequencies(X, values)
            self._scale = each if self.how == "elkan-noto" else self._scale
        self._models = self._learn(X, values)
        if self.how == "em":
            zeros = values == 0
            for _ in range(_ITERATIONS):
                posterior = unlabeled_posterior(all_scores(self._models, X), common)
                self._models = self._learn(X, np.where(zeros, posterior, values))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.minimum(expit(all_scores(self._models, X)) / self._scale, 1 - _NEVER)

    def predict(self, X: Any) -> np.ndarray:
        return (self.predict_proba(X) > 0.5).astype(int)

    def _learn(self, X: Any, values: np.ndarray) -> list:
        def soft() -> Any:
            for column in values.T:
                rows = np.flatnonzero(~np.isnan(column))
                yield SoftLabel(rows, column[rows], np.ones(rows.size))

        estimator = LogisticRegression(C=self.C, max_iter=1000)
        return fit_labels(estimator, X, soft(), np.nanmean(values, axis=0))

    def _frequencies(self, X: Any, values: np.ndarray) -> tuple[float, np.ndarray]:
        folds = np.random.default_rng(0).permutation(len(values)) % _FOLDS
        found = np.empty(values.shape)
        for fold in range(_FOLDS):
            models = self._learn(X[folds != fold], values[folds != fold])
            found[folds == fold] = expit(all_scores(models, X[folds == fold]))
        ones = values == 1
        common = float(found[ones].mean())
        counts = ones.sum(axis=0)
        sums = np.where(ones, found, 0.0).sum(axis=0)
        each = (sums + _FEWEST_POSITIVES * common) / (counts + _FEWEST_POSITIVES)
        return common, each


class PulearnPerLabel:
    """A classifier of the package pulearn for each label.

    Parameters
    ----------
    name : str
        Of a class in pulearn.
    C : float
    options : keyword arguments
        Of the class.
    """

    def __init__(self, name: str, C: float, **options: Any) -> None:
        self.name, self.C, self.options = name, C, options

    def fit(self, X: Any, Y: Labels) -> Self:
        import pulearn

        self._models = []
        for label in range(Y.n_labels):
            rows, values = Y.column(label)
            n_positives = int(values.sum())
            model = None
            if _FEWEST_POSITIVES <= n_positives < values.size:
                options = dict(self.options)
                if self.name == "WeightedElkanotoPuClassifier":
                    options |= {"labeled": n_positives, "unlabeled": values.size - n_positives}
                estimator = LogisticRegression(C=self.C, max_iter=1000)
                model = getattr(pulearn, self.name)(estimator, random_state=0, **options)
                model.fit(X[rows], np.where(values == 1, 1, -1))
            self._models.append((model, n_positives / max(values.size, 1)))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        columns = [
            np.full(X.shape[0], prevalence)
            if model is None
            else np.asarray(model.predict_proba(X))[:, 1]
            for model, prevalence in self._models
        ]
        return np.clip(np.nan_to_num(np.column_stack(columns)), _NEVER, 1 - _NEVER)

    def predict(self, X: Any) -> np.ndarray:
        return (self.predict_proba(X) > 0.5).astype(int)


class AllOpenedMend(Mend):
    """Mend that takes every item for opened, to measure what that changes."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        nobody = np.empty(0, dtype=np.intp)
        with patch("labelgap.mend._mend.find_unopened_items", lambda *_: nobody):
            return super().fit(X, y, sample_weight, groups=groups)


def _strength(task: Task) -> float:
    return 10.0 if sparse.issparse(task.X) else 1.0


def _classic(how: str) -> Method:
    return Method(lambda task, **params: PositiveUnlabeledLogistic(how, _strength(task), **params))


def _pulearn(name: str, **options: Any) -> Method:
    return Method(lambda task: PulearnPerLabel(name, _strength(task), **options))


def _mend(kind: type[Mend], task: Task, **params: Any) -> Mend:
    return kind(LogisticRegression(C=_strength(task), max_iter=1000), zeros="unlabeled", **params)


def _network(loss: Any, task: Task, **params: Any) -> LabelNet:
    return LabelNet((512, 512), loss=loss, random_state=0, known_labels=False, **params)


def _with_frequency(name: str, argument: str, frequency: float = 0.8) -> Any:
    return partial(getattr(losses, name), **{argument: frequency})


_LOSSES = {
    "log-loss": losses.bce,
    "smoothing": losses.assume_negative,
    "em": _with_frequency("expected_positives", "label_frequency"),
    "large-loss": losses.large_loss_rejection,
    "splc": losses.splc,
    "hill": losses.hill,
    "robust": _with_frequency("generalized_robust", "label_frequency"),
    "propensity": _with_frequency("propensity_weighted", "propensity"),
}

METHODS: dict[str, Method] = {
    **{f"zeros-{how}": _classic(how) for how in ("negative", "smoothing", "em", "elkan-noto")},
    "pulearn-elkan-noto": _pulearn("ElkanotoPuClassifier", hold_out_ratio=0.2),
    "pulearn-weighted": _pulearn("WeightedElkanotoPuClassifier", hold_out_ratio=0.2),
    "pulearn-bagging": _pulearn("BaggingPuClassifier", n_estimators=15),
    "mend-logistic": Method(partial(_mend, Mend)),
    "mend-logistic-all-opened": Method(partial(_mend, AllOpenedMend)),
    "mend-unlabeled": Method(lambda task, **params: Mend(zeros="unlabeled", **params)),
    **{f"network-{name}": Method(partial(_network, loss)) for name, loss in _LOSSES.items()},
}
