"""The audit of features that lie in blocks says what that of an array says."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from scipy import sparse

from labelgap import audit, impute
from labelgap.auditing import feature_rows
from labelgap.fitting import ArrayRows, StoredFeatures, write_blocks


def table(n=900, n_features=12, n_labels=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = X[:, :n_labels] + 0.5 * rng.normal(size=(n, n_labels))
    truth = (scores > 1.0).astype(float)
    return X, truth, truth * (rng.random(truth.shape) < 0.7)


@pytest.fixture
def large(monkeypatch):
    """Small tables are audited as large ones are."""
    monkeypatch.setattr("labelgap.auditing._feature_scores._MOST_ENTRIES", 0)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_an_audit_from_disk_is_that_of_the_array(layout, large, tmp_path):
    X, _, Y = table()
    X = layout(np.maximum(X, 0))
    write_blocks(tmp_path / "rows", (X, Y), block_rows=350)
    here = audit(X, Y, n_suggestions=50)
    there = audit(tmp_path / "rows", n_suggestions=50)
    assert [(s.item, s.label) for s in there.suggestions] == [
        (s.item, s.label) for s in here.suggestions
    ]
    np.testing.assert_allclose(
        [s.probability for s in there.suggestions],
        [s.probability for s in here.suggestions],
        atol=1e-8,
    )
    assert there.missing.value == pytest.approx(here.missing.value, rel=1e-6)
    first, other = here.suggestions[0].evidence, there.suggestions[0].evidence
    assert [s.item for s in other.similar] == [s.item for s in first.similar]
    assert [f.feature for f in other.features] == [f.feature for f in first.features]


def test_many_features_are_projected_on_the_same_directions(monkeypatch):
    monkeypatch.setattr("labelgap.auditing._audit_input._MOST_FEATURES", 10)
    monkeypatch.setattr("labelgap.auditing._audit_input._N_COMPONENTS", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20)) + 0.01 * rng.normal(size=(300, 20))
    here = feature_rows(X, random_state=0)
    there = feature_rows(StoredFeatures(ArrayRows(X, np.ones((300, 1)), block_rows=99)))
    assert there.inputs.shape == here.inputs.shape == (300, 3)
    products = there.inputs[:] @ there.inputs[:].T
    np.testing.assert_allclose(products, here.inputs @ here.inputs.T, atol=1e-6)


def test_entries_are_imputed_from_blocks(large):
    X, _, Y = table()
    gaps = np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)
    here, there = impute(X, gaps), impute(ArrayRows(X, gaps, block_rows=200))
    np.testing.assert_array_equal(here.rows, there.rows)
    np.testing.assert_allclose(here.probabilities, there.probabilities, atol=1e-8)


def test_other_imputers_and_estimators_need_an_array():
    from labelgap import BinaryRelevance

    X, _, Y = table(300)
    with pytest.raises(ValueError, match="features in blocks"):
        audit(ArrayRows(X, Y, block_rows=100), estimator=BinaryRelevance())


def dask_arrays(X, Y, rows=150):
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(rows, -1)), da.from_array(Y, chunks=(rows, -1))


def test_an_audit_on_a_cluster_is_that_of_the_array(large):
    distributed = pytest.importorskip("distributed")
    X, _, Y = table()
    here = audit(X, Y, n_suggestions=50)
    with distributed.Client(processes=False, n_workers=2, dashboard_address=":0") as client:
        there = audit(*dask_arrays(X, Y), n_suggestions=50)
        again = audit(ArrayRows(X, Y, block_rows=150), n_suggestions=50, client=client)
    expected = [(s.item, s.label) for s in here.suggestions]
    for found in (there, again):
        assert [(s.item, s.label) for s in found.suggestions] == expected


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(large):
    distributed = pytest.importorskip("distributed")
    X, _, Y = table()
    expected = audit(X, Y, n_suggestions=50)
    killed = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as all_,
        distributed.Client(all_) as client,
    ):

        def kill(stage, done, total):
            if stage.startswith("choosing") and not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        found = audit(*dask_arrays(X, Y), n_suggestions=50, progress=kill)
        assert killed[0] not in client.run(os.getpid).values()
    assert [(s.item, s.label) for s in found.suggestions] == [
        (s.item, s.label) for s in expected.suggestions
    ]
