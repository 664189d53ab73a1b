from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels, metrics
from labelgap.fitting import FitWarning
from labelgap_papers.kernels.row_sparse import row_norms
from labelgap_papers.methods import WSABIE
from reference.warp import warp_loss


def clusters(rng, n=400, n_clusters=5):
    """Each cluster of rows has two labels of its own."""
    cluster = rng.integers(n_clusters, size=n)
    X = 2 * np.eye(n_clusters)[cluster] + 0.3 * rng.normal(size=(n, n_clusters))
    return X, np.repeat(np.eye(n_clusters), 2, axis=1)[cluster]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_trace_is_the_loss_and_goes_down(rng, form, intercept):
    X, Y = clusters(rng, 60)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = WSABIE(3, fit_intercept=intercept, learning_rate=0.01, random_state=0)
    model.fit(form(X), Y)
    embedded = X @ model.feature_factors_ + model.intercept_factors_
    expected = warp_loss(Y == 1, Y == 0, embedded, model.label_factors_)
    assert model.trace_.objective[-1] == pytest.approx(expected)
    assert model.trace_.objective[-1] < 0.5 * model.trace_.objective[0]
    assert model.intercept_factors_.any() == intercept


def test_recovers_clusters_in_spite_of_gaps(rng):
    X, Y = clusters(rng)
    gaps = np.where(rng.random(Y.shape) < 0.5, np.nan, Y)
    model = WSABIE(4, learning_rate=0.01, max_iter=100, random_state=0).fit(X, gaps)
    assert metrics.precision_at_k(Y, model.decision_function(X), k=2) > 0.98
    assert metrics.auc(Y, model.decision_function(X), average="instance") > 0.99


def test_factors_stay_in_their_balls(rng):
    X, Y = clusters(rng, 100)
    model = WSABIE(3, max_norm=0.8, learning_rate=0.1, max_iter=50, random_state=0).fit(X, Y)
    for factors in (model.feature_factors_, model.label_factors_):
        norms = row_norms(factors)
        assert norms.max() <= 0.8 + 1e-12
        assert norms.max() > 0.79


def test_unknown_labels_are_compared_with_nothing(rng):
    """A label that is unknown in all but a few rows keeps its start but for those."""
    X, Y = clusters(rng, 80)
    Y = np.column_stack([Y, np.full(80, np.nan)])
    with pytest.warns(match="no observed entry"):
        one = WSABIE(3, max_iter=1, random_state=0).fit(X, Y)
    with pytest.warns(match="no observed entry"):
        many = WSABIE(3, max_iter=30, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(one.label_factors_[-1], many.label_factors_[-1])
    assert (one.label_factors_[:-1] != many.label_factors_[:-1]).all()


def test_unlabeled_zeros_endings_and_bad_input(rng):
    X, Y = clusters(rng, 50)
    plain = WSABIE(max_iter=3, random_state=0).fit(X, Y)
    unlabeled = WSABIE(max_iter=3, random_state=0).fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    np.testing.assert_array_equal(plain.label_factors_, unlabeled.label_factors_)
    assert (plain.trace_.outcome, plain.n_iter_) == ("out_of_iterations", 3)
    with pytest.warns(FitWarning, match="max_iter=2"):
        WSABIE(max_iter=2, tol=1e-12, random_state=0).fit(X, Y)
    assert WSABIE(max_iter=50, tol=0.5, random_state=0).fit(X, Y).trace_.outcome == "converged"
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        WSABIE().fit(X, np.full(Y.shape, np.nan))
