"""The estimator as a user meets it: what it learns, its settings, and how a fit ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelgap import Labels
from labelgap.baselines import LabelPrior
from labelgap.fitting import EM, FitDivergedError, FitWarning, Gibbs, OnlineEM
from labelgap.metrics import label_ranking_average_precision
from labelgap.models.bmlpl import BMLPL
from labelgap.models.bmlpl._bmlpl_em import factorise
from models.bmlpl.problems import (
    held_out,
    instance_auc,
    matched_correlations,
    topic_problem,
    training,
)

QUICK = EM(30, 0.0)


def quick(n_factors=4, **settings):
    return BMLPL(n_factors, **({"inference": QUICK, "random_state": 0} | settings))


def score(model):
    X, Y = held_out()
    return instance_auc(Y, model.predict_proba(X))


def equal_params(a, b):
    for ours, theirs in zip(a.params_[:4], b.params_[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


# ---- what it learns --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inference",
    [EM(60, 0.0, n_init=5), EM(60, 0.0, n_init=5, solver="exact"), Gibbs(20, 60, n_chains=1)],
    ids=["cg", "exact", "gibbs"],
)
def test_topics_are_recovered_and_predict_better_than_frequencies(inference):
    model = quick(r=0.4, inference=inference, init="random").fit(*training())
    correlations = matched_correlations(model.params_.topics, topic_problem().topics)
    assert correlations.min() > 0.8
    assert score(model) > score(LabelPrior().fit(*training())) + 0.05


def test_defaults_are_one_topic_per_label_and_end_quietly():
    X, Y = training()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = BMLPL(random_state=0).fit(X, Y)
    assert model.params_.topics.shape == (20, 20)
    np.testing.assert_allclose(model.params_.topics.sum(axis=0), 1)
    assert model.trace_.outcome in ("converged", "out_of_iterations")
    assert score(model) > score(LabelPrior().fit(X, Y)) + 0.05


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_single_label_classes_are_about_as_accurate_as_logistic_regression(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[::2], order[1::2]
    model = BMLPL(tau=1e-3, inference=EM(60, 0.0), random_state=0).fit(X[train], y[train])
    other = LogisticRegression(max_iter=2000).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > other.score(X[test], y[test]) - 0.04
    probabilities = model.predict_proba(X[test])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_one_topic_per_label_with_unit_shape_is_logistic_regression():
    """With V = I and r = 1, P(y = 1) = logistic(psi); fixed by starting there with no sharing."""
    X, Y = training()
    X, y = X[:, :3], Y[:, [0]]
    model = BMLPL(1, tau=1e-6, inference=EM(3000, 1e-13, solver="exact"), random_state=0).fit(X, y)
    # learning takes u at its mode, prediction integrates: directions agree, up to scale
    other = LogisticRegression(C=1e6).fit(X, y.to_dense()[:, 0])
    ours = model.params_.weights[:-1, 0]
    cosine = ours @ other.coef_[0] / np.linalg.norm(ours) / np.linalg.norm(other.coef_[0])
    assert cosine > 0.98


# ---- settings --------------------------------------------------------------------------------


def test_starts_differ_and_a_given_start_is_taken():
    X, Y = training()
    by_labels, random = quick().fit(X, Y), quick(init="random").fit(X, Y)
    assert not np.allclose(by_labels.params_.topics, random.params_.topics)
    topics = np.random.default_rng(3).dirichlet(np.ones(20), 4).T
    weights = np.zeros((7, 4))
    given = quick(init=(topics, weights), inference=EM(1, 0.0)).fit(X, Y)
    again = quick(init=(topics, weights), inference=EM(1, 0.0), random_state=7).fit(X, Y)
    equal_params(given, again)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ((np.ones((20, 4)), np.zeros((3, 4))), r"init weights has shape \(3, 4\).*\(7, 4\)"),
        ((np.ones((2, 4)), np.zeros((7, 4))), r"init topics has shape \(2, 4\)"),
        ((np.ones((20, 4)), np.full((7, 4), np.nan)), "init weights has values that are NaN"),
        ((-np.ones((20, 4)), np.zeros((7, 4))), "init topics has negative values"),
        ((1, 2, 3), "init: use 'labels', 'random' or a pair"),
    ],
)
def test_a_wrong_start_is_refused(init, message):
    with pytest.raises(ValueError, match=message):
        quick(init=init).fit(*training())


def test_warm_start_goes_on_with_the_settings_of_now():
    X, Y = training()
    model = quick(warm_start=True, inference=EM(20, 0.0)).fit(X, Y)
    first = model.trace_.objective
    model.fit(X, Y)
    assert model.trace_.objective[5] > first[-1]
    before = model.params_
    model.set_params(tau=50.0, r=0.5).fit(X, Y)
    np.testing.assert_array_equal(model.params_.r, 0.5)
    assert model.params_.tau[0] == pytest.approx(500 * before.tau[0])
    assert np.abs(model.params_.weights[:-1]).sum() < np.abs(before.weights[:-1]).sum()


def test_warm_start_refuses_another_problem():
    X, Y = training()
    model = quick(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="had 20 labels, y has 12"):
        model.fit(X, Y[:, :12])
    with pytest.raises(ValueError, match="other features or topics"):
        model.fit(X[:, :3], Y)


def test_the_best_of_several_starts_is_kept():
    X, Y = training()
    ends = []

    def watch(progress):
        if progress.iteration == progress.max_iter - 1:
            ends.append(progress.objective)

    model = quick(init="random", inference=EM(10, 0.0, n_init=4), callback=watch).fit(X, Y)
    assert len(set(ends)) == 4
    assert model.trace_.objective[-1] == max(ends)


def test_learned_shapes_differ_by_topic_and_stay_positive():
    model = quick(r="learn").fit(*training())
    assert (model.params_.r > 0).all()
    assert np.ptp(model.params_.r) > 0.01
    assert score(model) > score(quick().fit(*training())) - 0.02


@pytest.mark.parametrize("solver", ["cg", "exact"])
def test_learned_precisions_find_irrelevant_features_and_do_not_diverge(solver):
    problem = topic_problem(n_samples=500)
    noise = np.random.default_rng(0).normal(size=(500, 20))
    X, train, test = np.hstack([problem.X, noise]), slice(0, 250), slice(250, None)
    inference = EM(100, 0.0, solver=solver)

    def fitted(tau):
        return quick(tau=tau, inference=inference).fit(X[train], problem.labels[train])

    learned, fixed = fitted("learn"), fitted(0.1)
    scores = [
        instance_auc(problem.labels[test], m.predict_proba(X[test])) for m in (learned, fixed)
    ]
    assert scores[0] > scores[1] - 0.005
    precision = learned.params_.tau
    assert np.median(precision[6:26]) > 3 * np.median(precision[:6])
    assert precision[-1] == fixed.params_.tau[-1]


def test_eta_smooths_topics():
    sharp, smooth = quick().fit(*training()), quick(eta=3.0).fit(*training())
    assert smooth.params_.topics.min() > sharp.params_.topics.min()
    assert smooth.params_.topics.max() < sharp.params_.topics.max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("r", [1.0, 0.1])
def test_both_kinds_of_topic_weights_learn(r, dtype):
    X, Y = training()
    prior = score(LabelPrior().fit(X, Y))
    for weights in ("map", "mean"):
        model = quick(weights=weights, r=r).fit(X.astype(dtype), Y)
        assert model.params_.topics.dtype == dtype
        assert score(model) > prior + 0.03


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiny_shapes_do_not_stop_the_fit_at_its_start(dtype):
    """exp(digamma(r)) is zero in floating point; counts must not start from it."""
    X, Y = training()
    model = quick(weights="mean", r=1e-3).fit(X.astype(dtype), Y)
    assert model.topic_usage_.sum() > 0.99 * Y.n_positives()
    assert np.isfinite(model.predict_proba(X)).all()


def test_exact_solutions_are_the_limit_of_many_cg_steps():
    X, Y = training()
    exact = quick(inference=EM(8, 0.0, solver="exact")).fit(X, Y)
    many = quick(inference=EM(8, 0.0, n_cg=40)).fit(X, Y)
    np.testing.assert_allclose(many.params_.weights, exact.params_.weights, rtol=1e-6, atol=1e-8)
    two = quick(inference=EM(8, 0.0, n_cg=2)).fit(X, Y)
    assert not np.allclose(two.params_.weights, exact.params_.weights, rtol=1e-6)


def test_scaling_all_features_changes_nothing():
    X, Y = training()
    plain, scaled = quick().fit(X, Y), quick().fit(1e-10 * X, Y)
    X_test = held_out()[0]
    np.testing.assert_allclose(
        scaled.predict_proba(1e-10 * X_test), plain.predict_proba(X_test), rtol=1e-5
    )


def test_the_mask_helps_when_labels_are_revealed_at_different_rates():
    X, Y = training()
    rng = np.random.default_rng(0)
    rates = np.where(np.arange(20) % 2, 0.08, 0.8)
    revealed = Labels.from_dense(np.where(rng.random(Y.shape) < rates, Y.to_dense(), np.nan))
    X_test, Y_test = held_out()
    found = {
        unknown: instance_auc(Y_test, quick(unknown=unknown).fit(X, revealed).predict_proba(X_test))
        for unknown in ("ignore", "negative")
    }
    assert found["ignore"] > found["negative"] + 0.03


def test_a_mask_without_gaps_changes_nothing():
    equal_params(
        quick(unknown="ignore").fit(*training()), quick(unknown="negative").fit(*training())
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta": 0.5}, "eta=0.5: below 1"),
        ({"weights": "mean", "inference": "gibbs"}, "weights='mean' belongs to EM"),
        ({"checkpoint": "c", "inference": "online"}, "checkpoint: only a fit by EM can resume"),
        ({"checkpoint": "c", "inference": EM(n_init=2)}, "checkpoint: .* set n_init=1"),
        ({"inference": EM(0)}, "max_iter=0 must be at least 1"),
        ({"r": -1.0}, "'r' parameter"),
        ({"tau": "guess"}, "'tau' parameter"),
        ({"unknown": "skip"}, "'unknown' parameter"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        quick(**settings).fit(*training())


# ---- how a fit ends --------------------------------------------------------------------------


def test_converged_out_of_iterations_and_stopped_are_told_apart():
    X, Y = training()
    assert quick(inference=EM(2000, 1e-4)).fit(X, Y).trace_.outcome == "converged"
    with pytest.warns(FitWarning, match=r"not converged after max_iter=3 .*raise max_iter"):
        model = quick(inference=EM(3, 1e-9)).fit(X, Y)
    assert model.trace_.outcome == "out_of_iterations"
    seen = []
    model = quick(callback=lambda progress: seen.append(progress) or len(seen) == 5).fit(X, Y)
    assert model.trace_.outcome == "stopped"
    assert model.trace_.n_iter == len(seen) == 5
    assert [progress.iteration for progress in seen] == list(range(5))
    assert seen[-1].objective == model.trace_.objective[-1]
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_fit_that_diverges_says_so():
    X, Y = training()
    topics = np.full((20, 4), 1 / 20)
    wild = (topics, np.full((7, 4), 1e200))
    with pytest.raises(FitDivergedError, match="scale the features"), np.errstate(all="ignore"):
        quick(init=wild).fit(X, Y)


@pytest.mark.parametrize("hessian", [-np.eye(2), np.full((2, 2), np.nan)])
def test_systems_without_a_solution_are_a_diverged_fit(hessian):
    with pytest.raises(FitDivergedError, match="regularise more"):
        factorise(hessian, np.full(2, 0.1))


@pytest.mark.parametrize("inference", [EM(5, 0.0), OnlineEM(100), Gibbs(4, 2, n_chains=1)])
def test_the_seed_decides(inference):
    X, Y = training()
    a, b, c = (
        quick(init="random", inference=inference, random_state=seed).fit(X, Y) for seed in (1, 1, 2)
    )
    equal_params(a, b)
    assert not np.allclose(a.params_.topics, c.params_.topics)


def test_objective_rises_in_every_iteration_of_a_default_fit():
    assert quick(inference=EM(40, 0.0)).fit(*training()).trace_.largest_drop() < 1e-10


def test_average_precision_is_the_score():
    model = quick().fit(*training())
    X, Y = held_out()
    assert model.score(X, Y) == label_ranking_average_precision(Y, model.predict_proba(X))
