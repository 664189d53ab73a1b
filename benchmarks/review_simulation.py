"""A simulated annotator: how many labels must be reviewed until 90% of the missing ones are found?

Of a complete set 40% of the positives are hidden without a trace. ``labelgap.audit`` gives every
zero a probability of being one of them, and an annotator who knows the truth answers questions in
batches. Three orders share the audit and all that is learned between batches, and differ in what
they ask next: the expected gain (``labelgap review``), the most probable, and the least confident.
Two orders of the audit's own probabilities, without learning, and random order are compared too.

    python benchmarks/review_simulation.py              # emotions, yeast, science; seeds 10 to 14
    python benchmarks/review_simulation.py --tune       # scene and image, for choosing settings
    python benchmarks/review_simulation.py --summary    # print the table

The table of docs/how-to/review.md is written whenever a seed is done on all sets.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse, stats

from labelgap import audit
from labelgap.auditing import AuditRescorer
from labelgap.data import load_dataset
from labelgap.protocols import hide_positives
from labelgap.review import ReviewCandidates, item_traits, review_candidates
from labelgap.review._answer_model import AnswerPosterior, expected_probability, learn_from_answers
from labelgap.review._background_rescoring import BackgroundRescoring
from labelgap.review._question_queue import choose_batch
from labelgap.review._review_session import batch_size
from result_rows import ResultRows

SETS = ("emotions", "yeast", "science")
TUNED_ON = ("scene", "image")
SEEDS = range(10, 15)  # earlier ones were looked at while settings were chosen
MOST_ROWS = 1000
HIDDEN, FOUND = 0.4, 0.9
TABLE = Path(__file__).parents[1] / "docs" / "measured" / "review_simulation.inc"
FRACTIONS = (0.25, 0.5, 0.75, FOUND)

Order = Callable[
    [ReviewCandidates, AnswerPosterior, np.ndarray, int, np.random.Generator], np.ndarray
]


def draw(name: str, seed: int) -> tuple[ReviewCandidates, np.ndarray, AuditRescorer]:
    """All zeros of a set with hidden positives as candidates, and which of them are missing labels."""
    data = load_dataset(name)
    chosen = np.random.default_rng(seed).permutation(data.Y.n_samples)[:MOST_ROWS]
    rows = np.sort(chosen)
    X, Y = data.X[rows], data.Y[rows]
    hidden = hide_positives(Y, HIDDEN, random_state=seed).labels
    n_zeros = Y.n_samples * Y.n_labels - int(hidden.n_positives())
    names = [str(k) for k in range(Y.n_labels)]
    found = audit(
        X,
        hidden.with_names(names),
        zeros="unlabeled",
        n_suggestions=n_zeros,
        random_state=seed,
    )
    matrix = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)
    items = [str(row) for row in range(Y.n_samples)]
    candidates = review_candidates(found, items, item_traits(matrix))
    truth = Y.positives().toarray()[candidates.rows, candidates.columns].astype(float)
    return candidates, truth, AuditRescorer(X, hidden, zeros="unlabeled", random_state=seed)


def by_gain(candidates, posterior, undecided, size, _):
    return choose_batch(candidates, posterior, undecided, size)


def by_probability(candidates, posterior, undecided, size, _):
    p = expected_probability(*posterior.log_odds(candidates, undecided))
    return undecided[np.argsort(-p, kind="stable")[:size]]


def by_uncertainty(candidates, posterior, undecided, size, _):
    p = expected_probability(*posterior.log_odds(candidates, undecided))
    return undecided[np.argsort(np.abs(p - 0.5), kind="stable")[:size]]


def at_random(_, __, undecided, size, rng):
    return rng.choice(undecided, min(size, undecided.size), replace=False)


ORDERS: dict[str, tuple[Order, bool]] = {
    "expected gain": (by_gain, True),
    "most probable": (by_probability, True),
    "least confident": (by_uncertainty, True),
    "most probable, no learning": (by_probability, False),
    "least confident, no learning": (by_uncertainty, False),
    "random": (at_random, False),
}


def simulate(
    candidates: ReviewCandidates, truth: np.ndarray, rescorer: AuditRescorer, order: str, seed: int
) -> dict[float, int]:
    """Reviewed labels until each fraction of the missing labels was found."""
    choose, learns = ORDERS[order]
    scoring = BackgroundRescoring(rescorer, patience=float("inf"))
    rng = np.random.default_rng(seed)
    asked = np.empty(0, dtype=np.intp)
    posterior = learn_from_answers(candidates, asked, truth[asked])
    total = truth.sum()
    while truth[asked].sum() < FOUND * total:
        undecided = np.setdiff1d(np.arange(candidates.n), asked)
        if learns and asked.size:
            fresh = scoring.newest(candidates, asked, truth[asked])
            if fresh is not None:
                candidates = candidates._replace(log_odds=fresh)
            posterior = learn_from_answers(candidates, asked, truth[asked])
        batch = choose(candidates, posterior, undecided, batch_size(asked.size), rng)
        asked = np.concatenate([asked, batch])
    found = np.cumsum(truth[asked])
    return {fraction: int(np.searchsorted(found, fraction * total)) + 1 for fraction in FRACTIONS}


def measure(rows: ResultRows, names: tuple[str, ...], seeds: range) -> Iterator[int]:
    """Measure what is not there yet; yields every seed that is done on all sets."""
    for seed in seeds:
        for name in names:
            key = {"dataset": name, "seed": seed}
            missing = [order for order in ORDERS if rows.find(**key, order=order) is None]
            if not missing:
                continue
            candidates, truth, rescorer = draw(name, seed)
            for order in missing:
                start = time.perf_counter()
                reviewed = simulate(candidates, truth, rescorer, order, seed)
                rows.add(
                    {
                        **key,
                        "order": order,
                        "n_zeros": candidates.n,
                        "n_gaps": int(truth.sum()),
                        "reviewed": {f"{fraction:.0%}": n for fraction, n in reviewed.items()},
                        "seconds": round(time.perf_counter() - start, 1),
                    }
                )
        yield seed


def summary(rows: list[dict], names: tuple[str, ...]) -> str:
    """Means over the seeds done on all sets, with paired differences of each order to the first."""
    wanted = len(names) * len(ORDERS)
    counts = Counter(row["seed"] for row in rows if row["dataset"] in names)
    seeds = {seed for seed, n in counts.items() if n == wanted}
    fractions = " | ".join(f"{fraction:.0%}" for fraction in FRACTIONS)
    lines = [f"Means over {len(seeds)} draws of rows and hidden labels.", ""]
    for name in names:
        mine = [row for row in rows if row["dataset"] == name and row["seed"] in seeds]
        n_gaps = np.mean([row["n_gaps"] for row in mine])
        n_zeros = np.mean([row["n_zeros"] for row in mine])
        lines += [f"{name}: {n_gaps:,.0f} gaps among {n_zeros:,.0f} zeros", ""]
        lines += [
            f"| order | {fractions} | {FOUND:.0%}, more than ours |",
            "|---|---|---|---|---|---|",
        ]
        ours = _reviewed(mine, "expected gain")
        for order in ORDERS:
            values = _reviewed(mine, order)
            means = " | ".join(f"{mean:,.0f}" for mean in values.mean(axis=0))
            lines.append(f"| {order} | {means} | {_against(values[:, -1], ours[:, -1])} |")
        lines.append("")
    return "\n".join(lines)


def _reviewed(rows: list[dict], order: str) -> np.ndarray:
    chosen = sorted((row for row in rows if row["order"] == order), key=lambda row: row["seed"])
    return np.array([list(row["reviewed"].values()) for row in chosen], dtype=float)


def _against(values: np.ndarray, ours: np.ndarray) -> str:
    if values is ours or np.array_equal(values, ours):
        return "–"
    difference = values - ours
    n = difference.size
    if n < 2:
        return f"{difference.mean():+,.0f}"
    half = stats.t.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n)
    return f"{difference.mean():+,.0f} ± {half:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tune", action="store_true", help="the sets settings were chosen on")
    parser.add_argument("--summary", action="store_true", help="print the table")
    options = parser.parse_args()
    name = "review_simulation_tuning" if options.tune else "review_simulation"
    rows = ResultRows(name, ("dataset", "seed", "order"))
    sets = TUNED_ON if options.tune else SETS
    if options.summary:
        print(summary(rows.rows, sets))
        return
    for _ in measure(rows, sets, range(100, 102) if options.tune else SEEDS):
        if not options.tune:
            TABLE.write_text(summary(rows.rows, sets), encoding="utf-8")


if __name__ == "__main__":
    main()
