"""The registry: complete, consistent, and helpful about typing errors."""

from __future__ import annotations

import re

import pytest

from labelgap.data import dataset_info, list_datasets
from labelgap.data._registry import READERS


@pytest.mark.parametrize("name", list_datasets())
def test_every_entry_is_complete(name):
    info = dataset_info(name)
    n_samples, n_features, n_labels = info.shape
    assert 0 < info.cardinality < n_labels
    assert info.split is None or sum(info.split) == n_samples
    assert info.layout in ("dense", "sparse")
    assert len(info.citation) > 40
    assert info.licence
    assert info.title
    assert info.label_names is None or len(info.label_names) == n_labels
    assert info.feature_names is None or len(info.feature_names) == n_features
    assert info.views is None or sum(info.views.values()) == n_features
    assert info.sources


@pytest.mark.parametrize("name", list_datasets())
def test_every_source_says_how_to_read_and_to_verify(name):
    for source in dataset_info(name).sources:
        if source.kind == "openml":
            assert source.data_id > 0
            continue
        assert source.reader in READERS
        assert source.paths()
        if source.kind == "folder":
            assert source.sha256.keys() == set(source.paths())
            assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in source.sha256.values())
        else:
            assert source.kind == "archive"
            assert re.fullmatch(r"[0-9a-f]{64}", source.archive.sha256)
            assert (
                source.archive.file == f"{source.archive.package}-{source.archive.version}.tar.gz"
            )


def test_names_are_forgiving():
    assert dataset_info("TMC2007-500").name == "tmc2007_500"


def test_unknown_names_get_suggestions():
    with pytest.raises(KeyError, match="did you mean delicious"):
        dataset_info("delicous")
    with pytest.raises(KeyError, match="list_datasets"):
        dataset_info("zzzzzzzz")
