"""Scorers inside scikit-learn's cross-validation and searches, with unknown labels in y."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from labelgap import Labels, as_labels, metrics
from labelgap.metrics import METRICS, get_multi_scorer, get_scorer


class MaskedRidge(ClassifierMixin, BaseEstimator):
    """One ridge regression per label on the rows where it is known."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        labels = as_labels(y)
        self.coef_ = np.zeros((X.shape[1], labels.n_labels))
        self.calls_ = []
        for j in range(labels.n_labels):
            rows, values = labels.column(j)
            known = X[rows]
            gram = known.T @ known + self.alpha * np.eye(X.shape[1])
            self.coef_[:, j] = np.linalg.solve(gram, known.T @ (2.0 * values - 1))
        return self

    def decision_function(self, X):
        self.calls_.append("decision_function")
        return X @ self.coef_

    def predict_proba(self, X):
        self.calls_.append("predict_proba")
        return 1 / (1 + np.exp(-4 * X @ self.coef_))

    def predict(self, X):
        self.calls_.append("predict")
        return (X @ self.coef_ > 0).astype(int)


class ProbabilitiesOnly:
    def __init__(self, proba):
        self.proba = proba

    def predict_proba(self, X):
        return self.proba


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(80, 5))
    complete = (X @ rng.normal(size=(5, 4)) > 0).astype(float)
    return X, np.where(rng.random(complete.shape) < 0.3, np.nan, complete)


def params_for(name):
    return {"propensities": np.full(4, 0.5)} if "propensity" in name else {}


@pytest.mark.parametrize("name", sorted(METRICS))
def test_scorer_is_the_signed_metric(name, problem):
    X, truth = problem
    model = MaskedRidge().fit(X, truth)
    metric = METRICS[name]
    method = {
        "scores": "decision_function",
        "probabilities": "predict_proba",
        "labels": "predict",
    }[metric.needs]
    expected = metric(truth, getattr(model, method)(X), **params_for(name))
    model.calls_.clear()
    scorer = get_scorer(name, **params_for(name))
    assert scorer(model, X, truth) == (expected if metric.greater_is_better else -expected)
    assert model.calls_ == [method]


@pytest.mark.parametrize("wrap", [np.asarray, Labels.from_dense], ids=["array", "Labels"])
def test_cross_validate_and_search(problem, wrap):
    X, truth = problem
    y = wrap(truth)
    folds = KFold(3)
    scoring = {name: get_scorer(name, **params_for(name)) for name in sorted(METRICS)}
    result = cross_validate(MaskedRidge(), X, y, cv=folds, scoring=scoring, error_score="raise")
    first_train, first_test = next(folds.split(X))
    model = MaskedRidge().fit(X[first_train], truth[first_train])
    expected = metrics.ranking_loss(truth[first_test], model.decision_function(X[first_test]))
    assert result["test_ranking_loss"][0] == -expected
    search = GridSearchCV(
        MaskedRidge(), {"alpha": [1e-2, 1e6]}, cv=folds, scoring=get_scorer("brier")
    ).fit(X, y)
    assert search.best_params_ == {"alpha": 1e-2}


def test_multi_scorer_predicts_once(problem):
    X, truth = problem
    names = ["ranking_loss", "auc_micro", "label_ranking_average_precision", "f1_micro", "log_loss"]
    scorer = get_multi_scorer(names)
    model = MaskedRidge().fit(X, truth)
    values = scorer(model, X, truth)
    assert sorted(model.calls_) == ["decision_function", "predict", "predict_proba"]
    assert values == {name: get_scorer(name)(model, X, truth) for name in names}
    search = GridSearchCV(
        MaskedRidge(), {"alpha": [1e-2, 1e6]}, cv=KFold(3), scoring=scorer, refit="log_loss"
    ).fit(X, Labels.from_dense(truth))
    assert search.best_params_ == {"alpha": 1e-2}
    assert {f"mean_test_{name}" for name in names} <= set(search.cv_results_)


@pytest.mark.parametrize(
    "scorer",
    [
        get_scorer("precision_at_k", k=3, ties="first"),
        get_scorer("ranking_loss"),
        get_multi_scorer({"P@3": ("precision_at_k", {"k": 3}), "loss": "ranking_loss"}),
    ],
)
def test_scorers_survive_copies(scorer):
    for other in (
        pickle.loads(pickle.dumps(scorer)),
        copy.deepcopy(scorer),
        clone(scorer, safe=False),
        eval(repr(scorer).lstrip("-"), vars(metrics)),
    ):
        assert other == scorer
        assert hash(other) == hash(scorer)
        assert repr(other) == repr(scorer)


def test_repr_shows_the_sign_and_parameters():
    assert repr(get_scorer("precision_at_k", k=3)) == "get_scorer('precision_at_k', k=3)"
    assert repr(get_scorer("ranking_loss")) == "-get_scorer('ranking_loss')"


def test_unknown_names_and_parameters_fail_at_once():
    with pytest.raises(ValueError, match="unknown metric 'roc'"):
        get_scorer("roc")
    with pytest.raises(TypeError, match="parameters are"):
        get_scorer("auc_macro", k=3)
    with pytest.raises(TypeError, match="propensities"):
        get_scorer("propensity_scored_precision_at_k")


def test_estimators_that_give_a_list_of_probabilities(problem, rng):
    X, truth = problem
    complete = np.nan_to_num(truth).astype(int)
    complete[:, 2] = 0
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, complete)
    proba = forest.predict_proba(X)
    assert isinstance(proba, list)
    assert [list(classes) for classes in forest.classes_] == [[0, 1], [0, 1], [0], [0, 1]]
    stacked = np.column_stack([proba[0][:, 1], proba[1][:, 1], np.zeros(len(X)), proba[3][:, 1]])
    scorer = get_scorer("brier")
    assert scorer(forest, X, truth) == -metrics.brier(truth, stacked)


def test_scores_fall_back_to_probabilities(problem, rng):
    X, truth = problem
    proba = rng.random(truth.shape)
    value = get_scorer("auc_micro")(ProbabilitiesOnly(proba), X, truth)
    assert value == metrics.auc(truth, proba, average="micro")


def test_estimators_without_the_needed_method_are_named(problem):
    with pytest.raises(TypeError, match="object has no decision_function or predict_proba"):
        get_scorer("auc_macro")(object(), *problem)
