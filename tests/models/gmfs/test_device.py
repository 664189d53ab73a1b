"""GMFS on a device of torch is GMFS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import GMFS
from labelgap.fitting import EM, OnlineEM

torch = pytest.importorskip("torch")


def problem(n=120, d=9, n_labels=5):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    scores = X[:, :3] @ rng.normal(size=(3, n_labels))
    return X, ((scores > 0.5) & (rng.random(scores.shape) < 0.7)).astype(int)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"prior": "laplace"},
        {"propensity": "neighbors", "n_neighbors": 5},
        {"inference": EM(10, 0.0, solver="cg", n_cg=5)},
        {"block_rows": 50},
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_device_changes_nothing(settings, form):
    X, Y = problem()
    common = {"n_factors": 3, "random_state": 0, **settings}
    here = GMFS(**common).fit(form(X), Y)
    there = GMFS(**common, device="cpu").fit(form(X), Y)
    np.testing.assert_allclose(there.scores_, here.scores_, rtol=1e-6)
    np.testing.assert_allclose(there.missing_label_proba(), here.missing_label_proba(), atol=1e-6)
    np.testing.assert_allclose(there.trace_.objective, here.trace_.objective, rtol=1e-8)
    assert there.label_frequency_search_.keys() == here.label_frequency_search_.keys()


def test_single_precision():
    X, Y = problem()
    common = {"n_factors": 3, "random_state": 0}
    here = GMFS(**common).fit(X.astype(np.float32), Y)
    there = GMFS(**common, device="cpu").fit(X.astype(np.float32), Y)
    assert there.params_.weights.dtype == np.float32
    np.testing.assert_allclose(there.scores_, here.scores_, rtol=1e-2)


@pytest.mark.parametrize("settings", [{"n_components": 2}, {"inference": OnlineEM(2)}])
def test_what_runs_on_the_processor_alone(settings):
    X, Y = problem()
    with pytest.raises(ValueError, match=r"device='cpu': a mixture and OnlineEM"):
        GMFS(**settings, device="cpu").fit(X, Y)
