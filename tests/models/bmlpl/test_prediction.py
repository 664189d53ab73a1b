"""Predictions, topics for readers, intervals, and what they cost in memory."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from labelgap import Labels, metrics
from labelgap.fitting import EM, Gibbs
from labelgap.generators import make_topics
from labelgap.models.bmlpl import BMLPL, topic_coherence
from models.bmlpl.problems import held_out, training


@pytest.fixture(scope="module")
def fitted():
    X, Y = training()
    named = Y.with_names([f"tag {j}" for j in range(Y.n_labels)])
    return BMLPL(4, r=0.4, inference=EM(40, 0.0), random_state=0).fit(X, named)


@pytest.fixture(scope="module")
def sampled():
    return BMLPL(4, inference=Gibbs(15, 15, n_chains=2), random_state=0).fit(*training())


def best_by_probability(model, X, k):
    order = np.argsort(-model.predict_proba(X), axis=1, kind="stable")[:, :k]
    return np.asarray(model.classes_)[order], np.take_along_axis(
        model.predict_proba(X), order, axis=1
    )


@pytest.mark.parametrize("kind", ["fitted", "sampled"])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_best_labels_are_those_of_the_probabilities(kind, k, request):
    model, X = request.getfixturevalue(kind), held_out()[0]
    labels, probabilities = model.predict_topk(X, k)
    expected_labels, expected = best_by_probability(model, X, k)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_the_best_classes_of_a_vector_target(load):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["c", "a", "b"])[y]
    model = BMLPL(inference=EM(20, 0.0), random_state=0).fit(X, names)
    labels, probabilities = model.predict_topk(X, 2)
    expected_labels, expected = best_by_probability(model, X, 2)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(probabilities, expected)
    np.testing.assert_array_equal(labels[:, 0], model.predict(X))
    assert set(np.concatenate([topic.labels for topic in model.topics_])) <= set(names)


def test_a_binary_target_has_topics_of_the_second_class():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = BMLPL(inference=EM(5, 0.0), random_state=0).fit(X, np.array(["no", "yes"])[y])
    assert [topic.labels for topic in model.topics_] == [["yes"]]


@pytest.mark.parametrize("k", [0, 21])
def test_k_must_be_a_number_of_labels(fitted, k):
    with pytest.raises(ValueError, match=f"k={k}: there are 20 labels"):
        fitted.predict_topk(held_out()[0], k)


def test_blocks_of_rows_do_not_change_predictions(fitted, monkeypatch):
    X = held_out()[0]
    whole, best = fitted.predict_proba(X), fitted.predict_topk(X, 2)[0]
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 100)
    assert len(fitted._blocks(X)) > 50
    np.testing.assert_allclose(fitted.predict_proba(X), whole, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict_topk(X, 2)[0], best)


def test_decisions_are_log_odds(fitted, sampled):
    X = held_out()[0]
    for model in (fitted, sampled):
        p = model.predict_proba(X)
        np.testing.assert_allclose(model.decision_function(X), np.log(p / (1 - p)), rtol=1e-6)


def test_certain_predictions_have_finite_scores(fitted, sampled):
    far = 1e6 * held_out()[0]
    for model in (fitted, sampled):
        assert np.isfinite(model.decision_function(far)).all()
        assert np.isfinite(model.predict_proba(far)).all()
        assert np.isfinite(model.transform(far)).all()


def test_topic_weights_of_rows_are_their_expectations(fitted):
    X = held_out()[0]
    weights = fitted.transform(X)
    psi = X @ fitted.params_.weights[:-1] + fitted.params_.weights[-1]
    np.testing.assert_allclose(weights, fitted.params_.r * np.exp(psi), rtol=1e-9)
    assert fitted.get_feature_names_out().tolist() == ["bmlpl0", "bmlpl1", "bmlpl2", "bmlpl3"]


def test_topic_weights_as_a_frame():
    pd = pytest.importorskip("pandas")
    X, Y = training()
    model = BMLPL(2, inference=EM(3, 0.0), random_state=0).set_output(transform="pandas")
    frame = model.fit(X, Y).transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["bmlpl0", "bmlpl1"]


def test_topics_list_their_strongest_labels_by_falling_fraction(fitted):
    described = fitted.topics_
    fractions = [topic.fraction for topic in described]
    assert fractions == sorted(fractions, reverse=True)
    assert sum(fractions) == pytest.approx(1)
    assert sorted(topic.number for topic in described) == [0, 1, 2, 3]
    for topic in described:
        column = fitted.params_.topics[:, topic.number]
        expected = np.argsort(-column, kind="stable")[: len(topic.labels)]
        assert topic.labels == [f"tag {j}" for j in expected]
        np.testing.assert_array_equal(topic.weights, column[expected])


def test_usage_is_the_number_of_counts(fitted):
    """Every positive has a count of at least one, and hardly more where rates are small."""
    n_positives = training()[1].n_positives()
    assert n_positives < fitted.topic_usage_.sum() < 2.5 * n_positives


def npmi(Y, i, j):
    both, first, second = (Y[:, i] * Y[:, j]).mean(), Y[:, i].mean(), Y[:, j].mean()
    if both == 0:
        return -1.0
    return 1.0 if both == 1 else np.log(both / first / second) / -np.log(both)


def test_coherence_against_brute_force(fitted):
    Y = held_out()[1].to_dense()
    expected = []
    for column in fitted.params_.topics.T:
        best = [
            j for j in np.argsort(-column, kind="stable")[:4] if column[j] > 0 and Y[:, j].any()
        ]
        pairs = itertools.combinations(best, 2)
        expected.append(np.mean([npmi(Y, i, j) for i, j in pairs]))
    np.testing.assert_allclose(fitted.topic_coherence(Y, n_labels=4), expected)


def test_coherence_of_inseparable_and_exclusive_labels():
    Y = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 0]])
    topics = np.array([[0.5, 0.5, 0.5, 0.0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0]])
    found = topic_coherence(topics, Y, 2)
    assert found[0] == pytest.approx(1)
    assert -1 < found[1] < 0
    assert np.isnan(found[2:]).all()


# ---- calibration -----------------------------------------------------------------------------


@pytest.mark.parametrize("r", [1.0, 0.1])
@pytest.mark.parametrize("weights", ["map", "mean"])
def test_expected_positives_of_new_rows_are_the_actual_ones(r, weights):
    settings = {"r": r, "weights": weights, "inference": EM(30, 0.0), "random_state": 0}
    model = BMLPL(4, **settings).fit(*training())
    X, Y = held_out()
    assert model.predict_proba(X).sum() == pytest.approx(Y.n_positives(), rel=0.1)
    assert model.predict_proba(training()[0]).sum() == pytest.approx(
        training()[1].n_positives(), rel=0.01
    )


def test_expected_positives_count_observed_entries_only():
    X, Y = training()
    hidden = np.random.default_rng(0).random(Y.shape) < 0.4
    gaps = Labels.from_dense(np.where(hidden, np.nan, Y.to_dense()))
    model = BMLPL(4, inference=EM(30, 0.0), random_state=0).fit(X, gaps)
    p = model.predict_proba(X)
    assert p[~hidden].sum() == pytest.approx(gaps.n_positives(), rel=0.01)
    assert p.sum() == pytest.approx(Y.n_positives(), rel=0.1)


def test_probabilities_are_reliable_on_the_models_own_data(fitted):
    X, Y = held_out()
    p, y = fitted.predict_proba(X).ravel(), Y.to_dense().ravel()
    for low, high in itertools.pairwise([0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0]):
        chosen = (p > low) & (p <= high)
        error = np.sqrt(p[chosen].mean() / chosen.sum())
        assert abs(y[chosen].mean() - p[chosen].mean()) < 0.02 + 5 * error


# ---- Gibbs -----------------------------------------------------------------------------------


def test_intervals_hold_the_mean_and_widen_with_the_level(sampled):
    X = held_out()[0][:50]
    wide, narrow = sampled.predict_interval(X, 0.98), sampled.predict_interval(X, 0.5)
    p = sampled.predict_proba(X)
    inside = (wide.lower - 1e-9 <= p) & (p <= wide.upper + 1e-9)
    assert inside.mean() > 0.99
    assert (wide.lower <= narrow.lower).all()
    assert (narrow.upper <= wide.upper).all()
    assert (narrow.upper > narrow.lower).any()


def test_topic_intervals_surround_the_last_sample(sampled):
    interval = sampled.topic_intervals(0.95)
    assert interval.lower.shape == sampled.params_.topics.shape
    inside = (interval.lower <= sampled.params_.topics) & (sampled.params_.topics <= interval.upper)
    assert inside.mean() > 0.85


def test_chains_are_diagnosed(sampled):
    diagnosis = sampled.diagnose()
    assert 0.9 < diagnosis.r_hat < 5
    assert sampled.samples_.n_chains == 2
    assert sampled.trace_.outcome == "sampled"
    assert len(sampled.trace_.objective) == 30
    assert sampled.calibration_ == (1, 0)


@pytest.mark.parametrize("method", ["topic_intervals", "diagnose"])
def test_point_estimates_have_no_posterior(fitted, method):
    with pytest.raises(ValueError, match="fit with inference='gibbs'"):
        getattr(fitted, method)()


# ---- memory ----------------------------------------------------------------------------------


def peak_bytes(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def wide():
    drawn = make_topics(400, 5, 3000, n_topics=30, labels_per_row=30.0, random_state=0)
    kept = drawn.full.n_positives(axis=0) > 0
    return BMLPL(30, inference=EM(2, 0.0), random_state=0).fit(drawn.X, drawn.full[:, kept])


def test_prediction_never_holds_rows_x_labels_x_topics(wide):
    X = np.random.default_rng(0).normal(size=(300, 5))
    n_labels, n_topics = wide.params_.topics.shape
    wide.predict_proba(X[:2])
    peak = peak_bytes(lambda: wide.predict_proba(X))
    assert peak < 8 * 300 * n_labels * 6
    assert peak < 8 * 300 * n_labels * n_topics / 4


def test_memory_of_the_best_labels_does_not_grow_with_the_rows(wide, monkeypatch):
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 2**18)
    X = np.random.default_rng(0).normal(size=(4000, 5))
    wide.predict_topk(X[:2], 5)
    few, many = (peak_bytes(lambda n=n: wide.predict_topk(X[:n], 5)) for n in (500, 4000))
    assert many < few + 4000 * 5 * 16 * 3
    assert many < 8 * 4000 * wide.params_.topics.shape[0] / 3


def test_held_out_calibration_lowers_the_log_loss_of_new_rows():
    """Strong regularisation makes timid predictions, which rows outside the fit give away."""
    data = make_topics(
        900, 20, 20, n_topics=5, labels_per_row=3.0, eta=0.5, signal=2.0, random_state=0
    )
    train, test = slice(0, 600), slice(600, 900)
    losses, rankings = {}, {}
    for calibration in ("shift", "holdout"):
        model = BMLPL(tau=20.0, calibration=calibration, inference=EM(30, 0.0), random_state=0)
        model.fit(data.X[train], data.labels[train])
        probabilities = model.predict_proba(data.X[test]).clip(1e-9, 1 - 1e-9)
        losses[calibration] = metrics.log_loss(data.labels[test], probabilities)
        rankings[calibration] = metrics.auc(data.labels[test], probabilities, average="instance")
    assert model.calibration_.slope > 1
    assert losses["holdout"] < losses["shift"]
    assert rankings["holdout"] == pytest.approx(rankings["shift"], abs=0.01)


def test_held_out_calibration_needs_batch_em():
    with pytest.raises(ValueError, match="calibration='holdout'"):
        BMLPL(calibration="holdout", inference="online").fit(np.eye(4), np.eye(4))
