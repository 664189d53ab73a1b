"""How many of the first suggested missing labels are right: 40% of the positives were hidden.

Every method sees the same table, in which hidden positives are zeros, and lists the zeros that it
takes for missing labels, the surest first. Counted is how many of the first 1,000 were hidden.

* ``audit``: :func:`labelgap.audit`.
* ``classifier``: the probability of a logistic regression per label on the features, from five
  folds that the item was not in; its penalty by the log-loss at the recorded entries of another
  draw.
* ``neighbours``: the fraction of the most similar other items that carry the label; their number and
  whether they count by similarity, by the log-loss at the recorded entries.
* ``neighbours, best in hindsight``: the setting that turns out best, which nobody can know: the
  log-loss prefers more neighbours than are good for the first suggestions.
* ``cleanlab ...``: the entries that ``find_multilabel_issues_per_class`` flags, in the order of
  ``get_label_quality_scores_per_class``, from the probabilities of ``classifier``. Its three scores
  order zeros alike, as the probability does.
* ``classifier, other labels`` (asked for by ``--methods``): the imputer of
  :class:`labelgap.Mend`, which sees the other labels too, as ``classifier`` otherwise.

The audit was made on science, rcv1subset1, corel5k, emotions and yeast; bibtex was not looked at.
Intervals are over resampled items.

Run: ``python benchmarks/audit_precision.py``.
"""

from __future__ import annotations

import argparse
import time
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from labelgap import Labels, audit
from labelgap.data import load_dataset
from labelgap.imputers import PerLabelImputer, cross_fitted
from labelgap.protocols import hide_positives
from result_rows import ResultRows

HIDDEN, FIRST, N_FOLDS, N_RESAMPLES, OTHER_DRAW = 0.4, 1000, 5, 2000, 100
PENALTIES, NEIGHBOURS = (3.0, 10.0, 30.0), (5, 10, 20, 50, 100, 200)
CLEANLAB = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")

HINDSIGHT = "neighbours, best in hindsight"
METHODS = ["audit", "neighbours", HINDSIGHT, "classifier", *(f"cleanlab {one}" for one in CLEANLAB)]

Listed = tuple[np.ndarray, np.ndarray]


def log_loss(chances: np.ndarray, recorded: np.ndarray) -> float:
    p = np.clip(chances, 1e-6, 1 - 1e-6)
    return float(-np.where(recorded, np.log(p), np.log1p(-p)).mean())


def first_zeros(scores: np.ndarray, recorded: np.ndarray) -> Listed:
    """Rows and labels of the zeros with the largest scores."""
    order = np.argsort(-np.where(recorded, -np.inf, scores), axis=None, kind="stable")[:FIRST]
    return np.unravel_index(order, scores.shape)  # type: ignore[return-value]


def folds_of(n_samples: int, seed: int) -> list[np.ndarray]:
    order = np.random.default_rng(seed).permutation(n_samples)
    return [np.sort(part) for part in np.array_split(order, N_FOLDS)]


def by_classifier(X: Any, labels: Labels, C: float, seed: int, some: Any = None) -> np.ndarray:
    """Probabilities of some labels, by default all, from folds that the item was not in."""
    chosen = np.arange(labels.n_labels) if some is None else some
    recorded = labels.positives().toarray()
    chances = np.zeros((labels.n_samples, chosen.size))
    for part in folds_of(labels.n_samples, seed):
        learn = np.setdiff1d(np.arange(labels.n_samples), part)
        inside, outside = X[learn], X[part]
        for k, j in enumerate(chosen):
            y = recorded[learn, j]
            if y.any():
                model = LogisticRegression(solver="liblinear", C=C).fit(inside, y)
                chances[part, k] = model.predict_proba(outside)[:, 1]
    return chances


def chosen_penalty(X: Any, full: Labels) -> float:
    """The penalty with the least log-loss at recorded entries, every fourth label, another draw."""
    labels = hide_positives(full, HIDDEN, random_state=OTHER_DRAW).labels
    some = np.arange(0, labels.n_labels, 4)
    recorded = labels.positives().toarray()[:, some]
    losses = {
        C: log_loss(by_classifier(X, labels, C, OTHER_DRAW, some), recorded) for C in PENALTIES
    }
    return min(losses, key=lambda C: losses[C])


def by_neighbours(
    X: Any, labels: Labels, truth: np.ndarray | None = None
) -> tuple[np.ndarray, dict]:
    """The setting with the least log-loss; with the truth, the one that is best by it."""
    recorded = labels.positives().toarray()
    unit = normalize(X)
    similarity = unit @ unit.T
    similarity = similarity.toarray() if sparse.issparse(similarity) else similarity
    np.fill_diagonal(similarity, -np.inf)
    order = np.argpartition(-similarity, max(NEIGHBOURS), axis=1)[:, : max(NEIGHBOURS)]
    near = np.take_along_axis(similarity, order, axis=1)
    order = np.take_along_axis(order, np.argsort(-near, axis=1, kind="stable"), axis=1)
    near = np.maximum(np.take_along_axis(similarity, order, axis=1), 1e-6)
    frequency = recorded.mean(axis=0)
    tried = {}
    for k in NEIGHBOURS:
        for weights in ("uniform", "cosine"):
            weight = np.ones((labels.n_samples, k)) if weights == "uniform" else near[:, :k]
            weight = weight * (k / weight.sum(axis=1, keepdims=True))
            starts = np.arange(0, labels.n_samples * k + 1, k)
            graph = sparse.csr_array(
                (weight.ravel(), order[:, :k].ravel(), starts),
                shape=(labels.n_samples, labels.n_samples),
            )
            chances = (graph @ recorded.astype(float) + frequency) / (k + 1)
            loss = log_loss(chances, recorded)
            if truth is not None:
                loss = -float(truth[first_zeros(chances, recorded)].mean())
            tried[k, weights] = (loss, chances)
    k, weights = min(tried, key=lambda one: tried[one][0])
    return tried[k, weights][1], {"n_neighbors": k, "weights": weights}


