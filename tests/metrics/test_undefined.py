"""Where a metric has no value it says so; wrong arguments are named with the remedy."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from labelgap import Labels, metrics
from labelgap.metrics import METRICS


def call(name, truth, predictions, **params):
    if name == "propensity_scored_precision_at_k":
        params["propensities"] = np.full(np.shape(truth)[1], 0.5)
    return METRICS[name](truth, predictions, **params)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_all_unknown_is_nan_with_a_warning(name):
    with pytest.warns(UndefinedMetricWarning, match="undefined") as caught:
        assert np.isnan(call(name, np.full((3, 2), np.nan), np.zeros((3, 2))))
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("name", sorted(METRICS))
def test_no_rows_is_nan_with_a_warning(name):
    labels = Labels.from_sparse(sparse.csr_array((0, 4), dtype=bool))
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        assert np.isnan(call(name, labels, np.zeros((0, 4))))


@pytest.mark.parametrize("average", ["micro", "macro", "instance", "top_t"])
@pytest.mark.parametrize("fill", [0.0, 1.0])
def test_auc_of_one_class_is_nan(average, fill):
    with pytest.warns(UndefinedMetricWarning, match="auc is undefined"):
        value = metrics.auc(np.full((3, 2), fill), np.zeros((3, 2)), average=average)
    assert np.isnan(value)


@pytest.mark.parametrize(
    ("metric", "empty", "full"),
    [
        (metrics.one_error, 1.0, 0.0),
        (metrics.precision_at_k, 0.0, 1.0),
        (metrics.ranking_loss, np.nan, np.nan),
        (metrics.coverage, np.nan, 1.0),
        (metrics.label_ranking_average_precision, np.nan, 1.0),
        (metrics.ndcg_at_k, np.nan, 1.0),
    ],
)
def test_defaults_keep_what_is_defined_and_drop_the_rest(metric, empty, full):
    truth = [[0, 0], [1, 1], [1, 0], [np.nan, np.nan]]
    values = metric(truth, [[2.0, 1.0]] * 4, reduce=False)
    np.testing.assert_array_equal(values[[0, 1, 3]], [empty, full, np.nan])
    assert metric(truth, [[2.0, 1.0]] * 4) == pytest.approx(np.nanmean(values))


@pytest.mark.parametrize(
    "metric",
    [
        metrics.one_error,
        metrics.ranking_loss,
        metrics.label_ranking_average_precision,
        metrics.ndcg_at_k,
    ],
)
def test_empty_and_full_rows_count_with_the_given_number(metric):
    truth, scores = [[0, 0], [1, 1], [1, 0]], [[2.0, 1.0]] * 3
    values = metric(truth, scores, empty=0.25, full=0.75, reduce=False)
    np.testing.assert_array_equal(values[:2], [0.25, 0.75])
    dropped = metric(truth, scores, empty="drop", full="drop", reduce=False)
    np.testing.assert_array_equal(dropped[:2], [np.nan, np.nan])


def test_keep_is_refused_where_there_is_nothing_to_keep():
    with pytest.raises(ValueError, match=r"empty='keep'.*no value there"):
        metrics.ranking_loss([[0, 1]], [[0.1, 0.2]], empty="keep")


def test_short_rows_are_judged_on_the_labels_they_have():
    truth = [[1, np.nan, np.nan, 0], [1, 1, 0, 0]]
    values = metrics.precision_at_k(truth, [[4.0, 3.0, 2.0, 1.0]] * 2, k=3, reduce=False)
    np.testing.assert_allclose(values, [1 / 2, 2 / 3])


@pytest.mark.parametrize("name", sorted(METRICS))
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_predictions_must_be_finite_also_where_truth_is_unknown(name, bad):
    predictions = np.zeros((3, 4))
    predictions[1, 2] = bad
    truth = np.tile([0.0, 1.0, np.nan, 1.0], (3, 1))
    with pytest.raises(ValueError, match="row 1, label 2"):
        call(name, truth, predictions)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_shapes_must_agree(name):
    with pytest.raises(ValueError, match=r"\(3, 3\).*\(3, 4\)"):
        call(name, np.zeros((3, 4)), np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("message", "function", "predictions", "params"),
    [
        ("ties='sometimes'", metrics.ranking_loss, [[0.1, 0.2]], {"ties": "sometimes"}),
        ("ties='half'", metrics.coverage, [[0.1, 0.2]], {"ties": "half"}),
        ("average='weighted'.*'example'", metrics.f1, [[0, 1]], {"average": "weighted"}),
        ("empty='ignore'", metrics.auc, [[0.1, 0.2]], {"empty": "ignore"}),
        ("k=0", metrics.precision_at_k, [[0.1, 0.2]], {"k": 0}),
        ("k=1.5", metrics.ndcg_at_k, [[0.1, 0.2]], {"k": 1.5}),
        ("normalize=True applies", metrics.auc, [[0.1, 0.2]], {"normalize": True}),
        ("reduce=False with average='micro'", metrics.brier, [[0.1, 0.2]], {"reduce": False}),
        ("n_bins=0", metrics.calibration_error, [[0.1, 0.2]], {"n_bins": 0}),
        ("clip=0.7", metrics.log_loss, [[0.1, 0.2]], {"clip": 0.7}),
        ("1.5 at row 0, label 1, which is not a prob", metrics.log_loss, [[0.1, 1.5]], {}),
        ("0.3 at row 0, label 1: decisions", metrics.f1, [[1, 0.3]], {}),
    ],
)
def test_wrong_arguments_are_named(message, function, predictions, params):
    with pytest.raises(ValueError, match=message):
        function([[0, 1]], predictions, **params)


def test_sparse_scores_are_refused_but_sparse_decisions_are_not(rng):
    truth, predicted = rng.random((5, 4)) < 0.5, rng.random((5, 4)) < 0.5
    with pytest.raises(TypeError, match="toarray"):
        metrics.ranking_loss(truth, sparse.csr_array(predicted.astype(float)))
    expected = metrics.hamming_loss(truth, predicted)
    for container in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, Labels.from_dense):
        assert metrics.hamming_loss(truth, container(predicted)) == expected


def test_predicted_labels_must_be_complete():
    with pytest.raises(ValueError, match="unknown entries"):
        metrics.f1([[0, 1], [1, 0]], Labels.from_signed([[0, 1], [1, 1]]))


@pytest.mark.parametrize(
    ("values", "message"),
    [([0.5], "one per label"), ([0.5, 0.0], r"propensities\[1\] is 0"), ([0.5, 2], "is 2")],
)
def test_propensities_are_checked(values, message):
    with pytest.raises(ValueError, match=message):
        metrics.propensity_scored_precision_at_k([[0, 1]], [[0.1, 0.2]], propensities=values)


def test_ranking_and_decisions_never_make_the_labels_dense(rng, monkeypatch):
    labels = Labels.from_sparse(sparse.random_array((40, 3000), density=1e-2, rng=rng) > 0)
    scores = rng.random(labels.shape, dtype=np.float32)

    def refuse(self, *args, **kwargs):
        raise AssertionError("made dense")

    for method in ("states", "to_dense", "__array__", "observed"):
        monkeypatch.setattr(Labels, method, refuse)
    names = [name for name, metric in METRICS.items() if metric.needs != "probabilities"]
    names.remove("propensity_scored_precision_at_k")
    values = metrics.evaluate(labels, scores, names, y_pred=sparse.csr_array(scores > 0.99))
    assert 0.4 < values["auc_micro"] < 0.6


@pytest.mark.parametrize("name", ["log_loss", "brier", "calibration_error"])
def test_probabilities_are_compared_in_blocks(name, rng, monkeypatch):
    labels = Labels.from_sparse(sparse.csr_array(rng.random((50, 8)) < 0.3))
    monkeypatch.setattr("labelgap.metrics._metric_inputs._BLOCK_ENTRIES", 64)
    sizes = []
    states = Labels.states

    def record(self, rows=None):
        block = states(self, rows)
        sizes.append(block.size)
        return block

    monkeypatch.setattr(Labels, "states", record)
    METRICS[name](labels, rng.random(labels.shape))
    assert sizes == [64] * 6 + [16]
