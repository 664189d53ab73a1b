"""The experiment of ``labelgap demo``: hide labels, learn in several ways, compare."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from labelgap import metrics
from labelgap.data import Dataset
from labelgap.generators import make_low_rank
from labelgap.labels import Labels, State
from labelgap.protocols import Hidden, hide_entries
from labelgap.report import DemoMethod, MatrixSample
from labelgap.splits import stratified_train_test_split
from labelgap.yardsticks import BinaryRelevance, KernelRidgePerLabel, KNeighborsLabels, LabelPrior

_N_RESAMPLED, _MOST_ROWS_SHOWN, _MOST_LABELS_SHOWN = 500, 16, 20
_MOST_KERNEL_WORK = 5e11
Advance = Callable[[str, int, int | None], None]


@dataclass(frozen=True, eq=False)
class Experiment:
    """Training rows with hidden labels, and test rows."""

    X: Any
    hidden: Hidden
    full: Labels
    X_test: Any
    Y_test: Labels


@dataclass(frozen=True)
class Way:
    """One way to learn from labels with gaps: a learner, and the labels it is given."""

    key: str
    name: str
    description: str
    role: Any
    learner: Any
    labels: Labels


def ways(experiment: Experiment) -> list[Way]:
    """The model, what one would do without it, and what complete labels would give."""
    shown, full = experiment.hidden.labels, experiment.full
    learner, what = _learner(full.n_rows, full.n_labels)
    gaps_as_no = Labels.from_sparse(shown.positives(), names=shown.names)
    return [
        Way(
            "model",
            "Known labels only",
            f"{what} per label, learned from the rows in which that label is known.",
            "model",
            learner,
            shown,
        ),
        Way(
            "unknown-as-no",
            "Unknown as no",
            "The same, with every gap read as a no: what happens when gaps are stored as zeros.",
            "naive",
            learner,
            gaps_as_no,
        ),
        Way(
            "neighbours",
            "Nearest neighbours",
            "The share of a label among the ten most similar rows, where it is known.",
            "naive",
            KNeighborsLabels(10),
            shown,
        ),
        Way(
            "prior",
            "Label frequency",
            "How frequent a label is where it is known; the same answer for every row.",
            "naive",
            LabelPrior(),
            shown,
        ),
        Way(
            "ceiling",
            "No label hidden",
            "The first method with all labels: what could be reached at best.",
            "ceiling",
            learner,
            full,
        ),
    ]


def _learner(n_rows: int, n_labels: int) -> tuple[Any, str]:
    """Kernel ridge while its factorisations take seconds, logistic regression beyond."""
    if n_rows**3 * n_labels <= _MOST_KERNEL_WORK:
        return KernelRidgePerLabel(), "Kernel ridge regression (KernelRidgePerLabel)"
    return BinaryRelevance(), "Logistic regression (BinaryRelevance)"


def generated_data(seed: int) -> Dataset:
    """Data with known truth, of about the size of the usual real set."""
    made = make_low_rank(2400, 60, 14, density=0.3, share_hidden=0.0, random_state=seed)
    names = [f"label {j + 1}" for j in range(14)]
    return Dataset("generated", made.X, made.full.with_names(names))


def prepare(dataset: Dataset, share: float, max_rows: int, seed: int) -> Experiment:
    """Split, thin out to at most ``max_rows`` training and test rows each, scale, hide."""
    rng = np.random.default_rng(seed)
    train, test = dataset.train, dataset.test
    if train is None or test is None:
        train, test = stratified_train_test_split(
            np.arange(dataset.Y.n_rows), y=dataset.Y, test_size=1 / 3, random_state=seed
        )[:2]
    train, test = (_at_most(rows, max_rows, rng) for rows in (train, test))
    scaler = MaxAbsScaler() if sparse.issparse(dataset.X) else StandardScaler()
    X = scaler.fit_transform(dataset.X[train])
    full = dataset.Y[train]
    hidden = hide_entries(full, share, random_state=rng)
    return Experiment(X, hidden, full, scaler.transform(dataset.X[test]), dataset.Y[test])


def compare(
    experiment: Experiment, seed: int, progress: Advance
) -> tuple[list[DemoMethod], np.ndarray]:
    """All ways of learning on the same rows; also the model's probabilities of training rows."""
    made: list[dict[str, Any]] = []
    per_row: dict[str, dict[str, np.ndarray]] = {}
    completed = np.empty(0)
    planned = ways(experiment)
    for done, way in enumerate(planned):
        progress(f"learning: {way.name.lower()}", done, len(planned))
        start = time.perf_counter()
        learner = clone(way.learner).fit(experiment.X, way.labels)
        unseen = learner.predict_proba(experiment.X_test)
        recovered = None
        if way.role != "ceiling":
            inside = learner.predict_proba(experiment.X)
            recovered = _recovery_metrics(experiment.hidden.truth, inside)
            completed = inside if way.role == "model" else completed
        per_row[way.key] = _per_row(experiment.Y_test, unseen)
        made.append(
            {
                "key": way.key,
                "name": way.name,
                "description": way.description,
                "role": way.role,
                "unseen": _unseen_metrics(experiment.Y_test, unseen),
                "recovered": recovered,
                "seconds": time.perf_counter() - start,
            }
        )
    progress("comparing", len(planned), len(planned))
    spread = _resample(per_row, seed)
    return [DemoMethod(**one, **spread[one["key"]]) for one in made], completed


