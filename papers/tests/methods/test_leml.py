from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import expit

from labelgap import Labels
from labelgap.fitting import EM, FitWarning
from labelgap.kernels.low_rank import nuclear_norm, shrink_singular_values
from labelgap.kernels.products import prepare_features
from labelgap_papers.kernels.losses import LOSSES
from labelgap_papers.kernels.proximal import Differentiable, proximal_path
from labelgap_papers.methods import LEML, LFMSL, Maxide, _leml


def labelled(rng, n=80, d=6, n_labels=5, rank=2, gaps=0.3):
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, n_labels))
    Y = (scores + 0.5 * rng.normal(size=scores.shape) > 0.3).astype(float)
    return X, np.where(rng.random(Y.shape) < gaps, np.nan, Y)


def written_down(model, X, Y):
    scores = X @ model.feature_map_ @ model.label_factors_.T + model.intercept_
    losses = LOSSES[model.loss].value(scores, np.nan_to_num(Y))
    squares = np.square(model.feature_map_).sum() + np.square(model.label_factors_).sum()
    return losses[~np.isnan(Y)].sum() + model.ridge / 2 * squares


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(80, 6), (5, 9)])
def test_the_trace_is_the_objective_and_never_rises(rng, form, loss, intercept, shape):
    X, Y = labelled(rng, *shape)
    model = LEML(3, loss=loss, ridge=0.7, fit_intercept=intercept, max_iter=15, tol=0.0)
    seen = ~np.isnan(Y).all(axis=0)
    model.fit(form(X), Y[:, seen])
    value = written_down(model, X, Y[:, seen])
    assert model.trace_.objective[-1] == pytest.approx(value, rel=1e-10)
    assert (np.diff(model.trace_.objective) <= 1e-12 * value).all()
    np.testing.assert_allclose(model.coef_, model.feature_map_ @ model.label_factors_.T)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_slopes_and_steps(rng, loss):
    X, Y = labelled(rng, n=30)
    observed = ~np.isnan(Y)
    problem = _leml.LEMLProblem(
        prepare_features(X), np.nan_to_num(Y), observed, LOSSES[loss], 0.7, True
    )
    place = _leml.LEMLPlace(rng.normal(size=(6, 2)), rng.normal(size=(5, 2)), rng.normal(size=5))

    def value(w):
        return _leml.objective(problem, place._replace(W=w.reshape(6, 2)))

    numeric = approx_fprime(place.W.ravel(), value, 1e-7).reshape(6, 2)
    np.testing.assert_allclose(_leml.feature_slope(problem, place), numeric, atol=1e-4)
    features, labels = place, place
    for _ in range(40):
        features = _leml.feature_step(problem, features, 50)
        labels = _leml.label_step(problem, labels)
    np.testing.assert_allclose(_leml.feature_slope(problem, features), 0, atol=1e-6)

    def value_of_labels(both):
        both = both.reshape(5, 3)
        return _leml.objective(problem, place._replace(H=both[:, :2], b=both[:, 2]))

    both = np.column_stack([labels.H, labels.b]).ravel()
    np.testing.assert_allclose(approx_fprime(both, value_of_labels, 1e-7), 0, atol=1e-4)


def test_labels_that_are_all_observed_fraction_one_system(rng, monkeypatch):
    X, Y = labelled(rng, gaps=0.0)
    model = LEML(3, ridge=0.7, max_iter=10, tol=0.0).fit(X, Y)
    monkeypatch.setattr(type(LOSSES["squared"]), "is_quadratic", False)
    one_by_one = LEML(3, ridge=0.7, max_iter=10, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, one_by_one.coef_, atol=1e-8)
    np.testing.assert_allclose(model.trace_.objective, one_by_one.trace_.objective, rtol=1e-10)


