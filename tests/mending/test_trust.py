"""Trials on rows that were set aside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from sklearn.metrics import log_loss

from labelgap.mending._trust import Plan, Trial, judge, set_aside, shrink

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
    np.testing.assert_allclose(shrink(same, np.full(5, 0.1))[0], same)
    far = np.array([-1.0, 0.0, 1.0])
    sure, _ = shrink(far, np.full(3, 1e-9))
    np.testing.assert_allclose(sure, far, atol=1e-6)
    noisy, mean = shrink(far, np.full(3, 100.0))
    np.testing.assert_allclose(noisy, mean)
    unmeasured, _ = shrink(np.array([0.5, 0.5, 9.0]), np.array([0.1, 0.1, np.inf]))
    assert unmeasured[2] == pytest.approx(0.5)


def test_rows_set_aside():
    learn, aside = set_aside(20, 0.25, np.random.default_rng(0))
    assert len(aside) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([learn, aside])), np.arange(20))
