from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from labelgap.fitting import FitWarning
from labelgap.views import Views, from_blocks
from labelgap_papers.methods._view_blocks import dense_views, learn_scaling, warn_of_filled_views


def blocks(rng):
    there = {"b": np.array([True, False, True, True, False, True])}
    X, views = from_blocks({"a": 5 + rng.normal(size=(6, 3)), "b": rng.normal(size=(6, 2))}, there)
    X[0, 0] = np.nan
    return X, views, np.column_stack([np.ones(6, dtype=bool), there["b"]])


def test_dense_and_sparse_are_read_alike(rng):
    X, views, there = blocks(rng)
    values, found = dense_views(X, views)
    np.testing.assert_array_equal(values, X)
    np.testing.assert_array_equal(found, there)
    marked = np.where(np.isnan(X), 0.0, X)
    marked[0, 0] = marked[1, 3] = marked[4, 3] = np.nan
    again, found = dense_views(sparse.csr_array(marked), views)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(found, there)


def test_balanced_views_have_rows_of_unit_mean_square(rng):
    X, views, _ = blocks(rng)
    scaling = learn_scaling(X, views, "balance")
    scaled = scaling.scaled(X)
    np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0, atol=1e-12)
    for view in views.values():
        assert np.nanmean(scaled[:, view] ** 2, axis=0).sum() == pytest.approx(1)
        assert len(set(scaling.factor[view])) == 1
    np.testing.assert_allclose(scaling.restored(scaled), X)
    filled = scaling.filled(X)
    assert (filled[np.isnan(X)] == 0).all()


def test_standardised_features_have_unit_deviation_where_they_vary(rng):
    X, views, _ = blocks(rng)
    X[:, 2] = 0.1
    scaled = learn_scaling(X, views, "standard").scaled(X)
    np.testing.assert_allclose(np.nanstd(scaled[:, [0, 1, 3, 4]], axis=0, ddof=1), 1)
    np.testing.assert_allclose(scaled[:, 2], 0, atol=1e-12)


def test_unscaled_gaps_are_filled_with_means(rng):
    X, views, _ = blocks(rng)
    filled = learn_scaling(X, views, None).filled(X)
    gaps = np.isnan(X)
    np.testing.assert_array_equal(filled[~gaps], X[~gaps])
    np.testing.assert_allclose(filled[gaps], np.broadcast_to(np.nanmean(X, axis=0), X.shape)[gaps])


def test_a_feature_that_was_never_observed_is_zero():
    X = np.array([[1.0, np.nan], [3.0, np.nan]])
    scaling = learn_scaling(X, Views({"a": 2}), "standard")
    np.testing.assert_allclose(scaling.filled(X)[:, 1], 0)


def test_the_warning_comes_only_when_something_was_filled(rng):
    X, _, there = blocks(rng)
    with pytest.warns(FitWarning, match="Some assumes complete views: 2 absent views"):
        warn_of_filled_views("Some", X, there)
    with pytest.warns(FitWarning, match="missing values are filled"):
        warn_of_filled_views("Some", X[[0, 2]], there[[0, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_filled_views("Some", X[2:4], there[2:4])
