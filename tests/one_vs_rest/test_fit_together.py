"""Logistic regressions that are fitted together are those that are fitted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance
from labelgap.one_vs_rest import SoftLabel, are_fitted_together, fit_together


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    Y = (X @ rng.normal(size=(5, 7)) + rng.logistic(size=(90, 7)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    return X, Y


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_same_minimum(data, solver, form):
    X, Y = data
    estimator = LogisticRegression(C=2.0, solver=solver, tol=1e-10, max_iter=500)
    ours = BinaryRelevance(estimator).fit(form(X), Y)
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        alone = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000).fit(X[known], Y[known, j])
        np.testing.assert_allclose(ours.coef_[j], alone.coef_[0], atol=1e-6)
        np.testing.assert_allclose(ours.intercept_[j], alone.intercept_[0], atol=1e-6)
        one = ours.estimators_[j]
        np.testing.assert_allclose(one.predict_proba(X), alone.predict_proba(X), atol=1e-6)
        assert one.predict(X).tolist() == alone.predict(X).astype(int).tolist()


def test_blocks_of_labels_change_nothing(data, monkeypatch):
    X, Y = data
    whole = BinaryRelevance(LogisticRegression(tol=1e-10)).fit(X, Y).coef_
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 2 * len(X))
    parts = BinaryRelevance(LogisticRegression(tol=1e-10)).fit(X, Y).coef_
    np.testing.assert_allclose(parts, whole, atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        LogisticRegression(solver="liblinear"),
        LogisticRegression(solver="saga", l1_ratio=0.5),
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(fit_intercept=False),
        LogisticRegression(C=np.inf),
        LogisticRegressionCV(),
    ],
)
def test_what_is_fitted_label_by_label(estimator, data):
    assert not are_fitted_together(estimator)
    X, Y = data
    with pytest.raises(ValueError, match="device='cpu' is for LogisticRegression"):
        BinaryRelevance(estimator, device="cpu").fit(X, Y)


def test_too_few_steps_are_said(data):
    X, Y = data
    with pytest.warns(ConvergenceWarning, match="7 of 7 labels took all 1 steps"):
        BinaryRelevance(LogisticRegression(max_iter=1)).fit(X, Y)


def test_device(data):
    pytest.importorskip("torch")
    X, Y = data
    here = BinaryRelevance(LogisticRegression()).fit(X, Y)
    there = BinaryRelevance(LogisticRegression(), device="cpu").fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)


def test_own_features(data):
    X, _ = data
    rng = np.random.default_rng(1)
    labels = [SoftLabel(np.arange(90), rng.random(90), np.ones(90)) for _ in range(3)]
    models = fit_together(
        LogisticRegression(), X, iter(labels), np.full(3, 0.5), own=np.array([4, 0, 2])
    )
    assert [model.coef_[0, own] for model, own in zip(models, [4, 0, 2], strict=True)] == [0, 0, 0]
    assert all(np.count_nonzero(model.coef_) == 4 for model in models)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_single_precision_is_close(data, form):
    X, Y = data
    known = [np.flatnonzero(~np.isnan(column)) for column in Y.T]
    entries = [SoftLabel(rows, Y[rows, j], np.ones(rows.size)) for j, rows in enumerate(known)]
    fits = [
        fit_together(LogisticRegression(tol=1e-3), form(X), entries, np.full(9, 0.5), dtype=dtype)
        for dtype in (np.float32, np.float64)
    ]
    for single, double in zip(*fits, strict=True):
        assert single.coef_.dtype == np.float64
        np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-3)
    assert any((a.coef_ != b.coef_).any() for a, b in zip(*fits, strict=True))
