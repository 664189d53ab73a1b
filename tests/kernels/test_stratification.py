"""The stratification kernels agree with their readable twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelgap.kernels.stratification import assign_folds, refine_folds
from reference import stratification as reference


def fast_assign(positives, fractions, label_rank, tie_breaks, index=np.int32):
    rows, columns = sparse.csr_array(positives), sparse.csc_array(positives)
    parts = (rows.indptr, rows.indices, columns.indptr, columns.indices)
    return assign_folds(*(part.astype(index) for part in parts), fractions, label_rank, tie_breaks)


def fast_refine(positives, fractions, folds, size_weights):
    rows = sparse.csr_array(positives)
    totals = positives.sum(axis=0).astype(float)
    return refine_folds(rows.indptr, rows.indices, totals, fractions, folds, size_weights)


@st.composite
def problems(draw):
    n_samples, n_labels = draw(st.integers(1, 30)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    positives = rng.random((n_samples, n_labels)) < draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
    fractions = draw(st.sampled_from([(0.5, 0.5), (0.75, 0.25), (0.25,) * 4, (0.2, 0.3, 0.5)]))
    return positives, np.array(fractions), rng.permutation(n_labels), rng.random(n_samples)


@settings(deadline=None, max_examples=60)
@given(problems())
def test_assign_equals_twin(problem):
    expected = reference.assign_folds(*problem)
    np.testing.assert_array_equal(fast_assign(*problem), expected)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_assign_takes_both_index_types(index):
    rng = np.random.default_rng(0)
    positives = rng.random((200, 30)) < 0.1
    problem = positives, np.full(5, 0.2), rng.permutation(30), rng.random(200)
    np.testing.assert_array_equal(
        fast_assign(*problem, index=index), reference.assign_folds(*problem)
    )


def test_assign_without_labels_spreads_rows_evenly():
    positives = np.zeros((11, 0), dtype=bool)
    folds = fast_assign(positives, np.full(3, 1 / 3), np.zeros(0, dtype=int), np.zeros(11))
    assert sorted(np.bincount(folds)) == [3, 4, 4]


@settings(deadline=None, max_examples=30)
@given(problems(), st.integers(0, 1000))
def test_refine_never_increases_unevenness(problem, seed):
    positives, fractions, _, _ = problem
    folds = np.random.default_rng(seed).integers(fractions.size, size=positives.shape[0])
    weights = np.full(3, 0.05)
    refined = fast_refine(positives, fractions, folds, weights)
    before = reference.unevenness(positives, fractions, folds, 0.05)
    assert reference.unevenness(positives, fractions, refined, 0.05) <= before + 1e-9
    assert set(refined) >= set(folds)


@pytest.mark.parametrize("seed", range(5))
def test_refine_equals_twin(seed):
    # irrational weights and shares make exact ties between moves impossible to round two ways
    rng = np.random.default_rng(seed)
    positives = rng.random((40, 6)) < 0.3
    fractions = rng.dirichlet(np.full(3, 20.0))
    folds = rng.integers(3, size=40)
    weights = rng.random(3) * 0.1
    expected = reference.refine_folds(positives, fractions, folds, weights)
    np.testing.assert_array_equal(fast_refine(positives, fractions, folds, weights), expected)
    assert (expected != folds).any()
