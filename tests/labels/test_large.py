"""Extreme shapes: nothing is made dense, and an answer that is too large is refused at once."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, check_cv, train_test_split

from labelgap import Labels, State, as_labels

N_ROWS, N_LABELS, N_POSITIVES = 200_000, 1_000_000, 2_000_000
LIMIT = 500 * 2**20


@pytest.fixture(scope="module")
def positives() -> sparse.csr_array:
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(0, N_ROWS * N_LABELS, size=N_POSITIVES))
    rows, columns = np.divmod(keys, N_LABELS)
    return sparse.csr_array(
        (np.ones(keys.size, dtype=np.int8), (rows, columns)), shape=(N_ROWS, N_LABELS)
    )


@pytest.fixture(autouse=True)
def small_memory():
    """Every test here stays below the limit; a dense matrix would take 186 GiB."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < LIMIT


@pytest.mark.parametrize("zeros", ["negative", "unlabeled"])
def test_building_and_asking(positives, zeros):
    labels = Labels.from_sparse(positives, zeros=zeros)
    assert labels.n_positives() == positives.nnz
    assert labels.n_observed(unlabeled=True) == N_ROWS * N_LABELS
    assert labels.n_observed() == (positives.nnz if zeros == "unlabeled" else N_ROWS * N_LABELS)
    np.testing.assert_array_equal(labels.n_positives(axis=1), np.diff(positives.indptr))
    assert labels.n_observed(axis=0, unlabeled=True).min() == N_ROWS
    assert f"{positives.nnz} relevant" in repr(labels)
    assert (labels.positives() != positives.astype(bool)).nnz == 0
    assert labels.compact() is labels
    assert as_labels(labels) is labels


def test_slicing_and_columns(positives):
    labels = Labels.from_sparse(positives, zeros="unlabeled")
    rows = np.random.default_rng(1).permutation(N_ROWS)[: N_ROWS // 2]
    part = labels[rows]
    assert part.n_positives() == np.diff(positives.indptr)[rows].sum()
    j = int(positives.indices[0])
    found, values = labels.column(j)
    assert found.size == N_ROWS
    assert values.sum() == (positives.indices == j).sum()
    assert labels[:, [j, 3]].shape == (N_ROWS, 2)
    assert Labels.concatenate([labels[:100], labels[100:]]).equals(labels)


def test_hiding_and_comparing(positives):
    labels = Labels.from_sparse(positives)
    hidden = labels.hide([0, 1, N_ROWS - 1], [5, 6, N_LABELS - 1])
    assert "3 unknown" in repr(hidden)
    assert hidden.where(State.UNKNOWN).nnz == 3
    assert not hidden.equals(labels)
    assert not labels.equals(labels.with_zeros("unlabeled"))
    mostly_unknown = Labels(positives, "unknown")
    assert not labels.equals(mostly_unknown)
    assert pickle.loads(pickle.dumps(hidden)).equals(hidden)


def test_a_sparse_mask(positives):
    rng = np.random.default_rng(2)
    keys = np.unique(rng.integers(0, N_ROWS * N_LABELS, size=500_000))
    rows, columns = np.divmod(keys, N_LABELS)
    looked = sparse.coo_array((np.ones(keys.size, bool), (rows, columns)), shape=positives.shape)
    observed = (looked.tocsr() + positives.astype(bool)).astype(bool)
    with pytest.warns(UserWarning, match="has no observed entry"):
        labels = Labels.from_sparse(positives, observed=observed)
    assert labels.implicit is State.UNKNOWN
    assert labels.n_observed() == observed.nnz
    kept_positives, kept_observed = labels.to_sparse()
    assert kept_positives.nnz == positives.nnz
    assert kept_observed.nnz == observed.nnz
    assert labels.to_signed(as_sparse=True).sum() == 2 * positives.nnz - observed.nnz


@pytest.mark.parametrize(
    "ask",
    [
        lambda labels: labels.where(State.NEGATIVE),
        lambda labels: labels.observed(),
        lambda labels: labels.with_implicit("unknown"),
        lambda labels: labels.with_unseen(np.arange(N_LABELS // 2)).where(State.UNKNOWN),
        lambda labels: labels.hide([0], [0]).to_sparse(),
        lambda labels: labels.to_signed(as_sparse=True),
        lambda labels: Labels.concatenate(
            [labels.with_unseen([]), Labels(labels.entries, "unknown")]
        ),
    ],
    ids=["where", "observed", "with_implicit", "unseen", "to_sparse", "to_signed", "concatenate"],
)
def test_answers_that_are_too_large_are_refused(positives, ask):
    labels = Labels.from_sparse(positives)
    with pytest.raises(ValueError, match=r"too many to store one by one; work on blocks of rows"):
        ask(labels)


def test_unseen_columns_cost_what_they_are(positives):
    labels = Labels.from_sparse(positives).with_unseen([7, 8])
    unknown = labels.where(State.UNKNOWN)
    assert unknown.nnz == 2 * N_ROWS
    assert set(np.unique(unknown.indices)) == {7, 8}
    few_seen = Labels.from_sparse(positives).with_unseen(np.arange(3, N_LABELS))
    assert few_seen.observed().nnz == 3 * N_ROWS
    assert few_seen.with_implicit("unknown").entries.nnz == 3 * N_ROWS


def test_a_refusal_to_become_dense(positives):
    labels = Labels.from_sparse(positives)
    with pytest.raises(ValueError, match=r"too large to be made dense"):
        np.asarray(labels)


def test_splitting_without_becoming_dense(positives):
    labels = Labels.from_sparse(positives, zeros="unlabeled")
    train, test = train_test_split(labels, test_size=0.1, random_state=0)
    assert train.n_positives() + test.n_positives() == positives.nnz
    splitter = check_cv(5, labels, classifier=True)
    assert isinstance(splitter, KFold)


def test_long_tables_and_tag_sets():
    n = 20_000
    rng = np.random.default_rng(3)
    items, names = rng.integers(0, n, size=n), rng.integers(0, n, size=n)
    labels = Labels.from_long(items, names, item_order=range(n), names=range(n))
    assert labels.shape == (n, n)
    rows, columns, values = labels.to_long()
    assert values.all()
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == set(
        zip(items.tolist(), names.tolist(), strict=True)
    )
    again = Labels.from_tag_sets(labels.to_tag_sets(), names=range(n))
    assert again.equals(labels)
