"""Protocols hide what their papers say they hide, and keep the exact truth."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelgap.cooccurrence import cooccurrence_matrix
from labelgap.labels import Labels, State
from labelgap.protocols import (
    LABEL_PROTOCOLS,
    MECHANISMS,
    hide_entries,
    hide_labels,
    hide_per_label,
    hide_per_row,
    hide_positives,
    reveal,
)

UNKNOWN_MAKERS = ["per-row", "per-label", "entries", "reveal"]


def complete(n_samples=60, n_labels=12, seed=0, rate=0.3):
    rng = np.random.default_rng(seed)
    return Labels.from_dense((rng.random((n_samples, n_labels)) < rate).astype(int))


@st.composite
def any_labels(draw):
    """Labels in every storage, with every mixture of states, some columns unseen."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    pool = draw(st.sampled_from([(1, 2), (1, 2, 3), (1, 4), (1, 3, 4), (1, 2, 3, 4), (2,), (3,)]))
    codes = rng.choice(np.array(pool, dtype=np.int8), size=shape)
    labels = Labels(sparse.csr_array(codes), State.UNKNOWN)
    labels = labels.with_implicit(draw(st.sampled_from(["negative", "unknown", "unlabeled"])))
    if draw(st.booleans()):
        labels = labels.with_unseen(rng.random(shape[1]) < 0.3)
    return labels


@settings(deadline=None, max_examples=150)
@given(
    any_labels(),
    st.sampled_from(sorted(LABEL_PROTOCOLS)),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.integers(0, 1000),
)
def test_putting_back_gives_the_original(labels, name, fraction, seed):
    protocol = partial(LABEL_PROTOCOLS[name], labels, fraction, random_state=seed)
    if name in MECHANISMS and labels.n_observed(unlabeled=True) == labels.n_positives():
        with pytest.raises(ValueError, match="no zeros"):
            protocol()
        return
    hidden = protocol()
    assert hidden.restore().equals(labels)
    assert hidden.rows.size == hidden.cols.size == hidden.values.size == hidden.n_hidden

    before, after = labels.states(), hidden.labels.states()
    changed = np.zeros(labels.shape, dtype=bool)
    changed[hidden.rows, hidden.cols] = True
    np.testing.assert_array_equal(before[changed] == State.RELEVANT, hidden.values)
    expected_after = State.UNLABELED if name in MECHANISMS else State.UNKNOWN
    assert (after[changed] == expected_after).all()
    if name not in MECHANISMS:
        np.testing.assert_array_equal(after[~changed], before[~changed])
        truth = hidden.truth.states()
        np.testing.assert_array_equal(truth[changed], before[changed])
        assert (truth[~changed] == State.UNKNOWN).all()


@pytest.mark.parametrize("name", sorted(LABEL_PROTOCOLS))
def test_random_state_repeats_and_matters(name):
    labels = complete()
    protocol = LABEL_PROTOCOLS[name]
    first = protocol(labels, 0.5, random_state=1)
    assert first.labels.equals(protocol(labels, 0.5, random_state=1).labels)
    assert not first.labels.equals(protocol(labels, 0.5, random_state=2).labels)


@pytest.mark.parametrize("name", sorted(LABEL_PROTOCOLS))
def test_names_are_kept(name):
    labels = complete().with_names([f"label {j}" for j in range(12)])
    hidden = LABEL_PROTOCOLS[name](labels, 0.5, random_state=0)
    assert list(hidden.labels.names) == list(hidden.truth.names) == list(labels.names)


@pytest.mark.parametrize("fraction", [0.0, 0.29, 0.4, 1.0])
def test_per_row_hides_the_same_number_in_each_row(fraction):
    labels = complete(30, 100)
    hidden = hide_per_row(labels, fraction, random_state=0)
    expected = round(fraction * 100)
    np.testing.assert_array_equal(100 - hidden.labels.n_observed(axis=1), np.full(30, expected))


def test_per_row_hides_both_values():
    hidden = hide_per_row(complete(200, 30), 0.5, random_state=0)
    assert hidden.values.mean() == pytest.approx(0.3, abs=0.03)


def test_per_label_hides_a_fraction_of_positives_and_of_negatives():
    labels = complete(101, 9)
    hidden = hide_per_label(labels, 0.5, random_state=0)
    n_positives = labels.n_positives(axis=0)
    for label in range(9):
        mine = hidden.values[hidden.cols == label]
        assert mine.sum() == n_positives[label] // 2
        assert (mine == 0).sum() == (101 - n_positives[label]) // 2


def test_entries_follow_row_and_label_rates():
    labels = complete(400, 300)
    row_rates = np.repeat([0.5, 1.0], 200)
    label_rates = np.repeat([0.2, 0.4, 1.0], 100)
    hidden = hide_entries(labels, 0.8, row_rates=row_rates, label_rates=label_rates, random_state=0)
    missing = (hidden.labels.states() == State.UNKNOWN).reshape(2, 200, 3, 100).mean(axis=(1, 3))
    np.testing.assert_allclose(missing, 0.8 * np.outer([0.5, 1.0], [0.2, 0.4, 1.0]), atol=0.015)


