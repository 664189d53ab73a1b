"""Complete labels: the same numbers as scikit-learn, under the parameters named in CONVENTIONS."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.calibration import calibration_curve

from labelgap import metrics
from labelgap.metrics import convention


def options(metric):
    return convention("scikit-learn", metric)


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.fixture(params=["distinct", "tied"])
def problem(request, rng):
    """Rows with no label and with all labels are part of it; every label has both classes."""
    truth = (rng.random((60, 9)) < 0.3).astype(int)
    truth[3], truth[7] = 0, 1
    scores = rng.normal(size=truth.shape) + truth
    return truth, scores.round(0) if request.param == "tied" else scores


def test_row_ranking_metrics(problem):
    truth, scores = problem
    same(
        metrics.ranking_loss(truth, scores, **options("ranking_loss")),
        sk.label_ranking_loss(truth, scores),
    )
    same(metrics.coverage(truth, scores, **options("coverage")), sk.coverage_error(truth, scores))
    same(
        metrics.label_ranking_average_precision(
            truth, scores, **options("label_ranking_average_precision")
        ),
        sk.label_ranking_average_precision_score(truth, scores),
    )


@pytest.mark.parametrize("k", [1, 3, 9, 50])
def test_ndcg(problem, k):
    truth, scores = problem
    ours = metrics.ndcg_at_k(truth, scores, k, **options("ndcg_at_k"))
    same(ours, sk.ndcg_score(truth, scores, k=k))


def test_ndcg_by_position_equals_ignored_ties_when_there_are_none(rng):
    truth, scores = (rng.random((30, 8)) < 0.4).astype(int), rng.normal(size=(30, 8))
    expected = sk.ndcg_score(truth, scores, k=4, ignore_ties=True)
    same(metrics.ndcg_at_k(truth, scores, 4, ties="first", empty=0.0), expected)


def test_auc(problem):
    truth, scores = problem
    same(metrics.auc(truth, scores, average="macro"), sk.roc_auc_score(truth, scores))
    same(
        metrics.auc(truth, scores, average="macro", reduce=False),
        sk.roc_auc_score(truth, scores, average=None),
    )
    same(
        metrics.auc(truth, scores, average="micro"),
        sk.roc_auc_score(truth, scores, average="micro"),
    )
    mixed = (truth.sum(axis=1) > 0) & (truth.sum(axis=1) < truth.shape[1])
    same(
        metrics.auc(truth, scores, average="samples"),
        sk.roc_auc_score(truth[mixed], scores[mixed], average="samples"),
    )


@pytest.mark.parametrize(("ours", "theirs"), [("macro", "macro"), ("micro", "micro")])
def test_average_precision_of_labels(problem, ours, theirs):
    truth, scores = problem
    same(
        metrics.average_precision(truth, scores, average=ours),
        sk.average_precision_score(truth, scores, average=theirs),
    )


def test_average_precision_of_a_label_without_positives(problem):
    truth, scores = problem
    truth[:, 2] = 0
    with pytest.warns(UserWarning, match="No positive class"):
        expected = sk.average_precision_score(truth, scores)
    label_options = options("average_precision")
    same(metrics.average_precision(truth, scores, **label_options), expected)


@pytest.mark.parametrize("average", ["micro", "macro", "samples"])
@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_overlap_of_decisions(problem, average, name):
    truth, scores = problem
    predicted = (scores > 0.8).astype(int)
    theirs = {"f1": sk.f1_score, "jaccard": sk.jaccard_score}[name]
    expected = theirs(truth, predicted, average=average, zero_division=0)
    given = options("f1_macro" if name == "f1" else name)
    same(getattr(metrics, name)(truth, predicted, average=average, **given), expected)


def test_errors_of_decisions(problem):
    truth, scores = problem
    predicted = truth.copy()
    predicted[::2] = scores[::2] > 0.8
    same(metrics.hamming_loss(truth, predicted), sk.hamming_loss(truth, predicted))
    same(1 - metrics.subset_accuracy(truth, predicted), sk.zero_one_loss(truth, predicted))
    same(metrics.subset_accuracy(truth, predicted), sk.accuracy_score(truth, predicted))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities(problem, dtype):
    truth, scores = problem
    proba = (1 / (1 + np.exp(-4 * scores))).astype(dtype)
    proba[0, 0], truth[0, 0] = 0.0, 1
    pooled = np.column_stack([1 - proba.ravel(), proba.ravel()])
    expected = sk.log_loss(truth.ravel(), pooled, labels=[0, 1])
    np.testing.assert_allclose(metrics.log_loss(truth, proba), expected, rtol=1e-6)
    per_label = [sk.brier_score_loss(t, p) for t, p in zip(truth.T, proba.T, strict=True)]
    np.testing.assert_allclose(
        metrics.brier(truth, proba, average="macro", reduce=False), per_label, rtol=1e-6
    )
    np.testing.assert_allclose(metrics.brier(truth, proba), np.mean(per_label), rtol=1e-6)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration_error_of_one_label(strategy, rng):
    proba = rng.random(500)
    truth = (rng.random(500) < proba**2).astype(int)
    fraction, mean = calibration_curve(truth, proba, n_bins=7, strategy=strategy)
    actual = metrics.calibration_error(
        truth[:, None], proba[:, None], n_bins=7, strategy=strategy, norm="max"
    )
    same(actual, np.abs(fraction - mean).max())


binary = hnp.arrays(np.int8, (6, 5), elements=st.integers(0, 1))
coarse = hnp.arrays(float, (6, 5), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))


@settings(max_examples=60, deadline=None)
@given(binary, coarse)
def test_any_complete_problem(truth, scores):
    """Also empty and full rows and labels, in any mixture, with many ties."""
    same(
        metrics.ranking_loss(truth, scores, **options("ranking_loss")),
        sk.label_ranking_loss(truth, scores),
    )
    same(metrics.coverage(truth, scores, **options("coverage")), sk.coverage_error(truth, scores))
    same(
        metrics.label_ranking_average_precision(
            truth, scores, **options("label_ranking_average_precision")
        ),
        sk.label_ranking_average_precision_score(truth, scores),
    )
    same(
        metrics.ndcg_at_k(truth, scores, 3, **options("ndcg_at_k")),
        sk.ndcg_score(truth, scores, k=3),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = sk.roc_auc_score(truth, scores, average=None)
        actual = metrics.auc(truth, scores, average="macro", reduce=False)
    same(actual, expected)
