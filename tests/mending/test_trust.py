"""Trials on rows that were set aside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from sklearn.metrics import log_loss

from labelgap.mending._trust import (
    Plan,
    Trial,
    Verdict,
    doubt_of_areas,
    judge,
    mean_loss,
    set_aside,
    shrink,
)

PLAIN, FULL = Plan(0.0, 1.0), Plan(1.0, 1.0)


def trial(plan, chances, values):
    return Trial(plan, [logit(one) for one in chances], values)


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    return [(rng.random(200) < 0.3).astype(int) for _ in range(4)]


def test_the_plan_with_the_smallest_log_loss(values):
    good = [np.where(one == 1, 0.6, 0.2) for one in values]
    poor = [np.full(200, 0.3) for _ in values]
    verdict = judge([trial(PLAIN, poor, values), trial(FULL, good, values)],
                    np.arange(4), 6, are_logits=True)  # fmt: skip
    assert verdict.plan == FULL
    assert verdict.used_for.all()
    assert verdict.log_losses[FULL] == pytest.approx(
        log_loss(np.concatenate(values), np.concatenate(good))
    )
    back = judge([trial(PLAIN, good, values), trial(FULL, poor, values)],
                 np.arange(4), 6, are_logits=True)  # fmt: skip
    assert back.plan == PLAIN
    assert not back.used_for.any()


def test_a_label_that_loses_is_left_alone(values):
    good = [np.where(one == 1, 0.6, 0.2) for one in values]
    mixed = [*good[:3], np.where(values[3] == 1, 0.1, 0.6)]
    plain = [np.full(200, 0.3) for _ in values]
    verdict = judge([trial(PLAIN, plain, values), trial(FULL, mixed, values)],
                    np.array([0, 1, 2, 4]), 6, are_logits=True)  # fmt: skip
    np.testing.assert_array_equal(verdict.used_for[[0, 1, 2, 4]], [True, True, True, False])
    # those that were not measured go by the rest
    assert verdict.used_for[3] == verdict.used_for[5] == (np.mean(verdict.expected) > 0)


def test_relevance_is_judged_by_what_is_recorded():
    rng = np.random.default_rng(0)
    relevant = rng.uniform(0.05, 0.95, 5000)
    recorded = (rng.random(5000) < 0.5 * relevant).astype(int)
    halved, whole = (
        trial(Plan(1.0, 0.5), [relevant], [recorded]),
        trial(PLAIN, [relevant], [recorded]),
    )
    verdict = judge([whole, halved], np.array([0]), 1, are_logits=True)
    assert verdict.plan.recorded == 0.5
    expected = log_loss(recorded, 0.5 * relevant)
    assert verdict.log_losses[verdict.plan] == pytest.approx(expected)


def test_shrinking():
    same = np.full(5, 0.2)
    found = shrink(same, np.full(5, 0.1))
    np.testing.assert_allclose(found.values, same)
    # nothing lies between, so that five measurements are of one thing
    np.testing.assert_allclose(found.spread, np.sqrt(0.1 / 5))
    assert found.doubt == pytest.approx(np.sqrt(0.1 / 5))
    far = np.array([-1.0, 0.0, 1.0])
    sure = shrink(far, np.full(3, 1e-9))
    np.testing.assert_allclose(sure.values, far, atol=1e-6)
    np.testing.assert_allclose(sure.spread, np.sqrt(1e-9), rtol=1e-3)
    noisy = shrink(far, np.full(3, 100.0))
    np.testing.assert_allclose(noisy.values, noisy.mean)
    unmeasured = shrink(np.array([0.5, 0.5, 9.0]), np.array([0.1, 0.1, np.inf]))
    assert unmeasured.values[2] == pytest.approx(0.5)
    assert np.isfinite(unmeasured.spread).all()


def test_rows_set_aside():
    learn, aside = set_aside(20, 0.25, np.random.default_rng(0))
    assert len(aside) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([learn, aside])), np.arange(20))


def test_doubt_of_areas_against_pairs():
    rng = np.random.default_rng(3)
    values = [(rng.random(40) < 0.4).astype(int) for _ in range(2)]
    first = [rng.integers(0, 6, 40) + one for one in values]
    second = [rng.integers(0, 6, 40) + 2 * one for one in values]
    y = np.concatenate(values)
    wins = []
    for scores in (np.concatenate(first), np.concatenate(second)):
        above, below = scores[y == 1][:, None], scores[y == 0][None, :]
        wins.append((above > below) + 0.5 * (above == below))
    difference = wins[0] - wins[1]
    expected = (
        difference.mean(axis=1).var() / (y == 1).sum()
        + difference.mean(axis=0).var() / (y == 0).sum()
    ) ** 0.5
    found = doubt_of_areas(Trial(PLAIN, first, values), Trial(FULL, second, values))
    assert found == pytest.approx(expected)
    assert doubt_of_areas(Trial(PLAIN, [np.zeros(3)], [np.ones(3)]), None) == 0


@pytest.mark.parametrize(("loss", "used"), [(0.02, True), (1.0, False)])
def test_completion_has_the_benefit_of_the_doubt(values, loss, used):
    """A little worse is within what trials cannot tell."""
    rng = np.random.default_rng(3)
    told = [one + rng.normal(size=200) for one in values]
    scores = [one + 0.5 * rng.normal(size=200) for one in told]
    worse = [
        one + 0.5 * rng.normal(size=200) - loss * y for one, y in zip(told, values, strict=True)
    ]
    trials = [Trial(PLAIN, scores, values), Trial(FULL, worse, values)]
    verdict = judge(trials, np.arange(4), 4, are_logits=True)
    assert verdict.areas[FULL] < verdict.areas[PLAIN]
    assert (verdict.plan == FULL) is used


def test_a_rate_for_each_label_is_that_of_its_place():
    rng = np.random.default_rng(0)
    relevant = [rng.uniform(0.05, 0.95, 4000) for _ in range(2)]
    rates = (0.9, 0.2, 0.5)
    places = [2, 1]
    true = [rates[place] * one for place, one in zip(places, relevant, strict=True)]
    recorded = [(rng.random(4000) < one).astype(int) for one in true]
    one = Trial(Plan(1.0, rates), [logit(r) for r in relevant], recorded, places)
    assert one.rates == [0.5, 0.2]
    assert one._replace(labels=None).rates == [0.9, 0.2]
    expected = np.mean([log_loss(y, p) for y, p in zip(recorded, true, strict=True)])
    assert mean_loss(one, are_logits=True) == pytest.approx(expected)


def test_the_first_round_with_the_least_loss():
    empty = np.empty(0)
    verdict = Verdict(FULL, empty, {}, {}, empty, empty, empty)
    assert verdict.n_rounds == 1
    assert verdict._replace(round_losses=(0.5, 0.4, 0.4)).n_rounds == 2
