"""The audit of a large table: 100,000 items x 5,000 labels, as long tables in Parquet.

Items mix two of 250 topics that follow from 100 features; a topic lends each of its 15 labels, the
first nearly always and the last seldom; 30% of the pairs are then dropped. The command line is run
as a user would, in a process of its own, of which seconds (wall and processor) and peak memory are
noted, and the fraction of its suggestions that are among the dropped pairs. With ``--source blocks``
the same files are read block by block (:class:`labelgap.fitting.ParquetRows`); with ``--source folder``
the items lie in a folder of blocks (:func:`labelgap.fitting.write_blocks`), which needs no pyarrow.

Run: ``python benchmarks/audit_scale.py --items 100000 --labels 5000 --source blocks``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from labelgap.fitting import write_blocks
from labelgap.labels import Labels
from result_rows import ResultRows

N_FEATURES, LABELS_PER_TOPIC, DROPPED, BLOCK = 100, 15, 0.3, 10_000
FROM_BLOCKS = """
from pathlib import Path

from labelgap import audit
from labelgap.fitting import LongLabels, ParquetRows

rows = ROWS
found = audit(rows)
Path("audit").mkdir()
Path("audit/audit.json").write_text(found.to_json())
"""
FEATURES = f"[f'f{{j}}' for j in range({N_FEATURES})]"
ROWS = {
    "blocks": f"ParquetRows('items.parquet', LongLabels('tags.parquet', row='id'), columns={FEATURES})",
    "folder": "'rows'",
}


class Part(NamedTuple):
    """Some items: their numbers, features, pairs (item x n_labels + label) kept, and dropped."""

    items: np.ndarray
    X: np.ndarray
    kept: np.ndarray
    dropped: np.ndarray


def generated(n_items: int, n_labels: int, seed: int) -> Iterator[Part]:
    """Yield the items block by block."""
    rng = np.random.default_rng(seed)
    n_topics = max(10, n_labels // 20)
    directions = rng.normal(size=(N_FEATURES, n_topics)).astype(np.float32)
    of_topic = np.array(
        [rng.choice(n_labels, LABELS_PER_TOPIC, replace=False) for _ in range(n_topics)]
    )
    for start in range(0, n_items, BLOCK):
        items = np.arange(start, min(start + BLOCK, n_items))
        X = rng.normal(size=(items.size, N_FEATURES)).astype(np.float32)
        topics = np.argpartition(-(X @ directions), 2, axis=1)[:, :2]
        shape = (items.size, 2, LABELS_PER_TOPIC)
        given = rng.random(shape) < 0.95 * 0.82 ** np.arange(LABELS_PER_TOPIC)
        places = np.broadcast_to(items[:, None, None], shape)
        pairs = np.unique(places[given] * n_labels + of_topic[topics][given])
        kept = rng.random(pairs.size) >= DROPPED
        yield Part(items, X, pairs[kept], pairs[~kept])


def write_parquet(folder: Path, parts: Iterator[Part], n_labels: int) -> None:
    """Write items.parquet and tags.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    writers: list[parquet.ParquetWriter] = []
    for items, X, kept, _ in parts:
        names = np.char.add("label ", (kept % n_labels).astype(str))
        tables = (
            pa.table({"id": items, **{f"f{j}": X[:, j] for j in range(N_FEATURES)}}),
            pa.table({"id": kept // n_labels, "label": names}),
        )
        if not writers:
            files = (folder / "items.parquet", folder / "tags.parquet")
            writers = [
                parquet.ParquetWriter(file, table.schema)
                for file, table in zip(files, tables, strict=True)
            ]
        for writer, table in zip(writers, tables, strict=True):
            writer.write_table(table)
    for writer in writers:
        writer.close()


def write_folder(folder: Path, parts: Iterator[Part], n_labels: int) -> None:
    """Write the folder "rows"; labels have the names that the other files say."""
    names = [f"label {label}" for label in range(n_labels)]

    def rows() -> Iterator[tuple[np.ndarray, Labels]]:
        for items, X, kept, _ in parts:
            at = kept // n_labels - items[0], kept % n_labels
            Y = sparse.csr_array((np.ones(kept.size), at), shape=(items.size, n_labels))
            yield X, Labels.from_sparse(Y).with_names(names)

    write_blocks(folder / "rows", rows(), block_rows=BLOCK)


def run(n_items: int, n_labels: int, threads: int, source: str) -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lost: list[np.ndarray] = []

        def parts() -> Iterator[Part]:
            for part in generated(n_items, n_labels, seed=0):
                lost.append(part.dropped)
                yield part

        write = write_folder if source == "folder" else write_parquet
        write(folder, parts(), n_labels)
        dropped = np.concatenate(lost)
        command = [sys.executable, "-m", "labelgap.cli", "audit", "items.parquet"]
        command += ["--label-table", "tags.parquet", "--item", "id", "--json"]
        if source != "memory":
            command = [sys.executable, "-c", FROM_BLOCKS.replace("ROWS", ROWS[source])]
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        limits = dict.fromkeys(names, str(threads))
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env={**os.environ, **limits}
        )
        wall = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(done.stderr)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads((folder / "audit" / "audit.json").read_text())
    listed = [
        int(one["item"]) * n_labels + int(one["label"].split()[1]) for one in found["suggestions"]
    ]
    return {
        "seconds": round(wall, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "gigabytes": round(used.ru_maxrss / 2**20, 2),
        "load": round(os.getloadavg()[0], 1),
        "n_pairs": found["summary"]["n_positive"],
        "n_dropped": len(dropped),
        "expected_missing": found["missing"],
        "recorded": found["summary"]["label_frequency"],
        "precision": float(np.isin(listed, dropped).mean()),
        "stages": found["provenance"]["seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=5_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--source", choices=["memory", "blocks", "folder"], default="memory")
    chosen = parser.parse_args()
    results = ResultRows("audit_scale", key=("n_items", "n_labels", "threads", "source"))
    key = {"n_items": chosen.items, "n_labels": chosen.labels, "threads": chosen.threads}
    key["source"] = chosen.source
    if not results.find(**key):
        results.add({"experiment": "scale", **key, **run(**key)})


if __name__ == "__main__":
    main()
