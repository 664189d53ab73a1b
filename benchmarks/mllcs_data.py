"""The sets of the ML-LCS benchmarks, the published figures, and how predictions are scored."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from labelgap import Labels, metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_labels

# P@1, P@3, P@5. Tables 2 and 3: half of the labels unseen; table 4: all labels seen.
PUBLISHED_ALL = {
    "bibtex": {
        "LFM-SL": "0.42 0.23 0.17",
        "COSTA, latent": "0.43 0.31 0.25",
        "ML-LCS, as printed": "0.51 0.37 0.30",
    },
    "mediamill": {
        "LFM-SL": "0.64 0.34 0.24",
        "COSTA, latent": "0.63 0.22 0.13",
        "ML-LCS, as printed": "0.73 0.60 0.48",
    },
    "delicious": {
        "LFM-SL": "0.41 0.28 0.23",
        "COSTA, latent": "0.44 0.37 0.30",
        "ML-LCS, as printed": "0.52 0.45 0.41",
    },
}
PUBLISHED_UNSEEN = {
    "bibtex": {"COSTA, latent": "0.23 0.16 0.12", "ML-LCS, as printed": "0.34 0.20 0.14"}
}
PUBLISHED_SEEN = {"LFM-SL": "0.628 0.374 0.273", "ML-LCS": "0.643 0.398 0.293"}


class Split(NamedTuple):
    X: Any
    Y: Labels
    X_test: Any
    Y_test: Labels


def load_split(name: str) -> Split:
    """Official split in single precision; mediamill's features are standardised."""
    data = load_dataset(name)
    train, test = data.train, data.test
    if name == "mediamill":
        dense = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
        X = StandardScaler().fit(dense[train]).transform(dense).astype(np.float32)
    else:
        X = sparse.csr_array(data.X, dtype=np.float32)
    return Split(X[train], data.Y[train], X[test], data.Y[test])


def draw(split: Split, seed: int, share_unseen: float = 0.5) -> Any:
    """Seen and unseen labels, counted with each other on the training rows."""
    return hide_labels(split.Y, share_unseen, random_state=seed)


def half_of_rows(split: Split, seed: int) -> tuple[Split, Labels]:
    """One half of the training rows to fit to; the labels of the other half to count on."""
    order = np.random.default_rng(seed).permutation(split.X.shape[0])
    fit, other = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    return split._replace(X=split.X[fit], Y=split.Y[fit]), split.Y[other]


def hold_out(split: Split, share: float = 0.2, most_rows: int = 10_000) -> Split:
    """A split of (at most so many of) the training rows alone, for choosing settings."""
    order = np.random.default_rng(0).permutation(split.X.shape[0])[:most_rows]
    n = int(len(order) * (1 - share))
    fit, held = np.sort(order[:n]), np.sort(order[n:])
    return Split(split.X[fit], split.Y[fit], split.X[held], split.Y[held])


def precisions(Y: Labels, scores: np.ndarray, unseen: np.ndarray | None = None) -> dict[str, float]:
    """P@1, 3, 5 over all labels; over unseen ones, with rows that have none as misses
    (``unseen_at``) and over the rows that have one (``carried_at``)."""
    found = {f"precision_at_{k}": metrics.precision_at_k(Y, scores, k=k) for k in (1, 3, 5)}
    if unseen is not None and len(unseen):
        part, theirs = Y[:, unseen], scores[:, unseen]
        for k in (1, 3, 5):
            found[f"unseen_at_{k}"] = metrics.precision_at_k(part, theirs, k=k)
            found[f"carried_at_{k}"] = metrics.precision_at_k(part, theirs, k=k, empty="drop")
    return {name: float(value) for name, value in found.items()}


def fit_timed(model: Any, X: Any, Y: Labels, cooccurrence: Any = None) -> float:
    """Seconds of a fit."""
    start = time.perf_counter()
    model.fit(X, Y, cooccurrence=cooccurrence)
    return time.perf_counter() - start


def measure(model: Any, split: Split, hidden: Any, cooccurrence: Any = None) -> dict[str, float]:
    """Fit to what a learner may see, and score the test rows."""
    counts = hidden.cooccurrence if cooccurrence is None else cooccurrence
    seconds = fit_timed(model, split.X, hidden.labels, counts)
    scores = model.decision_function(split.X_test)
    return {**precisions(split.Y_test, scores, hidden.unseen), "fit_seconds": seconds}


def mean_squared_length(X: Any) -> float:
    """Of a row; ML-LCS states its ridge relative to it."""
    values = X.data if sparse.issparse(X) else X
    return float(np.square(values, dtype=np.float64).sum() / X.shape[0])
