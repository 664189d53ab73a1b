"""theta: from neighbours against the formula entry by entry, and as it is given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import GMFS, State
from labelgap.fitting import EM
from labelgap.kernels.neighbors import nearest_rows
from labelgap.models.gmfs import _gmfs_priors
from labelgap.models.gmfs._gmfs_priors import ExaminedStats, PropensityModel, excess_examined
from models.gmfs.problems import planted, quick
from reference import gmfs as slow


@pytest.mark.parametrize("negligible", [0.0, 1e-3])
def test_neighbor_rates_are_those_of_the_formula(monkeypatch, negligible):
    monkeypatch.setattr(_gmfs_priors, "NEGLIGIBLE", negligible)
    rng = np.random.default_rng(0)
    states = rng.choice([1, 2, 3, 4], size=(12, 5), p=[0.3, 0.1, 0.2, 0.4])
    gamma = np.where(states == 4, rng.random(states.shape), np.where(states == 3, 0.0, 1.0))
    told = (states == 1) | (states == 4)
    neighbors = [rng.choice(12, 3, replace=False) for _ in range(12)]
    graph = sparse.csr_array(
        (np.ones(36), np.concatenate(neighbors), np.arange(0, 37, 3)), shape=(12, 12)
    )
    kappa = np.where(states == 1, 0.5, -0.5) * gamma
    typical = rng.random(5)
    propensity_model = PropensityModel("neighbors", 0.6, 0.5, graph, 5.0)
    stats = ExaminedStats(
        (gamma * (states == 4)).sum(axis=0),
        (states == 1).sum(axis=0).astype(float),
        (states == 4).sum(axis=0).astype(float),
    )
    found = propensity_model.neighbor_propensities(stats, typical, excess_examined(kappa, typical))
    expected = slow.neighbor_theta(gamma, told, neighbors, rate=0.6, weight=0.5, s=5.0)
    tolerance = 1e-6 if negligible == 0 else 1e-3
    np.testing.assert_allclose(found.rows(slice(0, 12)), expected, atol=tolerance)
    np.testing.assert_array_equal(found.rows(slice(3, 7)), found.rows(slice(0, 12))[3:7])


def test_neighbors_are_taken_into_account_and_then_frozen():
    data = planted()
    model = quick(propensity="neighbors", n_neighbors=10, inference=EM(25, 0.0, solver="exact"))
    model.fit(data.X, data.labels)
    theta = model._rows.theta(slice(0, 300))
    assert theta.std(axis=0).min() > 0
    # where more neighbours carry a label, somebody looked more probably
    graph = nearest_rows(data.X, 10)
    around = (graph @ data.labels.positives().astype(float)).toarray()
    for j in range(3):
        assert np.corrcoef(around[:, j], theta[:, j])[0, 1] > 0.5
    assert model.propensity_trace_ is not None
    assert model.propensity_trace_.n_iter == 10
    assert model.trace_.largest_drop() < 1e-10


def test_without_neighbors_they_are_label_rates():
    data = planted()
    settings = {"inference": EM(10, 0.0, solver="exact"), "label_frequency_weight": 0.5}
    near = quick(propensity="neighbors", n_neighbors=0, **settings).fit(data.X, data.labels)
    theta = near._rows.theta(slice(0, 300))
    np.testing.assert_allclose(theta, np.broadcast_to(near.propensity_, theta.shape), rtol=1e-12)


@pytest.mark.parametrize("learn", ["per_label", "global"])
def test_objective_with_learned_rates_ascends(learn):
    data = planted()
    model = quick(propensity=learn).fit(data.X, data.labels)
    assert model.trace_.largest_drop() < 1e-10
    assert model.propensity_.shape == (1, 10 if learn == "per_label" else 1)


def test_given_graph_and_search_agree():
    data = planted()
    found = quick(propensity="neighbors", n_neighbors=4).fit(data.X, data.labels)
    graph = nearest_rows(data.X, 4) * 17.0
    given = quick(propensity="neighbors", neighbors=graph).fit(data.X, data.labels)
    np.testing.assert_array_equal(given.scores_, found.scores_)


def test_approximate_neighbors_choose_nearly_the_same():
    if not hasattr(pytest.importorskip("pynndescent"), "NNDescent"):
        pytest.skip("pynndescent is not installed")
    data = planted()
    settings = {"propensity": "neighbors", "n_neighbors": 10}
    exact, near = (
        quick(**settings, neighbors=how).fit(data.X, data.labels)
        for how in ("exact", "approximate")
    )
    np.testing.assert_allclose(near.scores_, exact.scores_, rtol=0.02)


@pytest.mark.parametrize("shape", [(), (10,), (300, 1), (300, 10)])
def test_given_rates_stay_and_agree_when_equal(shape):
    data = planted()
    model = quick(label_frequency=np.full(shape, 0.6), propensity="fixed").fit(data.X, data.labels)
    reference = quick(label_frequency=0.6, propensity="fixed").fit(data.X, data.labels)
    np.testing.assert_allclose(model.scores_, reference.scores_, rtol=1e-9)
    assert (model.propensity_ == 0.6).all()


def test_where_little_is_recorded_a_zero_says_little():
    """A per-entry prior: zeros of rows nobody looked at pull predictions down less."""
    data = planted()
    rates = np.full((300, 1), 0.95)
    rates[:150] = 0.05
    examined = np.asarray(
        quick(label_frequency=rates, propensity="fixed").fit(data.X, data.labels).examined_
    )
    unlabeled = data.labels.states() == State.UNLABELED
    assert examined[:150][unlabeled[:150]].max() < 0.06
    assert np.median(examined[150:][unlabeled[150:]]) > 0.5


def test_a_rate_of_one_makes_every_zero_a_zero():
    data = planted()
    sure = quick(label_frequency=1.0, propensity="fixed").fit(data.X, data.labels)
    zeros = quick(label_frequency=0.3, propensity="fixed").fit(
        data.X, data.labels.with_zeros("negative")
    )
    np.testing.assert_allclose(sure.scores_, zeros.scores_, rtol=1e-9)
    assert np.nanmax(sure.missing_label_proba()) == 0


@pytest.mark.parametrize("rate", [0.9, 0.5])
def test_the_rate_that_predicts_best_is_near_the_true_one(rate):
    data = planted(800, 12, 12, rate=rate)
    model = GMFS(3, propensity="global", label_frequency_weight=100.0, random_state=0)
    model.fit(data.X, data.labels)
    assert abs(float(model.propensity_[0, 0]) - rate) <= 0.15
    assert len(model.label_frequency_search_) >= 3


def test_nothing_is_searched_where_nothing_is_unlabeled():
    data = planted()
    model = GMFS(3, inference=EM(3, 0.0), random_state=0)
    assert model.fit(data.X, data.full).label_frequency_search_ == {}
