"""Thirty predictions on real and generated data, to see whether a change of the code changes them.

    python tests/kept/kept_predictions.py write FILE
    python tests/kept/kept_predictions.py compare tests/kept/predictions.json [words of names]

Each prediction is kept as some of its entries and two sums over all of them. Redesigns compare with
the file of the commit before; it is not a test of correctness.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from labelgap import BMLPL, GMFS, IMVWL, MLLCS, RMFL, RMFLCV, Labels, Mend, audit, baselines, impute
from labelgap.auditing import feature_rows
from labelgap.cooccurrence import cooccurrence_matrix
from labelgap.data import load_dataset
from labelgap.fitting import EM, Gibbs, OnlineEM
from labelgap.protocols import hide_entries, hide_positives

TOLERANCE = 1e-8
Cases = dict[str, Callable[[], Any]]


def some_rows(name: str, n: int) -> tuple[Any, Labels]:
    data = load_dataset(name)
    chosen = np.random.default_rng(0).permutation(data.X.shape[0])[:n]
    return data.X[np.sort(chosen)], data.Y[np.sort(chosen)]


def with_gaps(name: str, n: int, kind: str) -> tuple[Any, Labels, Any]:
    """Rows to learn from with labels hidden, and rows to predict."""
    X, labels = some_rows(name, n)
    half = n // 2
    learned = labels[:half]
    if kind == "entries":
        learned = hide_entries(learned, 0.4, random_state=1).labels
    elif kind == "positives":
        learned = hide_positives(learned, 0.4, random_state=1).labels
    return X[:half], learned, X[half:]


def predicted(model: Any, data: tuple[Any, Labels, Any]) -> np.ndarray:
    X, labels, new = data
    return model.fit(X, labels).predict_proba(new)


def unseen(model: Any, name: str = "emotions", n: int = 500) -> np.ndarray:
    X, labels = some_rows(name, n)
    hidden = np.arange(0, labels.n_labels, 3)
    seen = np.setdiff1d(np.arange(labels.n_labels), hidden)
    counts = cooccurrence_matrix(labels, seen)
    model.fit(X[: n // 2], labels[: n // 2].with_unseen(hidden), cooccurrence=counts)
    return model.predict_proba(X[n // 2 :])


def of_audit(found: Any) -> np.ndarray:
    probabilities = [s.probability for s in found.suggestions]
    places = [hash_of(s.item, s.label) for s in found.suggestions]
    missing = found.missing
    return np.array([missing.value, missing.low, missing.high, *probabilities, *places])


def hash_of(item: str, label: str) -> float:
    return float(sum(ord(c) * (k + 1) for k, c in enumerate(f"{item}|{label}")))


def emotions_in_views() -> tuple[np.ndarray, Labels, np.ndarray, dict[str, tuple[int, int]]]:
    X, labels, new = with_gaps("emotions", 593, "entries")
    X, new = np.array(X, dtype=float), np.array(new, dtype=float)
    views = {"first": (0, 8), "second": (8, 72)}
    X[::3, :8] = np.nan
    new[::4, 8:] = np.nan
    return X, labels, new, views


def imvwl(**settings: Any) -> np.ndarray:
    X, labels, new, views = emotions_in_views()
    return predicted(IMVWL(views, scaling="range", random_state=0, **settings), (X, labels, new))


def gmfs(**settings: Any) -> np.ndarray:
    X, labels, _ = with_gaps("emotions", 400, "positives")
    model = GMFS(random_state=0, **settings).fit(X, labels)
    return np.concatenate([model.scores_, model.get_support().astype(float)])


def mend(model: Any, name: str, n: int, kind: str, **settings: Any) -> np.ndarray:
    return predicted(Mend(model, random_state=0, **settings), with_gaps(name, n, kind))


def audited(name: str, n: int, kind: str, **settings: Any) -> np.ndarray:
    X, labels, _ = with_gaps(name, n, kind)
    return of_audit(audit(X, labels, n_suggestions=200, random_state=0, **settings))


def imputed() -> np.ndarray:
    X, labels, _ = with_gaps("yeast", 1000, "positives")
    found = impute(X, labels, random_state=0)
    return np.concatenate([found.probabilities, found.rows[:300], found.labels[:300]])


def imputed_by_mend() -> np.ndarray:
    X, labels, _ = with_gaps("yeast", 1000, "positives")
    modelled = np.flatnonzero(labels.n_positives(axis=0) >= 5)
    mend = Mend(LogisticRegression(), zeros="unlabeled", random_state=0)
    found = mend.fit(feature_rows(X).inputs, labels[:, modelled]).imputed_.probabilities.tocoo()
    columns = modelled[found.col]
    order = np.lexsort((columns, found.row, -found.data))
    order = order[found.data[order] > 0.5]
    return np.concatenate([found.data[order], found.row[order][:300], columns[order][:300]])


def line() -> LogisticRegression:
    return LogisticRegression(max_iter=500)


UNLABELED = {"zeros": "unlabeled"}
CASES: Cases = {
    "BMLPL EM": lambda: predicted(
        BMLPL(10, inference=EM(max_iter=20), random_state=0), with_gaps("bibtex", 1500, "positives")
    ),
    "BMLPL masked": lambda: predicted(
        BMLPL(10, inference=EM(max_iter=20), random_state=0), with_gaps("emotions", 593, "entries")
    ),
    "BMLPL online": lambda: predicted(
        BMLPL(10, inference=OnlineEM(), block_rows=100, random_state=0),
        with_gaps("yeast", 1000, "positives"),
    ),
    "BMLPL Gibbs": lambda: predicted(
        BMLPL(5, inference=Gibbs(burn_in=10, n_draws=10), random_state=0),
        with_gaps("emotions", 300, "positives"),
    ),
    "RMFL": lambda: predicted(RMFL(5, random_state=0), with_gaps("emotions", 593, "entries")),
    "RMFL linear": lambda: predicted(
        RMFL(10, kernel="linear", max_iter=30, random_state=0), with_gaps("yeast", 800, "entries")
    ),
    "RMFLCV": lambda: predicted(
        RMFLCV(RMFL(4, max_iter=20), n_candidates=6, cv=3, random_state=0),
        with_gaps("emotions", 300, "entries"),
    ),
    "MLLCS unseen": lambda: unseen(MLLCS(4, random_state=0)),
    "MLLCS moments": lambda: unseen(MLLCS(4, unseen="moments", random_state=0), "yeast", 600),
    "MLLCS masked": lambda: predicted(MLLCS(5, random_state=0), with_gaps("yeast", 800, "entries")),
    "MLLCS learned": lambda: predicted(
        MLLCS(5, label_frequency="estimate", random_state=0),
        (lambda X, labels, new: (X, labels.with_zeros("unlabeled"), new))(
            *with_gaps("yeast", 800, "positives")
        ),
    ),
    "MLLCS Gibbs": lambda: unseen(
        MLLCS(3, inference=Gibbs(burn_in=10, n_draws=10), random_state=0), "emotions", 200
    ),
    "GMFS": lambda: gmfs(),
    "GMFS laplace": lambda: gmfs(prior="laplace", label_frequency=0.6, propensity="per_label"),
    "IMVWL": lambda: imvwl(max_iter=20),
    "IMVWL logistic": lambda: imvwl(max_iter=20, predictor="combined"),
    "IMVWL together": lambda: imvwl(max_iter=20, concatenate=True, correlation=False),
    "Mend, complete": lambda: mend(line(), "emotions", 593, "none"),
    "Mend, unknown": lambda: mend(line(), "yeast", 1000, "entries"),
    "Mend, unlabeled": lambda: mend(line(), "scene", 1000, "positives", **UNLABELED),
    "Mend, unlabeled, sparse": lambda: mend(line(), "bibtex", 1200, "positives", **UNLABELED),
    "Mend, forest": lambda: mend(
        RandomForestClassifier(20, random_state=0), "emotions", 400, "entries"
    ),
    "Mend, any": lambda: mend(GaussianNB(), "emotions", 400, "entries"),
    "audit bibtex": lambda: audited("bibtex", 4000, "positives"),
    "audit scene": lambda: audited("scene", 2407, "positives"),
    "audit scene, unknown": lambda: audited("scene", 2407, "entries"),
    "complete, joint": imputed,
    "complete, Mend": imputed_by_mend,
    "one logistic per label": lambda: predicted(
        baselines.BinaryRelevance(LogisticRegression()), with_gaps("bibtex", 1000, "entries")
    ),
    "kernel ridge per label": lambda: predicted(
        baselines.KernelRidgePerLabel(), with_gaps("scene", 800, "entries")
    ),
    "neighbors": lambda: predicted(
        baselines.KNeighborsLabels(), with_gaps("yeast", 800, "entries")
    ),
    "votes": lambda: unseen(baselines.CooccurrenceVote(), "yeast", 600),
}


def summary_of(values: Any) -> dict[str, Any]:
    array = values.toarray() if sparse.issparse(values) else np.asarray(values, dtype=float)
    flat = array.ravel()
    weights = np.cos(np.arange(flat.size, dtype=float))
    at = np.linspace(0, flat.size - 1, min(flat.size, 40)).astype(int)
    return {
        "shape": list(array.shape),
        "sums": [float(flat.mean()), float((weights * flat).mean())],
        "entries": flat[at].tolist(),
    }


def differences(before: dict, after: dict) -> float:
    if before["shape"] != after["shape"]:
        return np.inf
    pairs = [(before[key], after[key]) for key in ("sums", "entries")]
    return max(float(np.abs(np.subtract(one, other)).max()) for one, other in pairs)


def main(what: str, file: str, *words: str) -> int:
    kept = {} if what == "write" else json.loads(Path(file).read_text(encoding="utf-8"))
    worst = 0.0
    for name, case in CASES.items():
        if words and not any(word in name for word in words):
            continue
        begin = time.perf_counter()
        made = summary_of(case())
        seconds = time.perf_counter() - begin
        if what == "write":
            kept[name] = made
            print(f"{name}: {made['sums'][0]:.6g}, {seconds:.1f} s", flush=True)
        else:
            distance = differences(kept[name], made)
            worst = max(worst, distance)
            verdict = "equal" if distance <= TOLERANCE else "DIFFERENT"
            print(f"{name}: {verdict}, {distance:.2e}, {seconds:.1f} s", flush=True)
    if what == "write":
        Path(file).write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
