"""Draws from strata: each as likely as the others, without replacement, most draws where it pays."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.estimation import design_sample, draw_entries


def test_strata_are_equally_likely_and_the_most_probable_come_first():
    p = np.random.default_rng(0).beta(0.1, 2, size=5000)
    design = design_sample(p, n_strata=20)
    assert design.n_strata == 20
    assert design.sizes.sum() == 5000
    assert (np.diff(design.probabilities) <= 0).all()
    drawn = (1 - 0.2) * np.sqrt(p * (1 - p)) / np.sqrt(p * (1 - p)).sum() + 0.2 / p.size
    mass = np.bincount(design.strata, drawn)
    np.testing.assert_allclose(mass, 1 / 20, atol=2 * drawn.max())


def test_order_lists_the_entries_of_each_stratum():
    design = design_sample(np.linspace(0.9, 0, 300), n_strata=7)
    np.testing.assert_array_equal(design.strata[design.order], np.repeat(range(7), design.sizes))


def test_no_entry_is_drawn_twice_and_all_can_be_drawn():
    design = design_sample(np.linspace(0.9, 0, 50))
    assert sorted(draw_entries(design, 80, random_state=1)) == list(range(50))


def test_equal_probabilities_draw_all_entries_alike():
    design = design_sample(np.full(20, 0.3))
    first = [int(draw_entries(design, 1, random_state=k)[0]) for k in range(2000)]
    counts = np.bincount(first, minlength=20)
    assert abs(counts - 100).max() < 5 * 10


def test_one_uniform_design_is_a_simple_random_sample():
    design = design_sample(np.linspace(0.9, 0, 40), n_strata=1)
    assert design.sizes.tolist() == [40]
    assert design.largest_weight == 40


@pytest.mark.parametrize(
    ("p", "options", "words"),
    [
        ([0.2, 1.2], {}, r"probabilities\[1\]=1.2"),
        ([0.2, np.nan], {}, r"probabilities\[1\]=nan"),
        ([], {}, "one number per entry"),
        ([0.2], {"uniform_fraction": 0.0}, "uniform_fraction=0.0"),
    ],
)
def test_wrong_input_is_named(p, options, words):
    with pytest.raises(ValueError, match=words):
        design_sample(p, **options)