def test_squared_loss_with_all_factors_is_maxide(rng):
    """The least (||W||^2 + ||H||^2)/2 with a given product is its nuclear norm."""
    X, Y = labelled(rng)
    factors = LEML(ridge=3.0, fit_intercept=False, max_iter=3000, tol=1e-13).fit(X, Y)
    completion = Maxide(3.0, fit_intercept=False, max_iter=20_000, tol=1e-14).fit(X, Y)
    expected = completion.trace_.objective[-1]
    assert factors.trace_.objective[-1] == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(factors.coef_, completion.coef_, atol=1e-3)
    assert np.linalg.matrix_rank(completion.coef_, tol=1e-6) < 5


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_other_losses_with_all_factors_have_the_nuclear_norm_too(rng, loss):
    X, Y = labelled(rng)
    observed, labels = ~np.isnan(Y), np.nan_to_num(Y)

    def smooth(Z):
        scores = X @ Z
        value = LOSSES[loss].value(scores, labels)[observed].sum()
        return float(value), X.T @ (observed * LOSSES[loss].slope(scores, labels))

    def prox(Z, step):
        Z, norm = shrink_singular_values(Z, 2.0 * step)
        return Z, 2.0 * norm

    path = proximal_path(Differentiable(smooth), prox, np.zeros((6, 5)))
    best = list(islice(path, 3000))[-1]
    model = LEML(loss=loss, ridge=2.0, fit_intercept=False, max_iter=2000, tol=1e-13).fit(X, Y)
    assert model.trace_.objective[-1] == pytest.approx(best.value, rel=1e-6)
    np.testing.assert_allclose(model.coef_, best.x, atol=1e-3)
    assert nuclear_norm(model.coef_) == pytest.approx(nuclear_norm(best.x), rel=1e-3)


def test_the_factor_model_of_seen_labels_is_a_special_case(rng):
    """Row factors that follow the features: log-odds of LFM-SL become those of LEML."""
    X, Y = labelled(rng, n=100, gaps=0.2)
    alone = LEML(2, loss="logistic", ridge=1.0, max_iter=500, tol=1e-10).fit(X, Y)
    distances = []
    for lambda_u in (0.1, 10.0):
        inference = EM(200, 0.0, solver="exact")
        factors = LFMSL(2, lambda_u=lambda_u, lambda_w=1.0, inference=inference, random_state=0)
        difference = factors.fit(X, Y).predict_proba(X) - alone.predict_proba(X)
        distances.append(np.abs(difference).mean())
    assert distances[1] < 0.05
    assert distances[1] < distances[0] / 2


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_hidden_entries_of_planted_low_rank_labels_are_found(rng, loss):
    X = rng.normal(size=(300, 10))
    scores = X @ rng.normal(size=(10, 2)) @ rng.normal(size=(2, 12))
    truth = (scores > 0).astype(float)
    hidden = rng.random(truth.shape) < 0.5
    model = LEML(2, loss=loss, ridge=0.1, max_iter=40, tol=0.0).fit(
        X, np.where(hidden, np.nan, truth)
    )
    assert (model.predict(X)[hidden] == truth[hidden]).mean() > 0.93
    assert model.feature_map_.shape == (10, 2)


def test_logistic_scores_are_log_odds_and_unseen_labels_have_the_prior(rng):
    X, Y = labelled(rng)
    Y = np.column_stack([Y, np.full(len(Y), np.nan)])
    for loss in LOSSES:
        with pytest.warns(match="no observed entry"):
            model = LEML(2, loss=loss, max_iter=5, tol=0.0).fit(X, Y)
        probability = model.predict_proba(X)[:, -1]
        assert np.ptp(probability) == 0
        assert abs(probability[0] - np.nanmean(Y)) < 0.2
        if loss == "logistic":
            scores = X @ model.coef_ + model.intercept_
            np.testing.assert_allclose(model.predict_proba(X), expit(scores))
            assert probability[0] == pytest.approx(np.nanmean(Y), abs=0.01)


def test_says_when_it_has_not_converged_and_when_there_is_nothing_to_learn(rng):
    X, Y = labelled(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        LEML(2, max_iter=2, tol=1e-14).fit(X, Y)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        LEML().fit(X, Labels.from_dense(np.full(Y.shape, np.nan)))
