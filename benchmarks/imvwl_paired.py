"""Paired tests on the runs of ``imvwl_corel5k.py``: the orderings of the paper's table 3, and the
improved variant against what a user would pick.

The rows are made anew from those of the runs each time.
"""

from __future__ import annotations

import json
import os

from imvwl_data import METRICS
from paired_tests import paired
from result_rows import FOLDER, ResultRows

DATASETS = {"corel5k_multiview": ", roots", "emotions_multiview": "", "yeast_multiview": ""}


def compared(roots: str) -> list[tuple[str, str]]:
    improved = f"iMVWL{roots}, combined"
    return [
        ("iMVWL", "iMVWL-Sp"),
        ("iMVWL", "iMVWL-Nc"),
        ("iMVWL", "iMVWL-X"),
        ("iMVWL", "label prior"),
        ("iMVWL", "mean imputation, PCA, logistic"),
        (improved, "mean imputation, PCA, logistic"),
        (improved, "low-rank imputation, PCA, logistic"),
        (improved, f"mean imputation{roots}, tuned"),
        (improved, f"mean imputation{roots}, kernel ridge"),
    ]


def main() -> None:
    runs = ResultRows("imvwl_accuracy", ("dataset", "seed", "method")).rows
    lines = []
    for dataset, roots in DATASETS.items():
        own = [row for row in runs if row["dataset"] == dataset]
        for first, second in compared(roots):
            for metric in METRICS:
                found = paired(own, "seed", metric, first, second)
                if found.n < 2:
                    continue
                row = {"experiment": "paired", "dataset": dataset, "metric": metric}
                row |= {"first": first, "second": second, "n_runs": found.n}
                row |= {"difference": f"{found.difference:+.4f}", "p": f"{found.t_p:.1e}"}
                lines.append(json.dumps(row))
                print(lines[-1])
    path = FOLDER / "imvwl_paired.jsonl"
    part = path.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n")
    os.replace(part, path)


if __name__ == "__main__":
    main()
