"""Zeros become labels where the table shows that labels are missing, or where the user says so."""

from __future__ import annotations

import numpy as np
import pytest

from auditing.test_audit import generated
from labelgap import Labels, audit, impute
from labelgap.protocols import hide_positives


@pytest.fixture(scope="module")
def complete():
    X, full = generated()
    return X, full


def test_a_complete_table_gets_labels_on_demand_alone(complete):
    X, full = complete
    noisy, truth = X + np.random.default_rng(4).normal(size=X.shape), full.to_dense()
    missing = audit(noisy, truth).missing
    assert missing.low == 0 < missing.high
    assert impute(noisy, truth, threshold=0.1).rows.size == 0
    said = impute(noisy, truth, threshold=0.1, zeros="unlabeled")
    assert said.rows.size > 0
    stated = impute(noisy, Labels.from_dense(truth).with_zeros("unlabeled"), threshold=0.1)
    np.testing.assert_array_equal(said.rows, stated.rows)


def test_features_that_say_nothing_show_no_gaps(complete):
    _, full = complete
    noise = np.random.default_rng(0).normal(size=(full.n_samples, 4))
    assert impute(noise, full.to_dense(), threshold=0.1).rows.size == 0


def test_a_table_that_shows_gaps_is_filled(complete):
    X, full = complete
    shown = hide_positives(full, 0.4, random_state=1).labels.positives().toarray().astype(float)
    assert audit(X, shown).missing.low > 0.05 * shown.sum()
    rows, labels, probabilities = impute(X, shown)
    assert rows.size > 100
    assert full.to_dense()[rows, labels].mean() > 0.7
    same = impute(X, shown, zeros="unlabeled")
    np.testing.assert_array_equal(probabilities, same.probabilities)


def test_unknown_entries_are_imputed_whatever_zeros_mean(complete):
    X, full = complete
    truth = full.to_dense()
    gaps = np.where(np.random.default_rng(0).random(truth.shape) < 0.3, np.nan, truth)
    rows, labels, _ = impute(X, gaps)
    assert rows.size
    assert np.isnan(gaps[rows, labels]).all()
