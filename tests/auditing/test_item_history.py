"""Columns that say when and by whom items were labelled, and which are complete."""

import numpy as np
import pytest

from labelgap import audit
from labelgap.auditing._item_history import check_history
from labelgap.labels import Labels


def generated(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    logits = 4 * X @ rng.normal(size=(20, 8)) / np.sqrt(20) - 1.5
    return X, rng.random(logits.shape) < 1 / (1 + np.exp(-logits))


def test_labels_that_came_late_are_unknown_before():
    X, full = generated()
    late = np.arange(1200) < 500
    Y = full.copy()
    Y[late, 2] = False
    dates = np.datetime64("2024-01-01") + np.arange(1200)
    found = audit(X, Y.astype(float), dates=[str(date) for date in dates], n_suggestions=200)
    right = [one for one in found.suggestions if one.label == "2" and int(one.item) < 500]
    assert len(right) > 0.5 * full[late, 2].sum()
    assert np.mean([full[int(one.item), 2] for one in right]) > 0.6
    assert 500 <= found.summary.n_unknown < 510


def test_a_first_use_may_be_late_by_chance():
    labels = Labels.from_dense(np.eye(40)[:, :5], zeros="unlabeled")
    rows, _ = check_history(40, dates=np.arange(40)).late_entries(labels)
    assert rows.size == 0


def test_people_who_record_less_have_missed_more():
    X, full = generated(2000)
    rng = np.random.default_rng(1)
    careful = rng.random(2000) < 0.5
    Y = full & (rng.random(full.shape) < np.where(careful, 0.95, 0.4)[:, None])
    people = np.where(careful, "ann", "bob")
    found = audit(X, Y.astype(float), annotators=people, n_suggestions=400)
    without = audit(X, Y.astype(float), n_suggestions=400)
    right, other = (
        np.mean([full[int(one.item), int(one.label)] for one in one_audit.suggestions])
        for one_audit in (found, without)
    )
    assert right > other
    assert np.mean([not careful[int(one.item)] for one in found.suggestions]) > 0.9
    lost = (full & ~Y).sum()
    assert found.missing.low < lost < found.missing.high


def test_zeros_of_complete_items_are_negative():
    X, full = generated()
    Y = full & (np.random.default_rng(0).random(full.shape) < 0.6)
    done = np.arange(1200) % 3 == 0
    Y[done] = full[done]
    found = audit(X, Y.astype(float), complete=np.where(done, "yes", ""), n_suggestions=300)
    assert not any(done[int(one.item)] for one in found.suggestions)
    assert found.missing.low < (full & ~Y).sum() < found.missing.high
    assert found.unopened_items == () or not any(
        done[int(one.item)] for one in found.unopened_items
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dates": [1, 2]}, "dates has 2 values for 3 items"),
        ({"dates": ["2024-01-01", "soon", "2024-02-01"]}, r"dates\[1\] is 'soon'"),
        ({"dates": [1.0, np.nan, 2.0]}, r"dates\[1\] is empty"),
        ({"complete": [1, 0, "perhaps"]}, r"complete\[2\] is 'perhaps'"),
    ],
)
def test_what_cannot_be_read_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        check_history(3, **given)
