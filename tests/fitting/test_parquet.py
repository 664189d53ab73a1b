"""Rows in Parquet files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fitting.topic_problem import (
    BLOCK_ROWS,
    N_FEATURES,
    N_LABELS,
    N_ROWS,
    fit,
    prepare,
    problem,
    same,
)
from labelgap.fitting import (
    ArrayRows,
    LongLabels,
    ParquetRows,
    WideLabels,
    open_rows,
    write_blocks,
)
from labelgap.labels import Labels

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FEATURES = [f"x{j}" for j in range(N_FEATURES)]


def write_features(path, X, extra=None, group=BLOCK_ROWS):
    table = {name: X[:, j] for j, name in enumerate(FEATURES)} | (extra or {})
    pq.write_table(pa.table(table), path, row_group_size=group)
    return path


def long_table(labels: Labels, ids=None):
    """All known entries, one line each, and a null for every unknown one."""
    dense = labels.to_dense()
    rows, columns = np.nonzero((dense == 1) | np.isnan(dense))
    values = pa.array(dense[rows, columns], from_pandas=True)
    names = np.asarray(labels.names, dtype=str)[columns]
    return {"row": rows if ids is None else ids[rows], "label": names, "value": values}


def all_labels(source) -> Labels:
    parts = [source[index][1] for index in range(len(source))]
    return Labels.concatenate(parts).with_names(source.names)


@pytest.fixture
def data():
    return problem(dense=True, gaps=True)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", ["wide", "wide apart", "long", "ids"])
def test_fit_from_parquet_is_bitwise_that_in_memory(tmp_path, kind, gaps):
    X, labels = problem(dense=True, gaps=gaps)
    expected, _ = fit(open_rows(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(gaps)))
    source = written(tmp_path, kind, X, labels)
    assert len(source) == 5
    assert source.names.tolist() == labels.names.tolist()
    assert all_labels(source).equals(labels)
    found, _ = fit(open_rows(source, prepare(gaps), scratch=tmp_path))
    assert same(found, expected)
    folder = write_blocks(tmp_path / "blocks", source, block_rows=BLOCK_ROWS)
    assert folder.names.tolist() == labels.names.tolist()
    assert same(fit(open_rows(folder, prepare(gaps)))[0], expected)


def written(folder, kind, X, labels) -> ParquetRows:
    dense, names = labels.to_dense(), labels.names.tolist()
    wide = {n: pa.array(dense[:, j], from_pandas=True) for j, n in enumerate(names)}
    if kind == "wide":
        return ParquetRows(write_features(folder / "X.parquet", X, wide), WideLabels(names))
    if kind == "wide apart":
        pq.write_table(pa.table(wide), folder / "Y.parquet", row_group_size=11)
        labels = WideLabels(names, folder / "Y.parquet")
        return ParquetRows(write_features(folder / "X.parquet", X), labels)
    ids = np.array([f"item {(11 * n) % N_ROWS:03d}" for n in range(N_ROWS)])
    by_id = kind == "ids"
    table = pa.table(long_table(labels, ids if by_id else None))
    pq.write_table(table, folder / "Y.parquet", row_group_size=25)
    features = write_features(folder / "X.parquet", X, {"id": ids} if by_id else None)
    long = LongLabels(folder / "Y.parquet", value="value")
    return ParquetRows(features, long, id_column="id" if by_id else None)


def test_only_row_groups_with_lines_of_the_block_are_read(tmp_path, data, monkeypatch):
    X, labels = data
    source = written(tmp_path, "long", X, labels)
    n_groups = pq.ParquetFile(tmp_path / "Y.parquet").num_row_groups
    read = []
    original = pq.ParquetFile.read_row_group

    def counted(self, group, **options):
        read.append(group)
        return original(self, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    source[2]
    assert 0 < len(read) < n_groups


def test_values_and_implicit_pairs(tmp_path, data):
    X, _ = data
    features = write_features(tmp_path / "X.parquet", X)
    lines = {"row": [0, 0, 3], "label": ["b", "a", "a"], "value": [True, False, None]}
    pq.write_table(pa.table(lines), tmp_path / "Y.parquet")
    long = LongLabels(tmp_path / "Y.parquet", value="value", implicit="unknown", names=list("cab"))
    found = all_labels(ParquetRows(features, long)).to_dense()
    assert found[0, 1:].tolist() == [0, 1]
    assert np.isnan(found).sum() == found.size - 2


def test_row_groups_are_joined(tmp_path, data):
    X, labels = data
    pq.write_table(pa.table(long_table(labels)), tmp_path / "Y.parquet")
    source = ParquetRows(
        write_features(tmp_path / "X.parquet", X, group=10),
        LongLabels(tmp_path / "Y.parquet", value="value"),
        block_rows=25,
        columns=FEATURES[:3],
        dtype=np.float32,
    )
    assert [len(source[index][0]) for index in range(len(source))] == [30, 30, 10]
    features, y = pickle.loads(pickle.dumps(source.reader(1)))()
    assert np.array_equal(features, X[30:60, :3].astype(np.float32))
    assert y.with_names(labels.names).equals(labels[30:60])
    assert (source.n_features, source.n_labels, source.n_samples) == (3, N_LABELS, N_ROWS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ({"row": [0, N_ROWS], "label": ["a", "a"]}, "line 1 is about row 70"),
        ({"row": [-1], "label": ["a"]}, "line 0 is about row -1"),
        ({"row": [0, None], "label": ["a", "a"]}, "'row' is null in line 1"),
        ({"row": [0, 1], "label": ["a", None]}, "'label' is null in line 1"),
        ({"row": ["u", "v"], "label": ["a", "a"]}, "give id_column"),
        ({"row": [0], "tag": ["a"]}, "no column 'label'"),
    ],
)
def test_lines_that_fit_no_row_are_refused(tmp_path, data, lines, message):
    features = write_features(tmp_path / "X.parquet", data[0])
    pq.write_table(pa.table(lines), tmp_path / "Y.parquet")
    with pytest.raises(ValueError, match=message):
        ParquetRows(features, LongLabels(tmp_path / "Y.parquet"))


def test_contradictions_and_bad_values_are_refused(tmp_path, data):
    features = write_features(tmp_path / "X.parquet", data[0])

    def source(**lines):
        pq.write_table(pa.table(lines), tmp_path / "Y.parquet")
        return ParquetRows(features, LongLabels(tmp_path / "Y.parquet", value="value"))

    agreeing = source(row=[17, 17], label=["a", "a"], value=[1, 1])
    assert agreeing[1][1].n_positives() == 1
    with pytest.raises(ValueError, match="row number 17, label 'a' has two different values"):
        source(row=[17, 17], label=["a", "a"], value=[1, 0])[1]
    with pytest.raises(ValueError, match=r"value 2\.0 of row 17; use 1, 0 or null"):
        source(row=[17], label=["a"], value=[2])[1]
    with pytest.raises(ValueError, match="label 'a' is not among names"):
        ParquetRows(features, LongLabels(tmp_path / "Y.parquet", names=["b"]))


def test_bad_features_are_refused(tmp_path, data):
    X, labels = data
    names = labels.names.tolist()
    wide = {name: np.ones(N_ROWS) for name in names}
    path = write_features(tmp_path / "X.parquet", X, wide | {"text": ["t"] * N_ROWS})
    with pytest.raises(ValueError, match="column 'text' is string, not a number"):
        ParquetRows(path, WideLabels(names))
    with pytest.raises(ValueError, match="no column 'y'"):
        ParquetRows(path, WideLabels(["y"]), columns=FEATURES)
    with pytest.raises(ValueError, match="no column 'z'"):
        ParquetRows(path, WideLabels(names), columns=["z"])
    holes = pa.array([1.0] * 20 + [None] + [1.0] * 49)
    path = write_features(tmp_path / "holes.parquet", X, wide | {"x0": holes})
    with pytest.raises(ValueError, match="column 'x0' is null in row 20"):
        ParquetRows(path, WideLabels(names))[1]
    short = write_features(tmp_path / "short.parquet", X[:5], {n: np.ones(5) for n in names})
    with pytest.raises(ValueError, match="has 5 rows"):
        ParquetRows(path, WideLabels(names, short))


def test_ids_must_be_unique_and_known(tmp_path, data):
    X, labels = data
    ids = np.array([f"item {n}" for n in range(N_ROWS)])
    pq.write_table(pa.table(long_table(labels, ids)), tmp_path / "Y.parquet")
    long = LongLabels(tmp_path / "Y.parquet", value="value")
    ids[3] = ids[8]
    path = write_features(tmp_path / "X.parquet", X, {"id": ids})
    with pytest.raises(ValueError, match="several rows have the id 'item 8'"):
        ParquetRows(path, long, id_column="id")
    ids[3] = "someone else"
    path = write_features(tmp_path / "X.parquet", X, {"id": ids})
    with pytest.raises(ValueError, match="is about row 'item 3', which is not in"):
        ParquetRows(path, long, id_column="id")
