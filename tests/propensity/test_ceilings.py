import numpy as np
from scipy.special import expit

from labelgap.propensity import (
    as_far_as_told,
    fit_ceilings,
    highest_label_frequency,
)


def drawn(ceilings, n, rng):
    labels = np.repeat(np.arange(len(ceilings)), n)
    scores = 3 * rng.normal(size=labels.size) - 1
    return scores, rng.random(labels.size) < np.array(ceilings)[labels] * expit(scores), labels


def test_probabilities_level_off_where_entries_do():
    scores, hits, labels = drawn([0.9, 0.3], 20_000, np.random.default_rng(0))
    curves = fit_ceilings(scores, hits, labels, 2)
    for label, ceiling in ((0, 0.9), (1, 0.3)):
        top = curves.probabilities(np.array([[8.0, 8.0]]))[0, label]
        assert abs(top - ceiling) < 0.04


def test_a_rare_label_takes_the_ceiling_of_the_others():
    rng = np.random.default_rng(1)
    scores, hits, labels = drawn([0.6, 0.6, 0.6], 10_000, rng)
    few = np.flatnonzero(labels == 2)[:30]
    kept = np.r_[np.flatnonzero(labels < 2), few]
    curves = fit_ceilings(scores[kept], hits[kept], labels[kept], 3)
    assert abs(curves.ceilings[2] - 0.6) < 0.15


def test_probabilities_that_tell_nothing_become_the_mean():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 20_000)
    assert np.ptp(as_far_as_told(p, rng.random(p.size) < 0.3)) < 0.1
    told = as_far_as_told(p, rng.random(p.size) < p)
    assert np.abs(told - p).max() < 0.05


def test_a_plateau_excludes_that_all_are_recorded():
    rng = np.random.default_rng(0)
    n = np.full(300, 60)
    relevant = expit(np.linspace(-8, 8, 300))
    assert highest_label_frequency(n, rng.binomial(n, 0.5 * relevant)) < 0.7
    assert highest_label_frequency(n, rng.binomial(n, relevant)) == 1.0
