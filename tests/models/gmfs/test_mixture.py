"""A mixture of factor models: one component is one model, and the objective ascends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from labelgap import Labels
from labelgap.fitting import EM, LocalRows, Monitor, OnlineEM, run_em
from labelgap.models.gmfs import _gmfs_holdout
from labelgap.models.gmfs._gmfs_mixture import MixtureComponents, MixtureModel, MixtureParams
from labelgap.models.gmfs._gmfs_priors import PropensityModel
from models.gmfs.problems import fit, model_of, planted, quick, rows_of, tiny_problem


def scalar(rng, n, n_labels):
    return [[0.6]]


def start(tiny, n_components):
    parts = [tiny.params]
    for seed in range(1, n_components):
        other = tiny_problem(50 + seed, theta=scalar).params
        parts.append(other._replace(propensities=tiny.params.propensities))
    return MixtureParams(MixtureComponents(*parts), np.full(n_components, 1 / n_components))


def run(tiny, n_components, n_iter, sizes=None, learn=None):
    single = model_of(tiny, exact=False, propensity_model=PropensityModel(learn, 0.6, 1.0))
    rows = rows_of(tiny, sizes)
    assert isinstance(rows, LocalRows)
    model = MixtureModel(single)
    params, trace = run_em(model, rows, start(tiny, n_components), Monitor(n_iter, 0.0))
    return params, trace, rows


def test_one_component_is_one_model():
    tiny = tiny_problem(1, theta=scalar)
    params, trace, _ = run(tiny, 1, 6)
    single, _, single_trace = fit(tiny, model_of(tiny, exact=False), 6)
    np.testing.assert_allclose(params.components[0].weights, single.weights, rtol=1e-9)
    np.testing.assert_allclose(params.components[0].factors, single.factors, rtol=1e-9)
    np.testing.assert_allclose(trace.objective, single_trace.objective, rtol=1e-10)


@pytest.mark.parametrize("learn", [None, "global"])
@pytest.mark.parametrize("n_components", [2, 3])
def test_the_objective_never_gets_worse(n_components, learn):
    tiny = tiny_problem(2, theta=scalar, n=20)
    _, trace, _ = run(tiny, n_components, 50, learn=learn)
    gains = np.diff(trace.objective)
    assert gains.min() > -1e-9 * abs(trace.objective[-1])
    assert gains[:3].min() > 1e-6


def test_blocks_do_not_matter():
    tiny = tiny_problem(3, theta=scalar)
    whole, blocks = (run(tiny, 2, 5, sizes)[0] for sizes in (None, (1, 6, 4)))
    for one, other in zip(whole.components, blocks.components, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-8, atol=1e-10)


def test_responsibilities_are_probabilities():
    tiny = tiny_problem(4, theta=scalar)
    params, _, rows = run(tiny, 3, 10)
    (local,) = rows.local_states()
    np.testing.assert_allclose(local.assigned.sum(axis=1), 1)
    assert params.fractions.sum() == pytest.approx(1)
    assert local.assigned.std(axis=0).max() > 0.01


# -- the estimator -----------------------------------------------------------------------------


def two_kinds(n=600, seed=0):
    """Rows of two kinds, unknown to the model, whose labels answer the features differently."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    kind = rng.random(n) < 0.5
    W = rng.normal(size=(2, 6, 12))
    psi = 2 * np.where(kind[:, None], X @ W[0], X @ W[1]) / np.sqrt(6)
    return X, (rng.random(psi.shape) < expit(2 * psi)).astype(float), kind


def test_rows_of_two_kinds_are_told_apart():
    X, Y, kind = two_kinds()
    labels = Labels.from_dense(Y)
    model = quick(
        n_factors=4,
        n_components=2,
        label_frequency=1.0,
        propensity="fixed",
        inference=EM(60, 0.0),
        random_state=1,
    ).fit(X, labels)
    auc = roc_auc_score(kind, model._rows.assigned[:, 0])
    assert max(auc, 1 - auc) > 0.9
    assert model.trace_.largest_drop() < 1e-10
    np.testing.assert_allclose(model.mixture_fractions_, 0.5, atol=0.1)


def test_a_mixture_answers_everything():
    data = planted()
    model = quick(n_components=2, inference=EM(8, 0.0)).fit(data.X, data.labels)
    probabilities = model.predict_proba(data.X)
    assert probabilities.shape == (300, 10)
    np.testing.assert_allclose(expit(model.decision_function(data.X)), probabilities)
    chance = model.missing_label_proba()
    found = model.likely_missing(top=20)
    np.testing.assert_allclose(found.probability, -np.sort(-chance[~np.isnan(chance)])[:20])
    examined = np.asarray(model.examined_)
    assert ((examined > 0) & (examined <= 1 + 1e-9)).all()
    expected = sum(
        fraction * np.square(one.weights[:-1]).sum(axis=1)
        for fraction, one in zip(model.mixture_fractions_, model._components, strict=True)
    )
    np.testing.assert_allclose(model.scores_**2, expected)


def test_the_number_of_components_is_found():
    X, Y, _ = two_kinds()
    settings = {
        "n_factors": 4,
        "label_frequency": 1.0,
        "propensity": "fixed",
        "inference": EM(10, 0.0),
    }
    model = quick(n_components="holdout", **settings)
    model.fit(X, Labels.from_dense(Y).with_zeros("unlabeled"))
    assert model.n_components_ >= 2
    assert model.component_search_[2] > model.component_search_[1] + 0.02


@pytest.mark.parametrize(
    ("gains", "number"), [((0.001, 1.0), 1), ((0.1, 0.001), 2), ((0.1, 0.1, 0.1), 4)]
)
def test_one_more_component_while_the_gain_is_above_its_error(monkeypatch, gains, number):
    """Held-out terms of 400 entries: a gain of 0.1 is ten times its standard error."""
    noise = np.random.default_rng(0).normal(scale=0.2, size=(5, 400))
    means = np.cumsum([0.0, *gains])

    def terms(estimator, X, labels, hidden, rate, n, *, exact):
        assert not exact
        return iter([means[n - 1] + noise[n] - noise[n].mean()])

    monkeypatch.setattr(_gmfs_holdout, "_log_likelihoods", terms)
    data = planted()
    model = quick(n_components="holdout", inference=EM(2, 0.0)).fit(data.X, data.labels)
    assert model.n_components_ == number
    assert set(model.component_search_) == set(range(1, min(number + 1, 4) + 1))


def test_what_a_mixture_cannot_do():
    data = planted()
    for parameters in ({"propensity": "neighbors"}, {"inference": OnlineEM(50)}):
        with pytest.raises(ValueError, match="n_components=2"):
            quick(n_components=2, **parameters).fit(data.X, data.labels)
