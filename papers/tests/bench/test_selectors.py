"""How the bench ranks features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from labelgap_papers.bench.methods import _selectors


@pytest.mark.parametrize("n_trees", [3, 8, 10])
def test_importances_of_few_trees_at_a_time_are_those_of_the_forest(n_trees):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 7))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    whole = RandomForestClassifier(n_trees, random_state=5).fit(X, Y).feature_importances_
    few = _selectors.forest_importances(X, Y, n_trees, 5)
    np.testing.assert_allclose(few, whole, rtol=1e-12)


def test_labels_of_one_value_have_no_importances():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = _selectors.forest_importances(X, np.zeros((20, 2), dtype=int), 4, 0)
    np.testing.assert_array_equal(found, np.zeros(3))
