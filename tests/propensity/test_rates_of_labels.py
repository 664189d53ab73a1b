"""A label frequency for each label: told apart where labels differ, one rate where they are only hard."""

import numpy as np
import pytest

from labelgap.propensity import LabelRates, estimate_label_rates, unlabeled_posterior

SCORES = np.linspace(-6, 6, 300)


def counts(rates, steepness, level, n_per_bin=40, seed=0):
    rng = np.random.default_rng(seed)
    n = np.full((len(rates), SCORES.size), n_per_bin)
    relevance = 1 / (1 + np.exp(np.asarray(level)[:, None] - np.multiply.outer(steepness, SCORES)))
    return n, rng.binomial(n, np.asarray(rates)[:, None] * relevance)


def test_labels_that_differ_are_told_apart():
    true = np.array([0.25, 0.4, 0.6, 0.8, 0.95] * 3)
    rates = estimate_label_rates([counts(true, np.full(15, 3.0), np.full(15, 3.0))])
    assert rates.told_apart() > 0.8
    assert np.abs(rates.mean() - true).max() < 0.1
    assert ((rates.quantile(0.025) <= true) & (true <= rates.quantile(0.975))).mean() >= 0.9


def test_labels_that_are_hard_to_predict_are_not_recorded_less_often():
    """The ceiling of each label is another where features cannot tell similar items apart."""
    rng = np.random.default_rng(1)
    ceilings = 0.6 * np.exp(-np.abs(rng.normal(0, 0.6, 150)))
    n, hits = counts(ceilings, np.full(150, 4.0), np.full(150, 14.0), n_per_bin=3)
    rates = estimate_label_rates([(n, hits)])
    assert rates.told_apart() < 0.3
    assert rates.mean().mean() == pytest.approx(0.6, abs=0.1)


def test_a_label_without_evidence_takes_the_rate_of_the_others():
    n, hits = counts([0.5] * 8 + [0.5], [3.0] * 8 + [0.2], [3.0] * 8 + [5.0])
    mean = estimate_label_rates([(n, hits)]).mean()
    assert mean[-1] == pytest.approx(mean[:-1].mean(), abs=0.1)


def test_more_probable_entries_stay_more_probable():
    rates = estimate_label_rates([counts([0.3, 0.9], [3.0, 3.0], [2.0, 2.0])])
    found = rates.unrecorded(np.linspace(0.001, 0.999, 500))
    assert (np.diff(found, axis=1) > 0).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_one_certain_rate_is_the_posterior_of_that_rate():
    rates = LabelRates(np.array([0.6]), np.ones((1, 1)))
    relevance = np.linspace(0.01, 0.9, 20)
    expected = unlabeled_posterior(np.log(relevance / (1 - relevance)), 0.6)
    np.testing.assert_allclose(rates.unrecorded(0.6 * relevance)[0], expected)
    np.testing.assert_allclose(rates.missing_per_positive(), 2 / 3)
