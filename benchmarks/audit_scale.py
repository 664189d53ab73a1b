"""The audit of a large table: 100,000 items x 5,000 labels, as long tables in Parquet.

Items mix two of 250 topics that follow from 100 features; a topic lends each of its 15 labels, the
first nearly always and the last seldom; 30% of the pairs are then dropped. The command line is run
as a user would, in a process of its own, of which seconds (wall and processor) and peak memory are
noted, and the fraction of its suggestions that are among the dropped pairs.

Run: ``python benchmarks/audit_scale.py --items 100000 --labels 5000``.
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

N_FEATURES, LABELS_PER_TOPIC, DROPPED = 100, 15, 0.3


def generate(folder: Path, n_items: int, n_labels: int, seed: int) -> set[tuple[int, int]]:
    """Write items.parquet and tags.parquet; return the pairs that were dropped."""
    rng = np.random.default_rng(seed)
    n_topics = max(10, n_labels // 20)
    X = rng.normal(size=(n_items, N_FEATURES)).astype(np.float32)
    directions = rng.normal(size=(N_FEATURES, n_topics)).astype(np.float32)
    topics = np.empty((n_items, 2), dtype=np.int64)
    for start in range(0, n_items, 10_000):
        part = slice(start, start + 10_000)
        topics[part] = np.argpartition(-(X[part] @ directions), 2, axis=1)[:, :2]
    of_topic = np.array(
        [rng.choice(n_labels, LABELS_PER_TOPIC, replace=False) for _ in range(n_topics)]
    )
    given = rng.random((n_items, 2, LABELS_PER_TOPIC)) < 0.95 * 0.82 ** np.arange(LABELS_PER_TOPIC)
    items = np.broadcast_to(np.arange(n_items)[:, None, None], given.shape)
    pairs = items[given] * n_labels + of_topic[topics][given]
    pairs = np.unique(pairs)
    kept = rng.random(pairs.size) >= DROPPED
    columns = {f"f{j}": X[:, j] for j in range(N_FEATURES)}
    parquet.write_table(pa.table({"id": np.arange(n_items), **columns}), folder / "items.parquet")
    names = np.char.add("label ", (pairs[kept] % n_labels).astype(str))
    parquet.write_table(
        pa.table({"id": pairs[kept] // n_labels, "label": names}), folder / "tags.parquet"
    )
    lost = pairs[~kept]
    return set(zip((lost // n_labels).tolist(), (lost % n_labels).tolist(), strict=True))


def run(n_items: int, n_labels: int, threads: int) -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        dropped = generate(folder, n_items, n_labels, seed=0)
        command = [sys.executable, "-m", "labelgap.cli", "audit", "items.parquet"]
        command += ["--label-table", "tags.parquet", "--item", "id", "--json"]
        limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env={**os.environ, **limits}
        )
        wall = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(done.stderr)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads((folder / "audit" / "audit.json").read_text())
    listed = [(int(one["item"]), int(one["label"].split()[1])) for one in found["suggestions"]]
    return {
        "seconds": round(wall, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "gigabytes": round(used.ru_maxrss / 2**20, 2),
        "load": round(os.getloadavg()[0], 1),
        "n_pairs": found["summary"]["n_positive"],
        "n_dropped": len(dropped),
        "expected_missing": found["missing"],
        "recorded": found["summary"]["label_frequency"],
        "precision": float(np.mean([one in dropped for one in listed])),
        "stages": found["provenance"]["seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=5_000)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    results = ResultRows("audit_scale", key=("n_items", "n_labels", "threads"))
    key = {"n_items": chosen.items, "n_labels": chosen.labels, "threads": chosen.threads}
    if not results.find(**key):
        results.add({"experiment": "scale", **key, **run(**key)})


if __name__ == "__main__":
    main()
