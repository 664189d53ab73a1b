"""The estimator: fold-in, imputation, variants, sparse views, frames, searches."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelgap import IMVWL, Labels, LabelWarning, metrics
from labelgap.generators import make_views
from labelgap.views import Views, from_blocks
from models.imvwl.problems import VIEWS, make_data, marked_sparse


def quick(views=VIEWS, n_factors=3, **settings) -> IMVWL:
    return IMVWL(views, n_factors, **{"max_iter": 15, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def generated():
    return make_views(150, (8, 12, 6), 6, n_factors=3, noise=0.05, random_state=0)


@parametrize_with_checks(
    [IMVWL(max_iter=3, random_state=0)],
    expected_failed_checks=lambda _: {
        "check_supervised_y_2d": "one column is one label with gaps",
        "check_decision_proba_consistency": "its features are negative, whatever the tags say",
    },
)
def test_scikit_learn_check_for_positive_features(estimator, check):
    check(estimator)


OPTIONS = list(product([True, False], [True, False], [False, True], ["balance", "range", None]))


@pytest.mark.parametrize(("supervised", "correlation", "concatenate", "scaling"), OPTIONS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_objective_never_increases(supervised, correlation, concatenate, scaling, intercept):
    X, Y = make_data()
    options = {"supervised": supervised, "correlation": correlation, "concatenate": concatenate}
    model = quick(**options, scaling=scaling, fit_intercept=intercept).fit(X, Y)
    traces = [model.trace_] + ([] if supervised else [model.label_trace_])
    for trace in traces:
        values = np.array(trace.objective)
        assert values.size == 15
        assert (np.diff(values) <= 1e-10 * values[:-1]).all()
    assert (model.label_trace_ is None) == supervised


def test_a_training_row_folds_in_to_its_own_vector():
    X, Y = make_data()
    model = quick().fit(X, Y)
    np.testing.assert_allclose(model.fold_in(X, Y), model.embedding_, atol=1e-8)
    assert np.abs(model.fold_in(X) - model.embedding_).max() > 1e-3, "the labels matter"
    converged = quick(max_iter=600, ridge=0.1).fit(X, Y)
    np.testing.assert_allclose(converged.params_.V, converged.embedding_, atol=1e-3)
    without = quick(alpha=0.0).fit(X, Y)
    np.testing.assert_allclose(without.transform(X), without.embedding_, atol=1e-8)
    apart = quick(supervised=False).fit(X, Y)
    np.testing.assert_allclose(apart.fold_in(X, Y), apart.transform(X), atol=1e-12)
    np.testing.assert_allclose(apart.transform(X), apart.embedding_, atol=1e-8)


def test_a_row_without_labels_joins_training_as_a_new_row():
    X, Y = make_data()
    model = quick().fit(X, Y)
    unlabelled = np.isnan(Y).all(axis=1)
    assert unlabelled.sum() >= 4
    np.testing.assert_allclose(model.transform(X)[unlabelled], model.embedding_[unlabelled])
    fewer = quick().fit(X[~unlabelled], Y[~unlabelled])
    assert np.abs(fewer.params_.U - model.params_.U).max() > 1e-6, "it helps to find the subspace"


def test_fold_in_is_non_negative_least_squares():
    X, Y = make_data(values=False)
    model = quick(ridge=0.1).fit(X, Y)
    U, factor = model.params_.U, model.scaling_.factor
    for row, found in zip(X, model.transform(X), strict=True):
        there = ~np.isnan(row)
        A = np.vstack([U[there], np.sqrt(0.1) * np.eye(3)])
        expected = nnls(A, np.concatenate([(row * factor)[there], np.zeros(3)]))[0]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_scores_are_those_of_the_formula():
    X, Y = make_data()
    model = quick(fit_intercept=True).fit(X, Y)
    W = model.params_.W @ model.params_.basis.T
    fitted = model.transform(X) @ W @ model.params_.S + model.params_.offset
    expected = model.slope_ * fitted + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)
    assert model.slope_ > 0


@pytest.mark.parametrize("scaling", ["balance", "range", None])
def test_imputation_recovers_hidden_views(generated, scaling):
    model = quick(generated.views, scaling=scaling, max_iter=200).fit(generated.X, generated.labels)
    filled = model.impute_views(generated.X)
    observed = ~np.isnan(generated.X)
    np.testing.assert_array_equal(filled[observed], generated.X[observed])
    assert np.isfinite(filled).all()
    hidden = generated.hidden_views
    for position, (name, columns) in enumerate(generated.views.items()):
        truth = hidden.blocks[name] if isinstance(hidden.blocks, dict) else hidden.blocks[position]
        guess = filled[hidden.removed[:, position], columns]
        mean = np.nanmean(generated.X[:, columns], axis=0)
        assert np.square(guess - truth).mean() < 0.15 * np.square(mean - truth).mean()


def test_variants_differ_as_they_should():
    X, Y = make_data()
    full = quick().fit(X, Y)
    no_correlation = quick(correlation=False).fit(X, Y)
    np.testing.assert_array_equal(no_correlation.label_correlation_, np.eye(6))
    S = full.params_.S
    np.testing.assert_allclose(S, S.T, atol=1e-12)
    assert np.linalg.matrix_rank(S) <= 3
    concatenated = quick(concatenate=True).fit(X, Y)
    assert list(concatenated.view_contribution_) == ["colour+shape+words"]
    scores = [m.decision_function(X) for m in (full, no_correlation, concatenated)]
    assert all(np.abs(a - b).max() > 1e-3 for a, b in pairwise(scores))


def test_concatenated_views_are_filled_with_means():
    X, Y = make_data()
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    U = np.random.default_rng(0).gamma(1.0, size=(16, 3))
    one = quick({"all": 16}, scaling=None, init=U).fit(filled, Y)
    other = quick(concatenate=True, scaling=None, init=U).fit(X, Y)
    np.testing.assert_allclose(one.transform(filled), other.transform(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("concatenate", [False, True])
def test_sparse_views_with_marks(concatenate):
    X, Y = make_data()
    U = np.random.default_rng(0).gamma(1.0, size=(16, 3))
    dense = quick(concatenate=concatenate, init=U).fit(X, Y)
    thin = quick(concatenate=concatenate, init=U).fit(marked_sparse(X), Y)
    expected = dense.decision_function(X)
    np.testing.assert_allclose(thin.decision_function(marked_sparse(X)), expected, atol=1e-8)
    np.testing.assert_allclose(thin.decision_function(X), expected, atol=1e-8)
    filled = [model.impute_views(form) for model, form in ((dense, X), (thin, marked_sparse(X)))]
    np.testing.assert_allclose(*filled, atol=1e-7)


def test_contributions_of_views(generated):
    X = generated.X.copy()
    noise = generated.views["view2"]
    X[:, noise] = np.where(
        np.isnan(X[:, noise]), np.nan, np.random.default_rng(1).gamma(0.3, size=X[:, noise].shape)
    )
    found = quick(generated.views, max_iter=60).fit(X, generated.labels).view_contribution_
    assert found["view2"].explained < found["view0"].explained - 0.1
    assert found["view0"].explained > 0.9
    assert sum(part.weight for part in found.values()) == pytest.approx(1)


def test_scaling_lets_no_view_drown_the_others(generated):
    X = generated.X.copy()
    X[:, generated.views["view0"]] *= 1e4
    base = quick(generated.views, max_iter=30).fit(generated.X, generated.labels)
    same = quick(generated.views, max_iter=30).fit(X, generated.labels)
    np.testing.assert_allclose(base.embedding_, same.embedding_, rtol=1e-5, atol=1e-7)
    drowned = quick(generated.views, max_iter=30, scaling=None).fit(X, generated.labels)
    weights = [m.view_contribution_["view1"].weight for m in (same, drowned)]
    assert weights[0] > 0.2
    assert weights[1] < 1e-6


def test_frames_of_views_through_a_search(generated):
    blocks = {name: pd.DataFrame(generated.X[:, part]) for name, part in generated.views.items()}
    X, views = from_blocks(blocks)
    np.testing.assert_array_equal(X, generated.X)
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), quick(views, max_iter=3))
    grid = {"imvwl__alpha": [0.01, 0.1], "imvwl__predictor": ["joint", "logistic"]}
    search = GridSearchCV(pipeline, grid, cv=KFold(3), error_score="raise").fit(X, generated.labels)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == (150, 6)


@pytest.mark.parametrize("predictor", ["joint", "logistic"])
def test_finds_hidden_labels(generated, predictor):
    model = quick(generated.views, predictor=predictor, fit_intercept=True, max_iter=60)
    model.fit(generated.X, generated.labels)
    scores = model.decision_function(generated.X)
    truth = generated.hidden.truth
    assert metrics.auc(truth, scores, average="micro") > 0.8
    frequency = np.nanmean(generated.labels.to_dense(), axis=0)
    prior = np.tile(frequency, (150, 1))
    assert metrics.log_loss(truth, model.predict_proba(generated.X)) < metrics.log_loss(
        truth, prior
    )


def test_an_unknown_label_has_a_constant_score():
    X, Y = make_data()
    Y[:, 2] = np.nan
    for predictor in ("joint", "logistic"):
        with pytest.warns(LabelWarning, match="label 2 has no observed entry"):
            model = quick(predictor=predictor).fit(X, Labels.from_dense(Y))
        assert np.ptp(model.decision_function(X)[:, 2]) < 1e-8
        assert np.ptp(model.decision_function(X)[:, 1]) > 1e-3


def test_a_fraction_of_the_narrowest_view():
    X, Y = make_data()
    assert IMVWL(VIEWS, max_iter=1).fit(X, Y).embedding_.shape[1] == 2
    assert IMVWL(VIEWS, 0.1, max_iter=1).fit(X, Y).embedding_.shape[1] == 1
    assert IMVWL(VIEWS, 1.0, max_iter=1).fit(X, Y).embedding_.shape[1] == 4
    assert IMVWL(VIEWS, 1, max_iter=1).fit(X, Y).get_feature_names_out().tolist() == ["imvwl0"]


def test_single_precision_products_keep_the_descent():
    X, Y = make_data()
    model = quick(max_iter=40).fit(X.astype(np.float32), Y)
    values = np.array(model.trace_.objective)
    assert (np.diff(values) <= 1e-12 * values[:-1]).all()
    double = quick(max_iter=40).fit(X, Y)
    np.testing.assert_allclose(values[-1], double.trace_.objective[-1], rtol=1e-3)


def test_callback_and_convergence():
    X, Y = make_data()
    stopped = quick(callback=lambda progress: progress.iteration == 4).fit(X, Y)
    assert (stopped.trace_.outcome, stopped.n_iter_) == ("stopped", 5)
    assert quick(max_iter=2000, tol=1e-6).fit(X, Y).trace_.outcome == "converged"


def test_a_matrix_without_groups_is_one_view():
    X, Y = make_data(views=False)
    one = quick(None).fit(X, Y)
    named = quick(Views({"X": 16})).fit(sparse.csr_array(X), Y)
    assert list(one.view_contribution_) == ["X"]
    assert named.views_ == one.views_
