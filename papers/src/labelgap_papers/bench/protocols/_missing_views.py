"""iMVWL's protocol: labels unknown and views absent, for training rows and new ones."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labelgap import metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_per_label, hide_views
from labelgap.views import Views
from labelgap_papers.bench.protocols.protocol import (
    Protocol,
    Scores,
    Setting,
    Task,
    objective_of,
    parted,
    shuffled,
)


class MissingViews(Protocol):
    """70% of the rows to learn from; a fraction of each label's entries unknown; a fraction of the rows
    of each view absent, of test rows too.

    The views are those that all rows of the set have. ``curve`` asks for the objective of every
    iteration.
    """

    keys: ClassVar[tuple[str, ...]] = ("missing_labels", "missing_views")
    tuning_keys: ClassVar[tuple[str, ...]] = ("missing_labels", "missing_views")
    options: ClassVar[dict[str, Any]] = {"curve": False}

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        data = load_dataset(dataset)
        views: Any = data.views
        names = [name for name, part in views.items() if not _any_gap(data.X[:, part])]
        X = np.hstack([data.X[:, views[name]] for name in names])
        views = Views({name: views.widths[name] for name in names})
        order = np.random.default_rng(run).permutation(len(X))
        train, test = np.split(order, [int(0.7 * len(X))])
        if setting["missing_views"]:
            X = hide_views(X, views, setting["missing_views"], random_state=run).X
        Y = data.Y[train]
        if setting["missing_labels"]:
            Y = hide_per_label(Y, setting["missing_labels"], random_state=run).labels
        extra = {"run": run}
        return Task(dataset, X[train], Y, X[test], data.Y[test], views=views, extra=extra)

    def divisions(self, task: Task) -> list[Task]:
        """70% of the training rows against the rest, scored on their observed labels."""
        fit, held = shuffled(task.Y.n_samples, int(0.7 * task.Y.n_samples), 1)
        return [parted(task, fit, held)]

    def criterion(self, task: Task) -> str:
        return "average_precision"

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        """The paper's four measures; AUC also pooled over all entries."""
        truth, found = task.Y_test, np.asarray(model.predict_proba(task.X_test))
        top_t = metrics.convention("imvwl", "auc_top_t")
        values = {
            "one_minus_hamming_loss": 1 - metrics.hamming_loss(truth, (found > 0.5).astype(int)),
            "one_minus_ranking_loss": 1 - metrics.ranking_loss(truth, found),
            "average_precision": metrics.label_ranking_average_precision(truth, found),
            "auc_top_t": metrics.auc(truth, found, average="top_t", **top_t),
            "auc_micro": metrics.auc(truth, found, average="micro"),
        }
        curve = objective_of(model) if self.chosen["curve"] else {}
        return Scores({name: float(value) for name, value in values.items()}, curve)


def _any_gap(block: np.ndarray) -> bool:
    return bool(np.isnan(block[:, 0]).any())
