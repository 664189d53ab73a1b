"""Mend from a folder of blocks: seconds, memory and precision with many rows and labels.

A row has three labels, drawn by Zipf's law, and words: ten of the twenty of each of its labels, and
thirty that say nothing. ``Mend().fit(folder)`` and ``predict_topk(folder, 5)`` of 20,000 other rows run
in a process of their own, whose peak memory is noted. Tables that fit scikit-learn's working memory
would be learned as arrays: ``--memory`` sets it, in MiB.

    python benchmarks/mend_blocks.py --rows 100000 --labels 5000 --memory 256
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn import set_config

from labelgap import Mend
from labelgap.fitting import BlockFolder, write_blocks
from labelgap.labels import Labels
from labelgap.metrics import precision_at_k
from result_rows import ResultRows, peak_gigabytes

N_NEW, BLOCK, PER_ROW, WORDS, KEPT, NOISE = 20_000, 20_000, 3, 20, 10, 30


def generated(
    n_rows: int, n_labels: int, n_words: int, seed: int
) -> Iterator[tuple[sparse.csr_array, Labels]]:
    """Yield rows block by block; the words of labels are the same for every seed."""
    words_of = np.random.default_rng(0).integers(n_words, size=(n_labels, WORDS))
    rng = np.random.default_rng(seed)
    probabilities = 1 / (np.arange(n_labels) + 10.0)
    cumulative = np.cumsum(probabilities / probabilities.sum())
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        labels = np.searchsorted(cumulative, rng.random((n, PER_ROW))).clip(max=n_labels - 1)
        of_labels = words_of[labels][:, :, rng.permutation(WORDS)[:KEPT]].reshape(n, -1)
        columns = np.hstack([of_labels, rng.integers(n_words, size=(n, NOISE))])
        yield (
            counts(columns, n_words).astype(np.float32),
            Labels.from_sparse(counts(labels, n_labels) > 0),
        )


def counts(columns: np.ndarray, width: int) -> sparse.csr_array:
    indptr = np.arange(len(columns) + 1) * columns.shape[1]
    parts = np.ones(columns.size), columns.ravel(), indptr
    matrix = sparse.csr_array(parts, shape=(len(columns), width))
    matrix.sum_duplicates()
    return matrix


def fit_and_predict(folder: Path) -> dict[str, object]:
    begin = time.perf_counter()
    model = Mend(random_state=0).fit(str(folder / "rows"))
    fitted = time.perf_counter()
    new = BlockFolder(folder / "new")
    best, _ = model.predict_topk(new, 5)
    predicted = time.perf_counter()
    found = {
        "member": model.leaderboard_[0].name,
        "fit_seconds": fitted - begin,
        "predict_ms": 1e3 * (predicted - fitted) / N_NEW,
        "gigabytes": peak_gigabytes(),
    }
    scores = sparse.csr_array(
        (np.tile(np.arange(5.0, 0, -1), len(best)), best.ravel(), np.arange(len(best) + 1) * 5),
        shape=(len(best), new.n_labels),
    )
    some = slice(0, 2000)
    truth, scored = new[0][1][some], scores[some].toarray()
    for k in (1, 3):
        found[f"precision_at_{k}"] = precision_at_k(truth, scored, k=k)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=5000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--memory", type=int, default=1024)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    set_config(working_memory=chosen.memory)
    if chosen.inside:
        print(json.dumps(fit_and_predict(chosen.inside)))
        return
    rows = ResultRows("mend_blocks", ("n_rows", "n_labels", "n_words"))
    key = {"n_rows": chosen.rows, "n_labels": chosen.labels, "n_words": chosen.words}
    if rows.find(**key):
        return
    with tempfile.TemporaryDirectory() as place:
        folder, sizes = Path(place), (chosen.labels, chosen.words)
        write_blocks(folder / "rows", generated(chosen.rows, *sizes, seed=1), block_rows=BLOCK)
        write_blocks(folder / "new", generated(N_NEW, *sizes, seed=2), block_rows=BLOCK)
        command = [sys.executable, str(Path(__file__).resolve()), "--inside", place]
        command += ["--memory", str(chosen.memory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        rows.add({**key, **json.loads(done.stdout), "load": os.getloadavg()[0]})


if __name__ == "__main__":
    main()
