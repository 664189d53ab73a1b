"""The protocol of the GMFS benchmarks: sets, hidden positives, support-vector machines, figures.

A run draws as many training rows as the set's published split has and hides a share of their
positives. Test labels are complete.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from labelgap import Labels, metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_positives

SETS = ("emotions", "yeast", "science", "rcv1subset1", "rcv1subset2")
LINEAR = ("bibtex", "delicious")
RATES = (0.2, 0.4)
SCALINGS = ("raw", "standardised")
SIXTHS = (1, 2, 3, 4, 5)

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
# The score of a label whose training entries are all equal: below or above any machine's.
_CONSTANT = 10.0


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


def inner_run(run: Run, seed: int = 0) -> Run:
    """Three quarters of the training rows against the rest, to choose settings with."""
    order = np.random.default_rng(seed).permutation(len(run.train))
    first, second = (np.sort(part) for part in np.split(order, [3 * len(order) // 4]))
    rows = {"train": run.train[first], "test": run.train[second]}
    return run._replace(**rows, Y=run.Y[first], Y_test=run.Y[second])


def sizes(n_features: int, sixths: tuple[int, ...] = SIXTHS) -> list[int]:
    return [max(1, n_features * part // 6) for part in sixths]


def classify(run: Run, scaling: str, columns: np.ndarray, *, linear: bool = False) -> np.ndarray:
    """Scores of the test rows by one support-vector machine per label, libSVM's C = 1.

    The kernel is exp(-||x - z||^2 / d) for d features, libSVM's default, computed once for all
    labels; the linear machine is liblinear's.
    """
    X = run.features(scaling)[:, columns]
    Y = run.Y.to_dense()
    scores = np.where(Y.all(axis=0), _CONSTANT, -_CONSTANT) * np.ones((len(run.test), 1))
    mixed = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    fit = _linear_machines if linear else _rbf_machines
    scores[:, mixed] = fit(X[run.train], X[run.test], Y[:, mixed])
    return scores


def _rbf_machines(X: np.ndarray, X_test: np.ndarray, Y: np.ndarray) -> np.ndarray:
    gram = np.exp(-euclidean_distances(X, squared=True) / X.shape[1])
    dual, level = np.zeros((len(X), Y.shape[1])), np.zeros(Y.shape[1])
    for j in range(Y.shape[1]):
        machine = SVC(kernel="precomputed", cache_size=500).fit(gram, Y[:, j])
        dual[machine.support_, j] = machine.dual_coef_[0]
        level[j] = machine.intercept_[0]
    return np.exp(-euclidean_distances(X_test, X, squared=True) / X.shape[1]) @ dual + level


def _linear_machines(X: np.ndarray, X_test: np.ndarray, Y: np.ndarray) -> np.ndarray:
    X, X_test = sparse.csr_array(X), sparse.csr_array(X_test)
    machines = (LinearSVC(random_state=0).fit(X, Y[:, j]) for j in range(Y.shape[1]))
    return np.column_stack([machine.decision_function(X_test) for machine in machines])


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
