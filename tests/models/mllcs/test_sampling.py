"""Gibbs sampling through chains and through the estimator."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import integrate, sparse, stats
from scipy.special import expit

from labelgap import Labels
from labelgap.cooccurrence import count_cooccurrence
from labelgap.fitting import Gibbs, LocalRows
from labelgap.kernels.products import prepare_features
from labelgap.models.mllcs import MLLCS
from labelgap.models.mllcs._mllcs_em import CooccurrenceModel
from labelgap.models.mllcs._mllcs_gibbs import SampledCooccurrenceModel
from labelgap.models.mllcs._mllcs_posterior import (
    OtherLabels,
    PosteriorPredictions,
    draw_label_chains,
    expected_sigmoid,
)
from labelgap.models.mllcs._mllcs_rows import MLLCSBlock
from labelgap.propensity import unlabeled_posterior
from models.mllcs.brute_force import SETTINGS, tiny_problem

RULES = ("moments", "constrained", "linear", "kernel")
FEW = Gibbs(4, 2, n_chains=2, start_iter=2, solver="exact")


@cache
def chains():
    problem = tiny_problem(3, label_frequency=0.7)
    model = CooccurrenceModel(problem.counts, np.array([1.0, 1.5, 0.4]), **SETTINGS)
    rows = LocalRows([MLLCSBlock(0, prepare_features(problem.X), problem.labels.states())])
    start = problem.params._replace(label_frequency=np.linspace(0.5, 0.8, 4))

    def draw(**changes):
        arguments = {"starts": [start, start], "n_burn_in": 2, "n_draws": 6, "seed": 1} | changes
        return draw_label_chains(SampledCooccurrenceModel(model), rows, **arguments)[0]

    return problem.X, draw


def about(samples):
    return PosteriorPredictions(samples, SETTINGS["lambda_u"])


@cache
def label_problem():
    """60 rows with 9 labels of two factors, 6 of them seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    psi = X @ rng.normal(size=(4, 2)) @ rng.normal(size=(2, 9)) - 0.5
    labels = Labels.from_dense((rng.random(psi.shape) < expit(psi)).astype(int))
    counts = count_cooccurrence(labels).rows(range(6))
    return X, labels[:, np.arange(6)], counts


def fitted(**settings):
    X, labels, counts = label_problem()
    model = MLLCS(2, random_state=0, **{"inference": FEW, **settings})
    return X, model.fit(X, labels, cooccurrence=counts)


# ---- chains ----------------------------------------------------------------------------------


def test_thinning_keeps_every_other_draw_of_the_same_chain():
    _, draw = chains()
    every = draw(n_burn_in=0, n_draws=9)
    thinned = draw(n_burn_in=3, n_draws=3, thin=2)
    np.testing.assert_array_equal(thinned.draws.weights, every.draws.weights[:, 4::2])
    np.testing.assert_array_equal(thinned.log_posterior, every.log_posterior)
    assert (thinned.n_chains, thinned.n_draws, len(thinned)) == (2, 3, 6)
    np.testing.assert_array_equal(thinned[4].bias, thinned.draws.bias[1, 1])
    np.testing.assert_array_equal(thinned.spaced(3), [1, 3, 5])
    np.testing.assert_array_equal(thinned.spaced(50), np.arange(6))


def test_chains_differ_and_report_progress():
    _, draw = chains()
    told = []
    samples = draw(n_burn_in=1, n_draws=4, dtype=np.float32, callback=told.append)
    assert samples.draws.weights.dtype == np.float32
    assert (samples.draws.weights[0, 0] != samples.draws.weights[1, 0]).all()
    assert [progress.iteration for progress in told] == list(range(10))
    assert samples.diagnose_log_posterior().r_hat > 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_draws": 0}, "n_draws=0"),
        ({"n_burn_in": -1}, "n_burn_in=-1"),
        ({"thin": 0}, "thin=0"),
        ({"starts": []}, "starts is empty"),
    ],
)
def test_chain_lengths_are_checked(changes, message):
    _, draw = chains()
    with pytest.raises(ValueError, match=message):
        draw(**changes)


@pytest.mark.parametrize("sd", [0.0, 0.5, 2.0, 3.0, 6.0])
def test_expected_sigmoids_agree_with_integration(sd):
    mean = np.array([[-9.0, -2.0, 0.0, 4.0]])
    found = expected_sigmoid(mean, np.full(4, sd**2))[0]
    for value, center in zip(found, mean[0], strict=True):
        exact, _ = integrate.quad(
            lambda z, c=center: expit(c + sd * z) * stats.norm.pdf(z), -12, 12, epsabs=1e-12
        )
        np.testing.assert_allclose(value, exact, rtol=0.01, atol=1e-9)
        assert abs(value - exact) < 1e-3


