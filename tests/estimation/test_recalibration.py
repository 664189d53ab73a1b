"""Totals from answers: coverage, gain over no predictions, wrong predictions, labels, answers needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from labelgap.estimation import (
    answers_for_width,
    design_sample,
    draw_entries,
    estimate_missing,
    recalibrate,
)


def table(seed=0, n=8000):
    rng = np.random.default_rng(seed)
    return rng, np.clip(rng.beta(0.1, 3, size=n), 1e-5, 0.99)


@pytest.mark.parametrize(("shift", "slope"), [(0.0, 1.0), (1.5, 1.0), (-1.0, 0.6)])
def test_the_truth_is_covered_though_predictions_are_wrong(shift, slope):
    rng, p = table()
    relevant = rng.random(p.size) < expit(shift - 1.5 + slope * (logit(p) + 1.5))
    design = design_sample(p)
    inside, guaranteed = [], []
    for seed in range(25):
        drawn = draw_entries(design, 150, random_state=seed)
        total = estimate_missing(design, drawn, relevant[drawn])
        inside.append(total.low <= relevant.sum() <= total.high)
        guaranteed.append(total.guaranteed_low <= relevant.sum() <= total.guaranteed_high)
    assert np.mean(inside) >= 0.85
    assert np.mean(guaranteed) >= 0.95


def test_predictions_make_the_interval_narrow():
    rng, p = table(n=20_000)
    relevant = rng.random(p.size) < p
    design = design_sample(p)
    drawn = draw_entries(design, 200, random_state=0)
    total = estimate_missing(design, drawn, relevant[drawn])
    rate = relevant.mean()
    without = p.size * 2 * 1.96 * np.sqrt(rate * (1 - rate) / 200)
    assert total.high - total.low < 0.7 * without


def test_constant_predictions_give_about_the_binomial_interval():
    design = design_sample(np.full(100_000, 0.2))
    drawn = draw_entries(design, 400, random_state=0)
    answers = (np.arange(400) < 80).astype(float)
    total = estimate_missing(design, drawn, answers)
    low, high = 100_000 * stats.beta.ppf([0.025, 0.975], 80.5, 320.5)
    assert total.low == pytest.approx(low, rel=0.05)
    assert total.high == pytest.approx(high, rel=0.05)


def test_open_answers_are_left_out_and_counted():
    _, p = table()
    design = design_sample(p)
    drawn = draw_entries(design, 50, random_state=0)
    answers = np.zeros(50)
    answers[:5] = np.nan
    assert estimate_missing(design, drawn, answers).n_answers == 45


def test_groups_add_up_and_know_their_own_finds():
    rng, p = table()
    relevant = rng.random(p.size) < p
    groups = rng.integers(3, size=p.size)
    design = design_sample(p)
    drawn = draw_entries(design, 200, random_state=0)
    whole = estimate_missing(design, drawn, relevant[drawn])
    parts = estimate_missing(design, drawn, relevant[drawn], labels=groups)
    assert sum(part.n_answers for part in parts) == 200
    assert sum(part.value for part in parts) == pytest.approx(whole.value, rel=0.02)
    for group, part in enumerate(parts):
        truth = relevant[groups == group].sum()
        assert part.guaranteed_low <= truth <= part.guaranteed_high


def test_the_promised_number_of_answers_gives_the_width():
    rng, p = table()
    relevant = rng.random(p.size) < p
    design = design_sample(p)
    n = answers_for_width(design, 100)
    widths = []
    for seed in range(8):
        drawn = draw_entries(design, n, random_state=seed)
        total = estimate_missing(design, drawn, relevant[drawn])
        widths.append(total.high - total.low)
    assert np.mean(widths) == pytest.approx(100, rel=0.25)
    assert answers_for_width(design, 0.001, most=500) is None


def test_a_curve_is_recovered():
    rng, _ = table()
    said = rng.uniform(0.02, 0.98, size=20_000)
    truth = expit(-0.7 + 0.6 * logit(said))
    curve = recalibrate(said, rng.random(said.size) < truth)
    np.testing.assert_allclose(curve(said), truth, atol=0.04)
    np.testing.assert_allclose(recalibrate([], [])(said), said, atol=1e-9)


def test_one_answer_for_each_draw():
    design = design_sample(np.full(10, 0.5))
    with pytest.raises(ValueError, match="2 for 1 drawn"):
        estimate_missing(design, [0], [1, 0])
    with pytest.raises(ValueError, match="width=0"):
        answers_for_width(design, 0)
