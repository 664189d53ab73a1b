from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelgap.kernels.latent_counts import (
    expected_counts,
    log_expm1,
    prepare_positives,
    truncated_ratio,
)
from reference import topic_kernels as slow


def problem(n_samples, n_labels, n_topics, density=0.4, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    positives = rng.random((n_samples, n_labels)) < density
    U = rng.gamma(0.5, size=(n_samples, n_topics)).astype(dtype)
    V = rng.dirichlet(np.ones(n_labels), n_topics).T.astype(dtype).copy()
    return positives, U, V


def prepared(positives):
    return prepare_positives(sparse.csr_array(positives))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(6, 5, 3), (6, 5, 1), (6, 1, 3), (1, 5, 2), (1, 1, 1)])
def test_counts_agree_with_the_definition(shape, dtype):
    positives, U, V = problem(*shape, density=0.7, dtype=dtype)
    found = expected_counts(prepared(positives), U, V)
    by_row, by_label, term = slow.expected_counts(positives, U, V)
    tolerance = {"rtol": 1e-10 if dtype == np.float64 else 2e-5, "atol": 1e-6}
    assert found.by_row.dtype == found.by_label.dtype == dtype
    np.testing.assert_allclose(found.by_row, by_row, **tolerance)
    np.testing.assert_allclose(found.by_label, by_label, **tolerance)
    np.testing.assert_allclose(found.log_expm1_rate, term, **tolerance)


@pytest.mark.parametrize("shape", [(0, 4, 2), (3, 4, 2)])
def test_rows_without_positives_have_no_counts(shape):
    positives, U, V = problem(*shape, density=0)
    found = expected_counts(prepared(positives), U, V)
    np.testing.assert_array_equal(found.by_row, np.zeros(U.shape))
    np.testing.assert_array_equal(found.by_label, np.zeros(V.shape))
    assert found.log_expm1_rate == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-12, 50))
def test_both_totals_hold_the_same_counts_of_at_least_one_each(seed, scale):
    positives, U, V = problem(5, 4, 3, seed=seed)
    found = expected_counts(prepared(positives), scale * (U + 1e-6), V)
    np.testing.assert_allclose(found.by_row.sum(axis=0), found.by_label.sum(axis=0), rtol=1e-9)
    assert (found.by_row.sum(axis=1) >= positives.sum(axis=1) * (1 - 1e-12)).all()
    assert (found.by_label.sum(axis=1) >= positives.sum(axis=0) * (1 - 1e-12)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [0.0, 1e-44, 1e-38, 1e-25, 1e3])
def test_a_positive_of_a_label_with_hardly_any_weight_stays_finite(dtype, weight):
    positives = np.ones((50, 2), dtype=bool)
    V = np.array([[weight, weight], [0.5, 0.5]], dtype=dtype)
    U = np.full((50, 2), 20.0, dtype=dtype)
    found = expected_counts(prepared(positives), U, V)
    assert np.isfinite(found.by_row).all()
    assert np.isfinite(found.by_label).all()
    assert np.isfinite(found.log_expm1_rate)


def test_counts_of_a_tiny_rate_are_one():
    V, U = np.array([[1e-20, 3e-20]]), np.array([[1.0, 1.0]])
    found = expected_counts(prepared(np.ones((1, 1), dtype=bool)), U, V)
    np.testing.assert_allclose(found.by_row, [[0.25, 0.75]])


@given(st.floats(1e-6, 600))
def test_scalars_agree_with_the_plain_formulas(rate):
    assert truncated_ratio(rate, 1e-200) * -np.expm1(-rate) == pytest.approx(1)
    expected = np.log(np.expm1(rate)) if rate < 600 else rate
    assert log_expm1(rate) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_log_expm1_does_not_overflow():
    assert log_expm1(1e6) == 1e6


def test_column_order_lists_the_same_entries():
    positives = np.random.default_rng(3).random((7, 9)) < 0.3
    both = prepared(positives)
    again = np.zeros_like(positives)
    for label in range(9):
        part = slice(both.column_indptr[label], both.column_indptr[label + 1])
        again[both.column_rows[part], label] = True
        assert (both.indices[both.order[part]] == label).all()
    np.testing.assert_array_equal(again, positives)
