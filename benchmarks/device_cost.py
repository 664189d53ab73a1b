"""Fits on a device and on the processor of the same machine, in the same run.

Drawn features and labels, 40% of the entries unknown; fixed numbers of iterations, and the second
fit of each, so that neither compilation nor the start of the device counts. What both predict is
compared. Rows of another machine are shown, not measured again, without ``--again``.

    python benchmarks/device_cost.py [--device cuda] [--rows 10000] [--models LEML ...] [--again]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import threadpoolctl
from sklearn.linear_model import LogisticRegression

from labelgap import GMFS, MLLCS, RMFL, BinaryRelevance, Labels, Mend
from labelgap.fitting import EM
from labelgap_papers.methods import BCS, CMFS, FSNM, GLOCAL, LEML, MIFS, MLMLFS, SFUS
from result_rows import ResultRows

N_FEATURES, N_LABELS, UNKNOWN = 500, 200, 0.4
MODELS: dict[str, Callable[[str | None], Any]] = {
    "BinaryRelevance": lambda device: BinaryRelevance(device=device),
    "BinaryRelevance, tol=1e-9": lambda device: BinaryRelevance(
        LogisticRegression(tol=1e-9, max_iter=5000), device=device
    ),
    "Mend": lambda device: Mend(LogisticRegression(), device=device, random_state=0),
    "RMFL": lambda device: RMFL(20, max_iter=10, tol=0.0, device=device, random_state=0),
    "MLLCS": lambda device: MLLCS(50, inference=EM(10, tol=0.0), device=device, random_state=0),
    "GMFS": lambda device: GMFS(20, inference=EM(5, tol=0.0), device=device, random_state=0),
    "LEML": lambda device: LEML(50, max_iter=10, tol=0.0, device=device),
    "GLOCAL": lambda device: GLOCAL(40, max_iter=10, tol=0.0, device=device, random_state=0),
    "BCS": lambda device: BCS(50, max_iter=3, n_predict=3, tol=0.0, device=device, random_state=0),
    "FSNM": lambda device: FSNM(1.0, max_iter=3, tol=0.0, device=device),
    "SFUS": lambda device: SFUS(1.0, 1.0, unknown="negative", max_iter=10, tol=0.0, device=device),
    "MLMLFS": lambda device: MLMLFS(1.0, 1.0, max_iter=10, tol=0.0, device=device),
    "MIFS": lambda device: MIFS(unknown="negative", max_iter=10, tol=0.0, device=device),
    "CMFS": lambda device: CMFS(max_iter=10, tol=0.0, device=device),
}


def drawn(n_samples: int) -> tuple[np.ndarray, Labels]:
    rng = np.random.default_rng(0)
    X = rng.random((n_samples, N_FEATURES))
    scores = (X - 0.5) @ rng.normal(size=(N_FEATURES, 10)) @ rng.normal(size=(10, N_LABELS))
    Y = (scores > np.quantile(scores, 0.9)).astype(float)
    return X, Labels.from_dense(np.where(rng.random(Y.shape) < UNKNOWN, np.nan, Y))


def timed(model: Any, X: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]:
    """Seconds by the clock of the second fit, and what it predicts."""
    model.fit(X, labels)
    start = time.perf_counter()
    model.fit(X, labels)
    return time.perf_counter() - start, model.predict_proba(X[:1000])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--again", action="store_true", help="measure what has a row, too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = ResultRows("device_cost", ("model", "rows", "device"))
    X, labels = drawn(arguments.rows)
    for name in arguments.models:
        wanted = {"model": name, "rows": arguments.rows, "device": arguments.device}
        kept = rows.find(**wanted)
        if kept and not arguments.again:
            print(f"{name}: {kept['ratio']:.1f} times as fast ({rows.path.name}, not measured now)")
            continue
        there, found = timed(MODELS[name](arguments.device), X, labels)
        here, expected = timed(MODELS[name](None), X, labels)
        row = {"experiment": "device", **wanted, "features": N_FEATURES, "labels": N_LABELS}
        row |= {"processor_seconds": here, "device_seconds": there, "ratio": here / there}
        row["largest_difference"] = float(np.abs(found - expected).max())
        row["threads"] = max(pool["num_threads"] for pool in threadpoolctl.threadpool_info())
        rows.add(row)


if __name__ == "__main__":
    main()
