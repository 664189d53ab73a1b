"""RMFL's protocol: 80% of the rows to learn from, a fraction of each row's labels unknown."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler, normalize

from labelgap import metrics
from labelgap.data import load_dataset
from labelgap.models.rmfl import default_metric
from labelgap.protocols import hide_per_row
from labelgap_papers.bench.protocols.protocol import (
    Protocol,
    Scores,
    Setting,
    Task,
    objective_of,
    parted,
    scores_of,
    shuffled,
)

_TEXTS = ("science", "education", "social")
LARGE = 3000
TUNING_FOLDS = 3


class UnknownPerRow(Protocol):
    """floor(missing x labels) entries of each training row are unknown; five criteria.

    Features are standardised by the training rows; those of texts have rows of length one.
    Settings are chosen by three folds of the training rows. ``curve`` asks for the objective of
    every iteration.
    """

    keys: ClassVar[tuple[str, ...]] = ("missing",)
    tuning_keys: ClassVar[tuple[str, ...]] = ("missing",)
    options: ClassVar[dict[str, Any]] = {"curve": False}

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        data = load_dataset(dataset)
        n_samples = data.Y.n_samples
        train, test = shuffled(n_samples, int(0.8 * n_samples), run)
        if dataset in _TEXTS:
            X = normalize(sparse.csr_array(data.X, dtype=np.float64))
        else:
            dense = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
            X = StandardScaler().fit(dense[train]).transform(dense)
        Y = data.Y[train]
        if setting["missing"] > 0:
            Y = hide_per_row(Y, setting["missing"], random_state=run).labels
        return Task(dataset, X[train], Y, X[test], data.Y[test], large=n_samples > LARGE)

    def divisions(self, task: Task) -> list[Task]:
        splitter = KFold(TUNING_FOLDS, shuffle=True, random_state=0)
        return [parted(task, *part) for part in splitter.split(np.zeros(task.Y.n_samples))]

    def criterion(self, task: Task) -> str:
        """Average precision; micro AUC where gaps leave too few labels of a row to rank."""
        return default_metric(task.Y)

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        scores = scores_of(model, task.X_test)
        found = {
            "one_error": metrics.one_error(task.Y_test, scores),
            "hamming_loss": metrics.hamming_loss(task.Y_test, model.predict(task.X_test)),
            "ranking_loss": metrics.ranking_loss(task.Y_test, scores),
            "coverage": metrics.coverage(task.Y_test, scores, normalize=True),
            "average_precision": metrics.label_ranking_average_precision(task.Y_test, scores),
        }
        curve = objective_of(model) if self.chosen["curve"] else {}
        return Scores({name: float(value) for name, value in found.items()}, curve)

    def score_choice(self, model: Any, task: Task) -> float:
        metric = metrics.get_metric(self.criterion(task))
        return float(metric(task.Y_test, scores_of(model, task.X_test)))
