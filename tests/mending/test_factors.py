"""Completion by latent factors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from labelgap import Labels, Mend
from labelgap.generators import make_low_rank
from labelgap.mending import FactorCompleter, StackedCompleter
from labelgap.mending._factors import _GRID, _next

FIXED = {"n_factors": 3, "lambda_u": 1.0, "lambda_v": 1.0, "lambda_w": 1.0}


@pytest.fixture(scope="module")
def problem():
    size = {"n_rows": 400, "n_features": 12, "n_labels": 8, "n_factors": 3}
    data = make_low_rank(**size, density=0.4, noise=1.0, share_hidden=0.4, random_state=0)
    return np.asarray(data.X), data.labels, np.asarray(data.full.to_dense())


def columns(completer, X, labels):
    return np.column_stack(list(completer.columns(X, labels)))


def log_loss(truth, chances):
    chances = np.clip(chances, 1e-6, 1 - 1e-6)
    return -np.where(truth == 1, np.log(chances), np.log1p(-chances)).mean()


def test_known_labels_tell_of_unknown_ones(problem):
    X, labels, truth = problem
    completer = FactorCompleter().fit(X, labels)
    unknown = np.isnan(labels.to_dense())
    joint = columns(completer, X, labels)
    alone = completer.model_.predict_proba(X)
    assert log_loss(truth[unknown], joint[unknown]) < log_loss(truth[unknown], alone[unknown])


def test_chosen_settings_have_the_least_log_loss_of_all_that_were_tried(problem):
    X, labels, _ = problem
    completer = FactorCompleter().fit(X, labels)
    tried = {tuple(sorted(one.items())): loss for one, loss in completer.held_out_}
    assert len(tried) == len(completer.held_out_) > 4
    assert tried[tuple(sorted(completer.settings_.items()))] == min(tried.values())
    assert completer.settings_["n_factors"] <= labels.n_labels


def test_given_settings_stay(problem):
    X, labels, _ = problem
    completer = FactorCompleter(**FIXED).fit(X, labels)
    assert completer.settings_ == FIXED
    assert completer.held_out_ == []
    assert completer.model_.params_.factors.shape == (8, 3)
    one = FactorCompleter(2, lambda_u=1.0).fit(X, labels)
    assert {"n_factors": 2, "lambda_u": 1.0}.items() <= one.settings_.items()
    assert {s["n_factors"] for s, _ in one.held_out_} == {2}


@pytest.mark.parametrize("n_groups", [3, 10])
def test_a_label_does_not_explain_itself(problem, n_groups):
    X, labels, _ = problem
    completer = FactorCompleter(**FIXED, n_groups=n_groups).fit(X, labels)
    Y = np.asarray(labels.to_dense())
    for label in (0, 5):
        found = []
        for value in (0.0, 1.0):
            changed = Y.copy()
            changed[:, label] = value
            found.append(columns(completer, X, Labels.from_dense(changed))[:, label])
        np.testing.assert_array_equal(*found)


def test_leaving_out_a_group_is_hiding_it(problem):
    X, labels, _ = problem
    completer = FactorCompleter(**FIXED, n_groups=4).fit(X, labels)
    Y = np.asarray(labels.to_dense())
    model = completer.model_
    u = model.embed(X, labels.hide(*np.nonzero(np.isin(np.arange(8), [1, 5]) & ~np.isnan(Y))))
    expected = expit(u @ model.label_factors_[5] + model.label_bias_[5])
    known = ~np.isnan(Y[:, 5])
    found = columns(completer, X, labels)[:, 5]
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-9)
    whole = model.embed(X, labels)
    expected = expit(whole @ model.label_factors_[5] + model.label_bias_[5])
    np.testing.assert_allclose(found[~known], expected[~known], rtol=1e-9)


def test_wanted_labels_in_their_order_and_sparse_features(problem):
    X, labels, _ = problem
    whole = columns(FactorCompleter(**FIXED).fit(X, labels), X, labels)
    S = sparse.csr_array(X)
    some = FactorCompleter(**FIXED).fit(S, labels, np.array([6, 2]))
    np.testing.assert_allclose(columns(some, S, labels), whole[:, [6, 2]], atol=1e-8)


def test_columns_without_any_training_row_have_their_frequency(problem):
    X, labels, _ = problem
    fewer = labels[:, [0, 1, 3, 4, 5, 6, 7]]
    marked = labels.with_unseen([2])
    completer = FactorCompleter(**FIXED, n_groups=7).fit(X, marked, np.array([3, 2, 0]))
    twin = FactorCompleter(**FIXED, n_groups=7).fit(X, fewer, np.array([2, 0]))
    found = columns(completer, X, marked)
    np.testing.assert_allclose(found[:, [0, 2]], columns(twin, X, fewer), atol=1e-9)
    np.testing.assert_array_equal(found[:, 1], completer.frequency_[2])
    last = labels.with_unseen([7])
    assert columns(FactorCompleter(**FIXED).fit(X, last), X, last).shape == (400, 8)


def test_some_rows_choose(problem):
    X, labels, _ = problem
    some = FactorCompleter(choice_rows=60).fit(X, labels)
    assert some.held_out_[0] != FactorCompleter().fit(X, labels).held_out_[0]


def test_looks_are_not_in_doubt_where_zeros_are_not(problem):
    X, labels, _ = problem
    np.testing.assert_array_equal(
        columns(FactorCompleter(**FIXED, exposure=0.5).fit(X, labels), X, labels),
        columns(FactorCompleter(**FIXED).fit(X, labels), X, labels),
    )


def test_exposure_counts_in_the_choice(problem):
    X, _, truth = problem
    labels = Labels.from_dense(truth, zeros="ambiguous")
    losses = [
        FactorCompleter(**{**FIXED, "lambda_u": None}, exposure=one).fit(X, labels).held_out_[0][1]
        for one in (0.9, 0.2)
    ]
    assert losses[0] < losses[1]


def test_exposure_gives_the_chance_of_a_record(problem):
    X, _, truth = problem
    rng = np.random.default_rng(1)
    recorded = np.where(rng.random(truth.shape) < 0.6, truth, 0)
    labels = Labels.from_dense(recorded, zeros="ambiguous")
    plain = columns(FactorCompleter(**FIXED).fit(X, labels), X, labels)
    found = columns(FactorCompleter(**FIXED, exposure=0.6).fit(X, labels), X, labels)
    assert 0 < found.min() <= found.max() < 0.6
    unrecorded = recorded == 0
    areas = [roc_auc_score(truth[unrecorded], one[unrecorded]) for one in (plain, found)]
    assert areas[1] > areas[0] + 0.01
    learned = FactorCompleter(**FIXED, exposure="learn").fit(X, labels)
    rates = learned.model_.params_.looked_at
    assert (columns(learned, X, labels) <= rates + 1e-12).all()


def test_mend_takes_it(problem):
    X, labels, _ = problem
    model = Mend(completer=FactorCompleter(**FIXED)).fit(X[:300], labels[:300])
    assert model.predict_proba(X[300:]).shape == (100, 8)
    both = StackedCompleter(
        [FactorCompleter(**FIXED), FactorCompleter(**{**FIXED, "n_factors": 1})]
    )
    both.fit(X, labels)
    assert both.weights_[0] > 0.5


def test_nothing_known_nothing_chosen():
    X = np.random.default_rng(0).normal(size=(20, 2))
    Y = np.full((20, 3), np.nan)
    Y[0] = 1.0
    completer = FactorCompleter(choice_rows=1).fit(X, Labels.from_dense(Y))
    assert np.isfinite(columns(completer, X, Labels.from_dense(Y))).all()


def test_rungs():
    ladder = list(_GRID["lambda_u"])
    assert (_next(ladder, 1.0, 1), _next(ladder, 1.0, -1)) == (3.0, 0.3)
    assert (_next(ladder, 30.0, 1), _next(ladder, 0.3, -1)) == (None, None)


def test_too_few_groups(problem):
    X, labels, _ = problem
    with pytest.raises(ValueError, match="n_groups=1: give 2 or more"):
        FactorCompleter(n_groups=1).fit(X, labels)


def test_on_a_device(problem):
    pytest.importorskip("torch", reason="pip install 'labelgap[gpu]'")
    X, labels, _ = problem
    here = columns(FactorCompleter(**FIXED).fit(X, labels), X, labels)
    there = FactorCompleter(**FIXED, device="cpu").fit(X, labels)
    np.testing.assert_allclose(columns(there, X, labels), here, atol=1e-6)
