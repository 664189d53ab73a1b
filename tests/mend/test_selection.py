"""Candidates compared on rows that were held out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit
from sklearn.metrics import log_loss

from labelgap.mend._selection import (
    PLAIN,
    Candidate,
    ValidationResult,
    area_difference_error,
    hold_out,
    score_candidate,
    select_candidate,
    shrink,
)

FULL = Candidate(1.0, 1.0)


def scored(candidate, probabilities, values):
    return score_candidate(candidate, [logit(p) for p in probabilities], values)


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    return [(rng.random(200) < 0.3).astype(int) for _ in range(4)]


def test_the_candidate_with_the_smallest_log_loss(values):
    good = [np.where(one == 1, 0.6, 0.2) for one in values]
    poor = [np.full(200, 0.3) for _ in values]
    result = select_candidate([scored(PLAIN, poor, values), scored(FULL, good, values)],
                    np.arange(4), 6)  # fmt: skip
    assert result.candidate == FULL
    assert result.used_for.all()
    assert result.log_losses[result.candidates.index(FULL)] == pytest.approx(
        log_loss(np.concatenate(values), np.concatenate(good))
    )
    back = select_candidate([scored(PLAIN, good, values), scored(FULL, poor, values)],
                 np.arange(4), 6)  # fmt: skip
    assert back.candidate == PLAIN
    assert not back.used_for.any()


def test_a_label_that_loses_is_left_alone(values):
    good = [np.where(one == 1, 0.6, 0.2) for one in values]
    mixed = [*good[:3], np.where(values[3] == 1, 0.1, 0.6)]
    plain = [np.full(200, 0.3) for _ in values]
    result = select_candidate([scored(PLAIN, plain, values), scored(FULL, mixed, values)],
                    np.array([0, 1, 2, 4]), 6)  # fmt: skip
    np.testing.assert_array_equal(result.used_for[[0, 1, 2, 4]], [True, True, True, False])
    # those that were not measured go by the rest
    assert result.used_for[3] == result.used_for[5] == (np.mean(result.expected) > 0)


def test_relevance_is_scored_by_what_is_recorded():
    rng = np.random.default_rng(0)
    relevant = rng.uniform(0.05, 0.95, 5000)
    recorded = (rng.random(5000) < 0.5 * relevant).astype(int)
    halved, whole = (
        scored(Candidate(1.0, 0.5), [relevant], [recorded]),
        scored(PLAIN, [relevant], [recorded]),
    )
    result = select_candidate([whole, halved], np.array([0]), 1)
    assert result.candidate.label_frequency == 0.5
    expected = log_loss(recorded, 0.5 * relevant)
    assert result.log_losses[result.candidates.index(result.candidate)] == pytest.approx(expected)


def test_shrinking():
    same = np.full(5, 0.2)
    found = shrink(same, np.full(5, 0.1))
    np.testing.assert_allclose(found.values, same)
    # nothing lies between, so that five measurements are of one thing
    np.testing.assert_allclose(found.spread, np.sqrt(0.1 / 5))
    assert found.uncertainty == pytest.approx(np.sqrt(0.1 / 5))
    far = np.array([-1.0, 0.0, 1.0])
    sure = shrink(far, np.full(3, 1e-9))
    np.testing.assert_allclose(sure.values, far, atol=1e-6)
    np.testing.assert_allclose(sure.spread, np.sqrt(1e-9), rtol=1e-3)
    noisy = shrink(far, np.full(3, 100.0))
    np.testing.assert_allclose(noisy.values, noisy.mean)
    unmeasured = shrink(np.array([0.5, 0.5, 9.0]), np.array([0.1, 0.1, np.inf]))
    assert unmeasured.values[2] == pytest.approx(0.5)
    assert np.isfinite(unmeasured.spread).all()


def test_rows_held_out():
    learn, aside = hold_out(20, 0.25, np.random.default_rng(0))
    assert len(aside) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([learn, aside])), np.arange(20))


def test_error_of_an_area_difference_against_pairs():
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
    found = area_difference_error(
        score_candidate(PLAIN, first, values), score_candidate(FULL, second, values)
    )
    assert found == pytest.approx(expected)
    assert area_difference_error(score_candidate(PLAIN, [np.zeros(3)], [np.ones(3)]), None) == 0


@pytest.mark.parametrize(("loss", "used"), [(0.02, True), (1.0, False)])
def test_imputation_is_kept_where_it_is_hardly_worse(values, loss, used):
    """A little worse is within what a few held-out rows cannot tell."""
    rng = np.random.default_rng(3)
    told = [one + rng.normal(size=200) for one in values]
    scores = [one + 0.5 * rng.normal(size=200) for one in told]
    worse = [
        one + 0.5 * rng.normal(size=200) - loss * y for one, y in zip(told, values, strict=True)
    ]
    candidates = [
        score_candidate(PLAIN, scores, values),
        score_candidate(FULL, worse, values),
    ]
    result = select_candidate(candidates, np.arange(4), 4)
    assert (
        result.areas[result.candidates.index(FULL)] < result.areas[result.candidates.index(PLAIN)]
    )
    assert (result.candidate == FULL) is used


def test_a_frequency_for_each_label_is_that_of_its_place():
    rng = np.random.default_rng(0)
    relevant = [rng.uniform(0.05, 0.95, 4000) for _ in range(2)]
    rates = (0.9, 0.2, 0.5)
    places = [2, 1]
    true = [rates[place] * one for place, one in zip(places, relevant, strict=True)]
    recorded = [(rng.random(4000) < one).astype(int) for one in true]
    one = score_candidate(Candidate(1.0, rates), [logit(r) for r in relevant], recorded, places)
    expected = np.mean([log_loss(y, p) for y, p in zip(recorded, true, strict=True)])
    assert one.mean_loss == pytest.approx(expected)
    first = score_candidate(Candidate(1.0, rates), one.scores, recorded)
    assert first.losses[0].mean() == pytest.approx(log_loss(recorded[0], 0.9 * relevant[0]))


def test_the_first_iteration_with_the_least_loss():
    empty = np.empty(0)
    result = ValidationResult(FULL, empty, (), (), (), empty, empty, empty)
    assert result.n_iter == 1
    assert result._replace(iteration_losses=(0.5, 0.4, 0.4)).n_iter == 2
