"""Streams: online fits and mini-batches one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from labelgap.baselines import LabelPrior
from labelgap.fitting import EM, FitDivergedError, OnlineEM
from labelgap.models.bmlpl import BMLPL
from labelgap.models.bmlpl._bmlpl_em import with_unseen_labels
from models.bmlpl.problems import held_out, instance_auc, training


def online(batch_rows=100, n_passes=3, **settings):
    settings = {"random_state": 0} | settings
    return BMLPL(4, inference=OnlineEM(batch_rows, n_passes), **settings)


def score(model):
    X, Y = held_out()
    return instance_auc(Y, model.predict_proba(X))


def batches(size=100):
    X, Y = training()
    return [(X[start : start + size], Y[start : start + size]) for start in range(0, len(X), size)]


def test_mini_batches_come_near_the_batch_fit():
    batch = BMLPL(4, inference=EM(60, 0.0), random_state=0).fit(*training())
    prior = score(LabelPrior().fit(*training()))
    model = online(n_passes=5).fit(*training())
    assert score(model) - prior > 0.8 * (score(batch) - prior)
    assert model.trace_.n_iter == 50
    assert model.trace_.objective[-1] > model.trace_.objective[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch_rows", [3, 40])
def test_labels_missing_from_the_first_mini_batch_are_learned(batch_rows, dtype):
    X, Y = training()
    model = online(batch_rows, 2).fit(X.astype(dtype), Y)
    expected = model.predict_proba(X).sum(axis=0)
    assert (expected > 0.4 * Y.n_positives(axis=0)).all()
    assert (expected < 2.5 * Y.n_positives(axis=0)).all()


def test_labels_without_weight_keep_the_one_they_had():
    before = np.array([[0.2, 0.5], [0.5, 0.2], [0.3, 0.3]])
    fresh = np.array([[0.9, 0.6], [0.0, 0.0], [0.1, 0.4]])
    found = with_unseen_labels(fresh, before)
    np.testing.assert_allclose(found[1], before[1])
    np.testing.assert_allclose(found.sum(axis=0), 1)
    np.testing.assert_allclose(found[0] / found[2], fresh[0] / fresh[2])
    assert with_unseen_labels(before, fresh) is before
    np.testing.assert_allclose(with_unseen_labels(np.zeros((3, 2)), before), before)


def test_a_callback_stops_an_online_fit():
    model = online(callback=lambda progress: progress.iteration == 4).fit(*training())
    assert model.trace_.outcome == "stopped"
    assert model.trace_.n_iter == 5


def test_a_stream_improves():
    model = BMLPL(4, random_state=0)
    scores, told = [], []
    model.set_params(callback=told.append)
    for _ in range(4):
        for X, Y in batches():
            model.partial_fit(X, Y, total_rows=1000)
        scores.append(score(model))
    assert scores[-1] > scores[0]
    assert scores[-1] > score(LabelPrior().fit(*training())) + 0.03
    assert len(told) == model.trace_.n_iter == 40
    assert [progress.iteration for progress in told] == list(range(40))


def test_a_stream_without_positives_at_first_learns_later():
    (X, Y), *others = batches()
    model = BMLPL(4, random_state=0).partial_fit(X, np.zeros(Y.shape))
    for X, Y in others * 3:
        model.partial_fit(X, Y)
    assert np.linalg.matrix_rank(model.params_.topics, tol=1e-3) == 4
    assert score(model) > score(LabelPrior().fit(*training())) + 0.02


def test_classes_of_a_stream_are_told_beforehand():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = BMLPL(random_state=0, tau=1e-3)
    first = y < 3
    model.partial_fit(X[first], y[first], classes=range(10))
    assert model.classes_.tolist() == list(range(10))
    order = np.random.default_rng(0).permutation(len(y))
    for _ in range(3):
        for part in np.array_split(order[:1200], 12):
            model.partial_fit(X[part], y[part])
    assert model.score(X[order[1200:]], y[order[1200:]]) > 0.85
    with pytest.raises(ValueError, match="is not one of the classes"):
        model.partial_fit(X[:2], [3, 11])


def test_label_columns_may_not_change():
    (X, Y), *_ = batches()
    model = BMLPL(4, random_state=0).partial_fit(X, Y)
    with pytest.raises(ValueError, match="y has 5 labels, earlier mini-batches had 20"):
        model.partial_fit(X, Y[:, :5])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], Y)


def test_labels_are_found_by_their_names():
    (X, Y), *_ = batches()
    Y = Y.with_names([f"tag {j}" for j in range(20)])
    model = BMLPL(4, random_state=0).partial_fit(X, Y).partial_fit(X, Y)
    turned = BMLPL(4, random_state=0).partial_fit(X, Y)
    turned.partial_fit(X, Y[:, np.arange(20)[::-1]])
    np.testing.assert_array_equal(turned.params_.topics, model.params_.topics)
    with pytest.raises(ValueError, match="label 'oak' is not among the 20 known labels"):
        model.partial_fit(X, Y.with_names(["oak", *Y.names[1:]]))


def test_a_fit_ends_a_stream():
    (X, Y), *_ = batches()
    model = BMLPL(4, inference=EM(5, 0.0), random_state=0).partial_fit(X[:, :3], Y)
    model.fit(X, Y)
    expected = BMLPL(4, inference=EM(5, 0.0), random_state=0).partial_fit(X, Y)
    model.partial_fit(X, Y)
    np.testing.assert_array_equal(model.params_.topics, expected.params_.topics)


def test_a_stream_that_diverges_says_so():
    (X, Y), *_ = batches()
    wild = (np.full((20, 4), 1 / 20), np.full((7, 4), 1e200))
    with pytest.raises(FitDivergedError, match="scale the features"), np.errstate(all="ignore"):
        BMLPL(4, init=wild, random_state=0).partial_fit(X, Y)