def test_entries_are_drawn_uniformly():
    # every cell is hidden equally often, whatever its value and place
    labels = complete(6, 5)
    times = sum(
        (hide_per_row(labels, 0.4, random_state=seed).labels.states() == State.UNKNOWN).astype(int)
        for seed in range(600)
    )
    np.testing.assert_allclose(times / 600, 0.4, atol=0.09)


def test_reveal_fraction_and_rates():
    labels = complete(500, 40)
    hidden = reveal(labels, 0.2, random_state=0)
    assert hidden.labels.n_observed() / 20_000 == pytest.approx(0.2, abs=0.01)
    assert hidden.labels.implicit is State.UNKNOWN
    rates = np.linspace(0, 1, 40)
    seen = reveal(labels, rates=rates, random_state=0).labels.n_observed(axis=0) / 500
    np.testing.assert_allclose(seen, rates, atol=0.09)
    assert seen[0] == 0
    assert seen[-1] == 1


@pytest.mark.parametrize("zeros", ["negative", "unlabeled"])
def test_positives_vanish_without_a_trace(zeros):
    labels = complete(100, 20).with_zeros(zeros)
    hidden = hide_positives(labels, 0.4, random_state=0)
    n_positives = labels.n_positives()
    assert hidden.n_hidden == int(0.4 * n_positives)
    assert hidden.values.all()
    assert set(np.unique(hidden.labels.states())) == {State.RELEVANT, State.UNLABELED}
    assert hidden.labels.implicit is State.UNLABELED
    # the truth says of every zero whether it is one, and nothing of what can be seen
    known = hidden.truth.states() != State.UNKNOWN
    np.testing.assert_array_equal(known, hidden.labels.states() == State.UNLABELED)
    assert hidden.truth.n_positives() == hidden.n_hidden


def test_known_zeros_stay_known_where_zeros_are_unlabeled():
    labels = complete(50, 10).with_zeros("unlabeled").with_entries([0, 1], [0, 1], 2)
    hidden = hide_positives(labels, 0.5, random_state=0)
    states = hidden.labels.states()
    assert states[0, 0] == states[1, 1] == State.NEGATIVE


def test_hidden_labels_are_unseen_and_counted():
    labels = complete(80, 11)
    hidden = hide_labels(labels, 0.5, random_state=0)
    assert hidden.unseen.size == hidden.labels.unseen.sum() == 5
    np.testing.assert_array_equal(np.sort(np.r_[hidden.seen, hidden.unseen]), range(11))
    dense = labels.to_dense().astype(int)
    np.testing.assert_array_equal(hidden.cooccurrence.toarray(), dense[:, hidden.seen].T @ dense)
    assert hidden.n_hidden == 80 * 5


def test_cooccurrence_counts_only_known_positives():
    y = np.array([[1, 1, np.nan], [1, np.nan, 1], [1, 1, 0]])
    expected = [[3, 2, 1], [2, 2, 0], [1, 0, 1]]
    counts = cooccurrence_matrix(Labels.from_dense(y))
    assert sparse.issparse(counts)
    np.testing.assert_array_equal(counts.toarray(), expected)


def test_huge_sparse_labels_are_never_made_dense():
    rng = np.random.default_rng(0)
    shape = (20_000, 1_000_000)
    coordinates = rng.integers(shape[0], size=50_000), rng.integers(shape[1], size=50_000)
    positives = sparse.coo_array((np.ones(50_000, dtype=bool), coordinates), shape=shape).tocsr()
    labels = Labels.from_sparse(positives)
    assert hide_positives(labels, 0.2, random_state=0).restore().equals(labels)
    assert hide_labels(labels, 0.5, random_state=0).restore().equals(labels)
    few = hide_entries(labels, 1e-6, random_state=0)
    assert few.n_hidden == pytest.approx(20_000, rel=0.1)
    assert few.restore().equals(labels)
    with pytest.raises(ValueError, match="entries would be hidden and each must be listed"):
        reveal(labels, 0.2)


def test_errors_name_argument_and_remedy():
    labels = complete()
    for protocol in LABEL_PROTOCOLS.values():
        for bad in (-0.1, 1.5, True, "0.4", float("nan")):
            with pytest.raises(ValueError, match=r"fraction=.* must be a fraction between 0 and 1"):
                protocol(labels, bad)
    with pytest.raises(ValueError, match=r"row_rates has shape \(3,\)"):
        hide_entries(labels, 0.5, row_rates=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"label_rates\[1\] = 2.0"):
        hide_entries(labels, 0.5, label_rates=[0.5, 2.0] * 6)
    with pytest.raises(ValueError, match="either fraction"):
        reveal(labels)
    with pytest.raises(ValueError, match="either fraction"):
        reveal(labels, 0.2, rates=np.ones(12))


@pytest.mark.parametrize("name", UNKNOWN_MAKERS)
def test_hidden_entries_score_as_known_ones(name):
    """The truth is a scoring target: a perfect score at hidden entries, whatever the rest."""
    labels = complete()
    hidden = LABEL_PROTOCOLS[name](labels, 0.5, random_state=0)
    observed = hidden.truth.to_dense()
    assert np.isnan(observed).sum() == 720 - hidden.n_hidden
    np.testing.assert_array_equal(
        observed[hidden.rows, hidden.cols], labels.to_dense()[hidden.rows, hidden.cols]
    )
