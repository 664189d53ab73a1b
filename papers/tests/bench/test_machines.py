"""The classifier of GMFS's protocol is scikit-learn's, label by label."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from labelgap import Labels
from labelgap_papers.bench.protocols._machines import machine_scores


def problem():
    rng = np.random.default_rng(5)
    X, X_test = rng.normal(size=(60, 6)), rng.normal(size=(15, 6))
    Y = (X @ rng.normal(size=(6, 4)) + rng.normal(size=(60, 4)) > 0.5).astype(int)
    Y[:, 1], Y[:, 2] = 0, 1
    return X, Labels.from_dense(Y), X_test, Y


def test_every_label_and_number_of_features():
    X, labels, X_test, Y = problem()
    found = machine_scores(X, labels, X_test, [2, 3, 6], tol=1e-6)
    for d, scores in zip([2, 3, 6], found, strict=True):
        for j in (0, 3):
            machine = SVC(gamma=1 / d, tol=1e-6).fit(X[:, :d], Y[:, j])
            expected = machine.decision_function(X_test[:, :d])
            np.testing.assert_allclose(scores[:, j], expected, atol=1e-3)
        assert np.all(scores[:, 1] < -5)
        assert np.all(scores[:, 2] > 5)
