"""Several metrics at once are the single metrics, from one sort."""

import numpy as np
import pandas as pd
import pytest

from labelgap import metrics
from labelgap.kernels import ranking as kernels
from labelgap.metrics import METRICS, evaluate


@pytest.fixture
def problem(rng):
    truth = (rng.random((25, 6)) < 0.4).astype(float)
    truth[rng.random(truth.shape) < 0.2] = np.nan
    return truth, rng.random(truth.shape)


def test_registry_names_functions_and_describes_them():
    for name, metric in METRICS.items():
        stem = metric.function.__name__.removesuffix("_k")
        assert name.startswith(stem)
        assert metric.description
        assert metric.needs in ("scores", "probabilities", "labels")
        metric.check_params(name, {"propensities": None} if "propensity" in name else {})
    public = {metric.function.__name__ for metric in METRICS.values()}
    assert public <= set(metrics.__all__)


def test_each_value_is_that_of_the_metric(problem):
    truth, proba = problem
    given = {"scores": proba, "probabilities": proba, "labels": proba > 0.5}
    names = [name for name in METRICS if "propensity" not in name]
    values = evaluate(truth, proba, names, y_pred=proba > 0.5, y_proba=proba)
    assert list(values) == names
    for name in names:
        assert values[name] == METRICS[name](truth, given[METRICS[name].needs])


def test_rows_are_sorted_once(problem, monkeypatch):
    calls = []
    count = kernels.count_irrelevant
    monkeypatch.setattr(
        kernels, "count_irrelevant", lambda *args: calls.append(args[5]) or count(*args)
    )
    evaluate(*problem, ["ranking_loss", "coverage", "one_error", "auc_instance", "auc_micro"])
    assert sorted(calls) == [kernels.BY_ROW, kernels.POOLED]


def test_own_names_and_parameters(problem):
    truth, scores = problem
    asked = {"P@2": ("precision_at_k", {"k": 2}), "loss": "ranking_loss"}
    values = evaluate(truth, scores, asked)
    assert values == {
        "P@2": metrics.precision_at_k(truth, scores, 2),
        "loss": metrics.ranking_loss(truth, scores),
    }


def test_default_is_what_can_be_computed(problem):
    truth, proba = problem
    needs = {name: METRICS[name].needs for name in metrics.DEFAULT_METRICS}
    assert {needs[name] for name in evaluate(truth, proba)} == {"scores"}
    assert {needs[name] for name in evaluate(truth, y_pred=proba > 0.5)} == {"labels"}
    assert {needs[n] for n in evaluate(truth, y_proba=proba)} == {"scores", "probabilities"}


@pytest.mark.parametrize(
    ("error", "message", "names"),
    [
        (ValueError, "unknown metric 'accuracy'.*one_error", ["accuracy"]),
        (ValueError, "f1_macro needs labels: give y_pred", ["f1_macro"]),
        (ValueError, "brier needs probabilities: give y_proba", ["brier"]),
        (TypeError, r"'depth'.*parameters are k", {"P": ("precision_at_k", {"depth": 3})}),
        (TypeError, "propensities", ["propensity_scored_precision_at_k"]),
        (TypeError, "reduce=False", {"loss": ("ranking_loss", {"reduce": False})}),
    ],
)
def test_wrong_requests_are_named(problem, error, message, names):
    with pytest.raises(error, match=message):
        evaluate(*problem, names)


def test_nothing_to_evaluate(problem):
    with pytest.raises(ValueError, match="y_score, y_proba or y_pred"):
        evaluate(problem[0])


@pytest.mark.parametrize("name", ["average_precision", "brier", "f1_micro"])
def test_rows_and_labels_of_frames_are_matched_by_name(problem, name):
    truth, proba = problem
    given = {"scores": proba, "probabilities": proba, "labels": (proba > 0.5).astype(int)}
    metric = METRICS[name]
    items = [f"item {i}" for i in range(len(truth))]
    Y = pd.DataFrame(truth, items, list("abcdef"))
    other = pd.DataFrame(given[metric.needs], items, list("abcdef"))
    expected = metric(truth, given[metric.needs])
    by_name = {"scores": "y_score", "probabilities": "y_proba", "labels": "y_pred"}[metric.needs]
    for given in (other[::-1], other[list("cabfed")], other.reset_index(drop=True)):
        assert metric(Y, given) == pytest.approx(expected, abs=1e-12)
        assert evaluate(Y, metrics=[name], **{by_name: given})[name] == pytest.approx(expected)
    assert metric(Y, other.to_numpy()[::-1]) != pytest.approx(expected)
    for strange in (other.rename({"item 3": "item x"}), other.rename({"item 3": "item 4"})):
        with pytest.raises(ValueError, match=f"{by_name} and y_true have other rows.*item 3"):
            metric(Y, strange)
