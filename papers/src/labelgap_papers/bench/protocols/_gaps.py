"""The protocol of our own comparisons: entries unknown or positives dropped, complete test rows."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelgap import metrics
from labelgap.baselines import BinaryRelevance
from labelgap.data import load_dataset
from labelgap.labels import Labels, LabelWarning
from labelgap.protocols import MECHANISMS, PROBABILITY_PROTOCOLS, hide_entries
from labelgap_papers.bench.protocols.protocol import Scores, Setting, Task, scores_of, shuffled
from labelgap_papers.bench.protocols.unknown_per_row import LARGE, UnknownPerRow

_NAMES = (
    *("f1_macro", "f1_micro", "auc_micro", "auc_macro", "log_loss", "average_precision_micro"),
    *("precision_at_1", "precision_at_3", "precision_at_5", "auc_instance"),
)
# in papers, and in our rows, the average precision is that of each row's ranking
_MEASURED = {"average_precision": "label_ranking_average_precision"} | {
    name: name for name in _NAMES
}
_TINY = 1e-7
_FOLDS = 3


class Gaps(UnknownPerRow):
    """A fraction of the training entries is unknown, or of the training positives dropped.

    ``kind`` is "none", "entries", or a mechanism of `labelgap.protocols` by which positives are lost,
    "positives" being at random; lost positives leave zeros that are unlabeled.
    Test rows are complete. Sets without a published split have ``train_fraction`` of their rows to
    learn from, by the seed of the run. Dense features are standardised by the training rows; sparse
    ones stay as they are. Settings are chosen as in RMFL's protocol: by folds of the training rows,
    scored on the observed entries of the rows held out.
    """

    keys: ClassVar[tuple[str, ...]] = ("kind", "fraction")
    tuning_keys: ClassVar[tuple[str, ...]] = ("kind", "fraction")
    options: ClassVar[dict[str, Any]] = {"train_fraction": 0.7}

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        data = load_dataset(dataset)
        n_samples = data.Y.n_samples
        train, test = data.train, data.test
        if train is None:
            train, test = shuffled(n_samples, int(self.chosen["train_fraction"] * n_samples), run)
        X = data.X
        if sparse.issparse(X):
            X = sparse.csr_array(X, dtype=np.float64)
        else:
            X = StandardScaler().fit(X[train]).transform(X)
        Y = with_gaps(X[train], data.Y[train], setting["kind"], setting["fraction"], run)
        return Task(dataset, X[train], Y, X[test], data.Y[test], large=n_samples > LARGE)

    def score(self, model: Any, task: Task, setting: Setting) -> Scores:
        ranked = scores_of(model, task.X_test)
        found = metrics.evaluate(
            task.Y_test,
            ranked,
            _MEASURED,
            y_pred=model.predict(task.X_test),
            y_proba=np.clip(model.predict_proba(task.X_test), _TINY, 1 - _TINY),
        )
        scores = {name: float(value) for name, value in found.items()}
        scores["propensity_scored_precision_at_1"] = metrics.propensity_scored_precision_at_k(
            task.Y_test, ranked, k=1, propensities=metrics.propensities(task.Y)
        )
        return Scores(scores, details=_members(model, task))


def _members(model: Any, task: Task) -> dict[str, Any]:
    """What the members of a portfolio cost and reach alone; nothing for other models."""
    if not hasattr(model, "leaderboard_"):
        return {}
    found: dict[str, Any] = {}
    for row in model.leaderboard_:
        facts = {"log_loss": row.log_loss, "seconds": row.seconds, "weight": row.weight}
        found[row.name] = {"skipped": row.skipped} if row.skipped else facts
    for name, probabilities in model.member_proba(task.X_test).items():
        score = metrics.label_ranking_average_precision(task.Y_test, probabilities)
        found[name]["average_precision"] = float(score)
    return {"members": found}


def with_gaps(X: Any, Y: Labels, kind: str, fraction: float, run: int) -> Labels:
    """Complete labels with gaps of a kind; what is obvious is said by logistic regressions."""
    if kind == "none":
        return Y
    if kind in PROBABILITY_PROTOCOLS:
        given = {"probabilities": _left_out_probabilities(X, Y)}
        return PROBABILITY_PROTOCOLS[kind](Y, fraction, random_state=run, **given).labels
    hide: Any = {"entries": hide_entries, **MECHANISMS}.get(kind)
    if hide is None:
        names = ", ".join(MECHANISMS)
        raise ValueError(f'kind={kind!r}: use "none", "entries" or a mechanism: {names}')
    return hide(Y, fraction, random_state=run).labels


def _left_out_probabilities(X: Any, Y: Labels) -> np.ndarray:
    """Of each entry, by logistic regressions of the complete labels of other rows."""
    found = np.empty(Y.shape)
    folds = np.random.default_rng(0).permutation(Y.n_samples) % _FOLDS
    estimator = LogisticRegression(C=10.0 if sparse.issparse(X) else 1.0, max_iter=200)
    for fold in range(_FOLDS):
        learned, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelWarning)
            model = BinaryRelevance(estimator).fit(X[learned], Y[learned])
        found[held] = model.predict_proba(X[held])
    return found
