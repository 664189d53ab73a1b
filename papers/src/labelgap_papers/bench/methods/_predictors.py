"""The methods of the comparison of predictors that no paper's table has."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from labelgap import Mend
from labelgap.baselines import BinaryRelevance, KNeighborsLabels
from labelgap_papers.bench.methods._method import Method
from labelgap_papers.bench.protocols.protocol import Task


def _logistic(task: Task, C: float = 1.0) -> BinaryRelevance:
    return BinaryRelevance(LogisticRegression(C=C, max_iter=1000))


def _forest(task: Task, **params: Any) -> BinaryRelevance:
    return BinaryRelevance(RandomForestClassifier(**{"random_state": 0, **params}))


METHODS: dict[str, Method] = {
    "mend": Method(lambda task, **params: Mend(**params)),
    "tuned-logistic": Method(_logistic, {"C": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)}),
    "forest-per-label": Method(_forest),
    "k-neighbors": Method(lambda task, **params: KNeighborsLabels(**params)),
}
