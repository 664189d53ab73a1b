"""Boosting all labels with vector leaves against XGBoost per label on the known entries.

Both make the same number of trees of the same depth; seconds are those of the processor, one thread.

    python benchmarks/boosting_speed.py [--datasets yeast bibtex]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import xgboost

from labelgap import BinaryRelevance, GradientBoostingLabels
from labelgap.data import load_dataset
from labelgap.metrics import label_ranking_average_precision
from labelgap.protocols import hide_entries
from result_rows import ResultRows

N_TREES, UNKNOWN = 50, 0.6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["yeast", "bibtex"])
    warnings.simplefilter("ignore")
    rows = ResultRows("boosting_speed", ("dataset",))
    for name in parser.parse_args().datasets:
        if rows.find(dataset=name):
            continue
        data = load_dataset(name)
        X, X_test = (data.X[part].astype(np.float32) for part in (data.train, data.test))
        Y = hide_entries(data.Y[data.train], UNKNOWN, random_state=1).labels
        models = {
            "together": GradientBoostingLabels(N_TREES, validation_fraction=None),
            "per_label": BinaryRelevance(
                xgboost.XGBClassifier(
                    n_estimators=N_TREES, learning_rate=0.1, max_depth=6, max_bin=64, n_jobs=1
                )
            ),
        }
        row = {"dataset": name, "n_labels": Y.n_labels, "n_trees": N_TREES}
        for key, model in models.items():
            begin = time.process_time()
            model.fit(X, Y)
            row[f"{key}_seconds"] = time.process_time() - begin
            found = model.predict_proba(X_test)
            row[f"{key}_ap"] = label_ranking_average_precision(data.Y[data.test], found)
        row["ratio"] = row["per_label_seconds"] / row["together_seconds"]
        rows.add(row)
        print(row)


if __name__ == "__main__":
    main()
