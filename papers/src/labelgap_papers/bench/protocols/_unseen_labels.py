"""ML-LCS's protocols: labels without training rows, known by their co-occurrence; and none."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from labelgap import metrics
from labelgap.data import load_dataset
from labelgap.protocols import hide_labels
from labelgap_papers.bench.protocols.protocol import (
    Protocol,
    Scores,
    Setting,
    Task,
    scores_of,
    shuffled,
)

_MOST_TUNING_ROWS = 10_000
_TOP = (1, 3, 5)


class HiddenLabelColumns(Protocol):
    """A fraction of the labels has no training entries; counts are those of the training rows.

    The published split; precision at 1, 3 and 5 over all labels, and over unseen ones with rows
    that have none as misses (``unseen_at``) or left out (``carried_at``). Settings are chosen with
    half of the seen labels hidden once more; labels that are unseen play no part.
    """

    keys: ClassVar[tuple[str, ...]] = ("seen",)
    tuning_keys: ClassVar[tuple[str, ...]] = ()

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        X, data = _features(dataset)
        Y = data.Y[data.train]
        fraction = round(1 - setting.get("seen", 0.5), 12)
        hidden = hide_labels(Y, fraction, random_state=run)
        return Task(
            dataset,
            X[data.train],
            hidden.labels,
            X[data.test],
            data.Y[data.test],
            cooccurrence=hidden.cooccurrence,
            unseen=hidden.unseen,
            complete=Y,
            extra={"seen": hidden.seen},
        )

    def divisions(self, task: Task) -> list[Task]:
        order = np.random.default_rng(0).permutation(task.Y.n_samples)[:_MOST_TUNING_ROWS]
        n = int(0.8 * len(order))
        fit, held = np.sort(order[:n]), np.sort(order[n:])
        seen = task.Y[:, task.extra["seen"]]
        hidden = hide_labels(seen[fit], 0.5, random_state=0)
        return [
            Task(
                task.dataset,
                task.X[fit],
                hidden.labels,
                task.X[held],
                seen[held],
                cooccurrence=hidden.cooccurrence,
                unseen=hidden.unseen,
                complete=seen[fit],
            )
        ]

    def criterion(self, task: Task) -> str:
        return "precision_at_1"

    def fit(self, model: Any, task: Task) -> Any:
        if getattr(model, "sees_all", False):
            return model.fit(task.X, task.complete)
        return model.fit(task.X, task.Y, cooccurrence=task.cooccurrence)

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        truth, scores = task.Y_test, scores_of(model, task.X_test)
        found = {f"precision_at_{k}": metrics.precision_at_k(truth, scores, k=k) for k in _TOP}
        if len(task.unseen):
            part, theirs = truth[:, task.unseen], scores[:, task.unseen]
            for k in _TOP:
                found[f"unseen_at_{k}"] = metrics.precision_at_k(part, theirs, k=k)
                found[f"carried_at_{k}"] = metrics.precision_at_k(part, theirs, k=k, empty="drop")
        return Scores({name: float(value) for name, value in found.items()})


class AllLabelsSeen(Protocol):
    """Every label has training entries, and counts are those of the labels themselves.

    ``features`` are binary as given, or "TF-IDF" in rows of the mean length of the binary ones.
    """

    keys: ClassVar[tuple[str, ...]] = ("features",)
    tuning_keys: ClassVar[tuple[str, ...]] = ("features",)

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        X, data = _features(dataset)
        X, X_test = X[data.train], X[data.test]
        if setting["features"] == "TF-IDF":
            X, X_test = _weighted_words(X, X_test)
        return Task(dataset, X, data.Y[data.train], X_test, data.Y[data.test])

    def divisions(self, task: Task) -> list[Task]:
        fit, held = shuffled(task.Y.n_samples, int(0.8 * task.Y.n_samples), 0)
        return [Task(task.dataset, task.X[fit], task.Y[fit], task.X[held], task.Y[held])]

    def criterion(self, task: Task) -> str:
        return "precision_at_1"

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        scores = scores_of(model, task.X_test)
        found = {k: metrics.precision_at_k(task.Y_test, scores, k=k) for k in _TOP}
        return Scores({f"precision_at_{k}": float(value) for k, value in found.items()})


def _features(dataset: str) -> tuple[Any, Any]:
    """In single precision; mediamill's are standardised."""
    data = load_dataset(dataset)
    if dataset == "mediamill":
        dense = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
        return StandardScaler().fit(dense[data.train]).transform(dense).astype(np.float32), data
    return sparse.csr_array(data.X, dtype=np.float32), data


def _weighted_words(X: Any, X_test: Any) -> tuple[Any, Any]:
    weigh = TfidfTransformer().fit(X)
    length = np.sqrt(float(X.sum()) / X.shape[0])
    found = (
        sparse.csr_array(length * weigh.transform(part), dtype=np.float32) for part in (X, X_test)
    )
    return tuple(found)  # type: ignore[return-value]
