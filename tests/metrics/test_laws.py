"""What must hold for every registered metric, whatever it computes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from labelgap import Labels, metrics
from labelgap.metrics import METRICS

N_ROWS, N_LABELS = 30, 8
NAMES = sorted(METRICS)


@pytest.fixture
def problem(rng):
    """Truth with gaps, tied scores, probabilities and decisions, and nothing undefined."""
    complete = (rng.random((N_ROWS, N_LABELS)) < 0.4).astype(float)
    truth = np.where(rng.random(complete.shape) < 0.3, np.nan, complete)
    truth[0] = np.nan
    proba = np.clip((complete + rng.random(complete.shape)) / 2, 0, 1).round(1)
    return truth, {"scores": proba * 3 - 1, "probabilities": proba, "labels": proba > 0.5}


def value_of(name, truth, predictions, columns=None):
    params = {}
    if name == "propensity_scored_precision_at_k":
        order = np.arange(N_LABELS) if columns is None else columns
        params["propensities"] = np.linspace(0.3, 1.0, N_LABELS)[order]
    metric = METRICS[name]
    return metric(truth, np.asarray(predictions[metric.needs]), **params)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_for_unknown_entries_change_nothing(name, problem, rng):
    truth, predictions = problem
    unknown = np.isnan(truth)
    changed = {}
    for needs, values in predictions.items():
        other = rng.random(truth.shape)
        changed[needs] = np.where(unknown, other > 0.5 if needs == "labels" else other, values)
    assert value_of(name, truth, changed) == value_of(name, truth, predictions)


@pytest.mark.parametrize("name", NAMES)
def test_every_known_entry_can_matter(name, problem):
    """The twin of the test above: predictions for known entries do change the value."""
    truth, predictions = problem
    opposite = {
        "scores": -predictions["scores"],
        "probabilities": 1 - predictions["probabilities"],
        "labels": ~predictions["labels"],
    }
    assert value_of(name, truth, opposite) != value_of(name, truth, predictions)


@pytest.mark.parametrize("name", NAMES)
def test_order_of_rows_and_labels_does_not_matter(name, problem, rng):
    truth, predictions = problem
    rows, columns = rng.permutation(N_ROWS), rng.permutation(N_LABELS)
    permuted = {needs: values[rows][:, columns] for needs, values in predictions.items()}
    expected = value_of(name, truth, predictions)
    actual = value_of(name, truth[rows][:, columns], permuted, columns)
    assert actual == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if METRICS[n].needs == "scores"])
def test_only_the_order_of_scores_matters(name, problem):
    truth, predictions = problem
    stretched = {"scores": np.exp(predictions["scores"])}
    assert value_of(name, truth, stretched) == value_of(name, truth, predictions)


@pytest.mark.parametrize("name", NAMES)
def test_truth_itself_is_the_best_prediction(name, problem, rng):
    complete = (rng.random((N_ROWS, N_LABELS)) < 0.4).astype(float)
    perfect = {"scores": complete, "probabilities": complete, "labels": complete > 0.5}
    _, noisy = problem
    best, other = value_of(name, complete, perfect), value_of(name, complete, noisy)
    assert best >= other if METRICS[name].greater_is_better else best <= other


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_gives_the_same_value(name, problem):
    truth, predictions = problem
    known = ~np.isnan(truth)
    positives = sparse.csr_array(truth == 1)
    names = [f"label {j}" for j in range(N_LABELS)]
    encodings = [
        Labels.from_dense(truth),
        Labels.from_dense(truth).with_implicit("unknown"),
        Labels.from_sparse(positives, observed=known),
        Labels.from_sparse(positives, observed=sparse.csr_array(known), zeros="unlabeled"),
        np.ma.masked_array(np.nan_to_num(truth).astype(int), mask=~known),
        pd.DataFrame(truth, columns=names).astype("Int8"),
        pl.DataFrame(truth, schema=names).fill_nan(None),
    ]
    expected = value_of(name, truth, predictions)
    for encoding in encodings:
        assert value_of(name, encoding, predictions) == expected


@pytest.mark.parametrize("average", ["micro", "macro", "instance"])
def test_hiding_is_deleting_for_entrywise_metrics(problem, average):
    truth, predictions = problem
    proba, decided = predictions["probabilities"], predictions["labels"]
    cells = {"micro": [~np.isnan(truth)]}
    cells["macro"] = [~np.isnan(truth) & (np.arange(N_LABELS) == j) for j in range(N_LABELS)]
    rows = np.arange(N_ROWS)[:, None]
    cells["instance"] = [~np.isnan(truth) & (rows == i) for i in range(N_ROWS)]
    kept = [(truth[c], proba[c], decided[c]) for c in cells[average] if c.any()]
    brier = np.mean([np.mean((p - t) ** 2) for t, p, _ in kept])
    hamming = np.mean([np.mean(t != d) for t, _, d in kept])
    assert metrics.brier(truth, proba, average=average) == pytest.approx(brier, rel=1e-12)
    assert metrics.hamming_loss(truth, decided, average=average) == pytest.approx(hamming)
    clipped = np.clip(proba, 1e-3, 1 - 1e-3)
    log_loss = np.mean(
        [
            -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p))
            for t, p in ((t, np.clip(p, 1e-3, 1 - 1e-3)) for t, p, _ in kept)
        ]
    )
    assert metrics.log_loss(truth, clipped, average=average) == pytest.approx(log_loss)
    assert metrics.log_loss(truth, proba, average=average, clip=1e-3) == pytest.approx(log_loss)


def test_relations_between_metrics(problem):
    truth, predictions = problem
    scores = predictions["scores"]
    for ties in ("error", "half", "correct", "first", "last"):
        options = {"ties": ties}
        assert metrics.one_error(truth, scores, **options) == pytest.approx(
            1 - metrics.precision_at_k(truth, scores, 1, **options)
        )
        assert metrics.ranking_loss(truth, scores, **options) == pytest.approx(
            1 - metrics.auc(truth, scores, average="instance", **options)
        )


def test_equal_propensities_give_precision_over_the_best_precision(problem):
    truth, predictions = problem
    scores = predictions["scores"]
    equal = {"propensities": np.full(N_LABELS, 0.25), "k": 3}
    plain = metrics.propensity_scored_precision_at_k(truth, scores, normalize=False, **equal)
    assert plain == pytest.approx(4 * metrics.precision_at_k(truth, scores, 3))
    best = metrics.precision_at_k(truth, np.nan_to_num(truth), 3)
    normalized = metrics.propensity_scored_precision_at_k(truth, scores, **equal)
    assert normalized == pytest.approx(metrics.precision_at_k(truth, scores, 3) / best)


@pytest.mark.parametrize("average", ["micro", "macro", "instance"])
def test_blocks_of_rows_add_up(problem, average, monkeypatch):
    truth, proba = problem[0], problem[1]["probabilities"]

    def values():
        found = [f(truth, proba, average=average) for f in (metrics.log_loss, metrics.brier)]
        if average != "instance":
            for strategy in ("uniform", "quantile"):
                options = {"average": average, "strategy": strategy, "n_bins": 4}
                found.append(metrics.calibration_error(truth, proba, **options))
        return found

    whole = values()
    monkeypatch.setattr("labelgap.metrics._metric_inputs._BLOCK_ENTRIES", 3 * N_LABELS)
    assert values() == pytest.approx(whole, rel=1e-12)


def test_propensities_follow_the_published_curve(rng):
    truth = (rng.random((50, 6)) < [0.0, 0.1, 0.2, 0.4, 0.8, 1.0]).astype(float)
    a, b = 0.6, 2.6
    scale = (np.log(50) - 1) * (b + 1) ** a
    expected = [1 / (1 + scale * np.exp(-a * np.log(n + b))) for n in truth.sum(axis=0)]
    actual = metrics.propensities(truth, a=a, b=b)
    np.testing.assert_allclose(actual, expected)
    assert np.all(np.diff(actual) > 0)
