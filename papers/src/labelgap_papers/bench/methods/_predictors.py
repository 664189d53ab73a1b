"""The methods of the comparison of predictors that no paper's table has."""

from __future__ import annotations

import importlib
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from labelgap import Mend
from labelgap.baselines import BinaryRelevance, GradientBoostingLabels, KNeighborsLabels
from labelgap_papers.bench.methods._method import Method
from labelgap_papers.bench.protocols.protocol import Task


def _logistic(task: Task, C: float = 1.0) -> BinaryRelevance:
    return BinaryRelevance(LogisticRegression(C=C, max_iter=1000))


def _forest(task: Task, **params: Any) -> BinaryRelevance:
    return BinaryRelevance(RandomForestClassifier(**{"random_state": 0, **params}))


def _per_label(module: str, name: str, **settings: Any) -> Method:
    """A classifier of another package, one per label on the rows in which it is known."""

    def make(task: Task, **params: Any) -> BinaryRelevance:
        classifier = getattr(importlib.import_module(module), name)
        return BinaryRelevance(classifier(**{**settings, **params}))

    return Method(make)


METHODS: dict[str, Method] = {
    "mend": Method(lambda task, **params: Mend(**params)),
    "tuned-logistic": Method(_logistic, {"C": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)}),
    "forest-per-label": Method(_forest),
    "xgboost-per-label": _per_label("xgboost", "XGBClassifier", n_jobs=1),
    "lightgbm-per-label": _per_label("lightgbm", "LGBMClassifier", n_jobs=1, verbose=-1),
    "catboost-per-label": _per_label(
        "catboost", "CatBoostClassifier", thread_count=1, verbose=False, allow_writing_files=False
    ),
    "mlp-per-label": _per_label(
        "sklearn.neural_network", "MLPClassifier", early_stopping=True, random_state=0
    ),
    "boosted-labels": Method(lambda task, **params: GradientBoostingLabels(**params)),
    "k-neighbors": Method(lambda task, **params: KNeighborsLabels(**params)),
}
