"""Sparse positives with and without a mask of what was observed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labelgap import Labels, State
from reference.label_states import assert_says, label_cases

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr"]
ONES = np.array([[1, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]])
SEEN = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]], dtype=bool)
CODES = np.where(SEEN, np.where(ONES == 1, 1, 2), 3)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64, np.uint8])
def test_unstored_is_zero_never_unknown(container, layout, dtype):
    labels = Labels.from_sparse(container(ONES.astype(dtype)).asformat(layout))
    assert_says(labels, np.where(ONES == 1, 1, 2))
    assert labels.entries.nnz == ONES.sum()
    assert not labels.has_gaps


def test_unlabeled_zeros():
    labels = Labels.from_sparse(sparse.csr_array(ONES), zeros="unlabeled")
    assert_says(labels, np.where(ONES == 1, 1, 4))


def test_stored_zeros_are_zeros():
    matrix = sparse.csr_array((np.array([1, 0, 1]), [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    assert matrix.nnz == 3
    assert_says(Labels.from_sparse(matrix), np.array([[2, 2, 1], [2, 1, 2]]))


def test_duplicates_add_up_as_in_scipy():
    coordinates = ([0, 0, 1], [1, 1, 0])
    as_bool = sparse.coo_array((np.ones(3, dtype=bool), coordinates), shape=(2, 2))
    assert_says(Labels.from_sparse(as_bool), np.array([[2, 1], [1, 2]]))
    twice = sparse.coo_array((np.array([1, 0, 1]), coordinates), shape=(2, 2))
    assert_says(Labels.from_sparse(twice), np.array([[2, 1], [1, 2]]))
    counted = sparse.coo_matrix((np.ones(3, dtype=int), coordinates), shape=(2, 2))
    with pytest.raises(ValueError, match=r"positives\[0, 1\] = .*2.* stored twice .*> 0"):
        Labels.from_sparse(counted)
    in_csr = sparse.csr_array((np.ones(2, dtype=int), [1, 1], [0, 2]), shape=(1, 2))
    with pytest.raises(ValueError, match=r"positives\[0, 1\] = .*2"):
        Labels.from_sparse(in_csr)
    assert in_csr.nnz == 2  # the caller's matrix is left as it was


@pytest.mark.parametrize(
    "mask",
    [
        SEEN,
        SEEN.tolist(),
        SEEN.astype(int),
        SEEN.astype(float),
        SEEN.astype(object),
        sparse.csr_array(SEEN),
        sparse.csc_matrix(SEEN),
        sparse.coo_array(SEEN.astype(float)),
        sparse.lil_matrix(SEEN.astype(np.int8)),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("zeros", ["negative", "unlabeled"])
def test_observed_masks(mask, zeros):
    labels = Labels.from_sparse(sparse.csr_matrix(ONES), observed=mask, zeros=zeros)
    assert_says(labels, CODES if zeros == "negative" else np.where(CODES == 2, 4, CODES))


def test_stored_false_in_the_mask_is_unobserved():
    mask = sparse.csr_array((np.array([True, False]), [0, 1], [0, 2]), shape=(1, 2))
    with pytest.warns(UserWarning, match="label 1 has no observed entry"):
        labels = Labels.from_sparse(sparse.csr_array([[1, 0]]), observed=mask)
    assert_says(labels, np.array([[1, 3]]))


@pytest.mark.parametrize(("fraction", "implicit"), [(0.1, State.UNKNOWN), (0.9, State.NEGATIVE)])
def test_the_mask_is_stored_on_its_smaller_side(fraction, implicit, rng):
    seen = rng.random((60, 50)) < fraction
    ones = seen & (rng.random(seen.shape) < 0.05)
    labels = Labels.from_sparse(sparse.csr_array(ones), observed=seen)
    assert labels.implicit is implicit
    assert labels.entries.nnz <= min(seen.sum(), (~seen).sum() + ones.sum())
    assert_says(labels, np.where(seen, np.where(ones, 1, 2), 3))


@given(
    label_cases(states=(State.RELEVANT, State.NEGATIVE, State.UNKNOWN), with_unseen=False),
    st.sampled_from(FORMATS),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_round_trip(case, layout, dense_mask):
    codes, labels = case
    if not codes.size and layout in ("bsr", "lil"):
        return
    positives, observed = labels.to_sparse()
    assert (observed is None) == (not labels.has_unknown)
    if observed is not None:
        observed = observed.toarray() if dense_mask else observed.asformat(layout)
    other = Labels.from_sparse(positives.asformat(layout), observed=observed, names=labels.names)
    assert other.equals(labels)


@given(label_cases(states=(State.RELEVANT, State.UNLABELED, State.UNKNOWN), with_unseen=False))
@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
def test_round_trip_of_positive_only_labels(case):
    _, labels = case
    positives, observed = labels.to_sparse()
    other = Labels.from_sparse(positives, observed=observed, names=labels.names, zeros="unlabeled")
    assert other.equals(labels)


def test_mixed_zeros_are_not_exported_silently():
    labels = Labels.from_dense([[1, 0, 0]]).with_entries(0, 1, State.UNLABELED)
    for method in ("to_sparse", "to_tag_sets"):
        with pytest.raises(ValueError, match=f"{method} would lose which zeros are unlabeled"):
            getattr(labels, method)()


@pytest.mark.parametrize(
    ("positives", "observed", "error", "message"),
    [
        (sparse.csr_array([[0, 1], [-1, 1]]), None, ValueError, r"positives\[1, 0\] = .*-1.*mask"),
        (sparse.csr_array([[0, np.nan]]), None, ValueError, r"positives\[0, 1\] = .*nan"),
        (sparse.csr_array([[0, 1]]), [[0, 0]], ValueError, r"positives\[0, 1\] is 1 but observed"),
        (
            sparse.csr_array([[0, 1], [0, 1]]),
            sparse.csr_array([[0, 1], [1, 0]]),
            ValueError,
            r"positives\[1, 1\] is 1 but .* drop it from positives or mark it observed",
        ),
        (sparse.csr_array([[0, 1]]), [[0, 1, 1]], ValueError, r"observed has shape \(1, 3\)"),
        (sparse.csr_array([[0, 1]]), [[0, 2]], ValueError, r"observed\[0, 1\] = .*2.*use True"),
        (sparse.csr_array([[0, 1]]), [[np.nan, 1]], ValueError, r"observed\[0, 0\] = .*nan"),
        (
            sparse.csr_array([[0, 1]]),
            sparse.csr_array([[0, 2]]),
            ValueError,
            r"observed\[0, 1\] = .*2.*use True or 1",
        ),
        (np.eye(2), None, TypeError, "expected a scipy sparse matrix; see Labels.from_dense"),
        (sparse.coo_array(np.ones(3)), None, ValueError, r"positives has shape \(3,\)"),
    ],
)
def test_errors(positives, observed, error, message):
    with pytest.raises(error, match=message):
        Labels.from_sparse(positives, observed=observed)
