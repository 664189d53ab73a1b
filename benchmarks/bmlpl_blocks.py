"""One fit in memory, from disk and on Dask: memory while rows grow tenfold, and agreement.

    python benchmarks/bmlpl_blocks.py [--rows 20000] [--block-rows 5000]

Rows are generated block by block and written to a temporary folder. Each measured fit runs in a
process of its own; its peak memory is VmHWM of Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from labelgap import BMLPL
from labelgap.fitting import EM, BlockFolder, row_source, write_blocks
from labelgap.labels import Labels

N_FEATURES, N_LABELS, N_FACTORS, MAX_ITER = 500, 200, 20, 5


def generated(n_samples: int, part_rows: int) -> Iterator[tuple[sparse.csr_array, Labels]]:
    """Parts of sparse rows: about 40 features and 4 labels each."""
    rng = np.random.default_rng(0)
    for start in range(0, n_samples, part_rows):
        n = min(part_rows, n_samples - start)
        X = sparse.random_array((n, N_FEATURES), density=0.08, rng=rng, format="csr")
        Y = sparse.random_array((n, N_LABELS), density=0.02, rng=rng, format="csr")
        yield X, Labels.from_sparse(sparse.csr_array(Y > 0))


def model(**options) -> BMLPL:
    return BMLPL(N_FACTORS, inference=EM(MAX_ITER, tol=0.0), random_state=0, **options)


def peak_megabytes() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def arrays_of(folder: BlockFolder) -> tuple[sparse.csr_array, Labels]:
    features, labels = zip(*(folder[index] for index in range(len(folder))), strict=True)
    return sparse.vstack(features, format="csr"), Labels.concatenate(labels)


def measure(where: str, folder: str) -> None:
    """One fit in this process; prints its peak memory and time."""
    source = row_source(folder)
    start = time.perf_counter()
    if where == "disk":
        model().fit(source)
    else:
        model(block_rows=source[0][0].shape[0]).fit(*arrays_of(source))
    print(f"{peak_megabytes():.0f} {time.perf_counter() - start:.1f}")


def measured(where: str, folder: Path) -> tuple[float, float]:
    command = [sys.executable, __file__, "--measure", where, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes, seconds = run.stdout.split()
    return float(megabytes), float(seconds)


def largest_difference(left: BMLPL, right: BMLPL) -> float:
    """Of topics and weights, relative to the largest entry of each."""
    pairs = [
        (left.params_.topics, right.params_.topics),
        (left.params_.weights, right.params_.weights),
    ]
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


def show_memory(folder: Path, n_samples: int, block_rows: int) -> BlockFolder:
    print(f"{'rows':>9} {'on disk':>9} {'peak, fit from disk':>21} {'peak, fit in memory':>21}")
    folders = []
    for n in (n_samples, 10 * n_samples):
        path = folder / str(n)
        folders.append(write_blocks(path, generated(n, block_rows), block_rows=block_rows))
        size = sum(file.stat().st_size for file in path.iterdir()) / 2**20
        cells = []
        for where in ("disk", "memory"):
            megabytes, seconds = measured(where, path)
            cells.append(f"{megabytes:.0f} MB, {seconds:.1f} s")
        print(f"{n:>9} {size:>6.0f} MB {cells[0]:>21} {cells[1]:>21}", flush=True)
    return folders[0]


def show_agreement(source: BlockFolder, block_rows: int) -> None:
    from distributed import Client, LocalCluster

    in_memory = model(block_rows=block_rows).fit(*arrays_of(source))
    fits = {"disk": model().fit(source)}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        fits["Dask"] = model(client=client).fit(source)
    for where, fitted in fits.items():
        difference = largest_difference(fitted, in_memory)
        print(f"largest relative difference between {where} and memory: {difference:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--block-rows", type=int, default=5_000)
    parser.add_argument("--measure", nargs=2, metavar=("WHERE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.measure:
        measure(*options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        smaller = show_memory(Path(folder), options.rows, options.block_rows)
        show_agreement(smaller, options.block_rows)


if __name__ == "__main__":
    main()
