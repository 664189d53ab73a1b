"""Scores from the features alone: no item has a part in its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from labelgap import Labels, audit
from labelgap.auditing import _feature_scores as scoring
from labelgap.auditing._feature_scores import FeatureRidge


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_ridge_of_features_leaves_each_item_out(rng, make):
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 3)) < 0.4) * 1.0
    learned = rng.random(30) < 0.7
    found = FeatureRidge(make(X), Labels.from_dense(Y), learned).scores(np.arange(30))
    for row in range(30):
        others = learned & (np.arange(30) != row)
        centre = X[learned].mean(axis=0)
        # the centre of the features and the prevalence are those of all learned rows
        model = Ridge(10.0, fit_intercept=False)
        design = np.column_stack([np.full(30, 1e4), X - centre])
        model.fit(design[others], Y[others] - Y[learned].mean(axis=0))
        expected = model.predict(design[[row]])[0] + Y[learned].mean(axis=0)
        np.testing.assert_allclose(found[row], expected, atol=1e-6)


def test_a_large_table_is_scored_by_ridge_regressions(rng, monkeypatch):
    X = rng.normal(size=(600, 8))
    Y = (X[:, :5] + 0.5 * rng.normal(size=(600, 5)) > 0.5) * 1.0
    shown = Y * (rng.random(Y.shape) < 0.6)
    monkeypatch.setattr(scoring, "_MOST_ENTRIES", 100)
    seen = audit(X, shown, n_suggestions=200)
    assert seen.provenance.model.startswith("one model of the features")
    right = [Y[int(one.item), int(one.label)] for one in seen.suggestions]
    assert np.mean(right) > 0.8
