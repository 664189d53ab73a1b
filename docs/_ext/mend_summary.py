"""Gains of Mend per set and tests over the sets, from its rows.

A set counts once in a test, with the mean over its kinds of gap, rates and runs; where positives
were dropped without a trace, unknown as negative is the same as the observed entries. P values are
of Wilcoxon's signed-rank test of no difference. Four tests were planned (two
methods, two measures); they are corrected by Holm among themselves, and the tests of each kind of
gap among themselves.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from measured_rows import read_rows
from scipy.stats import wilcoxon

from labelgap_papers.bench import holm, rank_methods

READ = ("mend_tables", "mend_systems", "mend_choices")
GAPS = ("entries", "positives")
OBSERVED, NEGATIVE, MENDED = "observed entries", "unknown as negative", "mended"
METRICS = ("average_precision", "macro_f1", "macro_auc", "hamming_loss", "log_loss")
TESTED = ("average_precision", "macro_f1")
FEWEST_SETS, FEWEST_OF_A_PART = 5, 3
Rows = list[dict[str, Any]]
# by set, kind of gap and rate
Cells = dict[tuple[str, str, float], dict[str, float]]


def summaries() -> Rows:
    """All tables, each row with its ``experiment``."""
    rows, theirs, tried = map(read_rows, READ)
    theirs = [row for row in theirs if row["outcome"] == "fitted"]
    found = [*per_set(rows), *overall(rows), *tests(rows), *ranks(rows)]
    found += [*systems(rows, theirs), *systems_by_set(rows, theirs), *rivals(rows, theirs)]
    return found + choices(tried)


def scores_of(rows: Rows, method: str, classifier: str) -> dict[tuple, dict[str, float]]:
    """By set, kind of gap, rate and run."""
    found = {}
    for row in rows:
        same = row["method"] == method
        if method == NEGATIVE and row["gap"] == "positives":
            same = row["method"] == OBSERVED
        if same and row.get("estimator", classifier) == classifier:
            found[row["dataset"], row["gap"], row["rate"], row["run"]] = row
    return found


def compared(ours: dict[tuple, Any], theirs: dict[tuple, Any]) -> tuple[Cells, Cells]:
    """Theirs and the gains over them, both means over the runs that both have."""
    both: dict[tuple, list[tuple]] = defaultdict(list)
    for key in ours:
        if key in theirs:
            both[key[:3]].append((theirs[key], ours[key]))
    before: Cells = {}
    gains: Cells = {}
    for cell, pairs in both.items():
        before[cell] = {m: float(np.mean([one[m] for one, _ in pairs])) for m in METRICS}
        gains[cell] = {m: float(np.mean([b[m] - a[m] for a, b in pairs])) for m in METRICS}
    return before, gains


def gains_over(rows: Rows, against: str, classifier: str) -> tuple[Cells, Cells]:
    ours = scores_of(rows, MENDED, classifier)
    return compared(ours, scores_of(rows, against, classifier))


def halves(rows: Rows) -> dict[str, str]:
    return {row["dataset"]: row["half"] for row in rows}


def classifiers(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["estimator"] for row in rows))


def by_set(cells: Cells, metric: str, gap: str | None = None) -> dict[str, float]:
    """The mean of each set over its kinds of gap and rates."""
    values: dict[str, list[float]] = defaultdict(list)
    for (name, kind, _), scores in cells.items():
        if gap in (None, kind):
            values[name].append(scores[metric])
    return {name: float(np.mean(some)) for name, some in values.items()}


def per_set(rows: Rows) -> Rows:
    """Gains over the observed entries, for each kind of gap."""
    found = []
    half = halves(rows)
    for classifier in classifiers(rows):
        before, gains = gains_over(rows, OBSERVED, classifier)
        for gap in GAPS:
            for name in by_set(gains, "macro_f1", gap):
                runs = {
                    key[3] for key in scores_of(rows, MENDED, classifier) if key[:2] == (name, gap)
                }
                row = {"experiment": "gains", "estimator": classifier, "gap": gap}
                row |= {"dataset": name, "half": half[name], "runs": len(runs)}
                for metric in TESTED:
                    row[metric] = by_set(before, metric, gap)[name]
                for metric in METRICS:
                    row[f"{metric}_gain"] = by_set(gains, metric, gap)[name]
                some = [one for cell, one in gains.items() if cell[:2] == (name, gap)]
                row["least"] = min(one["average_precision"] for one in some)
                found.append(row)
    return found


def overall(rows: Rows) -> Rows:
    """Each set as it counts in the tests, and beside the better of both ways to go without."""
    found = []
    half = halves(rows)
    for classifier in classifiers(rows):
        observed = gains_over(rows, OBSERVED, classifier)[1]
        negative = gains_over(rows, NEGATIVE, classifier)[1]
        for name, gain in by_set(observed, "average_precision").items():
            row = {"experiment": "sets", "estimator": classifier, "dataset": name}
            row |= {"half": half[name], "over_observed": gain}
            other = by_set(negative, "average_precision").get(name)
            row |= {"over_negative": other, "over_the_better": min(gain, other or gain)}
            row["macro_f1_gain"] = by_set(observed, "macro_f1")[name]
            found.append(row)
    return found


def tested(values: list[float]) -> dict[str, Any]:
    found = {"sets": len(values), "better": int(np.sum(np.array(values) > 0))}
    found |= {"gain": float(np.mean(values)), "least": float(np.min(values))}
    return found | {"p": float(wilcoxon(values).pvalue)}


def tests(rows: Rows) -> Rows:
    """The four tests, the same for each half and for blind sets, and for each kind of gap."""
    half = halves(rows)
    found: dict[tuple[str, str], Rows] = defaultdict(list)
    for classifier in classifiers(rows):
        for against in (OBSERVED, NEGATIVE):
            gains = gains_over(rows, against, classifier)[1]
            for metric in TESTED:
                wanted = {"estimator": classifier, "against": against, "metric": metric}
                for part in ("all", "chosen on", "confirmed on", "blind"):
                    some = [
                        gain
                        for name, gain in by_set(gains, metric).items()
                        if half[name] == part or (part == "all" and half[name] != "blind")
                    ]
                    if len(some) >= (FEWEST_SETS if part == "all" else FEWEST_OF_A_PART):
                        kind = "tests" if part == "all" else "parts"
                        row = {"experiment": kind, "part": part, **wanted, **tested(some)}
                        found[kind, classifier].append(row)
                for gap in GAPS if against == OBSERVED else ("entries",):
                    one = by_set(gains, metric, gap)
                    some = [gain for name, gain in one.items() if half[name] != "blind"]
                    if len(some) >= FEWEST_SETS:
                        row = {"experiment": "tests by gap", "gap": gap, **wanted, **tested(some)}
                        found["tests by gap", classifier].append(row)
    return [row for (kind, _), some in found.items() for row in corrected(kind, some)]


def corrected(kind: str, rows: Rows) -> Rows:
    if kind == "parts":
        return rows
    values = holm([row["p"] for row in rows])
    return [row | {"corrected": float(p)} for row, p in zip(rows, values, strict=True)]


def systems(rows: Rows, theirs: Rows) -> Rows:
    """Mended classifiers beside each of the systems, on the sets that both have."""
    found = []
    for classifier in ("logistic", "kernel"):
        ours = scores_of(rows, MENDED, classifier)
        for method in dict.fromkeys(row["method"] for row in theirs):
            before, gains = compared(ours, scores_of(theirs, method, classifier))
            for gap in GAPS:
                names = by_set(gains, "macro_f1", gap)
                if not names:
                    continue
                row = {"experiment": "systems", "estimator": classifier, "gap": gap}
                row |= {"method": method, "sets": len(names)}
                for metric in TESTED:
                    some = list(by_set(gains, metric, gap).values())
                    row[metric] = float(np.mean(list(by_set(before, metric, gap).values())))
                    row |= {f"{metric}_gain": float(np.mean(some)), f"{metric}_least": min(some)}
                    row[f"{metric}_better"] = int(np.sum(np.array(some) > 0))
                    if metric == "average_precision" and len(some) >= FEWEST_SETS:
                        row["p"] = float(wilcoxon(some).pvalue)
                found.append(row)
    return found


def systems_by_set(rows: Rows, theirs: Rows) -> Rows:
    """What the mended linear classifier has of average precision beyond each of the systems."""
    found = []
    ours = scores_of(rows, MENDED, "logistic")
    gains = {
        method: compared(ours, scores_of(theirs, method, "logistic"))[1]
        for method in sorted({row["method"] for row in theirs})
    }
    half = halves(rows)
    for gap in GAPS:
        for name, value in by_set(compared(ours, ours)[0], "average_precision", gap).items():
            row: dict[str, Any] = {"experiment": "systems by set", "gap": gap, "dataset": name}
            row |= {"half": half[name], "average_precision": value}
            for method, cells in gains.items():
                gain = by_set(cells, "average_precision", gap).get(name)
                row[f"{method.lower()}_gain"] = gain
            if half[name] != "blind":
                found.append(row)
    return found


def rivals(rows: Rows, theirs: Rows) -> Rows:
    """Mean ranks over sets, each with its mean, of methods and systems that all sets have."""
    half = halves(rows)
    every = {m: scores_of(rows, m, "logistic") for m in (MENDED, OBSERVED, NEGATIVE)}
    names = {key[0] for key in every[OBSERVED] if half[key[0]] != "blind"}
    for method in sorted(methods_of(theirs)):
        one = scores_of(theirs, method, "logistic")
        every |= {method: one} if names <= {key[0] for key in one} else {}
    both = {key for key in every[OBSERVED] if all(key in one for one in every.values())}
    found = []
    for metric in TESTED:
        table = {}
        for method, one in every.items():
            some = {key: row for key, row in one.items() if key in both}
            table[method] = by_set(compared(some, some)[0], metric)
        found += ranked("rivals", metric, table, sorted(names), len(names))
    return found


def methods_of(rows: Rows) -> set[str]:
    return {row["method"] for row in rows}


def choices(rows: Rows) -> Rows:
    """Gains of what was tried, each set and rate with the same weight."""
    found = []
    for gap in GAPS:
        cells: dict[str, dict[tuple, Rows]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            if row["gap"] == gap:
                cells[row["method"]][row["dataset"], row["rate"]].append(row)
        for variant in cells:
            row = {"experiment": "choices", "gap": gap, "variant": variant}
            for metric in ("average_precision", "macro_auc"):
                gains = [
                    mean_of(some, metric) - mean_of(like(cells[OBSERVED][cell], some), metric)
                    for cell, some in cells[variant].items()
                ]
                row[f"{metric}_gain"] = float(np.mean(gains))
                row |= {f"{metric}_least": min(gains)}
            row["cells"] = len(cells[variant])
            for fact in ("hidden_log_loss", "hidden_auc"):
                held = [mean_of(some, fact) for some in cells[variant].values() if fact in some[0]]
                row |= {fact: float(np.mean(held))} if held else {}
            if variant != OBSERVED:
                found.append(row)
    return found


def mean_of(rows: Rows, field: str) -> float:
    return float(np.mean([row[field] for row in rows]))


def like(rows: Rows, others: Rows) -> Rows:
    """Those of the same runs."""
    runs = {row["run"] for row in others}
    return [row for row in rows if row["run"] in runs]


def ranks(rows: Rows) -> Rows:
    """Mean ranks over sets and rates with entries unknown, of sets that all methods have."""
    found = []
    some = [row for row in rows if row["gap"] == "entries" and row["half"] != "blind"]
    methods = list(dict.fromkeys(row["method"] for row in some if row["estimator"] == "logistic"))
    for metric in TESTED:
        table: dict[str, dict[tuple, float]] = {}
        for method in methods:
            one = scores_of(some, method, "logistic")
            table[method] = {cell: a[metric] for cell, a in compared(one, one)[0].items()}
        places = [p for p in table[OBSERVED] if all(p in table[method] for method in methods)]
        found += ranked("ranks", metric, table, places, len({place[0] for place in places}))
    return found


def ranked(
    experiment: str, metric: str, table: dict[str, dict[Any, float]], places: list, n_sets: int
) -> Rows:
    """Mean ranks of the methods of a table over places that all of them have."""
    scores = np.array([[one[place] for one in table.values()] for place in places])
    ranking = rank_methods(list(table), scores, higher_is_better=True)
    facts = {"blocks": ranking.n_blocks, "sets": n_sets}
    facts |= {"critical_difference": ranking.critical_difference}
    facts |= {"friedman_p": ranking.friedman_p}
    found = []
    for method, rank in zip(ranking.methods, ranking.mean_ranks, strict=True):
        row = {"experiment": experiment, "metric": metric, "method": method}
        found.append(row | {"mean_rank": rank, **facts})
    return found
