"""The cache: what goes in comes out, and nothing half-written looks complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from labelgap.data import Dataset, cache_folder
from labelgap.data._load import load_cached, save_dataset
from labelgap.labels import Labels
from labelgap.views import Views


@pytest.fixture
def dataset(rng) -> Dataset:
    return Dataset(
        "toy",
        X=rng.normal(size=(6, 4)).astype(np.float32),
        Y=Labels.from_dense(
            [[1, 0], [0, np.nan], [1, 1], [0, 0], [1, 0], [0, 1]], names=["gr\u00fcn", "b"]
        ),
        feature_names=np.array(["a", "b", "c", "d"], dtype=object),
        train=np.arange(4),
        test=np.arange(4, 6),
        views=Views({"left": 1, "right": 3}),
    )


def assert_same(left: Dataset, right: Dataset) -> None:
    assert left.name == right.name
    assert sparse.issparse(left.X) == sparse.issparse(right.X)
    assert left.X.dtype == right.X.dtype
    dense = [part.X.toarray() if sparse.issparse(part.X) else part.X for part in (left, right)]
    np.testing.assert_array_equal(*dense)
    assert left.Y.equals(right.Y)
    for field in ("label_names", "feature_names", "train", "test"):
        np.testing.assert_array_equal(getattr(left, field), getattr(right, field))
    assert (left.views or {}) == (right.views or {})


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("bare", [False, True])
def test_round_trip(tmp_path, dataset, thin, bare):
    if thin:
        dataset = replace(dataset, X=sparse.csr_array(dataset.X))
    if bare:
        dataset = replace(
            dataset, Y=dataset.Y.with_names(None), feature_names=None, train=None, test=None,
            views=None,
        )  # fmt: skip
    save_dataset(dataset, tmp_path / "deep" / "toy.npz")
    assert_same(load_cached(tmp_path / "deep" / "toy.npz"), dataset)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["toy.npz"]


def test_the_file_holds_no_pickle(tmp_path, dataset):
    save_dataset(dataset, tmp_path / "toy.npz")
    with np.load(tmp_path / "toy.npz", allow_pickle=False) as arrays:
        assert all(arrays[key].dtype != object for key in arrays)


def test_damaged_files_count_as_absent(tmp_path, dataset):
    path = tmp_path / "toy.npz"
    assert load_cached(path) is None
    save_dataset(dataset, path)
    path.write_bytes(path.read_bytes()[:-200])
    assert load_cached(path) is None


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("LABELGAP_CACHE", str(tmp_path / "env"))
    assert cache_folder(tmp_path / "given") == tmp_path / "given"
    assert cache_folder() == tmp_path / "env"
    monkeypatch.delenv("LABELGAP_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "labelgap"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == Path.home() / "Library" / "Caches" / "labelgap"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "labelgap"


def test_data_sets_check_themselves(dataset):
    with pytest.raises(ValueError, match="X has 5 rows and Y has 6"):
        replace(dataset, X=dataset.X[:5])
    with pytest.raises(ValueError, match="1 feature names for 4 columns"):
        replace(dataset, feature_names=np.array(["a"]))


def test_repr_tells_the_sizes(dataset):
    assert repr(dataset) == (
        "Dataset('toy': 6 rows x 4 features (dense float32) x 2 labels; 0.83 labels per row; "
        "split 4/2; views left, right)"
    )
