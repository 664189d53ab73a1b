"""Known and partly known rows, as one fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from labelgap.one_vs_rest import ConstantLabel, SoftLabel, all_scores, fit_soft, scores_of


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 3))
    rows = np.arange(30)
    probabilities = np.where(rows < 20, (X[:30, 0] > 0).astype(float), rng.uniform(0.05, 0.95, 30))
    return X, SoftLabel(rows, probabilities, np.where(rows < 20, 1.0, 0.4))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def minimise_soft_log_loss(X, label, C):
    """Newton's method on the penalised soft log-loss, intercept unpenalised."""
    A = np.column_stack([X[label.rows], np.ones(label.rows.size)])
    penalty = np.append(np.full(X.shape[1], 1 / C), 0.0)
    w = np.zeros(A.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-A @ w))
        gradient = A.T @ (label.weights * (p - label.probabilities)) + penalty * w
        hessian = (A * (label.weights * p * (1 - p))[:, None]).T @ A + np.diag(penalty)
        w -= np.linalg.solve(hessian, gradient)
    return w


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_classifier_minimises_the_soft_log_loss(problem, container):
    X, label = problem
    model = fit_soft(LogisticRegression(C=0.7, tol=1e-10), container(X), label)
    expected = minimise_soft_log_loss(X, label, 0.7)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), expected, atol=1e-5)


def test_a_regressor_takes_probabilities_as_targets(problem):
    X, label = problem
    model = fit_soft(Ridge(alpha=0.5), X, label)
    direct = Ridge(alpha=0.5).fit(X[label.rows], label.probabilities, sample_weight=label.weights)
    np.testing.assert_allclose(model.coef_, direct.coef_)


def test_known_rows_alone_are_a_plain_fit(problem):
    X, label = problem
    known = SoftLabel(label.rows[:20], label.probabilities[:20], np.ones(20))
    plain = LogisticRegression().fit(X[:20], label.probabilities[:20].astype(int))
    np.testing.assert_array_equal(fit_soft(LogisticRegression(), X, known).coef_, plain.coef_)
    line = LinearRegression().fit(X[:20], label.probabilities[:20])
    np.testing.assert_array_equal(fit_soft(LinearRegression(), X, known).coef_, line.coef_)


def test_without_weights_rows_are_repeated():
    X = np.array([[0.0], [1.0], [2.0], [2.0]])
    # the third row is 1 with the probability 3/4 and counts half: of 4 copies 2, 1.5 -> 2 and 0.5 -> 0
    label = SoftLabel(np.array([0, 1, 2]), np.array([0.0, 1.0, 0.75]), np.array([1.0, 1.0, 0.5]))
    model = fit_soft(KNeighborsClassifier(1), X, label)
    assert model.n_samples_fit_ == 4 + 4 + 2
    assert model.predict([[2.0]]) == 1
    regressor = fit_soft(KNeighborsRegressor(1), X, label)
    assert regressor.n_samples_fit_ == 4 + 4 + 2


def test_small_probabilities_are_not_lost_in_copies():
    """Ten rows with the probability 1/10 each make four copies of a relevant row, not none."""
    label = SoftLabel(np.arange(11), np.array([0.0] + [0.1] * 10), np.ones(11))
    model = fit_soft(KNeighborsClassifier(1), np.arange(11.0)[:, None], label)
    assert model.n_samples_fit_ == 44
    assert model._y.sum() == 4


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_last_step_of_a_pipeline(problem, routing):
    X, label = problem
    pipeline = make_pipeline(MaxAbsScaler(), "passthrough", LogisticRegression(C=0.7, tol=1e-10))
    with config_context(enable_metadata_routing=routing):
        model = fit_soft(pipeline, X, label)
    scaled = MaxAbsScaler().fit(X[label.rows]).transform(X)
    expected = minimise_soft_log_loss(scaled, label, 0.7)
    found = np.append(model[-1].coef_, model[-1].intercept_)
    if routing:  # without weights: four copies of a row are no four rows to a penalty
        assert np.abs(found - expected).max() > 1e-2
    else:
        np.testing.assert_allclose(found, expected, atol=1e-5)
    regression = make_pipeline(MaxAbsScaler(), Ridge())
    direct = Ridge().fit(scaled[label.rows], label.probabilities, sample_weight=label.weights)
    np.testing.assert_allclose(fit_soft(regression, X, label)[-1].coef_, direct.coef_)
    assert (
        fit_soft(make_pipeline(MaxAbsScaler(), KNeighborsClassifier(1)), X, label).predict(X).size
    )


def test_nearly_certain_rows_come_once(problem):
    X, label = problem
    sure = label._replace(probabilities=np.where(label.probabilities > 0.5, 0.999, 0.001))
    model = fit_soft(KNeighborsClassifier(1), X, sure._replace(weights=np.ones(30)))
    assert model.n_samples_fit_ == 30


@pytest.mark.parametrize(
    ("probabilities", "weights", "expected"),
    [([1, 1], [1, 1], True), ([0, 1], [1, 1], False), ([0.3, 0.3], [1, 1], False),
     ([0, 1], [1, 0], True), ([], [], True), ([0, 0.001], [1, 1], True),
     ([1, 0.001], [1, 1], False)],
)  # fmt: skip
def test_constant(probabilities, weights, expected):
    label = SoftLabel(
        np.arange(len(probabilities)), np.array(probabilities, float), np.array(weights, float)
    )
    assert label.is_constant is expected


def test_scores(problem):
    X, label = problem
    model = fit_soft(LogisticRegression(), X, label)
    np.testing.assert_allclose(scores_of(model, X), model.decision_function(X))
    neighbours = fit_soft(KNeighborsClassifier(3), X, label)
    probability = neighbours.predict_proba(X)[:, 1].clip(
        np.finfo(float).tiny, 1 - np.finfo(float).eps
    )
    np.testing.assert_allclose(scores_of(neighbours, X), np.log(probability / (1 - probability)))
    assert scores_of(fit_soft(Ridge(), X, label), X).shape == (40,)


def test_scores_of_many(problem):
    X, label = problem
    linear = fit_soft(LogisticRegression(), X, label)
    for models in ([linear, ConstantLabel(0.2)], [linear, fit_soft(Ridge(), X, label)]):
        expected = np.column_stack([scores_of(one, X) for one in models])
        np.testing.assert_allclose(all_scores(models, X), expected)
    assert all_scores([], X).shape == (40, 0)
