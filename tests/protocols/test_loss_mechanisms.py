"""People lose labels by item, label, annotator, date and obviousness: each as it is defined."""

import numpy as np
import pytest

from labelgap.labels import Labels, State
from labelgap.protocols import (
    MECHANISMS,
    PROBABILITY_PROTOCOLS,
    hide_by_annotator,
    hide_by_label,
    hide_by_power,
    hide_improbable,
    hide_in_brief_items,
    hide_late_labels,
    hide_off_boundary,
    hide_unopened_items,
)


def drawn(n_samples=400, n_labels=6, seed=0):
    """Labels drawn from probabilities, and these."""
    rng = np.random.default_rng(seed)
    probabilities = rng.beta(0.6, 1.2, size=(n_samples, n_labels))
    labels = Labels.from_dense((rng.random(probabilities.shape) < probabilities).astype(int))
    return labels, probabilities


def hide(name, labels, probabilities, fraction, seed=0):
    given = {"probabilities": probabilities} if name in PROBABILITY_PROTOCOLS else {}
    return MECHANISMS[name](labels, fraction, random_state=seed, **given)


BY_PEOPLE = sorted(set(MECHANISMS) - {"positives"})


@pytest.mark.parametrize("name", BY_PEOPLE)
def test_the_fraction_is_lost_in_the_mean(name):
    labels, p = drawn()
    lost = np.mean([hide(name, labels, p, 0.4, s).n_hidden for s in range(15)])
    assert lost / labels.n_positives() == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize("name", sorted(PROBABILITY_PROTOCOLS))
def test_each_label_loses_the_fraction_exactly_in_expectation(name):
    labels, p = drawn()
    kept = hide(name, labels, p, 0.4).propensity
    np.testing.assert_allclose(kept.sum(axis=0), 0.6 * labels.n_positives(axis=0), rtol=1e-8)


@pytest.mark.parametrize("name", sorted(PROBABILITY_PROTOCOLS))
@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_nothing_or_everything(name, fraction):
    labels, p = drawn()
    assert hide(name, labels, p, fraction).n_hidden == fraction * labels.n_positives()


@pytest.mark.parametrize("name", BY_PEOPLE)
def test_positives_are_kept_with_their_propensity(name):
    labels, p = drawn(60, 3)
    first = hide(name, labels, p, 0.5)
    rows, cols = first.propensity.tocoo().coords
    by_group = {}
    for seed in range(150):
        one = hide(name, labels, p, 0.5, seed)
        kept = one.labels.states()[rows, cols] == State.RELEVANT
        for group in (0, 1):
            mine = (one.propensity.data > 0.5) == group
            by_group.setdefault(group, []).append(
                (kept[mine].sum(), one.propensity.data[mine].sum())
            )
    for counts in by_group.values():
        n_kept, expected = np.sum(counts, axis=0)
        assert n_kept == pytest.approx(expected, abs=4 * np.sqrt(expected) + 1e-9)


def test_propensity_follows_its_definition():
    labels, p = drawn()
    for hidden, weight in (
        (hide_improbable(labels, 0.6, probabilities=p, random_state=0), p),
        (hide_by_power(labels, 0.6, probabilities=p, power=3, random_state=0), p**3),
        (
            hide_off_boundary(labels, 0.6, probabilities=p, power=3, random_state=0),
            (1 - np.abs(p - 0.5)) ** 3,
        ),
    ):
        rows, cols = hidden.propensity.tocoo().coords
        for label in range(labels.n_labels):
            mine = cols == label
            e, w = hidden.propensity.data[mine], weight[rows[mine], label]
            below = e < 1
            ratio = e[below] / w[below]
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
            assert (w[~below] * ratio[0] >= 1 - 1e-6).all()


@pytest.mark.parametrize("n_positives", [1, 3])
@pytest.mark.parametrize("fraction", [0.1, 0.24, 0.4, 0.7])
def test_equally_obvious_labels_are_kept_alike(n_positives, fraction):
    labels = Labels.from_dense((np.arange(9) < n_positives).astype(int)[:, None])
    for p in (0.03, 0.31, 0.9, 1.0):
        kept = hide_by_power(labels, fraction, probabilities=np.full((9, 1), p), random_state=0)
        np.testing.assert_allclose(kept.propensity.data, 1 - fraction, rtol=1e-9)


def test_improbable_at_power_one_is_the_power_protocol():
    labels, p = drawn()
    one = hide_improbable(labels, 0.4, probabilities=p, random_state=3)
    other = hide_by_power(labels, 0.4, probabilities=p, power=1, random_state=3)
    assert one.labels.equals(other.labels)


