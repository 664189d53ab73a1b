"""Mend from rows that lie in blocks: a model that needs no array of all rows and labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from labelgap.baselines import BinaryRelevance
from labelgap.fitting import RowSource, StoredFeatures
from labelgap.kernels.logistic import mean_log_loss
from labelgap.kernels.probabilities import log_odds
from labelgap.label_tree import ProbabilisticLabelTree
from labelgap.labels import Labels, LabelWarning
from labelgap.memory import working_bytes
from labelgap.mend._member import Member
from labelgap.mend._portfolio import LeaderboardRow, Portfolio
from labelgap.mend._portfolio_members import MANY_LABELS, MEMBERS_OF_PRESET

_MOST_HELD, _FEWEST_HELD, _MOST_ENTRIES = 5000, 200, 5_000_000
_FRACTION_HELD = 0.2


class StoredMember(Member):
    """One estimator that learned from rows in blocks."""

    def __init__(self, name: str, model: Any) -> None:
        self.name, self.model = name, model

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X)

    def best_labels(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and probabilities of the best labels."""
        return self.model.predict_topk(X, k)

    def forget_training_rows(self) -> None:
        pass


class StoredFit(NamedTuple):
    """A portfolio of one member, and the labels of the rows that its out-of-fold values are of."""

    portfolio: Portfolio
    labels: Labels


class _LearnedRows:
    """The rows of a source without some of them, and without names of labels."""

    names = None

    def __init__(self, source: RowSource, starts: np.ndarray, held: np.ndarray) -> None:
        self._source = source
        self._left_out = [
            part - start for part, start in zip(_split(held, starts), starts, strict=False)
        ]
        self.n_samples = int(starts[-1]) - held.size
        self.n_features, self.n_labels = source.n_features, source.n_labels
        self.in_memory = source.in_memory

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: int) -> tuple[Any, Labels]:
        return self.reader(index)()

    def reader(self, index: int) -> Callable[[], tuple[Any, Labels]]:
        return partial(_read_others, self._source.reader(index), self._left_out[index])


def _split(held: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    return np.split(held, np.searchsorted(held, starts[1:-1]))


def _read_others(
    read: Callable[[], tuple[Any, Labels]], left_out: np.ndarray
) -> tuple[Any, Labels]:
    X, labels = read()
    kept = np.setdiff1d(np.arange(X.shape[0]), left_out)
    return X[kept], labels[kept]


def fits_memory(stored: StoredFeatures) -> bool:
    """Whether all features, and probabilities of all entries, fit the working memory."""
    n_samples, n_labels = stored.labels.shape
    first = next(stored.blocks())
    numbers = first.nnz * 1.5 if hasattr(first, "nnz") else first.size
    per_row = 8 * numbers / max(1, first.shape[0]) + 4 * n_labels
    return bool(n_samples * per_row <= working_bytes())


def fit_stored_portfolio(
    source: RowSource,
    stored: StoredFeatures,
    labels: Labels,
    *,
    preset: str,
    n_jobs: int | None,
    frequency_of: Callable[..., Any],
    rng: np.random.Generator,
) -> StoredFit:
    """Fit regressions of up to 2,000 labels, and a label tree of more.

    Some rows are left out for the log-loss, the label frequency and the thresholds.
    """
    n_samples, n_labels = labels.shape
    most = int(np.clip(_MOST_ENTRIES // n_labels, _FEWEST_HELD, _MOST_HELD))
    n_held = min(most, int(_FRACTION_HELD * n_samples))
    held = np.sort(rng.permutation(n_samples)[:n_held])
    model: Any = BinaryRelevance()
    if n_labels > MANY_LABELS:
        model = ProbabilisticLabelTree(n_jobs=-1 if n_jobs is None else n_jobs)
    name = "label tree" if n_labels > MANY_LABELS else "linear"
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        model.fit(_LearnedRows(source, stored.starts, held))
    probabilities = model.predict_proba(stored[held])
    part = labels[held]
    loss = mean_log_loss(probabilities, part.to_dense(unknown=np.nan, unlabeled=0.0))
    rows = [LeaderboardRow(name, loss, time.perf_counter() - begin, 1.0)]
    for other in MEMBERS_OF_PRESET[preset]:
        if other.name != name:
            reason = "rows lie in blocks, and it needs them in one array"
            if other.name in ("linear", "label tree"):
                reason = f"the {name} is for {n_labels:,} labels"
            rows.append(LeaderboardRow(other.name, np.nan, np.nan, 0.0, reason))
    frequency = frequency_of(log_odds(probabilities), labels=part) if labels.unlabeled else 1.0
    member = StoredMember(name, model)
    weights = np.ones((1, n_labels))
    return StoredFit(Portfolio([member], weights, rows, probabilities, frequency), part)
