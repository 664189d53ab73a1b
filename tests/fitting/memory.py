"""A fit from disk on rows that are generated block by block, and how much memory it took."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from labelgap.fitting import BlockFolder, Monitor, open_rows, run_em, write_blocks
from labelgap.labels import Labels
from labelgap.models.bmlpl._bmlpl_em import BMLPLParams, TopicModel

N_LABELS, N_TOPICS = 20, 5


def generated_rows(n_samples: int, part_rows: int, n_features: int):
    rng = np.random.default_rng(0)
    for _ in range(0, n_samples, part_rows):
        X = rng.normal(size=(part_rows, n_features))
        Y = rng.random((part_rows, N_LABELS)) < 0.1
        yield X, Labels.from_dense(Y.astype(float))


def fit_generated(
    folder: str, *, n_samples: int, block_rows: int, n_features: int, max_iter: int
) -> BMLPLParams:
    """Write the rows to a folder and fit them from there."""
    from fitting.topic_problem import prepare

    rows = generated_rows(n_samples, block_rows, n_features)
    source: BlockFolder = write_blocks(folder, rows, block_rows=block_rows)
    rng = np.random.default_rng(1)
    topics = rng.random((N_LABELS, N_TOPICS))
    weights = np.zeros((n_features + 1, N_TOPICS))
    tau, r = np.ones(n_features + 1), np.full(N_TOPICS, 0.5)
    params = BMLPLParams(topics / topics.sum(axis=0), weights, r, tau, None)
    opened = open_rows(source, prepare(False), scratch=Path(folder) / "local")
    return run_em(TopicModel(), opened, params, Monitor(max_iter, 0.0))[0]


def peak_bytes() -> int:
    """The most memory this process held (VmHWM: unlike ru_maxrss it forgets the parent)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("no VmHWM in /proc/self/status")
