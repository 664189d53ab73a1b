"""Average precision of the default against what a user has, per set and in the mean, from rows."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from measured_rows import read_rows

from labelgap_papers.bench.statistics import PairedComparison, holm

READ = ("predictors", "complete-labels")
COMPLETE = ("bibtex", "delicious", "mediamill", "eurlex4k")
SHOWN = (
    *("precision_at_1", "precision_at_3", "precision_at_5"),
    *("propensity_scored_precision_at_1", "auc_instance"),
)
GAPS = ("entries", "positives", "none")
OURS, LOGISTIC = "Mend", "logistic regression per label"
Rows = list[dict[str, Any]]
Scores = dict[tuple[str, str, str], list[dict[str, Any]]]


def summaries() -> Rows:
    """All tables, each row with its ``experiment``."""
    scores: Scores = defaultdict(list)
    for row in read_rows(READ[0]):
        if "average_precision" in row:
            scores[row["kind"], row["method"], row["dataset"]].append(row)
    found = []
    for gap in GAPS:
        found += [*against_logistic(scores, gap), *against_all(scores, gap)]
    return found + complete_labels()


def complete_labels() -> Rows:
    """The first run of both on sets of many labels, nothing missing."""
    found = []
    for row in (*read_rows(READ[0]), *read_rows(READ[1])):
        first = row["kind"] == "none" and row["run"] == 1 and row["dataset"] in COMPLETE
        if first and row["method"] in (OURS, LOGISTIC) and SHOWN[0] in row:
            one = {"experiment": "complete", "dataset": row["dataset"], "method": row["method"]}
            one |= {name: row[name] for name in SHOWN if name in row}
            found.append(one | {"seconds": row["fit_seconds"]})
    return sorted(found, key=lambda row: (COMPLETE.index(row["dataset"]), row["method"]))


def against_logistic(scores: Scores, gap: str) -> Rows:
    """One row per set: both, the gain, and seconds; the mean over the sets last."""
    found = []
    for kind, method, name in scores:
        before = scores.get((gap, LOGISTIC, name))
        if (kind, method) != (gap, OURS) or not before:
            continue
        theirs = {row["run"]: row for row in before}
        pairs = [
            (row, theirs[row["run"]]) for row in scores[gap, OURS, name] if row["run"] in theirs
        ]
        if not pairs:
            continue
        ours = statistics.mean(one["average_precision"] for one, _ in pairs)
        other = statistics.mean(one["average_precision"] for _, one in pairs)
        row = {"experiment": "gain", "gap": gap, "dataset": name, "runs": len(pairs)}
        row |= {"mend": ours, "logistic": other, "gain": ours - other}
        row["best_member"] = statistics.mean(best_member(one) for one, _ in pairs)
        row["seconds"] = statistics.median(one["fit_seconds"] for one, _ in pairs)
        found.append(row)
    if found:
        mean = {"experiment": "gain", "gap": gap, "dataset": f"mean of {len(found)} sets"}
        for name in ("mend", "logistic", "gain", "best_member"):
            mean[name] = statistics.mean(row[name] for row in found)
        found.append(mean)
    return found


def best_member(row: dict[str, Any]) -> float:
    return max(one.get("average_precision", 0.0) for one in row["members"].values())


def against_all(scores: Scores, gap: str) -> Rows:
    """One row per method on the sets that have rows of it and of Mend, in the same runs."""
    methods = dict.fromkeys(m for kind, m, _ in scores if kind == gap and m != OURS)
    found = []
    for method in methods:
        gains, seconds, sets = [], [], []
        for kind, other, name in scores:
            ours = {row["run"]: row for row in scores.get((gap, OURS, name), [])}
            if (kind, other) != (gap, method) or not ours:
                continue
            pairs = [
                (ours[row["run"]], row) for row in scores[kind, other, name] if row["run"] in ours
            ]
            if pairs:
                sets.append(name)
                gains.append(
                    statistics.mean(
                        a["average_precision"] - b["average_precision"] for a, b in pairs
                    )
                )
                seconds.append(statistics.mean(b["fit_seconds"] for _, b in pairs))
        if gains:
            row = {"experiment": "methods", "gap": gap, "method": method, "sets": len(gains)}
            row |= {"better": sum(gain > 0 for gain in gains), "gain": statistics.mean(gains)}
            row |= {"least": min(gains), "seconds": statistics.mean(seconds)}
            row["p"] = PairedComparison(tuple(gains)).wilcoxon_p
            found.append(row)
    for row, corrected in zip(found, holm([row["p"] for row in found]), strict=True):
        row["corrected"] = float(corrected)
    return found
