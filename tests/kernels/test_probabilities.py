import numpy as np
import pytest
from scipy.special import expit

from labelgap.kernels.probabilities import bounded_log_odds, fit_sigmoid, log_odds


def test_recovers_the_sigmoid_that_made_the_data(rng):
    scores = rng.normal(3, 2, size=200_000)
    values = rng.random(scores.size) < expit(0.7 * scores - 2.5)
    np.testing.assert_allclose(fit_sigmoid(scores, values.astype(int)), [0.7, -2.5], rtol=0.03)


def test_the_gradient_is_zero_at_the_solution(rng):
    scores = rng.normal(size=300)
    values = (scores + rng.normal(size=300) > 0).astype(int)
    slope, offset = fit_sigmoid(scores, values)
    ones = values.sum()
    target = np.where(values == 1, (ones + 1) / (ones + 2), 1 / (300 - ones + 2))
    error = expit(slope * scores + offset) - target
    np.testing.assert_allclose([error.mean(), (error * scores).mean()], 0, atol=1e-5)


def test_separable_scores_keep_a_finite_slope():
    slope, offset = fit_sigmoid(np.array([-2.0, -1, 1, 2]), np.array([0, 0, 1, 1]))
    assert 0 < slope < 100
    assert abs(offset) < 1e-3


def test_order_is_kept_even_for_misleading_scores(rng):
    scores = rng.normal(size=500)
    slope, _ = fit_sigmoid(scores, (scores < 0).astype(int))
    assert slope > 0


def test_scores_without_any_difference():
    slope, offset = fit_sigmoid(np.full(10, 0.3), np.array([1] * 3 + [0] * 7))
    # the targets are drawn inside: 3 * 4/5 + 7 * 1/9 of 10
    np.testing.assert_allclose(expit(slope * 0.3 + offset), (3 * 4 / 5 + 7 / 9) / 10, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounded_log_odds_are_those_of_clipped_probabilities(dtype):
    p = np.array([[0.0, 1e-9, 0.3], [0.5, 1.0, 0.9]], dtype=dtype)
    expected = log_odds(np.clip(p.astype(np.float64), 1e-3, 1 - 1e-3))
    np.testing.assert_allclose(bounded_log_odds(p, 1e-3), expected, rtol=1e-12, atol=1e-12)
