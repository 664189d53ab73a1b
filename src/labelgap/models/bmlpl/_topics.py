"""Topics for readers: their strongest labels, and whether these belong together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelgap.labels import as_labels


class Topic(NamedTuple):
    """One topic: its number, its share of all expected labels, its strongest labels."""

    number: int
    share: float
    labels: list
    weights: list[float]


def describe_topics(
    topics: np.ndarray, usage: np.ndarray, names: np.ndarray, n_labels: int = 10
) -> list[Topic]:
    """Topics by falling share, each with its strongest labels.

    Parameters
    ----------
    topics : array of shape (n_labels, n_topics)
    usage : array of shape (n_topics,)
        Expected number of labels each topic accounts for.
    """
    share = usage / max(usage.sum(), 1e-300)
    described = []
    for k in np.argsort(-share, kind="stable"):
        best = np.argsort(-topics[:, k], kind="stable")[:n_labels]
        best = best[topics[best, k] > 0]
        described.append(
            Topic(int(k), float(share[k]), names[best].tolist(), topics[best, k].tolist())
        )
    return described


def topic_coherence(topics: np.ndarray, y: Any, n_labels: int = 5) -> np.ndarray:
    """Normalised pointwise mutual information of each topic's strongest labels in given rows.

    The mean over pairs (i, j) of the strongest labels of
    log(p_ij / (p_i p_j)) / -log(p_ij), which is -1 for pairs that never meet, 0 for independent
    ones and 1 for inseparable ones. Use rows that the topics were not learned from. A topic whose
    strongest labels do not occur in the rows has no value (NaN).

    References
    ----------
    Bouma, "Normalized (pointwise) mutual information in collocation extraction", 2009.
    """
    positives = as_labels(y).positives().astype(np.float64)
    n_rows = positives.shape[0]
    coherence = np.full(topics.shape[1], np.nan)
    for k in range(topics.shape[1]):
        best = np.argsort(-topics[:, k], kind="stable")[:n_labels]
        best = best[topics[best, k] > 0]
        chosen = positives[:, best]
        together = (chosen.T @ chosen).toarray() / n_rows
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
