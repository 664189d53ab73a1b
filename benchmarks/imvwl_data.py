"""The sets of the iMVWL benchmarks under the paper's protocol, its figures, and the scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelgap import Labels, metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_per_label, hide_views
from labelgap.views import ViewGroups

# tables 2 and 3, Corel5k with six views: 1-HL, 1-RL, AP, AUC
PUBLISHED = {
    "iMVWL": "0.956 0.822 0.313 0.824",
    "iMVWL-Sp": "0.955 0.790 0.285 0.791",
    "iMVWL-Nc": "0.955 0.798 0.272 0.798",
    "iMVWL-X": "0.955 0.808 0.299 0.811",
}
METRICS = ("one_minus_hl", "one_minus_rl", "ap", "auc")


class Run(NamedTuple):
    """Training and test rows of one repetition; test rows are without labels."""

    X: np.ndarray
    Y: Labels
    X_test: np.ndarray
    Y_test: Labels
    groups: ViewGroups


def load_run(
    dataset: str, seed: int, share_labels: float = 0.5, share_views: float = 0.5, views: Any = None
) -> Run:
    """70% of the rows for training; labels and views hidden as in the paper.

    ``views`` names the views to use, by default those that all rows have.
    """
    data = load_dataset(dataset)
    names = views or [name for name, part in data.views.items() if not _any_gap(data.X[:, part])]
    X = np.hstack([data.X[:, data.views[name]] for name in names])
    groups = ViewGroups({name: data.views.widths[name] for name in names})
    order = np.random.default_rng(seed).permutation(len(X))
    n_train = int(0.7 * len(X))
    train, test = order[:n_train], order[n_train:]
    if share_views:
        X = hide_views(X, groups, share_views, random_state=seed).X
    Y = data.Y[train]
    if share_labels:
        Y = hide_per_label(Y, share_labels, random_state=seed).labels
    return Run(X[train], Y, X[test], data.Y[test], groups)


def _any_gap(block: np.ndarray) -> bool:
    return bool(np.isnan(block[:, 0]).any())


def scores(Y: Labels, probabilities: np.ndarray) -> dict[str, float]:
    """The paper's four measures; AUC also pooled over all entries."""
    decisions = (probabilities > 0.5).astype(int)
    values = {
        "one_minus_hl": 1 - metrics.hamming_loss(Y, decisions),
        "one_minus_rl": 1 - metrics.ranking_loss(Y, probabilities),
        "ap": metrics.average_precision(Y, probabilities),
        "auc": metrics.auc(
            Y, probabilities, average="top_t", **metrics.convention("imvwl", "auc_top_t")
        ),
        "auc_micro": metrics.auc(Y, probabilities, average="micro"),
    }
    return {name: float(value) for name, value in values.items()}


def published(method: str) -> dict[str, float] | None:
    if method not in PUBLISHED:
        return None
    return dict(zip(METRICS, map(float, PUBLISHED[method].split()), strict=True))
