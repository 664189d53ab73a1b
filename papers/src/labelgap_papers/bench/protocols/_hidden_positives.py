"""GMFS's protocol: hidden positives, features kept by their rank, one machine per label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from labelgap import metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_positives
from labelgap_papers.bench.protocols._machines import machine_scores
from labelgap_papers.bench.protocols.protocol import (
    Protocol,
    Scores,
    Setting,
    Task,
    parted,
    shuffled,
)

_TUNING_SIXTHS = (1, 3, 5)


class HiddenPositives(Protocol):
    """A fraction of the training positives is set to zero; d/6 to 5d/6 of the features are kept.

    As many training rows are drawn as the set's published split has. Methods rank standardised
    features (``scores_`` of a fitted selector). The classifiers see ``scaling`` features, "raw"
    or "standardised": RBF machines of libSVM's defaults. Scores are means over the numbers of
    features kept. ``divisions`` says for a set into how many pairs of parts its training rows are
    divided to choose settings, by default one, and ``tuning_rows`` how many of the rows take part.
    """

    keys: ClassVar[tuple[str, ...]] = ("missing", "scaling")
    tuning_keys: ClassVar[tuple[str, ...]] = ("missing",)
    options: ClassVar[dict[str, Any]] = {
        "sixths": [1, 2, 3, 4, 5],
        "divisions": {},
        "tuning_rows": {},
    }

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        data = load_dataset(dataset)
        raw = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
        raw = raw.astype(np.float64)
        n_train = int(0.8 * len(raw)) if data.train is None else len(data.train)
        train, test = shuffled(len(raw), n_train, run)
        Y = data.Y[train]
        if setting["missing"] > 0:
            Y = hide_positives(Y, setting["missing"], random_state=run).labels
        X = StandardScaler().fit(raw[train]).transform(raw)
        extra = {"raw": (raw[train], raw[test]), "run": run}
        return Task(dataset, X[train], Y, X[test], data.Y[test], extra=extra)

    def divisions(self, task: Task) -> list[Task]:
        """Three quarters of the training rows against the rest; hidden labels stay hidden."""
        n_samples = task.Y.n_samples
        found = []
        n_some = self.chosen["tuning_rows"].get(task.dataset, n_samples)
        for seed in range(self.chosen["divisions"].get(task.dataset, 1)):
            order = np.random.default_rng(seed).permutation(n_samples)[:n_some]
            fit, held = (np.sort(part) for part in np.split(order, [3 * len(order) // 4]))
            raw = task.extra["raw"][0]
            extra = {**task.extra, "raw": (raw[fit], raw[held])}
            found.append(parted(task, fit, held, extra=extra))
        return found

    def criterion(self, task: Task) -> str:
        return "average_precision"

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        sixths = self.chosen["sixths"]
        return self._by_size(model, task, setting["scaling"], sixths)

    def score_choice(self, model: Any, task: Task) -> float:
        found = self._by_size(model, task, "standardised", _TUNING_SIXTHS)
        return found.metrics[self.criterion(task)]

    def _by_size(self, model: Any, task: Task, scaling: str, sixths: Any) -> Scores:
        order = np.argsort(-np.asarray(model.scores_), kind="stable")
        if getattr(model, "keeps_all", False):
            sixths = (6,)
        sizes = [max(1, len(order) * part // 6) for part in sixths]
        X, X_test = task.extra["raw"] if scaling == "raw" else (task.X, task.X_test)
        scores = machine_scores(X[:, order], task.Y, X_test[:, order], sizes)
        truth = task.Y_test
        curve = {
            "average_precision": [
                float(metrics.label_ranking_average_precision(truth, one)) for one in scores
            ],
            "hamming_loss": [
                float(metrics.hamming_loss(truth, (one > 0).astype(int))) for one in scores
            ],
        }
        means = {name: float(np.mean(values)) for name, values in curve.items()}
        return Scores(means, curve, {"n_features": sizes})
