"""GMFS's protocol: hidden positives, features kept by their rank, one machine per label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from labelgap import metrics
from labelgap.bench._task import Judgement, Task
from labelgap.bench.protocols._protocol import Protocol, Setting, parted, shuffled
from labelgap.data import load_dataset
from labelgap.labels import Labels
from labelgap.protocols import hide_positives

_TUNING_SIXTHS = (1, 3, 5)
# The score of a label whose training entries are all equal: below or above any machine's.
_CONSTANT = 10.0


class HiddenPositives(Protocol):
    """A share of the training positives is set to zero; d/6 to 5d/6 of the features are kept.

    As many training rows are drawn as the set's published split has. Methods rank standardised
    features (``scores_`` of a fitted selector). The classifiers see ``scaling`` features, "raw"
    or "standardised": RBF machines of libSVM's defaults, or linear ones where ``linear`` names
    the set. Scores are means over the numbers of features kept. ``divisions`` says for a set into
    how many pairs of parts its training rows are divided to choose settings, by default one.
    """

    keys: ClassVar[tuple[str, ...]] = ("missing", "scaling")
    tuning_keys: ClassVar[tuple[str, ...]] = ("missing",)
    options: ClassVar[dict[str, Any]] = {
        "sixths": [1, 2, 3, 4, 5],
        "linear": [],
        "divisions": {},
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
        n_rows = task.Y.n_rows
        found = []
        for seed in range(self.chosen["divisions"].get(task.dataset, 1)):
            fit, held = shuffled(n_rows, 3 * n_rows // 4, seed)
            raw = task.extra["raw"][0]
            extra = {**task.extra, "raw": (raw[fit], raw[held])}
            found.append(parted(task, fit, held, extra=extra))
        return found

    def criterion(self, task: Task) -> str:
        return "average_precision"

    def judge(self, model: Any, task: Task, setting: Setting) -> Judgement:
        sixths = self.chosen["sixths"]
        return self._by_size(model, task, setting["scaling"], sixths)

    def judge_choice(self, model: Any, task: Task) -> float:
        found = self._by_size(model, task, "standardised", _TUNING_SIXTHS)
        return found.metrics[self.criterion(task)]

    def _by_size(self, model: Any, task: Task, scaling: str, sixths: Any) -> Judgement:
        order = np.argsort(-np.asarray(model.scores_), kind="stable")
        if getattr(model, "keeps_all", False):
            sixths = (6,)
        sizes = [max(1, len(order) * part // 6) for part in sixths]
        X, X_test = task.extra["raw"] if scaling == "raw" else (task.X, task.X_test)
        linear = task.dataset in self.chosen["linear"]
        scores = [
            _classify(X[:, order[:n]], task.Y, X_test[:, order[:n]], linear=linear) for n in sizes
        ]
        truth = task.Y_test
        curve = {
            "average_precision": [float(metrics.average_precision(truth, one)) for one in scores],
            "hamming_loss": [
                float(metrics.hamming_loss(truth, (one > 0).astype(int))) for one in scores
            ],
        }
        means = {name: float(np.mean(values)) for name, values in curve.items()}
        return Judgement(means, curve, {"n_features": sizes})


def _classify(X: np.ndarray, labels: Labels, X_test: np.ndarray, *, linear: bool) -> np.ndarray:
    """Scores of the test rows by one machine per label, C = 1."""
    Y = labels.to_dense()
    scores = np.where(Y.all(axis=0), _CONSTANT, -_CONSTANT) * np.ones((len(X_test), 1))
    mixed = np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0))
    fit = _linear_machines if linear else _rbf_machines
    scores[:, mixed] = fit(X, X_test, Y[:, mixed])
    return scores


def _rbf_machines(X: np.ndarray, X_test: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """exp(-||x - z||^2 / d) for d features, libSVM's default, computed once for all labels."""
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