def test_unopened_items_lose_everything_and_others_nothing():
    labels, _ = drawn()
    hidden = hide_unopened_items(labels, 0.3, random_state=0)
    unopened = hidden.details["unopened"]
    assert unopened.sum() == 120
    before, after = labels.n_positives(axis=1), hidden.labels.n_positives(axis=1)
    np.testing.assert_array_equal(after, np.where(unopened, 0, before))


def test_brief_items_follow_their_effort():
    labels = Labels.from_dense(np.hstack([np.ones((300, 200)), np.zeros((300, 1))]))
    hidden = hide_in_brief_items(labels, 0.4, random_state=0)
    effort = hidden.details["effort"]
    np.testing.assert_allclose(hidden.labels.n_positives(axis=1) / 200, effort, atol=0.15)
    # a beta distribution with mean m and concentration 2 has the variance m (1 - m) / 3
    assert effort.var() == pytest.approx(0.24 / 3, abs=0.02)


def test_label_rates_are_recovered():
    labels = Labels.from_dense(np.vstack([np.ones((500, 30)), np.zeros((1, 30))]))
    hidden = hide_by_label(labels, 0.4, random_state=0)
    rates = hidden.details["rates"]
    np.testing.assert_allclose(1 - hidden.labels.n_positives(axis=0) / 500, rates, atol=0.1)
    assert 0 <= rates.min() < 0.1
    assert 0.7 < rates.max() <= 0.8
    given = hide_by_label(labels, 0.5, rates=np.linspace(0, 1, 30), random_state=0)
    np.testing.assert_allclose(given.details["rates"], np.linspace(0, 0.5, 30))


def test_annotators_have_rates_of_their_own():
    labels = Labels.from_dense(np.vstack([np.ones((600, 10)), np.zeros((1, 10))]))
    who = np.array(["kim", "sam", "lee"])[np.arange(601) % 3]
    hidden = hide_by_annotator(labels, 0.4, annotators=who, random_state=0)
    lost = labels.to_dense() - hidden.labels.positives().toarray()
    for position, name in enumerate(["kim", "lee", "sam"]):
        mine = (who == name) & (labels.n_positives(axis=1) > 0)
        found = lost[mine].mean(axis=0)
        np.testing.assert_allclose(found, hidden.details["rates"][position], atol=0.12)
    evenly = hide_by_annotator(labels, 0.4, n_annotators=4, random_state=0)
    assert np.ptp(np.bincount(evenly.details["annotators"])) <= 1


def test_late_labels_are_missing_before_their_date_and_complete_after():
    labels = Labels.from_dense(np.hstack([np.ones((200, 8)), np.zeros((200, 1))]))
    dates = np.arange("2020-01-01", 200, dtype="datetime64[D]")[
        np.random.default_rng(0).permutation(200)
    ]
    hidden = hide_late_labels(labels, 0.5, dates=dates, random_state=0)
    recorded = hidden.labels.positives().toarray()[np.argsort(dates)]
    for label, introduced in enumerate(hidden.details["introduced"][:8]):
        first = int(recorded[:, label].argmax())
        assert first / 200 == pytest.approx(introduced, abs=0.01)
        assert recorded[first:, label].all()


def test_items_of_one_date_share_their_fate():
    labels = Labels.from_dense(np.hstack([np.ones((50, 4)), np.zeros((50, 1))]))
    hidden = hide_late_labels(labels, 0.5, dates=np.arange(50) // 10, random_state=0)
    recorded = hidden.labels.positives().toarray().reshape(5, 10, 5)
    assert (recorded == recorded[:, :1]).all()


def test_errors_name_argument_and_remedy():
    labels, p = drawn()
    with pytest.raises(ValueError, match=r"probabilities has shape \(400, 2\): give one for each"):
        hide_by_power(labels, 0.4, probabilities=p[:, :2])
    with pytest.raises(ValueError, match=r"probabilities\[\d+, \d+\] = .* between 0 and 1"):
        hide_by_power(labels, 0.4, probabilities=p + 2)
    with pytest.raises(ValueError, match="power=-1 must be above 0"):
        hide_by_power(labels, 0.4, probabilities=p, power=-1)
    with pytest.raises(ValueError, match="concentration=0 must be above 0"):
        hide_in_brief_items(labels, 0.4, concentration=0)
    with pytest.raises(ValueError, match="n_annotators=0 must be at least 1"):
        hide_by_annotator(labels, 0.4, n_annotators=0)
    with pytest.raises(ValueError, match=r"annotators has shape \(3,\): give one for each"):
        hide_by_annotator(labels, 0.4, annotators=[1, 2, 3])
    with pytest.raises(ValueError, match=r"dates has shape \(3,\): give one for each"):
        hide_late_labels(labels, 0.4, dates=[1, 2, 3])
    with pytest.raises(ValueError, match=r"rates has shape \(2,\)"):
        hide_by_label(labels, 0.4, rates=[0.1, 0.2])
