"""Do the intervals of ``labelgap.estimation`` cover, and how narrow are they?

Of a complete set 40% of the labels (or items) are lost by one of eight mechanisms. ``labelgap.impute``
predicts every zero, as ``labelgap review --estimate`` does, and people who know the truth answer 200
randomly drawn entries; 1,000 such reviews. ``narrower`` compares the mean width of the interval of
recalibrated predictions with Clopper and Pearson's for as many entries drawn without predictions;
``guaranteed`` is the interval that holds whatever the predictions are worth.

The part ``certified`` simulates reviews that stop when 90% of the missing labels are certainly found: of
three questions one is drawn at random and two are the most probable.

    python benchmarks/estimation_coverage.py                      # all rows that are not there yet
    python benchmarks/estimation_coverage.py --only bibtex
    python benchmarks/estimation_coverage.py --summary

Settings (the fraction of uniform draws, the prior of the slope) were looked at on bibtex, three
mechanisms, with other draws of labels.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy import stats
from sklearn.linear_model import Ridge

from labelgap import impute
from labelgap.data import load_dataset
from labelgap.estimation import (
    SamplingDesign,
    TotalBounds,
    certified_recall,
    design_sample,
    draw_entries,
    estimate_missing,
)
from labelgap.protocols import MECHANISMS, PROBABILITY_PROTOCOLS
from result_rows import ResultRows

USED = (
    "positives",
    "unopened-items",
    "label-rates",
    "late-labels",
    "improbable",
    "off-boundary",
    "power",
    "annotators",
)
SETS = ("bibtex", "corel5k", "yeast", "emotions")
N_ANSWERS, N_REVIEWS, SEED, HIDDEN = 200, 1000, 7, 0.4
CERTIFIED_SETS = ("emotions",)
CERTIFIED_ROWS, RANDOM_FRACTION, GOAL = 300, 1 / 3, 0.9


def drawn_table(name: str, mechanism: str, n_rows: int | None = None) -> tuple:
    """Probabilities of the zeros of a set after a loss of labels, and which are missing labels."""
    data = load_dataset(name)
    rows = np.sort(np.random.default_rng(SEED).permutation(data.Y.n_samples)[:n_rows])
    X, Y = data.X[rows], data.Y[rows]
    truth = Y.positives().toarray().astype(bool)
    how = {"random_state": SEED}
    if mechanism in PROBABILITY_PROTOCOLS:
        scores = Ridge(alpha=10.0, solver="sparse_cg").fit(X, truth).predict(X)
        how["probabilities"] = np.clip(scores, 0.01, 1.0)
    left = MECHANISMS[mechanism](Y, HIDDEN, **how).labels.positives().toarray().astype(bool)
    at, labels, p = impute(
        X, left.astype(int), zeros="unlabeled", threshold=0.0, max_entries=truth.size
    )
    probabilities = np.zeros(truth.shape)
    probabilities[at, labels] = p
    return probabilities[~left], truth[~left]


def clopper_pearson_width(n_entries: int, n_missing: int, n: int) -> float:
    """Expected width of the exact interval of the total when n entries are drawn without predictions."""
    found = np.arange(n + 1)
    low = np.nan_to_num(stats.beta.ppf(0.025, found, n - found + 1))
    high = np.where(found == n, 1.0, stats.beta.ppf(0.975, found + 1, np.maximum(n - found, 1e-9)))
    likely = stats.hypergeom.pmf(found, n_entries, n_missing, n)
    return float(likely @ (high - low)) * n_entries


def estimate_row(name: str, mechanism: str) -> dict:
    probabilities, relevant = drawn_table(name, mechanism)
    design, total = design_sample(probabilities), int(relevant.sum())
    covered, guaranteed, values, widths, wide = 0, 0, [], [], []
    for review in range(N_REVIEWS):
        drawn = draw_entries(design, N_ANSWERS, random_state=[SEED, review])
        made = estimate_missing(design, drawn, relevant[drawn])
        covered += made.low <= total <= made.high
        guaranteed += made.guaranteed_low <= total <= made.guaranteed_high
        values.append(made.value)
        widths.append(made.high - made.low)
        wide.append(made.guaranteed_high - made.guaranteed_low)
    without = clopper_pearson_width(relevant.size, total, N_ANSWERS)
    return {
        "n_entries": relevant.size,
        "n_missing": total,
        "predicted": round(float(probabilities.sum())),
        "coverage": covered / N_REVIEWS,
        "median_value": round(float(np.median(values))),
        "width": round(float(np.mean(widths))),
        "width_without_predictions": round(without),
        "narrower": round(float(np.mean(widths)) / without, 3),
        "guaranteed_coverage": guaranteed / N_REVIEWS,
        "guaranteed_width": round(float(np.mean(wide))),
    }


def certified_row(name: str, mechanism: str) -> dict:
    probabilities, relevant = drawn_table(name, mechanism, CERTIFIED_ROWS)
    design, total = design_sample(probabilities), int(relevant.sum())
    reached, asked, recalls = 0, [], []
    for review in range(N_REVIEWS):
        n_asked, recall = certified_review(design, probabilities, relevant, [SEED, review])
        reached += recall >= GOAL
        asked.append(n_asked)
        recalls.append(recall)
    return {
        "n_entries": relevant.size,
        "n_missing": total,
        "holds": reached / N_REVIEWS,
        "mean_recall": round(float(np.mean(recalls)), 4),
        "asked": round(float(np.mean(asked))),
        "fraction_asked": round(float(np.mean(asked)) / relevant.size, 3),
    }


def certified_review(
    design: SamplingDesign, probabilities: np.ndarray, relevant: np.ndarray, seed: list[int]
) -> tuple[int, float]:
    """Questions until 90% is certified, and the fraction that was found then."""
    rng = np.random.default_rng(seed)
    bounds = TotalBounds(relevant.size, design.largest_weight, sides="upper")
    queue, place = np.argsort(-probabilities, kind="stable"), 0
    members = [list(np.flatnonzero(design.strata == k)) for k in range(design.n_strata)]
    left, is_open = design.sizes.copy(), np.ones(relevant.size, dtype=bool)
    n_asked = n_found = 0
    while certified_recall(n_found, bounds.upper) < GOAL and n_asked < relevant.size:
        if rng.random() < RANDOM_FRACTION:
            open_strata = np.flatnonzero(left)
            stratum = int(rng.choice(open_strata))
            entry = int(rng.choice([e for e in members[stratum] if is_open[e]]))
            largest = float(open_strata.size * left.max())
            weight = float(open_strata.size * left[stratum])
            n_left = relevant.size - n_asked
            bounds.add(int(relevant[entry]), weight, n_found, n_left, largest)
        else:
            while not is_open[queue[place]]:
                place += 1
            entry = int(queue[place])
        is_open[entry] = False
        left[design.strata[entry]] -= 1
        n_asked += 1
        n_found += int(relevant[entry])
    return n_asked, n_found / max(1, relevant.sum())


PARTS = {"estimate": (estimate_row, SETS), "certified": (certified_row, CERTIFIED_SETS)}


def measure(rows: ResultRows, only: str) -> None:
    for part, (make, sets) in PARTS.items():
        for name in sets:
            for mechanism in USED:
                key = {"part": part, "dataset": name, "mechanism": mechanism}
                if only not in " ".join(key.values()) or rows.find(**key) is not None:
                    continue
                start = time.perf_counter()
                row = make(name, mechanism)
                rows.add({**key, **row, "seconds": round(time.perf_counter() - start, 1)})


def summary(rows: list[dict]) -> str:
    lines = []
    for part, fields in (
        ("estimate", ["n_missing", "coverage", "width", "narrower", "guaranteed_coverage"]),
        ("certified", ["n_missing", "holds", "mean_recall", "fraction_asked"]),
    ):
        lines += [f"| set | mechanism | {' | '.join(fields)} |", "|---|---|" + "---|" * len(fields)]
        for row in rows:
            if row["part"] == part:
                values = " | ".join(str(row[field]) for field in fields)
                lines.append(f"| {row['dataset']} | {row['mechanism']} | {values} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="part of a set, mechanism or part")
    parser.add_argument("--summary", action="store_true")
    chosen = parser.parse_args()
    store = ResultRows("estimation_coverage", ("part", "dataset", "mechanism"))
    if not chosen.summary:
        measure(store, chosen.only)
    print(summary(store.rows))
