"""Labels survive scikit-learn's splitters, searches and pipelines, and never lie to its metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from joblib import Parallel, delayed
from scipy import sparse
from sklearn import config_context, metrics
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import type_of_target

from labelgap import Labels, State
from reference.label_states import assert_says, label_cases
from reference.recorder import Recorder, score, touch

N_ROWS, N_LABELS = 60, 5


def _labels(storage: str, n_labels: int = N_LABELS) -> Labels:
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 4, size=(N_ROWS, n_labels)).astype(np.int8)
    codes[:5] = State.NEGATIVE
    names = [f"label {j}" for j in range(n_labels)]
    if storage == "sparse mask":
        observed = sparse.csr_array(codes != State.UNKNOWN)
        positives = sparse.csr_matrix(codes == State.RELEVANT)
        return Labels.from_sparse(positives, observed=observed, names=names)
    if storage == "complete":
        codes[codes == State.UNKNOWN] = State.NEGATIVE
    if storage == "unlabeled":
        codes[codes == State.NEGATIVE] = State.UNLABELED
    if storage == "positives and unknown":
        codes[codes == State.NEGATIVE] = State.UNKNOWN
    return Labels(sparse.csr_array(codes), "unknown", names=names)


STORAGES = ["sparse mask", "complete", "unlabeled", "positives and unknown"]


@pytest.fixture(params=STORAGES)
def labels(request) -> Labels:
    return _labels(request.param)


@pytest.fixture
def X() -> np.ndarray:  # noqa: N802
    """The first column says which row it is, so that labels can be checked against it."""
    return np.column_stack([np.arange(N_ROWS), np.random.default_rng(1).random(N_ROWS)])


SPLITTERS = [3, KFold(3), KFold(3, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)]


def test_train_test_split(X, labels):
    X_train, X_test, y_train, y_test = train_test_split(X, labels, random_state=0)
    assert y_train.equals(labels[X_train[:, 0].astype(int)])
    assert y_test.equals(labels[X_test[:, 0].astype(int)])
    assert y_train.names.tolist() == labels.names.tolist()


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
def test_cross_validate(X, labels, cv):
    result = cross_validate(Recorder(labels), X, labels, cv=cv, scoring=score, error_score="raise")
    assert len(result["test_score"]) == 3
    assert (result["test_score"] > 0).all()


@pytest.mark.parametrize("cv", [*SPLITTERS[:2], RepeatedKFold(n_splits=2, n_repeats=2)], ids=str)
def test_grid_search(X, labels, cv):
    search = GridSearchCV(
        Recorder(labels), {"scale": [1.0, 3.0, 2.0]}, cv=cv, scoring=score, error_score="raise"
    )
    search.fit(X, labels)
    assert search.best_params_ == {"scale": 3.0}


def test_random_search_cross_val_score_and_learning_curve(X, labels):
    estimator = Recorder(labels)
    search = RandomizedSearchCV(
        estimator, {"scale": [1.0, 2.0]}, n_iter=2, cv=3, scoring=score, error_score="raise"
    )
    assert search.fit(X, labels).best_params_ == {"scale": 2.0}
    assert len(cross_val_score(estimator, X, labels, cv=4, scoring=score)) == 4
    sizes, *_ = learning_curve(estimator, X, labels, cv=3, scoring=score, error_score="raise")
    assert len(sizes) == 5


def test_in_a_pipeline(X, labels):
    class Shift(StandardScaler):
        def transform(self, X, copy=None):
            return X

    pipeline = make_pipeline(Shift(), Recorder(labels))
    search = GridSearchCV(
        pipeline, {"recorder__scale": [1.0, 2.0]}, cv=3, scoring=score, error_score="raise"
    )
    assert search.fit(X, labels).best_params_ == {"recorder__scale": 2.0}


def test_multiple_scorers_and_scorers_of_predictions(X, labels):
    def observed_fraction(y_true, y_pred) -> float:
        assert isinstance(y_true, Labels)
        assert y_true.shape == y_pred.shape
        return y_true.n_observed() / y_pred.size

    result = cross_validate(
        Recorder(labels),
        X,
        labels,
        cv=3,
        scoring={"states": score, "fraction": make_scorer(observed_fraction)},
        error_score="raise",
    )
    assert (result["test_fraction"] <= 1).all()


def test_parallel_workers(X):
    labels = _labels("sparse mask")
    result = cross_validate(
        Recorder(labels), X, labels, cv=3, n_jobs=2, scoring=score, error_score="raise"
    )
    assert (result["test_score"] > 0).all()


def test_read_only_memory_maps(labels):
    expected = touch(labels)
    results = Parallel(n_jobs=2, max_nbytes=1)(delayed(touch)(labels) for _ in range(2))
    for result in results:
        for mine, theirs in zip(expected, result, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_metadata_routing(X, labels):
    rows = X[:, 0].astype(int)
    with config_context(enable_metadata_routing=True):
        estimator = Recorder(labels).set_fit_request(weight=True)
        result = cross_validate(
            estimator,
            X,
            labels,
            params={"weight": rows},
            cv=3,
            scoring=score,
            error_score="raise",
        )
        assert len(result["test_score"]) == 3
        search = GridSearchCV(estimator, {"scale": [1.0, 2.0]}, cv=3, scoring=score)
        assert search.fit(X, labels, weight=rows).best_params_ == {"scale": 2.0}


def test_clone_copies_labels_held_as_a_parameter(labels):
    copied = clone(Recorder(labels))
    assert copied.truth.equals(labels)


# -- the kind of target ------------------------------------------------------------------------


@given(label_cases(max_labels=4))
def test_unknown_entries_make_an_unknown_target(case):
    _, labels = case
    if labels.has_unknown:
        assert type_of_target(labels) == "unknown"
    elif labels.n_labels > 1 and labels.n_samples:
        assert type_of_target(labels) == "multilabel-indicator"


def test_one_column_of_complete_labels_is_stratified(X):
    labels = _labels("complete", n_labels=1)
    result = cross_validate(Recorder(labels), X, labels, cv=3, scoring=score, error_score="raise")
    assert (result["test_score"] > 0).all()


@pytest.mark.parametrize("storage", ["sparse mask", "positives and unknown"])
def test_one_column_with_gaps(X, storage):
    labels = _labels(storage, n_labels=1)
    result = cross_validate(Recorder(labels), X, labels, cv=3, scoring=score, error_score="raise")
    assert len(result["test_score"]) == 3


# -- metrics that cannot skip unknown entries ----------------------------------------------------

ON_DECISIONS = [
    metrics.accuracy_score,
    metrics.hamming_loss,
    metrics.zero_one_loss,
    metrics.classification_report,
    metrics.multilabel_confusion_matrix,
    lambda t, p: metrics.f1_score(t, p, average="micro", zero_division=0),
    lambda t, p: metrics.jaccard_score(t, p, average="samples", zero_division=0),
    lambda t, p: metrics.precision_score(t, p, average="macro", zero_division=0),
]
ON_SCORES = [
    metrics.label_ranking_average_precision_score,
    metrics.label_ranking_loss,
    metrics.coverage_error,
    metrics.average_precision_score,
    metrics.roc_auc_score,
    metrics.log_loss,
    metrics.ndcg_score,
    metrics.brier_score_loss,
    metrics.mean_squared_error,
]


@pytest.mark.parametrize("n_labels", [1, 2, N_LABELS])
@pytest.mark.parametrize("storage", ["sparse mask", "positives and unknown"])
@pytest.mark.parametrize("metric", [*ON_DECISIONS, *ON_SCORES])
def test_metrics_of_scikit_learn_refuse_unknown_entries(metric, storage, n_labels):
    labels = _labels(storage, n_labels)
    assert labels.has_unknown
    guess = np.random.default_rng(3).random((N_ROWS, n_labels))
    if metric in ON_DECISIONS:
        guess = (guess > 0.5).astype(int)
    with pytest.raises(ValueError, match=r"unknown|NaN"):
        metric(labels, guess)


@pytest.mark.parametrize("metric", ON_DECISIONS[:3])
def test_metrics_of_scikit_learn_take_complete_labels(metric):
    labels = _labels("complete")
    guess = np.random.default_rng(3).integers(0, 2, size=labels.shape)
    assert metric(labels, guess) == metric(labels.to_dense(dtype=int), guess)


@pytest.mark.parametrize("method", ["decision_function", "predict"])
def test_cross_val_predict_never_turns_unknown_into_zero(X, method):
    labels = _labels("positives and unknown")
    if method == "predict":
        assert cross_val_predict(Recorder(labels), X, labels, cv=3).shape == labels.shape
    else:
        # scikit-learn encodes the classes of each column here: -1 would have become class 0
        with pytest.raises(ValueError, match="labels with unknown entries"):
            cross_val_predict(Recorder(labels), X, labels, cv=3, method=method)


def test_stratifying_by_labels_is_refused(X):
    with pytest.raises(ValueError, match="unknown"):
        next(StratifiedKFold(3).split(X, _labels("sparse mask")))


def test_slices_of_slices(X, labels):
    first, _ = train_test_split(labels, random_state=0)
    second, _ = train_test_split(first, random_state=1)
    order = np.arange(N_ROWS)
    rows = train_test_split(train_test_split(order, random_state=0)[0], random_state=1)[0]
    assert_says(second, labels.states()[rows])
