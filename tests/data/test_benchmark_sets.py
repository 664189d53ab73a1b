"""The real files: every set has the shape, split and cardinality that the registry states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.data import dataset_info, list_datasets, load_dataset, read_arff
from labelgap.views import present

LOCAL = [
    name
    for name in list_datasets()
    if any(source.kind == "folder" for source in dataset_info(name).sources)
]


@pytest.mark.parametrize("name", LOCAL)
def test_local_sets_load_as_registered(data_dir, tmp_path, name):
    info = dataset_info(name)
    found = load_dataset(name, cache=tmp_path, fetch=False)
    assert found.shape == info.shape
    assert found.cardinality == pytest.approx(info.cardinality, abs=1e-4)
    assert sparse.issparse(found.X) == (info.layout == "sparse")
    assert found.X.dtype == info.dtype
    if info.split:
        assert (len(found.train), len(found.test)) == info.split
        assert np.array_equal(np.concatenate([found.train, found.test]), np.arange(info.shape[0]))
    else:
        assert found.train is None
    if info.views:
        assert found.views.widths == info.views
    assert not found.Y.has_gaps
    assert not list(tmp_path.iterdir())


def test_yeast_keeps_the_order_of_the_arff_file(data_dir):
    assert list(load_dataset("yeast").label_names) == [f"Class{j}" for j in range(1, 15)]


def test_names_come_along(data_dir):
    bibtex = load_dataset("bibtex")
    assert bibtex.label_names[-1] == "TAG_wiki"
    assert bibtex.feature_names[1] == "000"
    assert len(bibtex.feature_names) == 1836


NAMED = [name for name in LOCAL if dataset_info(name).label_names is not None]


@pytest.mark.parametrize("name", NAMED)
def test_names_of_the_registry_are_those_of_the_files(data_dir, name):
    info = dataset_info(name)
    found = load_dataset(name, fetch=False)
    assert tuple(found.label_names) == info.label_names
    assert info.feature_names is None or tuple(found.feature_names) == info.feature_names


def test_meka_variant_of_emotions(data_dir):
    found = read_arff(data_dir / "emotions" / "Music.arff")
    assert found.shape == (592, 71, 6)
    assert list(found.label_names[[0, -1]]) == ["amazed-suprised", "angry-aggresive"]
    assert found.cardinality == pytest.approx(1.87, abs=0.01)


def test_whole_emotions_are_its_two_parts(data_dir):
    whole = read_arff(data_dir / "emotions/emotions.arff", data_dir / "emotions/emotions.xml")
    parts = load_dataset("emotions")

    def rows(dataset):
        table = np.hstack([dataset.X, dataset.Y.to_dense()])
        return table[np.lexsort(table.T)]

    np.testing.assert_array_equal(rows(whole), rows(parts))


def test_delicious_has_rows_without_labels(data_dir):
    assert (load_dataset("delicious").Y.n_positives(axis=1) == 0).sum() == 14


def test_one_label_of_social_is_empty(data_dir):
    assert (load_dataset("social").Y.n_positives(axis=0) == 0).sum() == 1


def test_missing_views_of_corel5k(data_dir):
    found = load_dataset("corel5k_multiview")
    there = present(found.X, found.views)
    complete = [name for j, name in enumerate(found.views) if there[:, j].all()]
    assert complete == ["DenseHue", "DenseSift", "Lab", "Rgb"]
    assert not there[found.train][:, 4:].any()
    assert there[found.test].all()
    assert np.isfinite(found.X[found.test]).all()


def test_views_of_emotions_hold_the_features_of_emotions(data_dir):
    views, plain = load_dataset("emotions_multiview"), load_dataset("emotions")
    assert sorted(views.Y.n_positives(axis=0)) == sorted(plain.Y.n_positives(axis=0))
