"""Ridge regressions of many labels by one factorisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier

from labelgap import Mend
from labelgap.one_vs_rest import ConstantLabel, SoftLabel, fit_labels, fit_soft, scores_of
from labelgap.one_vs_rest._fit_single_label import fit_ridges, have_one_factorisation

RIDGES = [
    Ridge(0.5),
    Ridge(2.0, fit_intercept=False, solver="svd"),
    RidgeClassifier(0.5),
    RidgeClassifier(3.0, fit_intercept=False),
    KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2),
]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    every = np.arange(60)
    labels = [
        SoftLabel(rng.permutation(every), rng.random(60), np.ones(60)),
        SoftLabel(every[::2], (rng.random(30) > 0.5).astype(float), np.ones(30)),
        SoftLabel(rng.permutation(every), rng.random(60), np.ones(60)),
        SoftLabel(every, (rng.random(60) > 0.7).astype(float), rng.choice([0.5, 1.0], 60)),
        SoftLabel(every, rng.random(60), np.ones(60)),
        SoftLabel(every[:4], np.zeros(4), np.ones(4)),
    ]
    return X, labels


@pytest.mark.parametrize("estimator", RIDGES)
def test_they_are_those_of_each_label_alone(problem, estimator):
    X, labels = problem
    frequency = np.linspace(0.1, 0.6, len(labels))
    models = fit_labels(estimator, X, iter(labels), frequency)
    for one, model in zip(labels[:-1], models[:-1], strict=True):
        alone = fit_soft(estimator, X, one)
        assert type(model) is type(alone)
        np.testing.assert_allclose(scores_of(model, X), scores_of(alone, X), atol=1e-8)
        np.testing.assert_array_equal(model.predict(X).shape, alone.predict(X).shape)
        if isinstance(estimator, RidgeClassifier):
            np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert isinstance(models[-1], ConstantLabel)
    assert models[-1].probability == frequency[-1]


@pytest.mark.parametrize("estimator", RIDGES[:3])
def test_sparse_features(problem, estimator):
    X, labels = problem
    dense = dict(fit_ridges(estimator, X, enumerate(labels[:3])))
    thin = dict(fit_ridges(estimator.set_params(solver="auto"), sparse.csr_array(X),
                           enumerate(labels[:3])))  # fmt: skip
    for place, model in dense.items():
        np.testing.assert_allclose(scores_of(thin[place], X), scores_of(model, X), atol=5e-3)


def test_rows_in_common_are_factorised_once(problem, monkeypatch):
    X, labels = problem
    seen = []

    class Counted(Ridge):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.shape(y))
            return super().fit(X, y, sample_weight)

    list(fit_ridges(Counted(), X, enumerate(labels[:5])))
    assert seen == [(60, 3), (30, 1), (60, 1)]
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 100)
    seen.clear()
    places = [place for place, _ in fit_ridges(Counted(), X, enumerate(labels[:5]))]
    assert sorted(places) == [0, 1, 2, 3, 4]
    assert len(seen) > 3


def test_which_estimators_fraction():
    assert all(have_one_factorisation(one) for one in RIDGES)
    for other in (
        Ridge(positive=True),
        Ridge(np.ones(3)),
        Ridge(solver="saga"),
        RidgeClassifier(class_weight="balanced"),
        KernelRidge(alpha=np.ones(2)),
        Lasso(),
        LogisticRegression(),
    ):
        assert not have_one_factorisation(other)


@pytest.mark.parametrize("estimator", RIDGES)
def test_mend_of_ridges(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    Y = (X[:, :3] + X[:, 3:4] + 0.5 * rng.normal(size=(200, 3)) > 0).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    model = Mend(estimator).fit(X, Y)
    found = model.predict_proba(X)
    assert ((found >= 0) & (found <= 1)).all()
    known = ~np.isnan(Y)
    assert ((found > 0.5) == Y)[known].mean() > 0.8
