"""RMFLCV: shared work, the same results as fits on their own, and the best of the candidates."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from labelgap import RMFL, RMFLCV, Labels, metrics
from labelgap.models.rmfl import _kernel_regression, _rmfl_cv, _rmfl_features
from models.rmfl.problems import data

GRID = {
    "lambda_1": (0.1, 1.0),
    "lambda_2": (0.0, 0.5),
    "lambda_3": (1.0, 2.0),
    "lambda_4": (0.05, 0.5, 5.0),
    "ridge_v": (1.0,),
}
BASE = RMFL(3, max_iter=15, tol=0, random_state=3)


def search(drawn, base=BASE, cv=None, **settings):
    cv = KFold(3) if cv is None else cv
    settings = {"scoring": "label_ranking_average_precision", "search": "grid", **GRID, **settings}
    return RMFLCV(base, **settings, cv=cv).fit(drawn.X, drawn.Y)


def test_shared_work_is_done_once_per_fold(monkeypatch):
    counts = {}

    def count(module, name):
        plain = getattr(module, name)

        def counted(*args, **kwargs):
            counts[name] = counts.get(name, 0) + 1
            return plain(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)

    for name in ("kernel_matrix", "nearest_rows", "reconstruction_weights", "mean_distance_gamma"):
        count(_rmfl_features, name)
    count(_kernel_regression, "invert")
    count(_kernel_regression, "eigh")
    found = search(data())
    assert len(found.cv_results_["params"]) == 24
    folds, refit = 3, 1
    assert counts == {
        "kernel_matrix": folds + refit,
        "nearest_rows": folds + refit,
        "reconstruction_weights": folds + refit,
        "mean_distance_gamma": folds + refit,
        "eigh": folds,
        "invert": refit,
    }


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_predictions_are_those_of_independent_fits(kernel, monkeypatch):
    """From equal starts, every candidate on every fold, to 1e-6."""
    drawn = data(n_samples=45)
    base = RMFL(3, kernel=kernel, max_iter=15, tol=0, random_state=3)
    X = drawn.X @ drawn.X.T if kernel == "precomputed" else drawn.X
    seen = []
    plain = _rmfl_cv._score

    def watch(model, mapped, truth, name):
        seen.append(model._score_mapped(mapped))
        return plain(model, mapped, truth, name)

    monkeypatch.setattr(_rmfl_cv, "_score", watch)
    cv = KFold(3)
    found = RMFLCV(base, **GRID, search="grid", cv=cv).fit(X, drawn.Y)
    pairs = product(cv.split(drawn.X), found.cv_results_["params"])
    for scores, ((train, test), params) in zip(seen, pairs, strict=True):
        alone = RMFL(3, kernel=kernel, max_iter=15, tol=0, random_state=3, **params)
        X_train = X[np.ix_(train, train)] if kernel == "precomputed" else X[train]
        X_test = X[np.ix_(test, train)] if kernel == "precomputed" else X[test]
        alone.fit(X_train, drawn.Y[train])
        np.testing.assert_allclose(scores, alone.decision_function(X_test), atol=1e-6)


def test_it_is_a_grid_search():
    drawn = data()
    grid = {name: list(values) for name, values in GRID.items()}
    scoring = metrics.get_scorer("label_ranking_average_precision")
    other = GridSearchCV(BASE, grid, cv=KFold(3), scoring=scoring).fit(
        drawn.X, Labels.from_dense(drawn.Y)
    )
    found = search(drawn)
    assert found.best_score_ == pytest.approx(other.best_score_)
    assert found.best_params_ == other.best_params_
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    )
    np.testing.assert_allclose(
        found.cv_results_["std_test_score"], other.cv_results_["std_test_score"], atol=1e-12
    )
    np.testing.assert_allclose(
        found.decision_function(drawn.X_new), other.decision_function(drawn.X_new), atol=1e-9
    )


def test_losses_are_minimised_and_decisions_compared():
    drawn = data()
    for scoring in ("ranking_loss", "hamming_loss", "log_loss"):
        found = search(drawn, scoring=scoring)
        assert found.best_score_ == found.cv_results_["mean_test_score"].max() <= 0


def test_given_graphs_and_starts_are_cut_with_the_rows():
    drawn = data()
    rng = np.random.default_rng(0)
    graph = _rmfl_features.nearest_rows(drawn.X, 6)
    base = RMFL(
        3,
        max_iter=5,
        tol=0,
        graph=graph,
        init=(rng.normal(size=(40, 3)), rng.normal(size=(5, 2))),
        random_state=0,
    )
    found = search(drawn, base)
    assert found.best_estimator_.row_factors_.shape == (40, 3)


def test_random_candidates_are_some_of_the_grid():
    drawn = data()
    found = search(drawn, n_candidates=5, random_state=0)
    again = search(drawn, n_candidates=5, random_state=0)
    every = search(drawn).cv_results_["params"]
    params = found.cv_results_["params"]
    assert params == again.cv_results_["params"]
    assert len(params) == 5
    assert all(one in every for one in params)


def test_threads_make_no_difference():
    drawn = data()
    one, two = (search(drawn, n_jobs=n, lambda_2=(0.0,), random_state=0) for n in (1, 2))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_completion_and_correlation_are_those_of_the_best():
    drawn = data()
    found = search(drawn)
    np.testing.assert_array_equal(found.impute(drawn.Y), found.best_estimator_.impute(drawn.Y))
    np.testing.assert_array_equal(
        found.label_correlation_, found.best_estimator_.label_correlation_
    )


def test_folds_that_cannot_be_scored_are_left_out():
    """A held-out fold without a positive has no average precision."""
    drawn = data(n_samples=30, missing=0)
    Y = drawn.Y.copy()
    Y[:10] = 0
    found = search(drawn._replace(Y=Y))
    splits = found.cv_results_["split_test_score"]
    assert np.isnan(splits[:, 0]).all()
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], splits[:, 1:].mean(axis=1))


def test_an_empty_list_of_values_is_refused():
    with pytest.raises(ValueError, match="lambda_2 is empty"):
        search(data(), lambda_2=())


def test_turns_find_the_best_of_what_they_try_and_share_work(monkeypatch):
    drawn = data()
    calls = []
    plain = _rmfl_features.kernel_matrix
    monkeypatch.setattr(_rmfl_features, "kernel_matrix", lambda *a: calls.append(a) or plain(*a))
    found = search(drawn, search="coordinate", random_state=0)
    assert len(calls) == 3 + 1  # folds, and the fit to all rows
    every = search(drawn)
    scores = dict(
        zip(
            (tuple(one.values()) for one in every.cv_results_["params"]),
            every.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    for one, value in zip(
        found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True
    ):
        assert scores[tuple(one.values())] == pytest.approx(value, abs=1e-9)
    assert len(found.cv_results_["params"]) < len(scores)
    best = found.best_params_
    for name, values in GRID.items():  # no change of one weight helps
        for value in values:
            changed = {**best, name: value}
            assert scores[tuple(changed.values())] <= found.best_score_ + 1e-9


def test_turns_stop_at_the_number_of_candidates():
    few = search(data(), search="coordinate", n_candidates=4)
    assert len(few.cv_results_["params"]) == 4
    assert few.best_score_ == few.cv_results_["mean_test_score"].max()


@pytest.mark.parametrize(
    ("missing", "metric"), [(0.0, "label_ranking_average_precision"), (0.6, "auc_micro")]
)
def test_rows_with_few_observed_labels_are_not_ranked(missing, metric, monkeypatch):
    """With one observed label in a row its average precision is one, whatever the scores."""
    used = set()
    plain = _rmfl_cv._score

    def watch(model, mapped, truth, name):
        used.add(name)
        return plain(model, mapped, truth, name)

    monkeypatch.setattr(_rmfl_cv, "_score", watch)
    search(data(missing=missing), scoring=None, lambda_1=(1.0,), lambda_2=(0.0,))
    assert used == {metric}
