"""Blocks and local states on disk: the same fit, little memory, nothing half-written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from fitting.topic_problem import BLOCK_ROWS, fit, prepare, problem, same
from labelgap import BMLPL
from labelgap.files import read_sealed, sealed
from labelgap.fitting import (
    ArrayRows,
    BlockFolder,
    DiskStore,
    LocalRows,
    PreparedBlocks,
    open_rows,
    row_source,
    write_blocks,
)
from labelgap.labels import Labels


def in_memory(X, labels, gaps):
    return open_rows(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(gaps))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_fit_from_disk_is_bitwise_that_in_memory(tmp_path, dense, gaps):
    X, labels = problem(dense=dense, gaps=gaps)
    expected, _ = fit(in_memory(X, labels, gaps))
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    rows = open_rows(folder, prepare(gaps), scratch=tmp_path / "scratch")
    found, _ = fit(rows)
    assert same(found, expected)
    assert isinstance(rows.store, DiskStore)


def test_blocks_do_not_depend_on_how_the_rows_came(tmp_path):
    X, labels = problem(gaps=True)
    cuts = [0, 3, 3, 40, 41, 70]
    parts = ((X[a:b], labels[a:b]) for a, b in pairwise(cuts))
    from_parts = write_blocks(tmp_path / "parts", parts, block_rows=BLOCK_ROWS)
    whole = write_blocks(tmp_path / "whole", (X, labels), block_rows=BLOCK_ROWS)
    again = write_blocks(tmp_path / "again", whole, block_rows=BLOCK_ROWS)
    assert from_parts.fingerprint == whole.fingerprint == again.fingerprint
    assert len(whole) == 5
    assert (whole.n_samples, whole.n_features, whole.n_labels) == (*X.shape, labels.n_labels)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("implicit", ["negative", "unknown", "unlabeled"])
def test_rows_come_back_as_they_went(tmp_path, dense, implicit):
    X, labels = problem(dense=dense, gaps=True)
    labels = labels.with_implicit(implicit).with_unseen([2])
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    features, parts = zip(*(folder[index] for index in range(len(folder))), strict=True)
    assert Labels.concatenate(parts).with_names(folder.names).equals(labels)
    joined = np.concatenate(features) if dense else sparse.vstack(features, format="csr")
    assert type(features[0]) is type(X)
    difference = joined - X
    assert not (difference.any() if dense else difference.nnz)


def test_reader_travels_without_names_of_labels(tmp_path):
    X, labels = problem()
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    reader = pickle.loads(pickle.dumps(folder.reader(1)))
    expected, found = folder[1], reader()
    assert found[1].equals(expected[1])
    assert found[1].names is None
    assert np.array_equal(found[0].toarray(), X[BLOCK_ROWS : 2 * BLOCK_ROWS].toarray())


def test_interrupted_write_leaves_no_manifest_and_can_be_repeated(tmp_path):
    X, labels = problem()

    def broken():
        yield X[:40], labels[:40]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_blocks(tmp_path / "rows", broken(), block_rows=10)
    assert len(list((tmp_path / "rows").glob("*.npy"))) > 0
    with pytest.raises(FileNotFoundError, match="interrupted"):
        BlockFolder(tmp_path / "rows")
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=50)
    listed = {name for block in folder._blocks for name in block.files}
    assert {path.name for path in folder.folder.iterdir()} == listed | {"manifest.json"}


def test_damage_is_found(tmp_path):
    X, labels = problem()
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    folder.verify()
    path = tmp_path / "rows" / "000002.X.data.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"000002\.X\.data\.npy is damaged"):
        BlockFolder(tmp_path / "rows").verify()
    path.write_bytes(data[:-8])
    with pytest.raises(ValueError, match=r"000002\.X\.data\.npy is missing or not"):
        BlockFolder(tmp_path / "rows")
    manifest = tmp_path / "rows" / "manifest.json"
    manifest.write_text(sealed({"format": "labelgap-blocks", "version": 99}))
    with pytest.raises(ValueError, match=r"damaged, or not of version 2 \(another format\)"):
        BlockFolder(tmp_path / "rows")


def test_a_fit_reads_no_damaged_block(tmp_path):
    X, labels = problem()
    write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    model = BMLPL(2, max_iter=1, tol=0, random_state=0)
    model.fit(tmp_path / "rows")
    for path in sorted((tmp_path / "rows").iterdir()):
        whole = path.read_bytes()
        for place in (0, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(ValueError, match=f"{path.name} is damaged"):
                model.fit(tmp_path / "rows")
        path.write_bytes(whole)
    model.fit(tmp_path / "rows")


def test_indices_outside_of_a_block_are_refused_whatever_the_checksums_say(tmp_path):
    X, labels = problem()
    rows = tmp_path / "rows"
    write_blocks(rows, (X, labels), block_rows=BLOCK_ROWS)
    path = rows / "000000.X.indices.npy"
    np.save(path, np.full_like(np.load(path), 10**8))
    manifest = read_sealed((rows / "manifest.json").read_text())
    manifest["blocks"][0]["files"][path.name]["crc32"] = zlib.crc32(path.read_bytes())
    (rows / "manifest.json").write_text(sealed(manifest))
    with pytest.raises(ValueError, match=r"000000\.X is a damaged sparse matrix"):
        BMLPL(2, max_iter=1, tol=0, random_state=0).fit(rows)


def test_what_cannot_be_written_is_refused(tmp_path):
    X, labels = problem()
    write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    with pytest.raises(FileExistsError, match="delete it"):
        write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    bad = [
        ([], "rows is empty"),
        ([(X, labels), (X[:, :2], labels)], r"rows\[1\] has other features"),
        ([(X, labels), (X.toarray(), labels)], r"rows\[1\] has other features"),
        ([(X, labels), (X, labels[:, :2])], r"rows\[1\] has 2 labels"),
        ([(X, labels[:5])], r"rows\[0\]: 70 rows of features, 5 of labels"),
    ]
    for rows, message in bad:
        with pytest.raises(ValueError, match=message):
            write_blocks(tmp_path / "bad", rows, block_rows=5)
    with pytest.raises(ValueError, match="block_rows=0"):
        write_blocks(tmp_path / "bad", (X, labels), block_rows=0)
    tuples = labels.with_names([(j,) for j in range(labels.n_labels)])
    with pytest.raises(TypeError, match=r"names\[0\]"):
        write_blocks(tmp_path / "bad", (X, tuples), block_rows=5)


class State(NamedTuple):
    counts: np.ndarray
    omega: np.ndarray | None


def test_store_keeps_the_last_state_and_cleans_up(tmp_path):
    store = DiskStore(tmp_path)
    assert store.get(0) is None
    store[0] = State(np.arange(3.0), np.ones((2, 2)))
    store[0] = State(np.arange(4.0), None)
    kept = store.get(0)
    assert isinstance(kept, State)
    assert np.array_equal(kept.counts, np.arange(4.0))
    assert kept.omega is None
    assert len(list(store.folder.iterdir())) == 1
    store.close()
    assert list(tmp_path.iterdir()) == []
    store = DiskStore(tmp_path)
    del store
    assert list(tmp_path.iterdir()) == []


def test_failed_put_keeps_the_state_before(tmp_path):
    store = DiskStore(tmp_path)
    store[0] = State(np.arange(3.0), None)
    with pytest.raises(ValueError, match="pickle"):
        store[0] = State(np.ones(2), np.array([object()]))
    assert np.array_equal(store.get(0).counts, np.arange(3.0))


def test_row_source_takes_what_users_have(tmp_path):
    X, labels = problem()
    folder = write_blocks(tmp_path / "rows", (X, labels), block_rows=BLOCK_ROWS)
    assert row_source(folder) is folder
    assert len(row_source(tmp_path / "rows")) == len(row_source(str(tmp_path / "rows"))) == 5
    assert len(row_source(X, labels, block_rows=BLOCK_ROWS)) == 5
    with pytest.raises(ValueError, match="brings its own labels"):
        row_source(folder, labels)
    with pytest.raises(ValueError, match="block_rows=3"):
        row_source(folder, block_rows=3)


def test_one_block_is_held_at_a_time():
    X, labels = problem()
    alive = []

    class Counted:
        def __init__(self, index, *rows):
            alive.append(index)

        def __del__(self):
            alive.remove(alive[0])

    rows = LocalRows(PreparedBlocks(ArrayRows(X, labels, block_rows=BLOCK_ROWS), Counted))
    most = []
    rows.total(lambda block, local, argument: most.append(len(alive)) or 0, None)
    assert max(most) <= 2
    assert len(most) == 5


PEAK = """
import sys
import numpy as np
from fitting.memory import fit_generated, peak_bytes
fit_generated(sys.argv[1], n_samples=int(sys.argv[2]), block_rows=2000, n_features=100, max_iter=2)
sys.stdout.write(str(peak_bytes()))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads VmHWM from /proc")
def test_memory_is_flat_while_rows_grow_tenfold(tmp_path):
    tests = Path(__file__).parents[1]
    peaks = []
    for n_samples in (6_000, 60_000):
        run = subprocess.run(
            [sys.executable, "-c", PEAK, str(tmp_path / str(n_samples)), str(n_samples)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(run.stdout))
    # 54,000 more rows of 100 features and 2 x 5 local numbers would be 48 MB
    assert peaks[1] - peaks[0] < 12e6
