"""Baselines fitted with tensors are those fitted with numpy arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap_papers.methods import BCS, GLOCAL, LEML
from labelgap_papers.methods._glocal_steps import _factor

CLASSIFIERS = [
    LEML(2, ridge=0.5, max_iter=8, tol=0.0),
    LEML(2, loss="logistic", fit_intercept=False, max_iter=8, tol=0.0),
    LEML(2, loss="squared_hinge", max_iter=8, tol=0.0),
    GLOCAL(3, 2, start_iter=2, max_iter=6, tol=0.0, random_state=0),
    GLOCAL(2, 1, width=3, fit_intercept=False, start_iter=1, max_iter=6, tol=0.0, random_state=0),
    BCS(3, max_iter=6, n_predict=4, tol=0.0, random_state=0),
]


def problem(rng, n, d, gaps):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    Y = (X[:, :4] + 0.5 * rng.normal(size=(n, 4)) > 0.2).astype(float)
    Y[1:][rng.random((n - 1, 4)) < gaps] = np.nan
    return X, Y


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
@pytest.mark.parametrize(("n", "d", "gaps"), [(60, 12, 0.0), (60, 12, 0.3), (30, 45, 0.3)])
def test_same_coefficients_and_objectives(classifier, n, d, gaps):
    pytest.importorskip("torch")
    X, Y = problem(np.random.default_rng(n), n, d, gaps)
    plain = classifier.fit(X, Y)
    expected, trace = plain.coef_, plain.trace_.objective
    for features in (X, sparse.csr_array(X)):
        found = type(classifier)(**(classifier.get_params() | {"device": "cpu"})).fit(features, Y)
        np.testing.assert_allclose(found.trace_.objective, trace, rtol=1e-7)
        np.testing.assert_allclose(found.coef_, expected, atol=1e-6)
        np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=1e-6)
        np.testing.assert_allclose(found.predict_proba(features), plain.predict_proba(X), atol=1e-6)
        fitted = [part for part in vars(found).values() if hasattr(part, "shape")]
        assert len(fitted) >= 3
        assert all(isinstance(part, np.ndarray | np.generic) for part in fitted)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_predicts_where_the_device_is_not(classifier):
    pytest.importorskip("torch")
    X, Y = problem(np.random.default_rng(3), 40, 6, 0.3)
    model = type(classifier)(**(classifier.get_params() | {"device": "cpu"})).fit(X, Y)
    expected = model.predict_proba(X)
    model.set_params(device="cuda:99")
    for part in vars(model).values():
        if isinstance(part, np.ndarray):
            part.flags.writeable = False  # as those of a file that is mapped
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    model.set_params(device="cpu")
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)


def test_steps_by_products_do_not_need_axes(monkeypatch):
    """With so many features, or labels and factors, that their matrices are not made."""
    pytest.importorskip("torch")
    X, Y = problem(np.random.default_rng(7), 40, 6, 0.3)
    model = GLOCAL(2, 2, start_iter=2, max_iter=4, tol=0.0, random_state=0).fit(X, Y)
    monkeypatch.setattr("labelgap_papers.methods._glocal_steps._MOST_ENTRIES", 0)
    found = GLOCAL(**(model.get_params() | {"device": "cpu"})).fit(X, Y)
    np.testing.assert_allclose(found.trace_.objective, model.trace_.objective, rtol=1e-6)


def test_systems_without_a_factor_are_told_alike():
    """By the error that searches pass over, which torch's own is not."""
    torch = pytest.importorskip("torch")
    good, bad = np.eye(3), np.diag([1.0, -1.0, 1.0])
    for convert in (np.asarray, torch.asarray):
        with pytest.raises(np.linalg.LinAlgError, match="system 1 of GLOCAL"):
            _factor(convert(np.stack([good, bad])))
        with pytest.raises(np.linalg.LinAlgError, match="system 0"):
            _factor(convert(bad))
        np.testing.assert_array_equal(np.asarray(_factor(convert(4 * good))), 2 * good)