def test_predictions_are_averages_and_intervals_quantiles():
    X, draw = chains()
    samples, features = draw(), prepare_features(X)
    p, psi, zeros = [], [], []
    for d in samples:
        mean = X @ d.weights[:-1] + d.weights[-1]
        variance = np.square(d.factors).sum(axis=1) / SETTINGS["lambda_u"]
        p.append(expected_sigmoid(mean @ d.factors.T + d.bias, variance))
        drawn = mean + d.noise / np.sqrt(SETTINGS["lambda_u"])
        psi.append(drawn @ d.factors.T + d.bias)
        zeros.append((1 - d.label_frequency) * p[-1] / (1 - d.label_frequency * p[-1]))
    np.testing.assert_allclose(about(samples).seen(features), np.mean(p, axis=0))
    interval = about(samples).intervals(features, level=0.8)
    np.testing.assert_allclose(interval.lower, expit(np.quantile(psi, 0.1, axis=0)))
    np.testing.assert_allclose(interval.upper, expit(np.quantile(psi, 0.9, axis=0)))
    found = about(samples).missing_labels(features)
    assert (found >= np.min(zeros, axis=0)).all()
    assert (found <= np.max(zeros, axis=0)).all()
    one = draw(starts=[samples_start()], n_draws=1)
    alone = about(one).seen(features)
    np.testing.assert_allclose(
        about(one).missing_labels(features),
        unlabeled_posterior(np.log(alone / (1 - alone)), one.draws.label_frequency[0, 0]),
    )
    with pytest.raises(ValueError, match="level=1"):
        about(samples).intervals(features, level=1)


def samples_start():
    return tiny_problem(3, label_frequency=0.7).params._replace(label_frequency=np.full(4, 0.6))


def test_labels_outside_the_chains_are_predicted_by_their_own_factors():
    X, draw = chains()
    samples, features = draw(), prepare_features(X)
    chosen = samples.spaced(5)
    seen = OtherLabels(
        chosen,
        np.stack([samples[i].factors for i in chosen]),
        np.stack([samples[i].bias for i in chosen]),
    )
    with_rows = about(samples).others(seen, features, True)
    psi = [
        (X @ samples[i].weights[:-1] + samples[i].weights[-1]) @ samples[i].factors.T
        + samples[i].bias
        for i in chosen
    ]
    np.testing.assert_allclose(
        about(samples).others(seen, features, False), np.mean(expit(psi), axis=0)
    )
    assert not np.allclose(with_rows, np.mean(expit(psi), axis=0))
    # a further error of psi: one per draw and label, the same for all rows
    error = 5 * np.random.default_rng(0).standard_normal((4, 5)).T[:, None]
    noise = [samples[i].factors @ samples[i].noise for i in chosen]
    drawn = np.array(psi) + np.array(noise)[:, None] / np.sqrt(SETTINGS["lambda_u"]) + error
    wide = about(samples).intervals(features, 0.8, seen, other_error=5.0)
    np.testing.assert_allclose(wide.lower, expit(np.quantile(drawn, 0.1, axis=0)))
    np.testing.assert_allclose(wide.upper, expit(np.quantile(drawn, 0.9, axis=0)))


# ---- the estimator ---------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_unseen_labels_are_predicted_by_every_rule(rule):
    X, model = fitted(unseen=rule)
    p = model.predict_proba(X)
    assert p.shape == (60, 9)
    assert ((p > 0) & (p < 1)).all()
    interval = model.predict_interval(X, labels="unseen")
    assert interval.lower.shape == (60, 3)
    assert (interval.lower < interval.upper).all()
    assert len(model._sampled_unseen.labels.draws) == 8
    assert 0 < model.rule_error_ < 20
    # what a row is told does not depend on the rows beside it
    np.testing.assert_allclose(model.predict_proba(X[:3]), p[:3], rtol=1e-6)
    narrow = model.predict_interval(X[:3], labels="unseen")
    np.testing.assert_allclose(narrow.lower, interval.lower[:3], rtol=1e-5)


@pytest.mark.parametrize("rule", ["moments", "linear"])
def test_a_label_added_later_is_like_one_that_was_there(rule):
    X, labels, counts = label_problem()
    all_at_once = MLLCS(2, unseen=rule, inference=FEW, count_weight=0, random_state=0)
    all_at_once.fit(X, labels, cooccurrence=counts)
    first = counts.columns(range(8))
    later = MLLCS(2, unseen=rule, inference=FEW, count_weight=0, random_state=0)
    later.fit(X, labels, cooccurrence=first)
    before = later.predict_proba(X)
    # without counts in the factors chains are the same, whatever is unseen
    later.add_labels(counts.dense()[:, 8], ["new"])
    after = later.predict_proba(X)
    np.testing.assert_array_equal(after[:, :8], before)
    if rule == "moments":
        np.testing.assert_allclose(after[:, 8], all_at_once.predict_proba(X)[:, 8], atol=0.02)
    lower, upper = later.predict_interval(X)
    assert lower.shape == (60, 9)
    assert (lower <= upper).all()


