"""The audit of a large table: 100,000 items x 5,000 labels, as long tables in Parquet.

Items mix two of 250 topics that follow from 100 features; a topic lends each of its 15 labels, the
first nearly always and the last seldom; 30% of the pairs are then dropped. The command line is run
as a user would, in a process of its own, of which seconds (wall and processor) and peak memory are
noted, and the fraction of its suggestions that are among the dropped pairs. With ``--source blocks``
the same files are read block by block (:class:`labelgap.fitting.ParquetRows`).

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
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from result_rows import ResultRows

N_FEATURES, LABELS_PER_TOPIC, DROPPED, BLOCK = 100, 15, 0.3, 10_000
FROM_BLOCKS = """
import sys
from labelgap import audit
from labelgap.fitting import LongLabels, ParquetRows
from pathlib import Path

rows = ParquetRows("items.parquet", LongLabels("tags.parquet", row="id"), columns=FEATURES)
found = audit(rows)
Path("audit").mkdir()
Path("audit/audit.json").write_text(found.to_json())
""".replace("FEATURES", f"[f'f{{j}}' for j in range({N_FEATURES})]")


def generate(folder: Path, n_items: int, n_labels: int, seed: int) -> np.ndarray:
    """Write items.parquet and tags.parquet, block by block; return the pairs that were dropped."""
    rng = np.random.default_rng(seed)
    n_topics = max(10, n_labels // 20)
    directions = rng.normal(size=(N_FEATURES, n_topics)).astype(np.float32)
    of_topic = np.array(
        [rng.choice(n_labels, LABELS_PER_TOPIC, replace=False) for _ in range(n_topics)]
    )
    lost: list[np.ndarray] = []
    writers: list[parquet.ParquetWriter] = []
    for start in range(0, n_items, BLOCK):
        items = np.arange(start, min(start + BLOCK, n_items))
        X = rng.normal(size=(items.size, N_FEATURES)).astype(np.float32)
        topics = np.argpartition(-(X @ directions), 2, axis=1)[:, :2]
        shape = (items.size, 2, LABELS_PER_TOPIC)
        given = rng.random(shape) < 0.95 * 0.82 ** np.arange(LABELS_PER_TOPIC)
        places = np.broadcast_to(items[:, None, None], shape)
        pairs = np.unique(places[given] * n_labels + of_topic[topics][given])
        kept = rng.random(pairs.size) >= DROPPED
        names = np.char.add("label ", (pairs[kept] % n_labels).astype(str))
        tables = (
            pa.table({"id": items, **{f"f{j}": X[:, j] for j in range(N_FEATURES)}}),
            pa.table({"id": pairs[kept] // n_labels, "label": names}),
        )
        if not writers:
            files = (folder / "items.parquet", folder / "tags.parquet")
            writers = [
                parquet.ParquetWriter(file, table.schema)
                for file, table in zip(files, tables, strict=True)
            ]
        for writer, table in zip(writers, tables, strict=True):
            writer.write_table(table)
        lost.append(pairs[~kept])
    for writer in writers:
        writer.close()
    return np.concatenate(lost)


def run(n_items: int, n_labels: int, threads: int, source: str) -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        dropped = generate(folder, n_items, n_labels, seed=0)
        command = [sys.executable, "-m", "labelgap.cli", "audit", "items.parquet"]
        command += ["--label-table", "tags.parquet", "--item", "id", "--json"]
        if source == "blocks":
            command = [sys.executable, "-c", FROM_BLOCKS]
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
    parser.add_argument("--source", choices=["memory", "blocks"], default="memory")
    chosen = parser.parse_args()
    results = ResultRows("audit_scale", key=("n_items", "n_labels", "threads", "source"))
    key = {"n_items": chosen.items, "n_labels": chosen.labels, "threads": chosen.threads}
    key["source"] = chosen.source
    if not results.find(**key):
        results.add({"experiment": "scale", **key, **run(**key)})


if __name__ == "__main__":
    main()
