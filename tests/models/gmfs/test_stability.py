"""Selection over resampled rows and masks."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap import State
from labelgap.models.gmfs import StabilitySelection
from labelgap.models.gmfs._stability_selection import with_further_gaps
from models.gmfs.problems import planted, quick


def selection(**parameters):
    settings = {"n_features_to_select": 0.5, "n_repeats": 8, "random_state": 0}
    return StabilitySelection(quick(), **{**settings, **parameters})


def test_planted_features_are_chosen_more_often():
    data = planted(500, 20, 10, rate=0.7)
    found = selection(n_repeats=12).fit(data.X, data.labels)
    relevant = data.relevant_features
    assert found.scores_[relevant].mean() > 0.85
    assert found.scores_[~relevant].mean() < 0.15
    assert (found.get_support() == relevant).mean() >= 0.9
    assert found.mean_rank_[relevant].mean() < found.mean_rank_[~relevant].mean()


def test_each_repetition_chooses_as_many_as_asked_for():
    data = planted()
    for number, n in ((3, 3), (0.25, 5)):
        found = selection(n_features_to_select=number).fit(data.X, data.labels)
        assert found.scores_.sum() == pytest.approx(n)


def test_all_rows_and_no_mask_repeat_the_same_choice():
    data = planted()
    found = selection(sample_fraction=1.0, mask_fraction=0.0, n_repeats=3).fit(data.X, data.labels)
    assert set(found.scores_) <= {0.0, 1.0}


def test_without_a_threshold_as_many_are_kept_as_chosen():
    data = planted()
    found = selection(n_features_to_select=4, threshold=None).fit(data.X, data.labels)
    kept = found.get_support()
    assert kept.sum() == 4
    assert found.scores_[kept].min() >= found.scores_[~kept].max()
    worst = kept & (found.scores_ == found.scores_[kept].min())
    tied = ~kept & (found.scores_ == found.scores_[kept].min())
    assert not tied.any() or found.mean_rank_[worst].max() <= found.mean_rank_[tied].min()


def test_a_repetition_without_positives_chooses_nothing():
    """One positive in all, which about half of the repetitions do not draw."""
    data = planted()
    Y = np.zeros((300, 2))
    Y[7] = 1
    found = selection(sample_fraction=0.5, mask_fraction=0.0, n_repeats=8).fit(data.X, Y)
    assert 0 < found.scores_.sum() < 10


def test_further_gaps():
    labels = planted().labels
    before = labels.states()
    after = with_further_gaps(labels, 0.3, np.random.default_rng(0)).states()
    changed = before != after
    ones = before == State.RELEVANT
    assert 0.25 < changed[ones].mean() < 0.35
    assert 0.25 < changed[~ones].mean() < 0.35
    assert (after[changed & ones] == State.UNLABELED).all()
    assert (after[changed & ~ones] == State.UNKNOWN).all()


def test_predictions_are_the_selectors():
    data = planted()
    found = selection(n_repeats=2).fit(data.X, data.labels)
    np.testing.assert_array_equal(
        found.predict_proba(data.X), found.selector_.predict_proba(data.X)
    )


def test_every_repetition_is_told_of():
    data, told = planted(), []
    selection(n_repeats=3, callback=told.append).fit(data.X, data.labels)
    assert [(one.iteration, one.max_iter) for one in told] == [(0, 4), (1, 4), (2, 4), (3, 4)]
