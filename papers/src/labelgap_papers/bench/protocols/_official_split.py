"""BMLPL's protocols: the published split, all training entries or a fraction of them revealed."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from labelgap import metrics
from labelgap.data import load_dataset
from labelgap.labels import Labels
from labelgap.protocols import reveal
from labelgap_papers.bench.protocols.protocol import Protocol, Scores, Setting, Task, parted

_MEASURED = ["auc_micro", "auc_instance", "precision_at_1", "precision_at_3", "precision_at_5"]
_TINY = 1e-7


class OfficialSplit(Protocol):
    """Training and test rows as published; where ``missing`` is above 0, that fraction of all
    training entries is unknown.

    eurlex4k's heavy-tailed counts are damped and its rows scaled to length 1. ``topics`` asks for
    that many of a fitted topic model's topics, with their coherence on the test rows.
    """

    keys: ClassVar[tuple[str, ...]] = ("missing",)
    tuning_keys: ClassVar[tuple[str, ...]] = ("missing",)
    options: ClassVar[dict[str, Any]] = {"topics": 0}

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        data = load_dataset(dataset)
        X = sparse.csr_array(data.X, dtype=np.float32)
        if dataset == "eurlex4k":
            X.data = np.log1p(X.data)
            X = sparse.csr_array(normalize(X))
        Y = data.Y[data.train]
        if setting["missing"]:
            Y = reveal(Y, round(1 - setting["missing"], 12), random_state=run).labels
        return Task(dataset, X[data.train], Y, X[data.test], data.Y[data.test])

    def divisions(self, task: Task) -> list[Task]:
        order = np.random.default_rng(0).permutation(task.Y.n_samples)
        return [parted(task, *np.split(order, [int(0.8 * len(order))]))]

    def criterion(self, task: Task) -> str:
        return "auc_instance"

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        found = np.asarray(model.predict_proba(task.X_test))
        values = metrics.evaluate(task.Y_test, found, metrics=_MEASURED)
        values["log_loss"] = metrics.log_loss(task.Y_test, np.clip(found, _TINY, 1 - _TINY))
        trace = getattr(model, "trace_", None)
        if trace is not None and len(getattr(trace, "seconds", ())):
            values["iteration_seconds"] = trace.seconds[-1]
        details = self._topics(model, task) if self.chosen["topics"] else {}
        if details:
            values["coherence"] = np.mean([topic["coherence"] for topic in details["topics"]])
        return Scores({name: float(value) for name, value in values.items()}, details=details)

    def _topics(self, model: Any, task: Task) -> dict[str, Any]:
        coherence = model.topic_coherence(task.Y_test)
        topics = [
            {
                "labels": [str(label).removeprefix("TAG_") for label in topic.labels[:8]],
                "weights": np.round(topic.weights[:8], 4).tolist(),
                "fraction": float(topic.fraction),
                "coherence": float(coherence[topic.number]),
            }
            for topic in model.topics_[: self.chosen["topics"]]
        ]
        return {"topics": topics}


class FewerPositives(Protocol):
    """A fraction of the training positives is kept; the time of an iteration is measured.

    The time is that of the processor, the least of all iterations: everything slower is the
    machine doing something else. There is nothing to choose settings by.
    """

    keys: ClassVar[tuple[str, ...]] = ("fraction",)
    tuning_keys: ClassVar[tuple[str, ...]] = ()

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        data = load_dataset(dataset)
        X = sparse.csr_array(data.X, dtype=np.float32)
        Y = _kept(data.Y[data.train], setting["fraction"])
        return Task(dataset, X[data.train], Y, X[data.test], data.Y[data.test])

    def fit(self, model: Any, task: Task) -> Any:
        clock: list[float] = []
        model.set_params(callback=lambda progress: clock.append(time.process_time()))
        model.fit(task.X, task.Y)
        model.iteration_seconds = float(np.diff(clock).min())
        return model

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        values = {"seconds_per_iteration": model.iteration_seconds}
        return Scores({**values, "n_positives": float(task.Y.n_positives())})


def _kept(labels: Labels, fraction: float) -> Labels:
    positives = labels.positives().tocoo()
    kept = np.random.default_rng(0).random(positives.nnz) < fraction
    ones = (np.ones(kept.sum()), (positives.coords[0][kept], positives.coords[1][kept]))
    return Labels.from_sparse(sparse.csr_array(ones, shape=labels.shape))
