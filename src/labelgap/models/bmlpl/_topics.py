"""Topics for readers: their strongest labels, and whether these belong together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelgap.labels import as_labels


class LabelTopic(NamedTuple):
    """A topic: its number, its fraction of all expected labels, its strongest labels and weights."""

    number: int
    fraction: float
    labels: list
    weights: list[float]


def describe_topics(
    topics: np.ndarray, usage: np.ndarray, names: np.ndarray, n_labels: int = 10
) -> list[LabelTopic]:
    """Return topics (n_labels x n_topics) by falling fraction, each with its strongest labels.

    ``usage`` is the expected number of labels that each topic accounts for.
    """
    fraction = usage / max(usage.sum(), 1e-300)
    described = []
    for k in np.argsort(-fraction, kind="stable"):
        best = np.argsort(-topics[:, k], kind="stable")[:n_labels]
        best = best[topics[best, k] > 0]
        described.append(
            LabelTopic(int(k), float(fraction[k]), names[best].tolist(), topics[best, k].tolist())
        )
    return described


def topic_coherence(topics: np.ndarray, y: Any, n_labels: int = 5) -> np.ndarray:
    """Return how well the strongest labels of each topic belong together in given samples.

    The normalised pointwise mutual information log(p_ij / (p_i p_j)) / -log(p_ij), averaged over
    pairs (i, j) of the strongest labels: -1 for pairs that never meet, 0 for independent ones and
    1 for inseparable ones. Use samples that the topics were not learned from.

    Parameters
    ----------
    topics : array of shape (n_labels, n_topics)
    y : anything :func:`labelgap.as_labels` accepts
    n_labels : int, default=5
        Strongest labels of each topic.

    Returns
    -------
    array of shape (n_topics,)
        NaN for a topic whose strongest labels do not occur.

    References
    ----------
    Bouma, "Normalized (pointwise) mutual information in collocation extraction", 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgap.models.bmlpl import topic_coherence
    >>> topic_coherence(np.array([[0.5], [0.5]]), [[1, 1], [0, 0], [1, 1], [0, 0]])
    array([1.])
    """
    positives = as_labels(y).positives().astype(np.float64)
    n_samples = positives.shape[0]
    coherence = np.full(topics.shape[1], np.nan)
    for k in range(topics.shape[1]):
        best = np.argsort(-topics[:, k], kind="stable")[:n_labels]
        best = best[topics[best, k] > 0]
        chosen = positives[:, best]
        together = (chosen.T @ chosen).toarray() / n_samples
        alone = np.diag(together)
        values = [
            _npmi(together[i, j], alone[i], alone[j])
            for i in range(best.size)
            for j in range(i)
            if alone[i] > 0 and alone[j] > 0
        ]
        if values:
            coherence[k] = np.mean(values)
    return coherence


def _npmi(together: float, first: float, second: float) -> float:
    if together == 0:
        return -1.0
    if together == 1:
        return 1.0
    return float(np.log(together / (first * second)) / -np.log(together))