def by_other_labels(X: Any, labels: Labels, C: float, seed: int) -> np.ndarray:
    imputer = PerLabelImputer(LogisticRegression(solver="liblinear", C=C))
    wanted = np.arange(labels.n_labels)
    columns = cross_fitted(imputer, X, labels, wanted, folds_of(labels.n_samples, seed))
    return np.column_stack(list(columns))


def by_cleanlab(chances: np.ndarray, labels: Labels, score: str) -> Listed:
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    recorded = labels.positives().toarray()
    given = [np.flatnonzero(row).tolist() for row in recorded]
    flagged = find_multilabel_issues_per_class(given, chances, n_jobs=1)
    quality = get_label_quality_scores_per_class(given, chances, method=score)
    # what is not flagged comes after all that is
    return first_zeros(-quality + 10.0 * np.asarray(flagged), recorded)


def by_audit(X: Any, labels: Labels) -> Listed:
    found = audit(X, labels.with_names(range(labels.n_labels)), n_suggestions=FIRST)
    rows = np.array([int(one.item) for one in found.suggestions])
    return rows, np.array([int(one.label) for one in found.suggestions])


def resampled(rows: np.ndarray, right: np.ndarray, n_samples: int) -> np.ndarray:
    """The fraction that is right over resampled items."""
    hits, total = (np.bincount(rows, weights=w, minlength=n_samples) for w in (right, right**0))
    rng = np.random.default_rng(0)
    fractions = []
    for _ in range(N_RESAMPLES):
        counts = np.bincount(rng.integers(0, n_samples, n_samples), minlength=n_samples)
        fractions.append(counts @ hits / (counts @ total))
    return np.array(fractions)


def middle(values: np.ndarray) -> list[float]:
    """A 95% interval."""
    return np.quantile(values, [0.025, 0.975]).round(4).tolist()


class Draw:
    """One draw of hidden positives, and what each method lists."""

    def __init__(self, name: str, seed: int, results: ResultRows) -> None:
        data = load_dataset(name)
        self.name, self.seed, self.results, self.full = name, seed, results, data.Y
        self.labels = hide_positives(data.Y, HIDDEN, random_state=seed).labels
        self.recorded = self.labels.positives().toarray()
        self.truth = data.Y.positives().toarray() & ~self.recorded
        self.given = data.X
        if sparse.issparse(data.X):
            self.X = normalize(sparse.csr_array(data.X, dtype=np.float64))
        else:
            self.X = StandardScaler().fit_transform(data.X)

    @cached_property
    def penalty(self) -> float:
        for row in self.results.rows:
            if row["dataset"] == self.name and row["method"] == "classifier":
                return row["settings"]["C"]
        return chosen_penalty(self.X, self.full)

    @cached_property
    def chances(self) -> np.ndarray:
        return by_classifier(self.X, self.labels, self.penalty, self.seed)

    @cached_property
    def audited(self) -> Listed:
        return by_audit(self.given, self.labels)

    def listed(self, method: str) -> tuple[Listed, dict]:
        if method == "audit":
            return self.audited, {}
        if method == "neighbours":
            chances, settings = by_neighbours(self.X, self.labels)
            return first_zeros(chances, self.recorded), settings
        if method == HINDSIGHT:
            chances, settings = by_neighbours(self.X, self.labels, self.truth)
            return first_zeros(chances, self.recorded), settings
        settings = {"C": self.penalty}
        if method == "classifier":
            return first_zeros(self.chances, self.recorded), settings
        if method == "classifier, other labels":
            chances = by_other_labels(self.X, self.labels, self.penalty, self.seed)
            return first_zeros(chances, self.recorded), settings
        return by_cleanlab(self.chances, self.labels, method.removeprefix("cleanlab ")), settings

    def measure(self, method: str) -> None:
        if self.results.find(dataset=self.name, seed=self.seed, method=method):
            return
        start = time.perf_counter()
        (rows, columns), settings = self.listed(method)
        seconds = time.perf_counter() - start
        right = self.truth[rows, columns].astype(float)
        fractions = resampled(rows, right, self.labels.n_samples)
        low, high = middle(fractions)
        self.results.add(
            {
                "experiment": "precision",
                "dataset": self.name,
                "seed": self.seed,
                "method": method,
                "precision": round(float(right.mean()), 4),
                "low": low,
                "high": high,
                "precision_100": round(float(right[:100].mean()), 4),
                "n_hidden": int(self.truth.sum()),
                "settings": settings,
                "seconds": round(seconds, 1),
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["bibtex"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    chosen = parser.parse_args()
    results = ResultRows("audit_precision", key=("dataset", "seed", "method"))
    for name in chosen.datasets:
        for seed in chosen.seeds:
            draw = Draw(name, seed, results)
            for method in chosen.methods:
                draw.measure(method)


if __name__ == "__main__":
    main()
