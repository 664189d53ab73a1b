"""Mini-batches against all rows at once, and how many components of a mixture are found.

- online: theta fixed at the recorded share, so that both loops ascend the same objective J; J of
  the fitted W, B and a with the factors of the rows at their best, per row; the correlation
  of the features' scores with those of batch EM after 30 iterations; AUC of hidden positives
- mixture: the number of components that held-out records choose, on emotions and on rows
  of one or two kinds whose labels answer the features differently

    python benchmarks/gmfs_variants.py [online] [mixture]
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from gmfs_hidden import load_training
from labelgap import GMFS, Labels, State
from labelgap.fitting import EM, OnlineEM
from labelgap.generators import make_positive_only
from labelgap.models.gmfs._looks import LookModel
from labelgap.models.gmfs._model import SelectionModel
from labelgap.models.gmfs._rows import entry_terms
from labelgap.protocols import hide_positives
from result_rows import ResultRows

KEY = ("experiment", "dataset", "loop", "run")
RECORDED, RUNS = 0.6, (1, 2, 3)
LOOPS: dict[str, Any] = {
    "batch, 30 iterations": "em",
    "mini-batches, 2 passes": OnlineEM(250, 2),
    "mini-batches, 5 passes": OnlineEM(250, 5),
    "mini-batches, 15 passes": OnlineEM(250, 15),
}
_ROW_STEPS = 30


def objective(model: GMFS) -> float:
    """J per row at the fitted parameters, with the factors of the rows maximised over."""
    rows, params = model._rows, model.params_
    total = 0.0
    for part in rows.parts():
        V, mean, states = rows.factors[part], rows.means[part], rows.states(part)
        for _ in range(_ROW_STEPS):
            V = rows.steps.row_factors(entry_terms(states, V, params, part), mean, params)
        terms = entry_terms(states, V, params, part)
        total += terms.log_likelihood - rows.steps.penalty(V, mean)
    prior = SelectionModel(rows.steps, model._prior(len(rows)), LookModel(), model.lambda_b)
    return (total + prior.parameter_prior(params)) / len(rows)


def drawn(name: str, run: int) -> tuple[Any, Any]:
    """Features, and labels of which four tenths of the positives are hidden."""
    if name == "planted":
        size = {"n_rows": 3000, "n_features": 60, "n_labels": 20}
        data = make_positive_only(**size, label_rates=RECORDED, random_state=run)
        return data.X, data.hidden
    X, Y = load_training(name)
    return X, hide_positives(Y, 1 - RECORDED, random_state=run)


def online(rows: ResultRows) -> None:
    for name in ("planted", "yeast", "science"):
        for run in RUNS:
            place = {"experiment": "online", "dataset": name, "run": run}
            if all(rows.find(**place, loop=loop) for loop in LOOPS):
                continue
            X, hidden = drawn(name, run)
            truth = hidden.truth.states()
            asked = (truth == State.RELEVANT) | (truth == State.IRRELEVANT)
            first = None
            for loop, inference in LOOPS.items():
                start = time.perf_counter()
                model = GMFS(observability=RECORDED, inference=inference, random_state=run)
                model.fit(X, hidden.labels)
                seconds = time.perf_counter() - start
                first = model.scores_ if first is None else first
                auc = roc_auc_score(truth[asked] == State.RELEVANT, model.forgotten()[asked])
                same = float(np.corrcoef(model.scores_, first)[0, 1])
                found = {"objective": objective(model), "correlation": same, "auc": float(auc)}
                rows.add({**place, "loop": loop, **found, "seconds": seconds})


def rows_of_kinds(number: int, run: int) -> tuple[np.ndarray, Labels]:
    """Rows of so many kinds, told by nothing, whose labels answer the features differently."""
    rng = np.random.default_rng(run)
    X = rng.normal(size=(1200, 6))
    kind = rng.integers(number, size=1200)
    psi = np.einsum("nd,ndl->nl", X, rng.normal(size=(number, 6, 12))[kind]) / np.sqrt(6)
    Y = (rng.random(psi.shape) < expit(4 * psi)).astype(float)
    return X, Labels.from_dense(Y, zeros="ambiguous")


def mixture(rows: ResultRows) -> None:
    """Every label was recorded: theta is 1."""
    X, Y = load_training("emotions")
    whole = Labels.from_dense(Y.to_dense(), zeros="ambiguous")
    for name, number in (("emotions", 0), ("planted, one kind", 1), ("planted, two kinds", 2)):
        for run in RUNS:
            place = {"experiment": "mixture", "dataset": name, "loop": "held out", "run": run}
            if rows.find(**place) is not None:
                continue
            features, labels = rows_of_kinds(number, run) if number else (X, whole)
            settings = {"n_factors": 6, "observability": 1.0, "inference": EM(30, 0.0)}
            start = time.perf_counter()
            model = GMFS(n_components="held out", **settings, random_state=run)
            model.fit(features, labels)
            tried = [f"{value:.4f}" for value in model.component_search_.values()]
            found = {"components": model.n_components_, "log_likelihoods": ", ".join(tried)}
            found |= {"shares": ", ".join(f"{share:.2f}" for share in model.mixture_shares_)}
            rows.add({**place, **found, "seconds": time.perf_counter() - start})


EXPERIMENTS = {"online": online, "mixture": mixture}


def main() -> None:
    warnings.simplefilter("ignore")
    rows = ResultRows("gmfs_variants", KEY)
    for name in sys.argv[1:] or list(EXPERIMENTS):
        EXPERIMENTS[name](rows)


if __name__ == "__main__":
    main()
