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
N_SAMPLES, BURN_IN, N_CHAINS = 120, 60, 2


def em_curve(rows: ResultRows, split: Split, solver: str, method: str) -> None:
    for n_iter in EM_ITERATIONS if solver == "cg" else EM_ITERATIONS[:4]:
        if rows.find(method=method, iterations=n_iter):
            continue
        model = BMLPL(**SETTINGS, inference=EM(n_iter, 0.0, solver=solver), random_state=0)
        model.fit(split.X, split.Y)
        seconds = model.trace_.seconds[-1]
        add(rows, method, n_iter, seconds, split, model.predict_proba(split.X_test))


def gibbs_curve(rows: ResultRows, split: Split) -> None:
    """Averages of more and more draws of one chain, at the time the last of them was drawn.

    The last row is the average of all chains, with R-hat and effective sample size of the log
    posterior.
    """
    if rows.find(method="Gibbs, all chains", iterations=BURN_IN + N_SAMPLES):
        return
    settings = {**SETTINGS, "eta": 0.05}
    loop = Gibbs(N_SAMPLES, BURN_IN, n_chains=N_CHAINS, start_iter=5)
    start = time.perf_counter()
    model = BMLPL(**settings, inference=loop, random_state=0).fit(split.X, split.Y)
    samples = model.samples_
    total_seconds = time.perf_counter() - start
    before_chain = total_seconds - samples.seconds[:, -1].sum()
    total = np.zeros((split.X_test.shape[0], split.Y.n_labels))
    for draw in range(samples.n_draws):
        single = BMLPL(**settings)
        single.__dict__.update(model.__dict__)
        single.samples_, single.params_ = None, samples.params(0, draw)
        total += single.predict_proba(split.X_test)
        sweep = BURN_IN + draw + 1
        if (draw + 1) % 10 == 0 and not rows.find(method="Gibbs", iterations=sweep):
            seconds = before_chain + samples.seconds[0, sweep - 1]
            add(rows, "Gibbs", sweep, seconds, split, total / (draw + 1))
    diagnosis = model.diagnose()
    facts = {"r_hat": float(diagnosis.r_hat), "ess_bulk": float(diagnosis.ess_bulk)}
    proba = model.predict_proba(split.X_test)
    add(rows, "Gibbs, all chains", BURN_IN + N_SAMPLES, total_seconds, split, proba, **facts)


def add(
    rows: ResultRows, method: str, n_iter: int, seconds: float, split: Split, proba, **facts: float
) -> None:
    row = {"experiment": "inference", "dataset": "bibtex", "method": method, "iterations": n_iter}
    rows.add(
        {**row, "params": SETTINGS, "seconds": seconds, **facts, **scores(split.Y_test, proba)}
    )


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