def sample_matrix(experiment: Experiment, probabilities: np.ndarray, seed: int) -> MatrixSample:
    """Random training rows and the most frequent labels, with what became of each entry."""
    full = experiment.full
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(full.n_rows, min(_MOST_ROWS_SHOWN, full.n_rows), replace=False))
    frequent = np.argsort(-full.n_positives(axis=0), kind="stable")[:_MOST_LABELS_SHOWN]
    labels = np.sort(frequent)
    truth = full.states(rows)[:, labels] == State.RELEVANT
    gap = experiment.hidden.labels.states(rows)[:, labels] == State.UNKNOWN
    said = probabilities[np.ix_(rows, labels)] > 0.5
    states = np.where(truth, "yes", "no").astype(object)
    states[gap & truth & said], states[gap & truth & ~said] = "found", "missed"
    states[gap & ~truth & ~said], states[gap & ~truth & said] = "cleared", "alarm"
    names = np.arange(full.n_labels) if full.names is None else full.names
    return MatrixSample(rows.tolist(), [str(names[j]) for j in labels], states.tolist())


def _at_most(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    rows = np.asarray(rows)
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _recovery_metrics(truth: Labels, probabilities: np.ndarray) -> dict[str, float]:
    asked = {
        "auc_micro": "auc_micro",
        "average_precision_micro": ("average_precision", {"average": "micro"}),
        "f1_micro": "f1_micro",
        "hamming_loss": "hamming_loss",
    }
    decided = (probabilities > 0.5).astype(np.int8)
    return metrics.evaluate(truth, metrics=asked, y_proba=probabilities, y_pred=decided)


def _unseen_metrics(truth: Labels, probabilities: np.ndarray) -> dict[str, float]:
    asked = ["average_precision", "auc_micro", "f1_micro", "hamming_loss", "log_loss"]
    decided = (probabilities > 0.5).astype(np.int8)
    return metrics.evaluate(truth, metrics=asked, y_proba=probabilities, y_pred=decided)


def _per_row(truth: Labels, probabilities: np.ndarray) -> dict[str, np.ndarray]:
    """Numerators and denominators per row, from which the metrics of any rows follow."""
    precision = metrics.average_precision(truth, probabilities, reduce=False)
    known = np.isfinite(precision)
    yes = truth.to_dense(unknown=0.0) > 0.5
    said = (probabilities > 0.5) & (truth.states() != State.UNKNOWN)
    hits = (yes & said).sum(axis=1)
    return {
        "average_precision": np.stack([np.where(known, precision, 0.0), known]),
        "f1_micro": np.stack([2 * hits, yes.sum(axis=1) + said.sum(axis=1)]),
    }


def _resample(per_row: dict[str, dict[str, np.ndarray]], seed: int) -> dict[str, dict[str, Any]]:
    """95% intervals of each method and of the model's lead over it, on the same resampled rows."""
    rng = np.random.default_rng(seed)
    n_rows = per_row["model"]["f1_micro"].shape[1]
    weights = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=_N_RESAMPLED)
    drawn = {
        key: {metric: _ratio(weights @ parts.T) for metric, parts in values.items()}
        for key, values in per_row.items()
    }
    return {
        key: {
            "intervals": {metric: _middle(values[metric]) for metric in values},
            "lead": {metric: _middle(drawn["model"][metric] - values[metric]) for metric in values},
        }
        for key, values in drawn.items()
    }


def _ratio(sums: np.ndarray) -> np.ndarray:
    return sums[:, 0] / np.maximum(sums[:, 1], 1)


def _middle(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
