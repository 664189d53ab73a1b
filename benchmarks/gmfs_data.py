"""The protocol of the GMFS benchmarks: sets, hidden positives, support-vector machines, figures.

A run draws as many training rows as the set's published split has and hides a share of their
positives. Test labels are complete.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from labelgap import Labels, metrics
from labelgap.bench.protocols._machines import machine_scores
from labelgap.data import load_dataset
from labelgap.protocols import hide_positives

SETS = ("emotions", "yeast", "science", "rcv1subset1", "rcv1subset2")
LARGE = ("bibtex", "delicious")
RATES = (0.2, 0.4)
SCALINGS = ("raw", "standardised")
SIXTHS = (1, 2, 3, 4, 5)
FIRST_RUN = 1
# Divisions of the first run's training rows in which settings are chosen; one for the other sets.
DIVISIONS = {"emotions": 5, "yeast": 3}
# Training rows that these take part with, where not all do.
TUNING_ROWS = {"bibtex": 3000, "delicious": 3000}

# Tables 2 and 3: mean average precision with a share of the training positives hidden.
COLUMNS = ("All features", "FSNM", "SFUS", "MIFS", "CMFS", "MLMLFS", "GMFS")
PUBLISHED = {
    ("emotions", 0.2): "0.685 0.639 0.679 0.693 0.680 0.707 0.732",
    ("yeast", 0.2): "0.741 0.702 0.731 0.747 0.750 0.754 0.775",
    ("science", 0.2): "0.558 0.526 0.540 0.543 0.544 0.562 0.589",
    ("rcv1subset1", 0.2): "0.519 0.500 0.467 0.501 0.521 0.525 0.554",
    ("rcv1subset2", 0.2): "0.538 0.463 0.514 0.527 0.537 0.542 0.579",
    ("bibtex", 0.2): "0.547 0.453 0.478 0.476 0.533 0.557 0.578",
    ("delicious", 0.2): "0.496 0.473 0.499 0.516 0.524 0.510 0.547",
    ("emotions", 0.4): "0.632 0.626 0.649 0.628 0.623 0.646 0.697",
    ("yeast", 0.4): "0.726 0.689 0.700 0.723 0.739 0.731 0.756",
    ("science", 0.4): "0.527 0.493 0.516 0.520 0.527 0.526 0.550",
    ("rcv1subset1", 0.4): "0.483 0.451 0.443 0.487 0.482 0.475 0.512",
    ("rcv1subset2", 0.4): "0.504 0.414 0.480 0.471 0.508 0.507 0.531",
    ("bibtex", 0.4): "0.506 0.424 0.443 0.464 0.483 0.490 0.523",
    ("delicious", 0.4): "0.461 0.442 0.459 0.478 0.491 0.483 0.514",
}


class Run(NamedTuple):
    """Features as they are and standardised by the training rows; labels, ambiguous zeros."""

    raw: np.ndarray
    standardised: np.ndarray
    train: np.ndarray
    test: np.ndarray
    Y: Labels
    Y_test: Labels

    def features(self, scaling: str) -> np.ndarray:
        return self.raw if scaling == "raw" else self.standardised


def draw_run(name: str, rate: float, seed: int) -> Run:
    data = load_dataset(name)
    X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    X = X.astype(np.float64)
    order = np.random.default_rng(seed).permutation(len(X))
    n_train = int(0.8 * len(X)) if data.train is None else len(data.train)
    train, test = (np.sort(part) for part in np.split(order, [n_train]))
    Y = data.Y[train]
    if rate > 0:
        Y = hide_positives(Y, rate, random_state=seed).labels
    standardised = StandardScaler().fit(X[train]).transform(X)
    return Run(X, standardised, train, test, Y, data.Y[test])


def inner_run(run: Run, seed: int = 0, n_rows: int | None = None) -> Run:
    """Three quarters of the training rows, or of some, against the rest, to choose settings."""
    order = np.random.default_rng(seed).permutation(len(run.train))[:n_rows]
    first, second = (np.sort(part) for part in np.split(order, [3 * len(order) // 4]))
    rows = {"train": run.train[first], "test": run.train[second]}
    return run._replace(**rows, Y=run.Y[first], Y_test=run.Y[second])


def run_numbers(name: str) -> list[int]:
    return list(range(FIRST_RUN, FIRST_RUN + (2 if name in LARGE else 5)))


def sizes(n_features: int, sixths: tuple[int, ...] = SIXTHS) -> list[int]:
    return [max(1, n_features * part // 6) for part in sixths]


def classify(
    run: Run, scaling: str, order: np.ndarray, kept: list[int], device: str | None = None
) -> list[np.ndarray]:
    """Scores of the test rows by one RBF machine per label, for several numbers of features."""
    X = run.features(scaling)[:, order]
    return machine_scores(X[run.train], run.Y, X[run.test], kept, device=device)


def score(run: Run, scores: np.ndarray) -> dict[str, float]:
    """Average precision per row, and Hamming loss of the machines' own decisions."""
    return {
        "average_precision": float(metrics.average_precision(run.Y_test, scores)),
        "hamming_loss": float(metrics.hamming_loss(run.Y_test, (scores > 0).astype(int))),
    }


def published(name: str, rate: float, method: str) -> float | None:
    row = dict(zip(COLUMNS, PUBLISHED.get((name, rate), "").split(), strict=False))
    value: Any = row.get(method)
    return None if value is None else float(value)
