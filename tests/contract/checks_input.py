"""The forms in which features come, and what must not happen to them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from contract.problems import (
    accepts_sparse,
    assert_same,
    fresh,
    outputs,
    problem,
    read_only_csr,
    stored_awkwardly,
)
from contract.registry import Case
from labelgap import Labels


def check_shapes_and_range(case: Case) -> None:
    """Everything is (n_samples, n_labels); probabilities are probabilities, decisions 0 and 1."""
    p = problem()
    estimator = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    assert estimator.n_features_in_ == p.X.shape[1]
    for name, result in outputs(estimator, p.X_new).items():
        assert isinstance(result, np.ndarray), name
        assert result.shape == (len(p.X_new), p.Y.shape[1]), name
        assert np.isfinite(result).all(), name
        if name != "decision_function":
            assert result.min() >= 0, name
            assert result.max() <= 1, name
    assert set(np.unique(estimator.predict(p.X_new))) <= {0, 1}


def check_sparse_is_dense(case: Case) -> None:
    """Sparse features of any format give what dense ones give, or are refused by all of them."""
    p = problem()
    if not accepts_sparse(case):
        with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
            fresh(case, p.X, p.Y).fit(sparse.csr_array(p.X), p.Y)
        return
    dense = fresh(case, p.X, p.Y).fit(p.X, p.Y)
    reference = outputs(dense, p.X_new)
    assert_same(reference, outputs(dense, sparse.csr_array(p.X_new)), case.tolerance)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array):
        estimator = fresh(case, p.X, p.Y).fit(form(p.X), p.Y)
        assert_same(reference, outputs(estimator, form(p.X_new)), case.tolerance)
        assert_same(outputs(estimator, p.X_new), outputs(estimator, form(p.X_new)), 1e-10)


def check_stored_forms_are_one(case: Case) -> None:
    """Entries stored twice, out of order, as zeros or with wide indices are the same matrix."""
    p = problem()
    # whole numbers, so that two halves add up to the same bits
    X, X_new = np.round(4 * p.X), np.round(4 * p.X_new)
    positives, observed = p.truth * ~p.hidden, ~p.hidden
    plain_Y = Labels.from_sparse(sparse.csr_array(positives), observed=observed)
    awkward_Y = Labels.from_sparse(
        stored_awkwardly(positives), observed=stored_awkwardly(observed.astype(float), np.int32)
    )
    if accepts_sparse(case):
        plain, awkward = (
            (sparse.csr_array(X), sparse.csr_array(X_new)),
            map(stored_awkwardly, (X, X_new)),
        )
    else:
        plain, awkward = (X, X_new), (X, X_new)
    results = []
    for labels, (rows, new) in ((plain_Y, plain), (awkward_Y, awkward)):
        results.append(outputs(fresh(case, X, p.Y).fit(rows, labels), new))
    assert_same(*results, 1e-10)


def check_float32_is_float64(case: Case) -> None:
    """Single precision in gives nearly the same out."""
    p = problem()
    reference = outputs(fresh(case, p.X, p.Y).fit(p.X, p.Y), p.X_new)
    single = fresh(case, p.X, p.Y).fit(p.X.astype(np.float32), p.Y)
    results = outputs(single, p.X_new.astype(np.float32))
    assert_same(reference, results, max(1e-3, case.tolerance), decisions=False)


def check_input_is_left_alone(case: Case) -> None:
    """Neither fit nor prediction changes what it was given."""
    p = problem()
    forms = [np.array, sparse.csr_array] if accepts_sparse(case) else [np.array]
    for form in forms:
        X, Y, X_new = form(p.X), p.Y.copy(), form(p.X_new)
        outputs(fresh(case, p.X, p.Y).fit(X, Y), X_new)
        for given, original in ((X, p.X), (X_new, p.X_new)):
            dense = given.toarray() if sparse.issparse(given) else given
            np.testing.assert_array_equal(dense, original)
        np.testing.assert_array_equal(Y, p.Y)


def check_read_only_input(case: Case) -> None:
    """Memory-mapped and read-only input works, with sparse indices in any order."""
    p = problem()
    reference = outputs(fresh(case, p.X, p.Y).fit(p.X, p.Y), p.X_new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, p.X)
        mapped = np.load(path, mmap_mode="r")
        assert_same(
            reference, outputs(fresh(case, p.X, p.Y).fit(mapped, p.Y), p.X_new), case.tolerance
        )
        del mapped
    if not accepts_sparse(case):
        return
    for sort in (True, False):
        X = read_only_csr(p.X, sort=sort, index=np.int32)
        X_new = read_only_csr(p.X_new, sort=sort, index=np.int32)
        estimator = fresh(case, p.X, p.Y).fit(X, p.Y)
        assert_same(reference, outputs(estimator, X_new), case.tolerance)


def check_memory_layout(case: Case) -> None:
    """Fortran order and strided views give the same result."""
    p = problem()
    reference = outputs(fresh(case, p.X, p.Y).fit(p.X, p.Y), p.X_new)
    wide = np.repeat(p.X, 2, axis=1)[:, ::2]
    for X in (np.asfortranarray(p.X), wide):
        estimator = fresh(case, p.X, p.Y).fit(X, p.Y)
        assert_same(reference, outputs(estimator, p.X_new), case.tolerance)
