"""Two sources: known counts, coverage when they are independent, a lower bound when they are not."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap.estimation import capture_recapture, chao_lower_bound, compare_sources


def sources(seed, n=3000, dependent=False):
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 2)) < 0.3
    seen = rng.choice([0.2, 0.9], size=truth.shape) if dependent else 0.55
    first, second = ((truth & (rng.random(truth.shape) < seen)).astype(int) for _ in range(2))
    return truth, first, second


def test_chapman_by_hand():
    overlap = capture_recapture(9, 4, 1)
    assert overlap.value == pytest.approx(10 * 5 / 2 - 1)
    assert overlap.n_seen == 12
    assert overlap.missing == pytest.approx(12)
    assert overlap.low <= overlap.value <= overlap.high


def test_independent_sources_are_covered():
    inside = []
    for seed in range(60):
        truth, first, second = sources(seed, n=600)
        compared = compare_sources(first, second)
        inside.append(compared.table.low <= truth.sum() <= compared.table.high)
        label = compared.labels["0"]
        inside.append(label.low <= truth[:, 0].sum() <= label.high)
    assert np.mean(inside) >= 0.9


def test_sources_that_see_the_obvious_give_a_lower_bound():
    truth, first, second = sources(0, dependent=True)
    table = compare_sources(first, second).table
    assert table.n_seen < table.lower_bound < truth.sum()
    assert table.high < truth.sum()


def test_two_alike_sources_of_chao_are_lincoln_petersen():
    # n1 = n2 and many labels: f1^2 / (4 f2) is (n1 - m)(n2 - m) / m
    assert chao_lower_bound(2 * 400, 1000, 2) == pytest.approx(400 * 400 / 1000, rel=0.01)


def test_unknown_entries_of_either_source_do_not_count():
    first = np.array([[1.0, 1], [np.nan, 1], [0, 1]])
    second = np.array([[1.0, np.nan], [1, 1], [0, 0]])
    table = compare_sources(first, second).table
    assert (table.n_first, table.n_second, table.n_both) == (3, 2, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: capture_recapture(3, 2, 4), "n_both=4"),
        (lambda: chao_lower_bound(3, 2, 1), "n_sources=1"),
        (lambda: compare_sources(np.eye(3, dtype=int), np.eye(2, dtype=int)), "second: has shape"),
    ],
)
def test_wrong_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
