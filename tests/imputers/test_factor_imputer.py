"""Imputation by latent factors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from labelgap import Labels, Mend
from labelgap.generators import make_low_rank
from labelgap.imputers import FactorImputer, StackingImputer
from labelgap.imputers._factor_imputer import _GRID, _next

FIXED = {"n_factors": 3, "lambda_u": 1.0, "lambda_v": 1.0, "lambda_w": 1.0}


@pytest.fixture(scope="module")
def problem():
    size = {"n_samples": 400, "n_features": 12, "n_labels": 8, "n_factors": 3}
    data = make_low_rank(**size, density=0.4, noise=1.0, fraction_hidden=0.4, random_state=0)
    return np.asarray(data.X), data.labels, np.asarray(data.full.to_dense())


def columns(imputer, X, labels):
    return np.column_stack(list(imputer.columns(X, labels)))


def log_loss(truth, probabilities):
    probabilities = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return -np.where(truth == 1, np.log(probabilities), np.log1p(-probabilities)).mean()


def test_known_labels_tell_of_unknown_ones(problem):
    X, labels, truth = problem
    imputer = FactorImputer().fit(X, labels)
    unknown = np.isnan(labels.to_dense())
    joint = columns(imputer, X, labels)
    alone = imputer.model_.predict_proba(X)
    assert log_loss(truth[unknown], joint[unknown]) < log_loss(truth[unknown], alone[unknown])


def test_chosen_settings_have_the_least_log_loss_of_all_that_were_tried(problem):
    X, labels, _ = problem
    imputer = FactorImputer().fit(X, labels)
    tried = {tuple(sorted(one.items())): loss for one, loss in imputer.validation_losses_}
    assert len(tried) == len(imputer.validation_losses_) > 4
    assert tried[tuple(sorted(imputer.settings_.items()))] == min(tried.values())
    assert imputer.settings_["n_factors"] <= labels.n_labels


def test_given_settings_stay(problem):
    X, labels, _ = problem
    imputer = FactorImputer(**FIXED).fit(X, labels)
    assert imputer.settings_ == FIXED
    assert imputer.validation_losses_ == []
    assert imputer.model_.params_.factors.shape == (8, 3)
    one = FactorImputer(2, lambda_u=1.0).fit(X, labels)
    assert {"n_factors": 2, "lambda_u": 1.0}.items() <= one.settings_.items()
    assert {s["n_factors"] for s, _ in one.validation_losses_} == {2}


@pytest.mark.parametrize("n_groups", [3, 10])
def test_a_label_does_not_explain_itself(problem, n_groups):
    X, labels, _ = problem
    imputer = FactorImputer(**FIXED, n_groups=n_groups).fit(X, labels)
    Y = np.asarray(labels.to_dense())
    for label in (0, 5):
        found = []
        for value in (0.0, 1.0):
            changed = Y.copy()
            changed[:, label] = value
            found.append(columns(imputer, X, Labels.from_dense(changed))[:, label])
        np.testing.assert_array_equal(*found)


def test_leaving_out_a_group_is_hiding_it(problem):
    X, labels, _ = problem
    imputer = FactorImputer(**FIXED, n_groups=4).fit(X, labels)
    Y = np.asarray(labels.to_dense())
    model = imputer.model_
    u = model.embed(X, labels.hide(*np.nonzero(np.isin(np.arange(8), [1, 5]) & ~np.isnan(Y))))
    expected = expit(u @ model.label_factors_[5] + model.label_bias_[5])
    known = ~np.isnan(Y[:, 5])
    found = columns(imputer, X, labels)[:, 5]
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-9)
    whole = model.embed(X, labels)
    expected = expit(whole @ model.label_factors_[5] + model.label_bias_[5])
    np.testing.assert_allclose(found[~known], expected[~known], rtol=1e-9)


def test_wanted_labels_in_their_order_and_sparse_features(problem):
    X, labels, _ = problem
    whole = columns(FactorImputer(**FIXED).fit(X, labels), X, labels)
    S = sparse.csr_array(X)
    some = FactorImputer(**FIXED).fit(S, labels, np.array([6, 2]))
    np.testing.assert_allclose(columns(some, S, labels), whole[:, [6, 2]], atol=1e-8)


def test_columns_without_any_training_row_have_their_frequency(problem):
    X, labels, _ = problem
    fewer = labels[:, [0, 1, 3, 4, 5, 6, 7]]
    marked = labels.with_unseen([2])
    imputer = FactorImputer(**FIXED, n_groups=7).fit(X, marked, np.array([3, 2, 0]))
    twin = FactorImputer(**FIXED, n_groups=7).fit(X, fewer, np.array([2, 0]))
    found = columns(imputer, X, marked)
    np.testing.assert_allclose(found[:, [0, 2]], columns(twin, X, fewer), atol=1e-9)
    np.testing.assert_array_equal(found[:, 1], imputer.prevalence_[2])
    last = labels.with_unseen([7])
    assert columns(FactorImputer(**FIXED).fit(X, last), X, last).shape == (400, 8)


def test_some_rows_choose(problem):
    X, labels, _ = problem
    some = FactorImputer(max_validation_samples=60).fit(X, labels)
    assert some.validation_losses_[0] != FactorImputer().fit(X, labels).validation_losses_[0]


def test_looks_are_not_in_doubt_where_zeros_are_not(problem):
    X, labels, _ = problem
    np.testing.assert_array_equal(
        columns(FactorImputer(**FIXED, label_frequency=0.5).fit(X, labels), X, labels),
        columns(FactorImputer(**FIXED).fit(X, labels), X, labels),
    )


def test_exposure_counts_in_the_choice(problem):
    X, _, truth = problem
    labels = Labels.from_dense(truth, zeros="unlabeled")
    losses = [
        FactorImputer(**{**FIXED, "lambda_u": None}, label_frequency=one)
        .fit(X, labels)
        .validation_losses_[0][1]
        for one in (0.9, 0.2)
    ]
    assert losses[0] < losses[1]


def test_exposure_gives_the_probability_of_a_record(problem):
    X, _, truth = problem
    rng = np.random.default_rng(1)
    recorded = np.where(rng.random(truth.shape) < 0.6, truth, 0)
    labels = Labels.from_dense(recorded, zeros="unlabeled")
    plain = columns(FactorImputer(**FIXED).fit(X, labels), X, labels)
    found = columns(FactorImputer(**FIXED, label_frequency=0.6).fit(X, labels), X, labels)
    assert 0 < found.min() <= found.max() < 0.6
    unrecorded = recorded == 0
    areas = [roc_auc_score(truth[unrecorded], one[unrecorded]) for one in (plain, found)]
    assert areas[1] > areas[0] + 0.01
    learned = FactorImputer(**FIXED, label_frequency="estimate").fit(X, labels)
    rates = learned.model_.params_.label_frequency
    assert (columns(learned, X, labels) <= rates + 1e-12).all()


def test_mend_takes_it(problem):
    X, labels, _ = problem
    model = Mend(LogisticRegression(), imputer=FactorImputer(**FIXED)).fit(X[:300], labels[:300])
    assert model.predict_proba(X[300:]).shape == (100, 8)
    both = StackingImputer([FactorImputer(**FIXED), FactorImputer(**{**FIXED, "n_factors": 1})])
    both.fit(X, labels)
    assert both.weights_[0] > 0.5


def test_nothing_known_nothing_chosen():
    X = np.random.default_rng(0).normal(size=(20, 2))
    Y = np.full((20, 3), np.nan)
    Y[0] = 1.0
    imputer = FactorImputer(max_validation_samples=1).fit(X, Labels.from_dense(Y))
    assert np.isfinite(columns(imputer, X, Labels.from_dense(Y))).all()


def test_rungs():
    ladder = list(_GRID["lambda_u"])
    assert (_next(ladder, 1.0, 1), _next(ladder, 1.0, -1)) == (3.0, 0.3)
    assert (_next(ladder, 30.0, 1), _next(ladder, 0.3, -1)) == (None, None)


def test_too_few_groups(problem):
    X, labels, _ = problem
    with pytest.raises(ValueError, match="n_groups=1: give 2 or more"):
        FactorImputer(n_groups=1).fit(X, labels)


def test_on_a_device(problem):
    pytest.importorskip("torch", reason="pip install 'labelgap[gpu]'")
    X, labels, _ = problem
    here = columns(FactorImputer(**FIXED).fit(X, labels), X, labels)
    there = FactorImputer(**FIXED, device="cpu").fit(X, labels)
    np.testing.assert_allclose(columns(there, X, labels), here, atol=1e-6)
