"""The sets of the BMLPL benchmarks, as they are given to the models, and how they are scored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from labelgap import Labels, metrics
from labelgap.data import load_dataset

PUBLISHED = {"bibtex": 0.9210, "delicious": 0.8950, "eurlex4k": 0.9520}
MEASURED = ["auc_micro", "auc_instance", "precision_at_1", "precision_at_3", "precision_at_5"]


class Split(NamedTuple):
    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels
    names: Any


def load_split(name: str) -> Split:
    """Official split; eurlex4k's heavy-tailed counts are damped and its rows scaled to length 1."""
    data = load_dataset(name)
    X = sparse.csr_array(data.X, dtype=np.float32)
    if name == "eurlex4k":
        X.data = np.log1p(X.data)
        X = sparse.csr_array(normalize(X))
    train, test = data.train, data.test
    return Split(X[train], data.Y[train], X[test], data.Y[test], data.label_names)


def hold_out(split: Split, share: float = 0.2, seed: int = 0) -> Split:
    """A split of the training rows alone, for choosing settings."""
    order = np.random.default_rng(seed).permutation(split.X.shape[0])
    n = int(len(order) * (1 - share))
    fit, held = order[:n], order[n:]
    return Split(split.X[fit], split.Y[fit], split.X[held], split.Y[held], split.names)


def scores(Y: Labels, probabilities: np.ndarray) -> dict[str, float]:
    inner = np.clip(probabilities, 1e-7, 1 - 1e-7)
    ranked = metrics.evaluate(Y, probabilities, metrics=MEASURED)
    return {**ranked, "log_loss": metrics.log_loss(Y, inner)}
