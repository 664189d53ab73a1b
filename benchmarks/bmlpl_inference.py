"""AUC against time on bibtex: Gibbs sampling, EM with exact and with 2 conjugate-gradient steps.

As in figure 2 of the paper. The sampler starts from 5 EM iterations; its eta is smaller than EM's,
since Dirichlet(1) adds a whole count per label and topic to every draw and nothing to the mode.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from bmlpl_data import Split, load_split, scores
from labelgap import BMLPL
from labelgap.fitting import EM, Gibbs
from result_rows import ResultRows

SETTINGS = {"n_factors": 100, "r": 0.3, "tau": 0.15}
EM_ITERATIONS = (1, 2, 5, 10, 20, 40, 80)
N_SAMPLES, BURN_IN = 60, 40


def em_curve(rows: ResultRows, split: Split, solver: str, method: str) -> None:
    for n_iter in EM_ITERATIONS if solver == "cg" else EM_ITERATIONS[:4]:
        if rows.find(method=method, iterations=n_iter):
            continue
        model = BMLPL(**SETTINGS, inference=EM(n_iter, 0.0, solver=solver), random_state=0)
        model.fit(split.X, split.Y)
        seconds = model.trace_.seconds[-1]
        add(rows, method, n_iter, seconds, split, model.predict_proba(split.X_test))


def gibbs_curve(rows: ResultRows, split: Split) -> None:
    """Averages of more and more draws of one chain, at the time the last of them was drawn."""
    method = "Gibbs"
    if rows.find(method=method, iterations=BURN_IN + N_SAMPLES):
        return
    settings = {**SETTINGS, "eta": 0.05}
    loop = Gibbs(N_SAMPLES, BURN_IN, n_chains=1, start_iter=5)
    start = time.perf_counter()
    model = BMLPL(**settings, inference=loop, random_state=0).fit(split.X, split.Y)
    before_chain = time.perf_counter() - start - model.trace_.seconds[-1]
    total = np.zeros((split.X_test.shape[0], split.Y.n_labels))
    samples = model.samples_
    for draw in range(samples.n_draws):
        single = BMLPL(**settings)
        single.__dict__.update(model.__dict__)
        single.samples_, single.params_ = None, samples.params(0, draw)
        total += single.predict_proba(split.X_test)
        sweep = BURN_IN + draw + 1
        if (draw + 1) % 10 == 0 and not rows.find(method=method, iterations=sweep):
            seconds = before_chain + model.trace_.seconds[sweep - 1]
            add(rows, method, sweep, seconds, split, total / (draw + 1))


def add(rows: ResultRows, method: str, n_iter: int, seconds: float, split: Split, proba) -> None:
    row = {"experiment": "inference", "dataset": "bibtex", "method": method, "iterations": n_iter}
    rows.add({**row, "params": SETTINGS, "seconds": seconds, **scores(split.Y_test, proba)})


def main() -> None:
    warnings.simplefilter("ignore")
    split = load_split("bibtex")
    rows = ResultRows("bmlpl_inference", ("method", "iterations"))
    for solver in ("cg", "exact"):
        BMLPL(**SETTINGS, inference=EM(1, 0.0, solver=solver)).fit(split.X[:500], split.Y[:500])
    em_curve(rows, split, "cg", "EM, 2 conjugate-gradient steps")
    em_curve(rows, split, "exact", "EM, exact")
    gibbs_curve(rows, split)


if __name__ == "__main__":
    main()
