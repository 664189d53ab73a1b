"""Selectors fitted with tensors are those fitted with numpy arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels
from labelgap_papers.methods import CMFS, FSNM, MIFS, MLMLFS, SFUS

SELECTORS = [
    FSNM(3.0),
    FSNM(3.0, fit_intercept="free"),
    FSNM(3.0, fit_intercept="none"),
    SFUS(3.0, 10.0),
    MLMLFS(0.1, 3.0),
    MIFS(1.0, 0.1, 3.0, max_iter=40, tol=0.0),
    CMFS(3.0, max_iter=40, tol=0.0),
]


def problem(rng, n, d, gaps=False):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    values = (X[:, :4] + 0.5 * rng.normal(size=(n, 4)) > 0.2).astype(float)
    if gaps:
        values[rng.random(values.shape) < 0.2] = np.nan
    return X, Labels.from_dense(values, zeros="unlabeled")


@pytest.mark.parametrize("selector", SELECTORS, ids=str)
@pytest.mark.parametrize(("n", "d"), [(60, 12), (30, 45)])
def test_same_weights(selector, n, d):
    pytest.importorskip("torch")
    X, labels = problem(np.random.default_rng(n), n, d)
    plain = selector.fit(X, labels)
    expected, order, n_iter = plain.coef_, plain.ranking_, plain.n_iter_
    for features in (X, sparse.csr_array(X)):
        found = type(selector)(**(selector.get_params() | {"device": "cpu"})).fit(features, labels)
        assert all(isinstance(part, np.ndarray) for part in (found.coef_, found.scores_))
        assert found.n_iter_ == n_iter
        np.testing.assert_allclose(found.coef_, expected, atol=1e-6)
        np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=1e-6)
        np.testing.assert_array_equal(found.ranking_[:4], order[:4])


@pytest.mark.parametrize(
    "selector", [FSNM(3.0), MLMLFS(0.1, 3.0), CMFS(3.0, max_iter=40, tol=0.0)], ids=str
)
def test_gaps_are_left_out_or_filled_there_too(selector):
    pytest.importorskip("torch")
    X, labels = problem(np.random.default_rng(3), 60, 8, gaps=True)
    plain = selector.fit(X, labels)
    found = type(selector)(**(selector.get_params() | {"device": "cpu"})).fit(X, labels)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-6)


def test_a_singular_system_is_told():
    pytest.importorskip("torch")
    X = np.ones((20, 3))
    X[:, 0] = 1e9 * np.arange(20)
    labels = Labels.from_dense((np.arange(20) % 2)[:, None].astype(float))
    with pytest.raises(np.linalg.LinAlgError, match="scale the features"):
        FSNM(1e-200, device="cpu").fit(X, labels)
