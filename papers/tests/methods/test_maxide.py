from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels
from labelgap.fitting import FitWarning
from labelgap.kernels.low_rank import nuclear_norm
from labelgap_papers.methods import Maxide


def planted(rng, n=120, d=15, c=12, rank=2):
    """Exactly low-rank labels of 0 and 1: clusters of rows, seen through orthonormal features."""
    cluster = rng.integers(rank, size=n)
    pattern = rng.integers(2, size=(rank, c)).astype(float)
    pattern[:, 0], pattern[:, 1] = [1, 0], [0, 1]
    members = np.eye(rank)[cluster]
    X = np.column_stack([members, rng.normal(size=(n, d - rank))])
    return np.linalg.qr(X)[0] * np.sqrt(n), members @ pattern


def test_recovers_a_planted_low_rank_matrix(rng):
    X, Y = planted(rng)
    hidden = rng.random(Y.shape) < 0.5
    model = Maxide(1e-3, fit_intercept=False, max_iter=5000, tol=1e-12)
    model.fit(X, np.where(hidden, np.nan, Y))
    np.testing.assert_allclose((X @ model.coef_)[hidden], Y[hidden], atol=1e-2)
    assert np.linalg.matrix_rank(model.coef_, tol=1e-3) == 2
    assert (model.predict(X) == Y).all()


def test_a_heavier_weight_lowers_the_rank(rng):
    X, Y = rng.normal(size=(60, 8)), (rng.random((60, 6)) < 0.4).astype(float)
    ranks = [
        np.linalg.matrix_rank(Maxide(w, max_iter=500, tol=0.0).fit(X, Y).coef_, tol=1e-8)
        for w in (0.01, 6.0, 1e3)
    ]
    assert ranks[0] == 6
    assert 0 < ranks[1] < 6
    assert ranks[2] == 0


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_trace_is_the_objective(rng, form, complete):
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 3)) < 0.5).astype(float)
    if not complete:
        Y[rng.random(Y.shape) < 0.4] = np.nan
    model = Maxide(0.7, max_iter=15, tol=0.0).fit(form(X), Y)
    residual = np.nan_to_num(X @ model.coef_ + model.intercept_ - Y)
    expected = 0.5 * np.square(residual).sum() + 0.7 * nuclear_norm(model.coef_)
    assert model.trace_.objective[-1] == pytest.approx(expected, rel=1e-10)
    assert (np.diff(model.trace_.objective) <= 0).all()
    assert model.n_iter_ == 15


def test_rows_without_labels_change_nothing(rng):
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 3)) < 0.5).astype(float)
    unlabelled = np.full((20, 3), np.nan)
    alone = Maxide(max_iter=10, tol=0.0).fit(X, Y)
    joined = Maxide(max_iter=10, tol=0.0).fit(
        np.vstack([X, rng.normal(size=(20, 4))]), np.vstack([Y, unlabelled])
    )
    np.testing.assert_allclose(alone.coef_, joined.coef_, atol=1e-12)


def test_says_when_it_has_not_converged_and_when_there_is_nothing_to_learn(rng):
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 3)) < 0.5).astype(float)
    with pytest.warns(FitWarning, match="max_iter=2"):
        Maxide(max_iter=2, tol=1e-12).fit(X, Y)
    assert Maxide(max_iter=2000, tol=1e-8).fit(X, Y).trace_.outcome == "converged"
    stopped = Maxide(callback=lambda progress: progress.iteration == 3, tol=0.0).fit(X, Y)
    assert (stopped.trace_.outcome, stopped.n_iter_) == ("stopped", 4)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        Maxide().fit(X, Labels.from_dense(np.full((30, 3), np.nan)))
