"""Predicted against observed shares of positives on bibtex's test rows, in bins."""

from __future__ import annotations

import warnings

import numpy as np

from bmlpl_data import load_split
from labelgap import BMLPL
from result_rows import ResultRows

EDGES = np.concatenate([[0], np.geomspace(1e-4, 1e-1, 7), np.linspace(0.2, 1, 9)])


def main() -> None:
    warnings.simplefilter("ignore")
    split = load_split("bibtex")
    truth = split.Y_test.positives().toarray()
    rows = ResultRows("bmlpl_reliability", ("method", "bin"))
    for calibration in ("shift", "held out"):
        method = f"calibration = {calibration}"
        if rows.find(method=method, bin=0):
            continue
        model = BMLPL(calibration=calibration, random_state=0).fit(split.X, split.Y)
        proba = model.predict_proba(split.X_test)
        which = np.clip(np.digitize(proba, EDGES) - 1, 0, EDGES.size - 2)
        for number in range(EDGES.size - 1):
            chosen = which == number
            if chosen.any():
                row = {"experiment": "reliability", "dataset": "bibtex", "method": method}
                row |= {"bin": number, "n": int(chosen.sum())}
                row["predicted"] = float(proba[chosen].mean())
                rows.add({**row, "observed": float(truth[chosen].mean())})


if __name__ == "__main__":
    main()