def test_all_labels_may_be_seen():
    X, labels, _ = label_problem()
    model = MLLCS(2, inference=FEW, random_state=0).fit(X, labels)
    assert model.predict_proba(X).shape == (60, 6)
    assert model.samples_.n_chains == 2


def test_a_fit_is_reproducible_and_seeds_matter():
    X, one = fitted(block_rows=20)
    _, again = fitted(block_rows=20)
    np.testing.assert_array_equal(one.decision_function(X), again.decision_function(X))
    _, whole = fitted()
    assert not np.allclose(one.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(one.trace_.objective, one.samples_.log_posterior[-1])
    assert one.trace_.outcome == "sampled"


def test_everything_can_be_learned_at_once():
    X, labels, counts = label_problem()
    model = MLLCS(
        2, r="learn", label_frequency="estimate", joint=True, inference=FEW, random_state=0
    )
    unlabeled = Labels.from_dense(labels.to_dense(), zeros="unlabeled")
    model.fit(X, unlabeled, cooccurrence=counts)
    assert np.ptp(model.samples_.draws.r) > 0
    assert np.ptp(model.samples_.draws.label_frequency) > 0
    forgotten = model.missing_label_proba(X, unlabeled)
    np.testing.assert_array_equal(np.isnan(forgotten), unlabeled.states() != 4)
    known = forgotten[~np.isnan(forgotten)]
    assert ((known > 0) & (known < 1)).all()


def test_diagnoses_need_chains():
    X, model = fitted()
    assert model.diagnose().r_hat.shape == ()
    assert model.diagnose(X[:5]).ess_bulk.shape == (5, 6)
    _, by_em = fitted(inference="em")
    assert by_em.samples_ is None
    with pytest.raises(ValueError, match="inference='gibbs'"):
        by_em.diagnose()


@pytest.mark.parametrize("kind", [np.float32, sparse.csr_array])
def test_single_precision_and_sparse_features_change_little(kind):
    """After one sweep: later ones magnify rounding, since draws are rejected or not."""
    X, labels, counts = label_problem()
    once = Gibbs(1, 0, n_chains=1, start_iter=0, solver="exact")
    # a weight that makes no shape of a Polya-Gamma draw 1 but for rounding: 1 has its own method
    plain, other = (MLLCS(2, count_weight=0.37, inference=once, random_state=0) for _ in "12")
    plain.fit(X, labels, cooccurrence=counts)
    converted = X.astype(kind) if kind is np.float32 else kind(X)
    other.fit(converted, labels, cooccurrence=counts)
    found, expected = other.predict_proba(converted), plain.predict_proba(X)
    np.testing.assert_allclose(found[:, :6], expected[:, :6], rtol=1e-3)
    # moments are matched to the precision of the features
    np.testing.assert_allclose(found[:, 6:], expected[:, 6:], atol=5e-3)


def test_what_gibbs_cannot_do_is_refused():
    X, model = fitted()
    with pytest.raises(ValueError, match="fold_in needs a fit by EM"):
        model.fold_in(X, np.ones(60), model.classes_[:1])
    with pytest.raises(ValueError, match="device='cpu'"):
        fitted(device="cpu")
    with pytest.raises(ValueError, match="n_draws"):
        fitted(inference=Gibbs(0))


@pytest.mark.slow
def test_probabilities_are_recovered_from_the_models_own_samples():
    """Rows of the model's own prior: psi is found, and credible intervals cover it."""
    rng = np.random.default_rng(5)
    n, d, k, n_labels = 600, 5, 2, 12
    X = rng.normal(size=(n, d))
    W, V = rng.normal(size=(d, k)) / np.sqrt(2.0), rng.normal(size=(n_labels, k))
    b = rng.normal(size=n_labels) - 0.5
    psi = X @ W @ V.T + b
    U = X @ W + rng.normal(size=(n, k)) / 2
    labels = Labels.from_dense((rng.random(psi.shape) < expit(U @ V.T + b)).astype(int))
    model = MLLCS(
        k,
        lambda_u=4.0,
        lambda_w=0.4,
        count_weight=0,
        inference=Gibbs(400, 400, solver="exact"),
        random_state=0,
    ).fit(X, labels)
    new = rng.normal(size=(200, d))
    truth = (new @ W + rng.normal(size=(200, k)) / 2) @ V.T + b
    interval = model.predict_interval(new, level=0.9)
    covered = (interval.lower <= expit(truth)) & (expit(truth) <= interval.upper)
    assert 0.83 < covered.mean() < 0.97
    exact = expected_sigmoid(new @ W @ V.T + b, np.square(V).sum(axis=1) / 4)
    assert np.abs(model.predict_proba(new) - exact).mean() < 0.05
    assert np.nanmedian(model.diagnose(new[:20]).r_hat) < 1.1
