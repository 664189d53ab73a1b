"""Generated problems on which the estimator is tried."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from labelgap import Labels
from labelgap.generators import make_topics
from labelgap.metrics import auc

N_TRAINING = 1000


class Problem(NamedTuple):
    X: np.ndarray
    labels: Labels
    topics: np.ndarray


@cache
def topic_problem(n_features: int = 6, n_samples: int = 1500) -> Problem:
    """Draws of a clear topic model, with the 20 most frequent labels."""
    drawn = make_topics(
        n_samples,
        n_features,
        30,
        n_topics=4,
        labels_per_row=5.0,
        eta=0.1,
        r=0.4,
        signal=1.5,
        random_state=1,
    )
    frequent = np.sort(np.argsort(-drawn.full.n_positives(axis=0), kind="stable")[:20])
    return Problem(drawn.X, drawn.full[:, frequent], drawn.parameters["V"][frequent])


def training() -> tuple[np.ndarray, Labels]:
    problem = topic_problem()
    return problem.X[:N_TRAINING], problem.labels[:N_TRAINING]


def held_out() -> tuple[np.ndarray, Labels]:
    problem = topic_problem()
    return problem.X[N_TRAINING:], problem.labels[N_TRAINING:]


def instance_auc(Y, scores) -> float:
    return auc(Y, scores, average="instance")


def matched_correlations(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Correlation of each true topic with the found one that is matched to it."""
    n_topics = truth.shape[1]
    correlations = np.corrcoef(truth.T, found.T)[:n_topics, n_topics:]
    return correlations[linear_sum_assignment(correlations, maximize=True)]
