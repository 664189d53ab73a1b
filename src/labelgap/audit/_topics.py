"""Topics of the labels and features worth keeping, for readers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.audit._joint import Advance
from labelgap.audit._result import SelectedFeature, Topic, Trace
from labelgap.audit._rows import FeatureRows
from labelgap.fitting import EM, Progress
from labelgap.labels import Labels
from labelgap.models.bmlpl import BMLPL
from labelgap.models.gmfs import StabilitySelection

__all__ = ["find_topics", "select_features"]

_N_LABELS, _N_FEATURES, _LEAST = 8, 8, 0.01
_ITERATIONS, _SMALL_GAIN = 60, 1e-3


def find_topics(
    rows: FeatureRows,
    labels: Labels,
    n_topics: int,
    *,
    random_state: int | None = 0,
    progress: Advance | None = None,
) -> tuple[tuple[Topic, ...], Trace]:
    """Topics by falling share (:class:`labelgap.BMLPL`), and the objective over its iterations.

    A topic is named by its two strongest labels; its features are those that most raise its weight.
    """

    def heard(now: Progress) -> None:
        if progress is not None:
            progress("finding topics", now.iteration + 1, now.max_iter)

    model = BMLPL(
        n_topics,
        inference=EM(_ITERATIONS, tol=0.0),
        random_state=random_state,
        callback=heard,
    )
    model.fit(rows.inputs, labels)
    weights = model.params_.weights[:-1]
    if rows.axes is not None:
        weights = rows.axes @ weights
    topics = []
    for one in model.topics_:
        pull = weights[:, one.number]
        best = np.argsort(-pull, kind="stable")[:_N_FEATURES]
        strongest = zip(one.labels[:_N_LABELS], one.weights[:_N_LABELS], strict=True)
        kept = [(str(label), float(weight)) for label, weight in strongest if weight >= _LEAST]
        topics.append(
            Topic(
                name=", ".join(label for label, _ in kept[:2]) or f"topic {one.number}",
                share=float(one.share),
                labels=tuple(kept),
                features=tuple((rows.names[j], float(pull[j])) for j in best if pull[j] > 0),
            )
        )
    values = tuple(float(one) for one in model.trace_.objective)
    settled = len(values) > 1 and values[-1] - values[-2] < _SMALL_GAIN * abs(values[-1])
    return tuple(topics), Trace("topics (BMLPL)", "objective", values, settled)


def select_features(
    rows: FeatureRows,
    labels: Labels,
    n_selected: int,
    *,
    n_repeats: int = 20,
    selector: Any = None,
    random_state: int | None = 0,
    progress: Advance | None = None,
) -> tuple[SelectedFeature, ...]:
    """The features with the largest weights over all labels.

    ``selector`` is an estimator with ``scores_``, by default :class:`labelgap.GMFS`. The stability
    of a feature is the share of repetitions, on random halves of the rows with further gaps, in
    which it was among the chosen ones.
    """
    X = _dense(rows.scaled)
    number = min(n_selected, X.shape[1])

    def heard(told: Progress) -> None:
        if progress is not None:
            progress("selecting features", told.iteration + 1, told.max_iter)

    search = StabilitySelection(
        selector,
        callback=heard,
        n_features_to_select=number,
        n_repeats=n_repeats,
        random_state=random_state,
    ).fit(X, labels)
    weights = np.asarray(search.selector_.scores_, dtype=float)
    best = np.argsort(-weights, kind="stable")[:number]
    return tuple(
        SelectedFeature(rows.names[j], float(weights[j]), float(search.scores_[j])) for j in best
    )


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X
