"""Ranking metrics against scikit-learn on a score matrix of delicious's size (3185 x 983).

    python benchmarks/metrics_speed.py [--repeats 3] [--json FILE]

Both sides get the same dense truth and scores and must give the same values. Each time is the best
of the repeats; compilation (loading the cached kernels, too) happens before. With LABELGAP_DATA set
the truth is delicious's official test part, otherwise labels of the same shape and density.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sklearn.metrics as sk

from labelgap import metrics
from labelgap.metrics import convention

N_ROWS, N_LABELS, DENSITY = 3185, 983, 0.0193


def make_truth() -> tuple[np.ndarray, str]:
    if os.environ.get("LABELGAP_DATA"):
        from labelgap.data import load_dataset

        delicious = load_dataset("delicious")
        return delicious.Y[delicious.test].to_dense(dtype=np.int8), "delicious, test part"
    rng = np.random.default_rng(0)
    popularity = rng.pareto(1.2, size=N_LABELS) + 0.05
    rates = np.clip(popularity * DENSITY / popularity.mean(), 0.001, 0.6)
    rates *= DENSITY / rates.mean()
    truth = (rng.random((N_ROWS, N_LABELS)) < rates).astype(np.int8)
    return truth, "generated"


def make_scores(truth: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).normal(size=truth.shape)
    return noise + 1.5 * truth


def mixed_rows(truth: np.ndarray) -> np.ndarray:
    """scikit-learn has no per-instance AUC for rows with one class only."""
    return (truth.sum(axis=1) > 0) & (truth.sum(axis=1) < truth.shape[1])


def with_both_classes(truth: np.ndarray) -> np.ndarray:
    return (truth.sum(axis=0) > 0) & (truth.sum(axis=0) < truth.shape[0])


def comparisons(truth: np.ndarray, scores: np.ndarray) -> dict[str, tuple[tuple, Callable]]:
    """Name -> (our metric and parameters, scikit-learn's call)."""
    rows, columns = mixed_rows(truth), with_both_classes(truth)
    truth_rows, scores_rows = truth[rows], scores[rows]
    truth_columns, scores_columns = truth[:, columns], scores[:, columns]
    ndcg = convention("scikit-learn", "ndcg_at_k")
    return {
        "ranking_loss": (
            ("ranking_loss", convention("scikit-learn", "ranking_loss")),
            lambda: sk.label_ranking_loss(truth, scores),
        ),
        "coverage": (
            ("coverage", convention("scikit-learn", "coverage")),
            lambda: sk.coverage_error(truth, scores),
        ),
        "label_ranking_average_precision": (
            (
                "label_ranking_average_precision",
                convention("scikit-learn", "label_ranking_average_precision"),
            ),
            lambda: sk.label_ranking_average_precision_score(truth, scores),
        ),
        "average_precision": (
            ("average_precision", {}),
            lambda: sk.average_precision_score(truth_columns, scores_columns),
        ),
        "ndcg_at_1": (
            ("ndcg_at_k", {"k": 1, **ndcg}),
            lambda: sk.ndcg_score(truth, scores, k=1),
        ),
        "ndcg_at_5": (
            ("ndcg_at_k", {"k": 5, **ndcg}),
            lambda: sk.ndcg_score(truth, scores, k=5),
        ),
        "auc_micro": (
            ("auc_micro", {}),
            lambda: sk.roc_auc_score(truth, scores, average="micro"),
        ),
        "auc_macro": (
            ("auc_macro", {}),
            lambda: sk.roc_auc_score(truth_columns, scores_columns, average="macro"),
        ),
        "auc_instance": (
            ("auc_instance", {}),
            lambda: sk.roc_auc_score(truth_rows, scores_rows, average="samples"),
        ),
    }


def best_time(call: Callable, repeats: int) -> tuple[float, object]:
    times, value = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        value = call()
        times.append(time.perf_counter() - start)
    return min(times), value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()

    truth, source = make_truth()
    scores = make_scores(truth)
    pairs = comparisons(truth, scores)
    # one_error and precision@k have no counterpart, so they are extra work on our side only
    extra = ["one_error", "precision_at_1", "precision_at_3", "precision_at_5"]
    requests = {name: ours for name, (ours, _) in pairs.items()}
    together = requests | {name: name for name in extra}

    def ours_together() -> dict[str, float]:
        return metrics.evaluate(truth, scores, together)

    ours_together()
    print(f"{truth.shape[0]} x {truth.shape[1]} ({source}), {truth.mean():.2%} relevant, seconds")
    print(f"{'metric':<26}{'labelgap':>10}{'sklearn':>10}{'ratio':>8}   difference")
    total, rows, expected_values = 0.0, [], {}
    for name, (ours, theirs) in pairs.items():
        our_time, values = best_time(
            lambda ours=ours: metrics.evaluate(truth, scores, {"value": ours}), options.repeats
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            their_time, expected = best_time(theirs, options.repeats)
        difference = abs(values["value"] - expected)
        if not difference <= 1e-10 * max(1.0, abs(expected)):
            raise SystemExit(f"{name}: {values['value']} here, {expected} in scikit-learn")
        total += their_time
        expected_values[name] = expected
        rows.append((name, our_time, their_time, difference))
    our_total, values = best_time(ours_together, options.repeats)
    largest = max(abs(values[name] - value) for name, value in expected_values.items())
    rows.append((f"all together (+{len(extra)} more)", our_total, total, largest))
    for name, our_time, their_time, difference in rows:
        ratio = their_time / our_time
        print(f"{name:<26}{our_time:>10.3f}{their_time:>10.3f}{ratio:>8.1f}   {difference:.1e}")
    if options.json:
        keys = ("metric", "labelgap_s", "sklearn_s", "difference")
        figures = [dict(zip(keys, row, strict=True)) for row in rows]
        options.json.write_text(json.dumps({"source": source, "rows": figures}, indent=1))


if __name__ == "__main__":
    main()
