"""Whether labels tell their own rates of recording: one share for all against a share for each.

Positives are kept at one rate, 0.6, or at a rate of every label's own between 0.3 and 0.9. Rates
are read from scores of held-out entries: one share recorded among the surest entries of all labels
("one for all"); the share among each label's own surest entries, chosen on one half of the rows and
counted on the other ("each label's own"); and that share with as many further entries of
the mean rate as the beta-binomial likelihood of the counts likes best ("empirical Bayes"). The
figure is the mean absolute error over labels with at least ten recorded positives.

    python benchmarks/gmfs_label_rates.py
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import betabinom

from gmfs_hidden import load_training
from labelgap import GMFS, Labels, State
from labelgap.generators import make_low_rank
from labelgap.kernels.surest import surest_share
from labelgap.models.gmfs._search import some_rows
from labelgap.models.gmfs._surest import held_out_scores
from result_rows import ResultRows

KEY = ("experiment", "dataset", "rates", "run", "method")
SETS = ("planted, frequent", "planted, rare", "emotions", "yeast", "science")
RATES = {"0.6": (0.6, 0.6), "0.3 to 0.9": (0.3, 0.9)}
RUNS = (1, 2, 3)
_FEWEST = 10
_WEIGHTS = np.append(2.0 ** np.arange(11), 1e6)


def complete(name: str, run: int) -> tuple[Any, np.ndarray]:
    """Features and all labels."""
    if name.startswith("planted"):
        size = {"n_rows": 1500, "n_features": 60, "n_labels": 20, "share_hidden": 0.0}
        density = 0.3 if name.endswith("frequent") else 0.05
        data = make_low_rank(**size, density=density, random_state=run)
        return data.X, data.full.to_dense()
    X, Y = load_training(name)
    return X, np.nan_to_num(Y.to_dense())


def own_counts(psi: np.ndarray, hits: np.ndarray) -> tuple[int, int]:
    """Recorded ones and all entries among a label's surest."""
    half = np.arange(psi.size) % 2 == 0
    found = n = 0
    for chosen, counted in ((half, ~half), (~half, half)):
        share = surest_share(psi[chosen], hits[chosen], fewest=_FEWEST)
        if share is None:
            continue
        cut = np.sort(psi[chosen])[-share.n]
        sure = counted & (psi >= cut)
        found, n = found + int(hits[sure].sum()), n + int(sure.sum())
    return found, n


def estimates(psi: np.ndarray, states: np.ndarray, kept: np.ndarray) -> dict[str, np.ndarray]:
    told, recorded = ~np.isnan(psi), states == State.RELEVANT
    pooled = surest_share(psi[told], recorded[told])
    assert pooled is not None
    counts = [own_counts(psi[told[:, j], j], recorded[told[:, j], j]) for j in kept]
    found, n = np.array(counts, dtype=float).T
    mean = found.sum() / n.sum()
    likelihood = [betabinom.logpmf(found, n, m * mean, m * (1 - mean)).sum() for m in _WEIGHTS]
    weight = _WEIGHTS[int(np.argmax(likelihood))]
    return {
        "one for all": np.full(kept.size, pooled.value),
        "each label's own": found / np.maximum(n, 1),
        "empirical Bayes": (found + weight * mean) / (n + weight),
    }


def measure(rows: ResultRows, name: str, kind: str, run: int) -> None:
    place = {"experiment": "label rates", "dataset": name, "rates": kind, "run": run}
    if rows.find(**place, method="one for all") is not None:
        return
    X, Y = complete(name, run)
    rng = np.random.default_rng(run)
    true = rng.uniform(*RATES[kind], size=Y.shape[1])
    labels = Labels.from_dense(Y * (rng.random(Y.shape) < true), zeros="ambiguous")
    model = GMFS(random_state=run)
    model.n_features_in_ = X.shape[1]
    psi, states = held_out_scores(model, *some_rows(X, labels, rng), rng)
    kept = np.flatnonzero((states == State.RELEVANT).sum(axis=0) >= _FEWEST)
    for method, rate in estimates(psi, states, kept).items():
        error = float(np.abs(rate - true[kept]).mean())
        rows.add({**place, "method": method, "error": error, "n_labels": int(kept.size)})


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_label_rates", KEY)
    for name in SETS:
        for kind in RATES:
            for run in RUNS:
                measure(rows, name, kind, run)


if __name__ == "__main__":
    main()
