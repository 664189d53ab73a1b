"""Items that nobody opened, from the probability of carrying a label and from numbers of labels."""

import numpy as np
import pytest

from labelgap.propensity import TopScoredFraction, carrying_probability, find_unopened


def test_the_posterior_is_a_probability_that_holds():
    rng = np.random.default_rng(0)
    applies = rng.beta(0.5, 0.5, size=20_000)  # that something applies to the item
    unopened = rng.random(applies.size) < 0.3
    carries = ~unopened & (rng.random(applies.size) < applies)
    found = find_unopened(0.7 * applies, carries.astype(int)).probability
    assert found.mean() == pytest.approx(0.3, abs=0.02)
    assert (found[carries] == 0).all()
    for low in (0.3, 0.5, 0.7, 0.9):
        mine = ~carries & (found > low) & (found <= low + 0.1)
        assert unopened[mine].mean() == pytest.approx(found[mine].mean(), abs=0.06)


def test_what_is_opened_may_depend_on_the_features():
    """As for packages of which new kinds were hardly ever tagged: similar ones carry several tags."""
    rng = np.random.default_rng(0)
    opened_like = rng.beta(0.8, 0.8, size=5000)
    opened = rng.random(5000) < opened_like
    n_labels = rng.poisson(4, 5000) * opened
    found = find_unopened(0.98 * opened_like, n_labels).by_counts
    empty = n_labels == 0
    assert (found[empty & ~opened] > 0.5).mean() > 0.9
    assert found.sum() == pytest.approx((~opened).sum(), rel=0.1)


def test_without_features_the_log_odds_of_carrying_a_label_are_those():
    rng = np.random.default_rng(0)
    any_label = rng.uniform(0.02, 0.98, size=800)
    n_labels = rng.poisson(3, 800) * (rng.random(800) < any_label)
    log_odds = np.log(any_label / (1 - any_label))
    alone, given = (find_unopened(any_label, n_labels, one) for one in (None, log_odds[:, None]))
    np.testing.assert_array_equal(alone.by_counts, given.by_counts)
    np.testing.assert_array_equal(alone.probability, given.probability)


@pytest.mark.parametrize("relevant", [2, 3])
def test_labels_lost_one_by_one_leave_no_items_unopened(relevant):
    """Those of items that carry some are then recorded more often by as much as that explains."""
    rng = np.random.default_rng(0)
    n_labels = rng.binomial(relevant, 0.6, size=4000)
    any_label = np.full(4000, (n_labels > 0).mean())
    rate = TopScoredFraction(0.6, 0.57, 0.63, 1000)
    found = find_unopened(any_label, n_labels, label_frequency=rate)
    assert found.probability.sum() < 0.2 * (n_labels == 0).sum()


def test_items_with_one_label_show_neither_way_of_losing_it():
    """An item that lost its only label is an item that nobody opened."""
    n_labels = np.random.default_rng(0).binomial(1, 0.6, size=4000)
    rate = TopScoredFraction(0.6, 0.57, 0.63, 1000)
    any_label = np.full(4000, n_labels.mean())
    found = find_unopened(any_label, n_labels, label_frequency=rate).probability[n_labels == 0]
    assert ((found > 0.1) & (found < 0.9)).all()


def test_no_item_has_a_part_in_its_own_probability():
    rng = np.random.default_rng(0)
    X, carries, folds = rng.normal(size=(200, 3)), rng.random(200) < 0.5, np.arange(200) % 5
    before = carrying_probability(X, carries, folds)
    changed = carries.copy()
    changed[folds == 2] = ~changed[folds == 2]
    after = carrying_probability(X, changed, folds)
    np.testing.assert_array_equal(after[folds == 2], before[folds == 2])
    assert (after != before).any()
