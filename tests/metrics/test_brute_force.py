"""Every ranking metric against enumeration of the known entries, with ties and gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelgap import metrics
from reference import ranking as reference

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.UndefinedMetricWarning", "ignore::labelgap.LabelWarning"
)
TIES = ("error", "half", "correct", "first", "last")


@st.composite
def problems(draw, max_rows=5, max_labels=5):
    shape = draw(st.tuples(st.integers(1, max_rows), st.integers(1, max_labels)))
    truth = draw(hnp.arrays(float, shape, elements=st.sampled_from([0.0, 1.0, np.nan])))
    scores = draw(hnp.arrays(float, shape, elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])))
    return truth, scores


def same(actual, expected):
    np.testing.assert_allclose(actual, np.array(expected, dtype=float), rtol=1e-12, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(TIES), st.integers(1, 6))
def test_row_metrics_equal_enumeration(problem, ties, k):
    truth, scores = problem
    rows = reference.segments(truth, scores, "by_row")

    def over_rows(value):
        return [reference.mean_over_orders(row, ties, value) for row in rows]

    options = {"ties": ties, "reduce": False}
    same(metrics.one_error(truth, scores, **options), over_rows(reference.one_error))
    same(metrics.ranking_loss(truth, scores, **options), over_rows(reference.ranking_loss))
    same(metrics.precision_at_k(truth, scores, k, **options), over_rows(reference.precision_at(k)))
    same(metrics.ndcg_at_k(truth, scores, k, **options), over_rows(reference.ndcg_at(k)))
    if ties != "half":
        depths = np.array(over_rows(reference.depth))
        same(metrics.coverage(truth, scores, **options), depths - 1)
        known = np.array([len(row) for row in rows])
        normalized = metrics.coverage(truth, scores, normalize=True, zero_based=False, **options)
        same(normalized, depths / np.maximum(known, 1))


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(["threshold", "error", "correct", "first", "last"]))
def test_average_precision_equals_enumeration(problem, ties):
    truth, scores = problem

    def value(entries):
        if ties == "threshold":
            return reference.threshold_average_precision(entries)
        return reference.mean_over_orders(entries, ties, reference.average_precision)

    for function, mode in (
        (metrics.label_ranking_average_precision, "by_row"),
        (metrics.average_precision, "by_label"),
    ):
        expected = [value(e) for e in reference.segments(truth, scores, mode)]
        same(function(truth, scores, ties=ties, reduce=False), expected)
    pooled = value(reference.segments(truth, scores, "pooled")[0])
    same(metrics.average_precision(truth, scores, average="micro", ties=ties), pooled)


@settings(max_examples=60, deadline=None)
@given(problems(max_rows=7, max_labels=6), st.sampled_from(TIES))
def test_auc_equals_pair_counting(problem, ties):
    truth, scores = problem
    for average, mode in (("instance", "by_row"), ("macro", "by_label")):
        expected = [reference.auc(e, ties) for e in reference.segments(truth, scores, mode)]
        same(metrics.auc(truth, scores, average=average, ties=ties, reduce=False), expected)
        defined = [value for value in expected if not np.isnan(value)]
        mean = np.mean(defined) if defined else np.nan
        same(metrics.auc(truth, scores, average=average, ties=ties), mean)
    pooled = reference.auc(reference.segments(truth, scores, "pooled")[0], ties)
    same(metrics.auc(truth, scores, average="micro", ties=ties), pooled)


def top_t_rows(rows, empty, full):
    """The rows that the top-T curve counts, and the irrelevant entries it adds as rejected."""
    is_empty = [not any(relevant for _, relevant, _ in row) for row in rows]
    is_full = [bool(row) and all(relevant for _, relevant, _ in row) for row in rows]
    counted = [
        row
        for row, none, every in zip(rows, is_empty, is_full, strict=True)
        if not (none and empty != "keep") and not (every and full == "drop")
    ]
    rejected = sum(len(row) for row, none in zip(rows, is_empty, strict=True) if none)
    return counted, rejected if empty == "true_negative" else 0


@settings(max_examples=80, deadline=None)
@given(
    problems(),
    st.sampled_from(TIES),
    st.sampled_from(["keep", "drop", "true_negative"]),
    st.sampled_from(["keep", "drop"]),
    st.booleans(),
)
def test_top_t_curve_equals_enumeration(problem, ties, empty, full, normalize):
    truth, scores = problem
    rows, rejected = top_t_rows(reference.segments(truth, scores, "by_row"), empty, full)
    actual = metrics.auc(
        truth, scores, average="top_t", ties=ties, empty=empty, full=full, normalize=normalize
    )
    truths = [relevant for row in rows for _, relevant, _ in row]
    n_relevant, n_irrelevant = sum(truths), len(truths) - sum(truths) + rejected
    if not n_relevant or not n_irrelevant:
        assert np.isnan(actual)
        return
    false_count, true_count = np.array(reference.top_t_counts(rows, ties)).T
    false_rate, true_rate = false_count / n_irrelevant, true_count / n_relevant
    area, width = np.trapezoid(true_rate, false_rate), false_rate[-1] - false_rate[0]
    if normalize and width < 1e-12:
        assert np.isnan(actual)
        return
    same(actual, area / width if normalize else area)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from(["half", "error", "first", "last"]), st.integers(1, 6))
def test_propensity_scored_precision_equals_enumeration(problem, ties, k):
    truth, scores = problem
    propensity = np.linspace(0.2, 1.0, truth.shape[1])
    rows = [row for row in reference.segments(truth, scores, "by_row") if row]

    def worth(order):
        return sum(t / propensity[j] for _, t, j in order[:k]) / min(k, len(order))

    found = [np.mean([worth(o) for o in reference.orders(row, ties)]) for row in rows]
    best = [worth(sorted(row, key=lambda e: -e[1] / propensity[e[2]])) for row in rows]
    options = {"k": k, "propensities": propensity, "ties": ties}
    plain = metrics.propensity_scored_precision_at_k(truth, scores, normalize=False, **options)
    same(plain, np.mean(found) if rows else np.nan)
    normalized = metrics.propensity_scored_precision_at_k(truth, scores, **options)
    same(normalized, sum(found) / sum(best) if sum(best) else np.nan)


@settings(max_examples=40, deadline=None)
@given(problems(max_labels=4))
def test_error_and_correct_bound_every_order_of_the_ties(problem):
    truth, scores = problem
    rows = reference.segments(truth, scores, "by_row")
    for function, value in (
        (metrics.one_error, reference.one_error),
        (metrics.ranking_loss, reference.ranking_loss),
        (metrics.coverage, lambda ranked: reference.depth(ranked) - 1),
        (
            metrics.label_ranking_average_precision,
            lambda ranked: -reference.average_precision(ranked),
        ),
    ):
        sign = -1 if function is metrics.label_ranking_average_precision else 1
        worst = sign * function(truth, scores, ties="error", reduce=False)
        best = sign * function(truth, scores, ties="correct", reduce=False)
        for i, row in enumerate(rows):
            if not row or np.isnan(worst[i]):
                continue
            values = [value([t for _, t, _ in order]) for order in reference.orders(row, "half")]
            same([worst[i], best[i]], [max(values), min(values)])
