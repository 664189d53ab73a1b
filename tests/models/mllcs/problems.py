"""Generated problems with unseen labels on which the estimator is tried."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from labelgap import Labels
from labelgap.cooccurrence import Cooccurrence, count_cooccurrence
from labelgap.fitting import EM
from labelgap.generators import make_unseen
from labelgap.models.mllcs import MLLCS


class Problem(NamedTuple):
    """Rows, and the counts of seen (first) with all labels."""

    X: np.ndarray
    full: Labels
    n_seen: int
    cooccurrence: np.ndarray
    probabilities: np.ndarray
    X_new: np.ndarray
    new_probabilities: np.ndarray

    @property
    def seen(self) -> Labels:
        return self.full[:, : self.n_seen]

    @property
    def n_labels(self) -> int:
        return self.full.n_labels

    @property
    def marked(self) -> Labels:
        """All labels, the unseen ones marked."""
        return self.full.with_unseen(np.arange(self.n_seen, self.n_labels))


@cache
def unseen_problem(
    n_samples: int = 60,
    n_labels: int = 12,
    *,
    n_features: int = 4,
    n_factors: int = 2,
    counts: str = "rows",
    seed: int = 0,
) -> Problem:
    """Labels of a factor model, a third of them unseen; as many rows again to predict.

    The counts are those of the rows that are fitted, of all their labels, or drawn from the model.
    """
    drawn = make_unseen(
        2 * n_samples,
        n_features,
        n_labels,
        n_factors=n_factors,
        n_relevant=n_features,
        density=0.3,
        fraction_unseen=1 / 3,
        counts=counts,
        random_state=seed,
    )
    order = np.concatenate([drawn.hidden.seen, drawn.hidden.unseen])
    n_seen = drawn.hidden.seen.size
    full = drawn.full[:n_samples][:, order]
    probabilities = drawn.parameters["probabilities"][:, order]
    table = drawn.cooccurrence.toarray()[:, order].astype(float)
    if counts == "rows":
        table = count_cooccurrence(full, seen=np.arange(n_seen)).dense()
    return Problem(
        drawn.X[:n_samples],
        full,
        n_seen,
        table,
        probabilities[:n_samples],
        drawn.X[n_samples:],
        probabilities[n_samples:],
    )


def quick(**parameters: Any) -> MLLCS:
    """A short fit with a fixed seed."""
    settings = {"n_factors": 2, "inference": EM(10, 0.0, solver="exact"), "random_state": 0}
    return MLLCS(**{**settings, **parameters})


def fitted(problem: Problem | None = None, **parameters: Any) -> MLLCS:
    p = unseen_problem() if problem is None else problem
    return quick(**parameters).fit(p.X, p.seen, cooccurrence=p.cooccurrence)


def named(problem: Problem) -> Cooccurrence:
    """The counts under the names of their columns."""
    from labelgap.cooccurrence import as_cooccurrence

    names = [f"label {j}" for j in range(problem.n_labels)]
    return as_cooccurrence(problem.cooccurrence, label_names=names)


def mean_auc(probabilities: np.ndarray, scores: np.ndarray) -> float:
    """Per label, over draws that are as good as infinite: rows weighted by their probabilities."""
    values = []
    for p, s in zip(probabilities.T, scores.T, strict=True):
        truth = np.repeat([1, 0], len(p))
        values.append(roc_auc_score(truth, np.tile(s, 2), sample_weight=np.concatenate([p, 1 - p])))
    return float(np.mean(values))
