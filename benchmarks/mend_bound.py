"""What weights and pseudo-labels can reach on mdi's old tags, with help that no table gives.

    python benchmarks/mend_bound.py            # needs LABELGAP_DATA with the folder realgaps

One logistic regression per label on character n-grams (C = 10), trained on the tags of the old release
and tested on the icons that came later. Each line tells the training something that only the new
release says. Rows are written to ``benchmarks/results/mend_bound.jsonl``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from labelgap import metrics
from labelgap.one_vs_rest import SoftLabel, all_scores, fit_labels
from labelgap_papers.bench.protocols import PROTOCOLS

OUT = Path(__file__).parent / "results" / "mend_bound.jsonl"
NEVER = 1e-9


def fit(X, targets, weights):
    rows = np.arange(len(targets))
    soft = (SoftLabel(rows, *pair) for pair in zip(targets.T, weights.T, strict=True))
    estimator = LogisticRegression(C=10.0, max_iter=1000)
    return fit_labels(estimator, X, soft, targets.mean(axis=0))


def left_out(X, targets, n_folds=5):
    folds = np.random.default_rng(0).permutation(len(targets)) % n_folds
    found = np.empty(targets.shape)
    for fold in range(n_folds):
        learned, held = folds != fold, folds == fold
        models = fit(X[learned], targets[learned], np.ones_like(targets[learned]))
        found[held] = expit(all_scores(models, X[held]))
    return found


def with_total(probabilities, total):
    """Probabilities with their log-odds shifted until they add up."""
    if total <= 0:
        return np.zeros_like(probabilities)
    odds = logit(np.clip(probabilities, NEVER, 1 - NEVER))
    return expit(odds + brentq(lambda shift: expit(odds + shift).sum() - total, -40, 40))


def main() -> None:
    protocol, setting = PROTOCOLS["real-gaps"](), {"features": "characters"}
    task = protocol.draw("mdi", {**setting, "labels": "old"}, 1)
    then = task.Y.positives().toarray().astype(float)
    filled = protocol.draw("mdi", {**setting, "labels": "filled"}, 1).Y.to_dense()
    missing, ones = filled > then, np.ones_like(then)
    empty = then.sum(axis=1) == 0
    unopened = missing.any(axis=1) & empty
    g = left_out(task.X, then)
    counted = then.copy()
    for label in range(then.shape[1]):
        for kind in (empty, ~empty):
            cells = kind & (then[:, label] == 0)
            counted[cells, label] = with_total(g[cells, label], float(missing[cells, label].sum()))
    lines = {
        "old tags (the plain classifier)": (then, ones),
        "items without tags left out": (then, np.where(empty[:, None], 1e-9, ones)),
        "known: which items without tags lack some; left out": (
            then,
            np.where(unopened[:, None], 1e-9, ones),
        ),
        "known: how many tags each label lacks, with tags and without; pseudo-labels": (
            counted,
            ones,
        ),
        "known: which zeros are wrong; each has the weight 0": (then, np.where(missing, 0.0, ones)),
        "known: the tags of items without any; the others as they were": (
            np.where(empty[:, None], filled, then),
            ones,
        ),
        "all gaps filled": (filled, ones),
        "old tags, 0.1 as the target of every zero": (np.maximum(then, 0.1), ones),
        "all gaps filled, 0.1 as the target of every zero": (np.maximum(filled, 0.1), ones),
    }
    rows = []
    for name, (targets, weights) in lines.items():
        scores = all_scores(fit(task.X, targets, weights), task.X_test)
        reached = metrics.average_precision(task.Y_test, scores, average="micro")
        area = metrics.auc(task.Y_test, scores, average="micro")
        reached, area = round(float(reached), 4), round(float(area), 4)
        rows.append({"what": name, "average_precision_micro": reached, "auc_micro": area})
        print(f"{reached:.4f} {area:.4f}  {name}", flush=True)
    OUT.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
