"""One boosted model for all labels against XGBoost on the rows in which a label is known."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from labelgap import GradientBoostingLabels
from labelgap.kernels.logistic import mean_log_loss

xgboost = pytest.importorskip("xgboost")


def with_gaps(n_samples=300, n_labels=4, gaps=0.5, seed=0):
    rng = np.random.default_rng(seed)
    # few distinct values: cuts are the same whatever rows they are taken from
    X = rng.normal(size=(n_samples, 6)).round(1)
    truth = (X[:, :n_labels] ** 2 + rng.normal(size=(n_samples, n_labels)) > 1).astype(float)
    return X, truth, np.where(rng.random(truth.shape) < gaps, np.nan, truth)


@pytest.mark.parametrize("gaps", [0.0, 0.5])
def test_one_label_is_xgboost_on_the_rows_where_it_is_known(gaps):
    X, _, Y = with_gaps(n_labels=1, gaps=gaps)
    known = ~np.isnan(Y[:, 0])
    settings = {"max_bins": 256, "min_child_weight": 1.0, "validation_fraction": None}
    ours = GradientBoostingLabels(25, **settings).fit(X, Y)
    theirs = xgboost.XGBClassifier(
        n_estimators=25,
        learning_rate=0.1,
        max_depth=6,
        max_bin=256,
        tree_method="hist",
        base_score=float(ours.prevalence_[0]),
        n_jobs=1,
    ).fit(X[known], Y[known, 0])
    np.testing.assert_allclose(
        ours.predict_proba(X)[:, 0], theirs.predict_proba(X)[:, 1], atol=1e-6
    )


def test_splits_by_a_few_labels_serve_all():
    X, truth, Y = with_gaps(600, n_labels=6, gaps=0.3)
    start = mean_log_loss(np.tile(np.nanmean(Y, axis=0), (200, 1)), truth[400:])
    losses = {}
    for n in (None, 2, 6):
        model = GradientBoostingLabels(60, n_split_labels=n).fit(X[:400], Y[:400])
        losses[n] = mean_log_loss(model.predict_proba(X[400:]), truth[400:])
    assert losses[6] == losses[None]
    assert start - losses[2] > 0.5 * (start - losses[None]) > 0


def test_what_is_unknown_has_no_part():
    X, truth, Y = with_gaps()
    first = GradientBoostingLabels(10).fit(X, Y)
    rows = np.isnan(Y).all(axis=1)
    X_other = np.where(rows[:, None], X[::-1], X)
    assert rows.any()
    settings = {"max_iter": 10, "max_bins": 256, "validation_fraction": None}
    kept = GradientBoostingLabels(**settings).fit(X[~rows], Y[~rows])
    other = GradientBoostingLabels(**settings).fit(X_other, Y)
    np.testing.assert_allclose(
        other.prevalence_, kept.prevalence_, err_msg="rows without a label change the prevalence"
    )
    np.testing.assert_allclose(other.predict_proba(X), kept.predict_proba(X), atol=1e-5)
    assert mean_log_loss(first.predict_proba(X), truth) < mean_log_loss(
        np.tile(first.prevalence_, (len(X), 1)), truth
    )


def test_it_stops_by_rows_held_out():
    X, truth, Y = with_gaps(600, gaps=0.2)
    model = GradientBoostingLabels(400, learning_rate=0.5, n_iter_no_change=5).fit(X[:400], Y[:400])
    assert model.n_iter_ < 100
    every = GradientBoostingLabels(400, learning_rate=0.5, validation_fraction=None)
    every.fit(X[:400], Y[:400])
    assert every.n_iter_ == 400
    held = [mean_log_loss(m.predict_proba(X[400:]), truth[400:]) for m in (model, every)]
    assert held[0] < held[1]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_sparse_features():
    X, _, Y = with_gaps()
    X = np.where(np.abs(X) < 0.5, 0, X)
    model = GradientBoostingLabels(20).fit(sparse.csr_array(X), Y)
    found = model.predict_proba(sparse.csr_array(X))
    assert mean_log_loss(found, Y) < mean_log_loss(np.tile(model.prevalence_, (len(X), 1)), Y)
