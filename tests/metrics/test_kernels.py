"""The compiled counts against the enumerated ones, over dtypes, storage and degenerate shapes."""

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels import ranking as kernels
from labelgap.kernels.ranking import count_predicted
from labelgap.labels import Labels
from labelgap.metrics._metric_inputs import row_default
from labelgap.metrics._ranked_entries import CheckedScores
from reference import ranking as reference

MODES = ("by_row", "by_label", "pooled")
SHAPES = [(0, 3), (1, 1), (1, 7), (6, 1), (5, 4), (40, 30)]


def problem(shape, *, n_levels, fraction_unknown, seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random(shape) < 0.4).astype(float)
    truth[rng.random(shape) < fraction_unknown] = np.nan
    levels = rng.normal(size=n_levels)
    return truth, levels[rng.integers(n_levels, size=shape)]


def storages(truth):
    """The same labels stored around each of the states an unstored entry can mean."""
    labels = Labels.from_dense(truth)
    return [labels.with_implicit("negative"), labels.with_implicit("unknown")]


@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_levels", [1, 3, 10_000])
def test_counts_equal_enumeration(shape, dtype, mode, n_levels):
    truth, scores = problem(shape, n_levels=n_levels, fraction_unknown=0.3, seed=1)
    scores = scores.astype(dtype)
    expected = [reference.counts(e) for e in reference.segments(truth, scores, mode)]
    flat = [slot for slots, _ in expected for slot in slots]
    for labels in storages(truth):
        ranking = getattr(CheckedScores(labels, scores), mode)
        columns = (ranking.positions, ranking.above, ranking.tied, ranking.tied_before)
        assert list(zip(*(c.tolist() for c in columns), strict=True)) == flat
        assert ranking.n_irrelevant.tolist() == [n for _, n in expected]
        assert ranking.n_relevant.tolist() == [len(slots) for slots, _ in expected]


@pytest.mark.parametrize(
    "values",
    [
        [1.7e308, -1.7e308, 0.0, 1e300, -1e300, 5e-324],
        [5e-324, 0.0, 1e-323, -5e-324, 0.0, 1.5e-323],
        [0.0, -0.0, 0.0, -0.0, 0.0, -0.0],
    ],
)
def test_pooled_counts_survive_extreme_scores(values):
    truth = np.array([[1, 0, 1], [0, 1, 0.0]])
    scores = np.array(values).reshape(2, 3)
    expected, _ = reference.counts(reference.segments(truth, scores, "pooled")[0])
    ranking = CheckedScores(truth, scores).pooled
    columns = (ranking.positions, ranking.above, ranking.tied, ranking.tied_before)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == expected


def test_unlabeled_zeros_are_zeros_and_unseen_labels_are_unknown(rng):
    positives = sparse.csr_array(rng.random((8, 5)) < 0.4)
    scores = rng.normal(size=(8, 5))
    plain = CheckedScores(Labels.from_sparse(positives), scores).by_row
    unlabeled = CheckedScores(Labels.from_sparse(positives, zeros="unlabeled"), scores).by_row
    np.testing.assert_array_equal(plain.above, unlabeled.above)
    unseen = Labels.from_sparse(positives).with_unseen([1, 3])
    seen = [0, 2, 4]
    hidden = CheckedScores(unseen, scores).by_row
    deleted = CheckedScores(positives.toarray()[:, seen], scores[:, seen]).by_row
    np.testing.assert_array_equal(hidden.above, deleted.above)
    np.testing.assert_array_equal(hidden.n_irrelevant, deleted.n_irrelevant)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_first_nonfinite_is_the_first_in_row_major_order(bad):
    values = np.zeros((3, 4))
    assert kernels.first_nonfinite(values) == (-1, -1)
    values[2, 0] = values[1, 3] = bad
    assert kernels.first_nonfinite(values) == (1, 3)


@pytest.mark.filterwarnings("ignore::labelgap.LabelWarning")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fraction_unknown", [0.0, 0.5, 1.0])
def test_confusion_equals_enumeration(shape, fraction_unknown, rng):
    truth, _ = problem(shape, n_levels=2, fraction_unknown=fraction_unknown, seed=2)
    predicted = rng.random(shape) < 0.5
    rows, labels_expected = reference.confusion(truth, predicted)
    stored = sparse.csr_array(predicted)
    for labels in storages(truth):
        entries = labels.entries
        row_hits, row_false, label_hits, label_false = count_predicted(
            entries.indptr,
            entries.indices,
            entries.data,
            row_default(labels),
            stored.indptr,
            stored.indices,
        )
        assert [list(pair) for pair in zip(row_hits, row_false, strict=True)] == rows
        assert [list(p) for p in zip(label_hits, label_false, strict=True)] == labels_expected


@pytest.mark.parametrize("k", [1, 3, 70, 100])
@pytest.mark.parametrize("n_levels", [1, 4, 10_000])
def test_the_best_columns_are_those_of_a_stable_sort(k, n_levels):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=n_levels)[rng.integers(n_levels, size=(20, 100))]
    scores[0] = -np.inf
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(kernels.top_k(scores, k), expected)
