"""A regressor in place of the linear map from features to factors, in ML-LCS and RMFL."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from labelgap import MLLCS, RMFL, RMFLCV
from labelgap.cooccurrence import count_cooccurrence

CURVED = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.3)
N_TRAIN, N_SEEN = 400, 5


def problem(*, curved: bool):
    """Features, and labels above the median of products of factors, which features give."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    factors = X @ rng.normal(size=(5, 3))
    if curved:
        factors = np.tanh(2 * factors) ** 2
    scores = factors @ rng.normal(size=(3, 8)) + 0.2 * rng.normal(size=(600, 8))
    return X, (scores > np.median(scores, axis=0)).astype(float)


def mllcs(X, Y, regressor):
    counts = count_cooccurrence(Y, seen=list(range(N_SEEN)))
    model = MLLCS(3, map=regressor, random_state=0)
    return model.fit(X[:N_TRAIN], Y[:N_TRAIN, :N_SEEN], cooccurrence=counts)


def rmfl(X, Y, regressor):
    gaps = Y[:N_TRAIN].copy()
    gaps[np.random.default_rng(1).random(gaps.shape) < 0.4] = np.nan
    return RMFL(3, kernel="linear", map=regressor, random_state=0).fit(X[:N_TRAIN], gaps)


@pytest.mark.parametrize("fit", [mllcs, rmfl])
def test_a_linear_regressor_equals_the_linear_map(fit):
    X, Y = problem(curved=False)
    linear, regressed = (
        fit(X, Y, regressor).decision_function(X[N_TRAIN:]) for regressor in (None, Ridge())
    )
    for one, other in zip(linear.T, regressed.T, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.999


@pytest.mark.parametrize("fit", [mllcs, rmfl])
def test_a_kernel_finds_what_is_not_linear(fit):
    X, Y = problem(curved=True)
    auc = {}
    for regressor in (None, CURVED):
        scores = fit(X, Y, regressor).decision_function(X[N_TRAIN:])
        auc[regressor] = [roc_auc_score(Y[N_TRAIN:, k], scores[:, k]) for k in range(8)]
    # the last three are labels that ML-LCS never saw
    assert np.mean(auc[CURVED][N_SEEN:]) > np.mean(auc[None][N_SEEN:]) + 0.1
    assert np.mean(auc[CURVED][:N_SEEN]) > np.mean(auc[None][:N_SEEN]) + 0.1


def test_factors_of_rows_are_those_of_the_regressor():
    X, Y = problem(curved=True)
    model = mllcs(X, Y, CURVED)
    new = X[N_TRAIN:]
    scores = model.embed(new) @ model.label_factors_.T + model.label_bias_
    np.testing.assert_allclose(scores, model.decision_function(new))
    assert model.embed(new, Y[N_TRAIN:, :N_SEEN]).shape == (200, 3)
    completed = rmfl(X, Y, CURVED).impute(np.where(Y > 2, Y, np.nan)[N_TRAIN:], new)
    np.testing.assert_allclose(completed, rmfl(X, Y, CURVED).decision_function(new), atol=1e-6)


def test_maps_are_refused_where_nothing_learns_them():
    X, Y = problem(curved=False)
    with pytest.raises(ValueError, match="map needs a fit by EM"):
        MLLCS(2, map=Ridge(), inference="gibbs").fit(X, Y)
    with pytest.raises(ValueError, match="leave map out"):
        RMFLCV(RMFL(map=Ridge())).fit(X, Y)
