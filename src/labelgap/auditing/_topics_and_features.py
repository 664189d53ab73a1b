"""Topics of the labels and features worth keeping, for readers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelgap.auditing._audit_input import FeatureRows
from labelgap.auditing._audit_result import AuditTopic, ConvergenceTrace, SelectedFeature
from labelgap.auditing._score_counts import Advance
from labelgap.fitting import EM, Progress
from labelgap.labels import Labels
from labelgap.models.bmlpl import BMLPL
from labelgap.models.gmfs import StabilitySelection

_N_LABELS, _N_FEATURES, _LEAST = 8, 8, 0.01
_ITERATIONS, _SMALL_GAIN = 60, 1e-3


def find_topics(
    rows: FeatureRows,
    labels: Labels,
    n_topics: int,
    *,
    random_state: int | None = 0,
    progress: Advance | None = None,
) -> tuple[tuple[AuditTopic, ...], ConvergenceTrace]:
    """Return topics by falling fraction of the items, and the objective over the iterations.

    A topic is named by its two strongest labels; its features are those that most raise its weight.

    Parameters
    ----------
    rows : FeatureRows
    labels : Labels
    n_topics : int
    random_state : int or None, default=0
    progress : callable, default=None
        Called with the stage, how much is done, and of how much.

    See Also
    --------
    labelgap.BMLPL : The model.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import as_labels
    >>> from labelgap.auditing import feature_rows, find_topics
    >>> X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    >>> topics, trace = find_topics(feature_rows(X), as_labels(Y), 2)
    >>> len(topics), trace.name
    (2, 'objective')
    """

    def heard(now: Progress) -> None:
        if progress is not None:
            progress("finding topics", now.iteration + 1, now.max_iter)

    inference = EM(_ITERATIONS, tol=0.0)
    model = BMLPL(n_topics, inference=inference, random_state=random_state, callback=heard)
    model.fit(rows.inputs, labels)
    weights = model.params_.weights[:-1]
    if rows.axes is not None:
        weights = rows.axes @ weights
    topics = []
    for topic in model.topics_:
        of_features = weights[:, topic.number]
        largest = np.argsort(-of_features, kind="stable")[:_N_FEATURES]
        strongest = zip(topic.labels[:_N_LABELS], topic.weights[:_N_LABELS], strict=True)
        kept = [(str(label), float(weight)) for label, weight in strongest if weight >= _LEAST]
        topics.append(
            AuditTopic(
                name=", ".join(label for label, _ in kept[:2]) or f"topic {topic.number}",
                fraction=float(topic.fraction),
                labels=tuple(kept),
                features=tuple(
                    (rows.names[k], float(of_features[k])) for k in largest if of_features[k] > 0
                ),
            )
        )
    values = tuple(float(value) for value in model.trace_.objective)
    converged = len(values) > 1 and values[-1] - values[-2] < _SMALL_GAIN * abs(values[-1])
    return tuple(topics), ConvergenceTrace("topics (BMLPL)", "objective", values, converged)


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
    """Return the features with the largest weights over all labels, with their stability.

    The stability of a feature is the fraction of repetitions, on random halves of the rows with
    further gaps, that selected it too.

    Parameters
    ----------
    rows : FeatureRows
    labels : Labels
    n_selected : int
    n_repeats : int, default=20
    selector : estimator with ``scores_``, default=None
        None is :class:`labelgap.GMFS`.
    random_state : int or None, default=0
    progress : callable, default=None
        Called with the stage, how much is done, and of how much.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelgap import as_labels
    >>> from labelgap.auditing import feature_rows, select_features
    >>> X, Y = make_multilabel_classification(n_samples=60, n_features=5, random_state=0)
    >>> [feature.name for feature in select_features(feature_rows(X), as_labels(Y), 1, n_repeats=2)]
    ['feature 2']
    """
    X = rows.scaled.toarray() if sparse.issparse(rows.scaled) else rows.scaled
    number = min(n_selected, X.shape[1])

    def heard(now: Progress) -> None:
        if progress is not None:
            progress("selecting features", now.iteration + 1, now.max_iter)

    search = StabilitySelection(
        selector,
        callback=heard,
        n_features_to_select=number,
        n_repeats=n_repeats,
        random_state=random_state,
    ).fit(X, labels)
    weights = np.asarray(search.selector_.scores_, dtype=float)
    largest = np.argsort(-weights, kind="stable")[:number]
    return tuple(
        SelectedFeature(rows.names[k], float(weights[k]), float(search.scores_[k])) for k in largest
    )
