"""The one form that kernels get, whatever scipy takes for the same matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance, CooccurrenceVote, Labels, Mend, as_labels, metrics
from labelgap.cooccurrence import as_cooccurrence
from labelgap.kernels.input_arrays import (
    LARGEST,
    canonical_rows,
    check_not_tiny,
    check_numbers,
    first_nan,
    named_non_numbers,
)


def _random(dtype, rng):
    shape = (7, 5)
    n = 60
    places = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    values = rng.integers(0, 100, n).astype(dtype)
    exact = np.zeros(shape)
    np.add.at(exact, places, values.astype(np.float64))
    return sparse.coo_array((values, places), shape=shape), exact


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "raw csr"])
def test_entries_stored_twice_add_up_without_overflow(dtype, form):
    matrix, exact = _random(dtype, np.random.default_rng(0))
    if form == "raw csr":
        order = np.argsort(matrix.coords[0], kind="stable")
        starts = np.concatenate([[0], np.bincount(matrix.coords[0], minlength=7).cumsum()])
        parts = (matrix.data[order], matrix.coords[1][order].astype(np.int64), starts)
        matrix = sparse.csr_array(parts, shape=matrix.shape)
    elif form != "coo":
        # scipy itself adds up in the type of the matrix
        matrix = matrix.astype(np.float64).asformat(form)
    before = matrix.data.copy()
    rows = canonical_rows(matrix)
    np.testing.assert_array_equal(rows.toarray(), exact)
    again = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
    assert again.has_canonical_format
    assert rows.nnz == np.count_nonzero(exact)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    np.testing.assert_array_equal(matrix.data, before)


def test_nothing_is_copied_that_is_in_order():
    matrix = sparse.csr_array(np.eye(3))
    rows = canonical_rows(matrix)
    assert np.shares_memory(rows.data, matrix.data)
    assert np.shares_memory(rows.indices, matrix.indices)


def test_indices_outside_the_matrix_are_refused():
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices = np.array([0, 1, 10**6], dtype=np.int32)
    with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
        canonical_rows(matrix)
    matrix = sparse.csr_array(np.eye(3))
    matrix.indptr = np.array([0, 2, 1, 3], dtype=np.int32)
    with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
        canonical_rows(matrix)


def test_the_first_bad_number_is_named():
    X = np.zeros((3, 4))
    X[1, 2] = 10 * LARGEST
    for form in (np.array, sparse.csr_array, np.asfortranarray):
        with pytest.raises(ValueError, match=r"X\[1, 2\] = 1e\+31 is beyond 1e\+30.*scale"):
            check_numbers(form(X))
    X[1, 2] = -np.inf
    with pytest.raises(ValueError, match=r"infinity, first in X\[1, 2\]"):
        check_numbers(X, allow_nan=True)
    X[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN, first in rows\[1, 2\].*SimpleImputer"):
        check_numbers(X, "rows")
    check_numbers(X, allow_nan=True)
    check_numbers(np.full((2, 2), np.nan), allow_nan=True)
    check_numbers(np.full((2, 2), LARGEST))


def test_the_first_nan():
    assert first_nan(np.array([[np.inf, 0], [-np.inf, 1]])) is None
    assert first_nan(np.array([[0, 1], [np.inf, np.nan]])) == (1, 1)


def test_labels_stored_many_times_are_not_wrapped_to_zero():
    many = 4 * [64]
    places = ([0] * 4, [1] * 4)
    stored = sparse.coo_array((np.array(many, dtype=np.int8), places), shape=(2, 2))
    for read in (Labels.from_sparse, Labels.from_signed, as_labels):
        with pytest.raises(ValueError, match=r"\[0, 1\] = 256"):
            read(stored)
    with pytest.raises(ValueError, match="values other than 0 and 1"):
        metrics.f1(np.eye(2), stored)
    places = ([0, 1] * 4, [1, 0] * 4)
    counts = sparse.coo_array((np.array(2 * many, dtype=np.int8), places), shape=(2, 2))
    assert as_cooccurrence(counts).counts[0, 1] == 256


def test_every_estimator_refuses_numbers_that_cannot_be_squared():
    X, Y = np.eye(4), [[1], [0], [1], [0]]
    with pytest.raises(ValueError, match=r"X\[0, 0\] = 1e\+150 is beyond"):
        BinaryRelevance().fit(X * 1e150, Y)
    with pytest.raises(ValueError, match=r"X\[0, 0\] = 1e\+150 is beyond"):
        BinaryRelevance().fit(X, Y).predict(X * 1e150)


def test_numbers_that_vanish_when_squared_are_refused_at_fit_alone():
    X, Y = np.array([[1.0], [0.0], [2.0], [1e-300]]), [[1], [0], [1], [0]]
    model = BinaryRelevance().fit(X, Y)
    assert model.predict(X[3:]).shape == (1, 1)
    for form in (np.array, sparse.csr_array):
        with pytest.raises(ValueError, match=r"no number of X is beyond 1e-300.*scale"):
            check_not_tiny(form(X[3:]))
        check_not_tiny(form(np.zeros((2, 2))))
        check_not_tiny(form(np.array([[-1 / LARGEST]])))
    check_not_tiny(np.array([[np.nan, 1.0]]))
    with pytest.raises(ValueError, match="too small to compute with"):
        BinaryRelevance().fit(X * 1e-100, Y)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([[1.0, 2.0], [3.0, "red"]], r"X\[1, 1\] is no number .*could not convert.*OneHotEncoder"),
        ([[1.0, {}], [3.0, 2.0]], r"X\[0, 1\] is no number .*argument must be.*OneHotEncoder"),
        ([[1.0, 2.0], [3.0]], r"is no number .*inhomogeneous.*same number of features"),
        (np.array([[1j], [2]]), "Complex data not supported: X has the type complex128"),
    ],
)
def test_what_is_no_number_is_named(X, said):
    with pytest.raises((TypeError, ValueError), match=said):
        BinaryRelevance().fit(X, [[1], [0]])


def test_other_errors_pass_as_they_are():
    def fail() -> None:
        with named_non_numbers([[1.0]]):
            raise ValueError("something else")

    with pytest.raises(ValueError, match=r"^something else$"):
        fail()


@pytest.mark.parametrize(
    "model",
    [
        BinaryRelevance(LogisticRegression(solver="liblinear")),
        Mend(LogisticRegression(solver="liblinear")),
        BinaryRelevance(LinearSVC()),
        CooccurrenceVote(),
    ],
)
def test_liblinear_gets_no_numbers_with_which_it_goes_on_for_ever(model):
    X, Y = np.random.default_rng(0).standard_normal((12, 3)), np.eye(12)[:, :3]
    X[2, 1] = 1e13
    with pytest.raises(ValueError, match=r"X\[2, 1\] = 1e\+13 is beyond 1e\+10.*scale"):
        model.fit(X, Y)
    if model.estimator is not None:
        scaled = make_pipeline(StandardScaler(), model.estimator)
        assert np.isfinite(clone(model).set_params(estimator=scaled).fit(X, Y).predict(X)).all()
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        plain = BinaryRelevance().fit(X, Y)
    assert np.isfinite(plain.predict(X)).all()


def test_single_precision_has_a_limit_of_its_own():
    X = np.eye(3, dtype=np.float32)
    check_numbers(X * np.float32(1e14))
    check_numbers(X.astype(np.float64) * 1e25)
    for form in (X * np.float32(1e25), sparse.csr_array(X * np.float32(1e25))):
        with pytest.raises(ValueError, match=r"X\[0, 0\] = 1e\+25 is beyond 1e\+15.*scale"):
            check_numbers(form)
