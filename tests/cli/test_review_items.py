"""The entries that a review draws from."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from auditing.test_audit import generated
from labelgap.auditing import impute
from labelgap.cli.review import table_population


def test_people_are_asked_about_zeros_that_impute_leaves_alone():
    X, full = generated(n=200)
    X = X + np.random.default_rng(4).normal(size=X.shape)
    rows = SimpleNamespace(labels=full, n_samples=200, items=np.arange(200).astype(str))
    how = {"zeros": "auto", "decisions": None, "random_state": 0}
    assert impute(X, full, threshold=0.0).rows.size == 0
    population = table_population(rows, X, how)
    assert population.probabilities.size == 200 * full.n_labels - full.n_positives()
    assert (population.probabilities > 0).mean() > 0.9
