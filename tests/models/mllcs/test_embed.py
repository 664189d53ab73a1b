"""Factors of rows from their features and known labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from labelgap import MLLCS, Labels, State
from labelgap.cooccurrence import count_cooccurrence
from labelgap.fitting import Gibbs


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    Y = (X @ rng.normal(size=(5, 6)) + rng.normal(size=(120, 6)) > 0.3).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    return X, Y


def slope(model, X, states, U):
    """Of log p(y, u | x) by u, from the definition."""
    psi = U @ model.label_factors_.T + model.label_bias_
    p = expit(psi)
    theta = model.params_.label_frequency
    by_psi = np.select(
        [states == State.RELEVANT, states == State.NEGATIVE, states == State.UNLABELED],
        [1 - p, -p, -p if theta is None else -theta * p * (1 - p) / (1 - theta * p)],
        0.0,
    )
    return by_psi @ model.label_factors_ - model.lambda_u * (U - model.embed(X))


@pytest.mark.parametrize("label_frequency", [None, 0.7])
def test_the_slope_is_zero_there(problem, label_frequency):
    X, Y = problem
    labels = Labels.from_dense(Y)
    if label_frequency is not None:
        labels = Labels.from_dense(np.nan_to_num(Y), zeros="unlabeled")
    model = MLLCS(3, label_frequency=label_frequency, random_state=0).fit(X, labels)
    U = model.embed(X, labels, n_steps=2000)
    assert np.abs(slope(model, X, labels.states(), U)).max() < 1e-6
    few = model.embed(X, labels)
    assert np.abs(few - U).max() < 0.05 * np.abs(U).max()


def test_without_labels_it_is_what_the_features_say(problem):
    X, Y = problem
    model = MLLCS(3, random_state=0).fit(X, Y)
    nothing = Labels.from_dense(Y).with_unseen(np.arange(6))
    np.testing.assert_allclose(model.embed(X, nothing), model.embed(X), atol=1e-12)
    psi = model.embed(X) @ model.label_factors_.T + model.label_bias_
    np.testing.assert_allclose(psi, model.decision_function(X))


def test_blocks_of_rows(problem):
    X, Y = problem
    whole = MLLCS(3, random_state=0).fit(X, Y).embed(X, Y)
    parts = MLLCS(3, block_rows=50, random_state=0).fit(X, Y).embed(X, Y)
    np.testing.assert_allclose(parts, whole, atol=1e-8)


def test_unseen_labels_play_no_part(problem):
    X, Y = problem
    full = Labels.from_dense(np.nan_to_num(Y))
    counts = count_cooccurrence(full)
    marked = full.with_unseen([4, 5])
    model = MLLCS(2, random_state=0).fit(X, marked, cooccurrence=counts.rows([0, 1, 2, 3]))
    np.testing.assert_array_equal(model.embed(X, full), model.embed(X, full[:, [0, 1, 2, 3]]))


def test_two_classes(problem):
    X, _ = problem
    y = np.where(X[:, 0] > 0, "a", "b")
    model = MLLCS(1, random_state=0).fit(X, y)
    assert model.embed(X, y).shape == (120, 1)


def test_another_number_of_labels(problem):
    X, Y = problem
    model = MLLCS(2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="Y has 3 labels, the fit had 6 seen ones"):
        model.embed(X, Y[:, :3])


def test_zeros_of_plain_arrays_are_read_as_in_the_fit(problem):
    X, Y = problem
    recorded = np.nan_to_num(Y)
    model = MLLCS(3, label_frequency=0.6, random_state=0).fit(X, recorded)
    labels = Labels.from_dense(recorded, zeros="unlabeled")
    np.testing.assert_array_equal(model.embed(X, recorded), model.embed(X, labels))
    known = model.embed(X, labels.with_zeros("negative"))
    assert np.abs(model.embed(X, recorded) - known).max() > 0.05


def test_factors_that_were_folded_in_are_used(problem):
    X, Y = problem
    model = MLLCS(3, random_state=0).fit(X, Y)
    before = model.embed(X, Y)
    model.fold_in(X, 1 - np.nan_to_num(Y[:, 0]), 0)
    after = model.embed(X, Y, n_steps=2000)
    assert np.abs(after - before).max() > 0.05
    assert np.abs(slope(model, X, Labels.from_dense(Y).states(), after)).max() < 1e-6


def test_draws_have_no_single_factors(problem):
    X, Y = problem
    model = MLLCS(2, inference=Gibbs(4, 2, n_chains=1), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="embed needs a fit by EM"):
        model.embed(X, Y)
