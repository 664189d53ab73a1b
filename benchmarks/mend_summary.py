"""The rows of ``mend_tables`` as gains per set, and tests over the sets.

A set counts once in a test, with the mean over its rates and runs. P values are of Wilcoxon's
signed-rank test of no difference, corrected by Holm for all tests of the file.

    python benchmarks/mend_summary.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from labelgap.bench import rank_methods
from labelgap.bench._statistics import holm
from mend_data import GAPS
from mend_tables import MENDED, NEGATIVE, OBSERVED

RESULTS = Path(__file__).parent / "results"
METRICS = ("average_precision", "macro_f1", "macro_auc", "hamming_loss", "log_loss")
Rows = list[dict[str, Any]]


def main() -> None:
    text = (RESULTS / "mend_tables.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    found = [*per_set(rows), *tests(rows), *ranks(rows)]
    (RESULTS / "mend_summary.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    for row in found:
        print(row)


def means(rows: Rows, **wanted: Any) -> dict[str, dict[tuple, float]]:
    """Of each metric, the mean over runs by set and rate."""
    some = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    places = dict.fromkeys((row["dataset"], row["rate"]) for row in some)
    return {
        metric: {
            place: float(np.mean([r[metric] for r in some if (r["dataset"], r["rate"]) == place]))
            for place in places
        }
        for metric in METRICS
    }


def gains(rows: Rows, against: str, **wanted: Any) -> dict[str, dict[tuple, float]]:
    """Mended minus the other, over the runs that both have."""
    both = paired(rows, against, **wanted)
    ours, theirs = means(both, method=MENDED), means(both, method=against)
    return {
        metric: {place: ours[metric][place] - theirs[metric][place] for place in ours[metric]}
        for metric in METRICS
    }


def paired(rows: Rows, against: str, **wanted: Any) -> Rows:
    some = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    cells = [
        {(row["dataset"], row["rate"], row["run"]) for row in some if row["method"] == method}
        for method in (MENDED, against)
    ]
    common = cells[0] & cells[1]
    some = [row for row in some if row["method"] in (MENDED, against)]
    return [row for row in some if (row["dataset"], row["rate"], row["run"]) in common]


def per_set(rows: Rows) -> Rows:
    found = []
    for classifier in dict.fromkeys(row["classifier"] for row in rows):
        for gap in GAPS:
            wanted = {"classifier": classifier, "gap": gap}
            gain = gains(rows, OBSERVED, **wanted)
            both = paired(rows, OBSERVED, **wanted)
            plain = means(both, method=OBSERVED)
            for name in dict.fromkeys(place[0] for place in gain["macro_f1"]):
                places = [place for place in gain["macro_f1"] if place[0] == name]
                some = [row for row in both if row["dataset"] == name]
                row = {"experiment": "gains", **wanted, "dataset": name, "half": some[0]["half"]}
                row["runs"] = len({one["run"] for one in some})
                for metric in ("average_precision", "macro_f1"):
                    row[metric] = float(np.mean([plain[metric][place] for place in places]))
                    row[f"{metric}_gain"] = float(np.mean([gain[metric][p] for p in places]))
                row["least"] = min(gain["average_precision"][place] for place in places)
                row["log_loss_gain"] = float(np.mean([gain["log_loss"][p] for p in places]))
                row["hamming_loss_gain"] = float(np.mean([gain["hamming_loss"][p] for p in places]))
                found.append(row)
    return found


def tests(rows: Rows) -> Rows:
    found: Rows = []
    for classifier in dict.fromkeys(row["classifier"] for row in rows):
        for gap, against in (("entries", OBSERVED), ("entries", NEGATIVE), ("positives", OBSERVED)):
            gain = gains(rows, against, classifier=classifier, gap=gap)
            for metric in ("average_precision", "macro_f1"):
                sets = dict.fromkeys(place[0] for place in gain[metric])
                values = [
                    np.mean([v for place, v in gain[metric].items() if place[0] == name])
                    for name in sets
                ]
                if len(values) < 5:
                    continue
                row = {"experiment": "tests", "classifier": classifier, "gap": gap}
                row |= {"against": against, "metric": metric, "sets": len(values)}
                row |= {"better": int(np.sum(np.array(values) > 0)), "gain": float(np.mean(values))}
                row |= {"least": float(np.min(values)), "p": float(wilcoxon(values).pvalue)}
                found.append(row)
    corrected = holm([row["p"] for row in found])
    return [row | {"corrected": float(p)} for row, p in zip(found, corrected, strict=True)]


def ranks(rows: Rows) -> Rows:
    """Mean ranks over sets and rates, of the methods that have all of them."""
    found = []
    for metric in ("average_precision", "macro_f1"):
        some = [row for row in rows if row["gap"] == "entries" and row["classifier"] == "logistic"]
        methods = list(dict.fromkeys(row["method"] for row in some))
        table = {method: means(some, method=method)[metric] for method in methods}
        places = [p for p in table[OBSERVED] if all(p in table[method] for method in methods)]
        if not places:
            continue
        scores = np.array([[table[method][place] for method in methods] for place in places])
        ranking = rank_methods(methods, scores, higher_is_better=True)
        for method, rank in zip(ranking.methods, ranking.mean_ranks, strict=True):
            found.append(
                {
                    "experiment": "ranks",
                    "metric": metric,
                    "method": method,
                    "mean_rank": rank,
                    "blocks": ranking.n_blocks,
                    "sets": len({place[0] for place in places}),
                    "critical_difference": ranking.critical_difference,
                    "friedman_p": ranking.friedman_p,
                }
            )
    return found


if __name__ == "__main__":
    main()
