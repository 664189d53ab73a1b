"""The audit on the command line of tables that are read block by block."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from labelgap.fitting import write_blocks

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table(workplace):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    Y = (X[:, :3] + 0.5 * rng.normal(size=(600, 3)) > 1) & (rng.random((600, 3)) < 0.7)
    ids = np.char.add("i", np.arange(600).astype(str))
    features = {f"f{j}": X[:, j] for j in range(5)}
    wide = {f"tag_{j}": Y[:, j].astype(int) for j in range(3)}
    parquet.write_table(
        pa.table({"id": ids, **features, **wide}), "wide.parquet", row_group_size=200
    )
    parquet.write_table(pa.table({"id": ids, **features}), "items.parquet", row_group_size=200)
    at = np.nonzero(Y)
    long = {"id": ids[at[0]], "label": np.char.add("tag_", at[1].astype(str))}
    parquet.write_table(pa.table(long), "tags.parquet")
    write_blocks("folder", (X, Y.astype(int)), block_rows=250)


def listed(folder):
    found = json.loads(Path(folder, "audit.json").read_text())
    return [(one["item"].lstrip("i"), one["label"][-1]) for one in found["suggestions"]]


def test_all_forms_of_a_table_are_audited_alike(run, table):
    asked = ("--in-blocks", "--suggestions", 30)
    run("audit", "wide.parquet", "--item", "id", "-l", "tag_*", *asked, "-o", "a")
    run(
        "audit", "items.parquet", "--item", "id", "--label-table", "tags.parquet", *asked, "-o", "b"
    )
    run("audit", "folder", *asked, "-o", "c")
    assert len(listed("a")) == 30
    assert listed("a") == listed("b") == listed("c")


def test_a_cluster_gives_the_same(run, table):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(processes=False, n_workers=1, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        run("audit", "folder", "--in-blocks", "--cluster", address, "-o", "a")
    run("audit", "folder", "--in-blocks", "-o", "b")
    assert listed("a") == listed("b")


def test_options_that_would_change_nothing_are_refused(fails, table):
    assert "brings its labels" in fails("audit", "folder", "--in-blocks", "-l", "tag_*")
    assert "leave out the others" in fails("audit", "wide.parquet", "--in-blocks", "--text", "id")
    assert "is for --in-blocks" in fails("audit", "folder", "--cluster", "tcp://localhost:1")
    assert "no folder of blocks" in fails("audit", "items.csv", "--in-blocks")
    assert "no column is called" in fails("audit", "wide.parquet", "--in-blocks", "-l", "x*")
    assert "which columns are labels" in fails("audit", "wide.parquet", "--in-blocks")
    assert "leave out --topics" in fails("audit", "folder", "--in-blocks", "--topics", 3)
