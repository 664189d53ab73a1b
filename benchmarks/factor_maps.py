"""What a regressor in place of the linear map from features to factors gains.

``mllcs``: half of the labels have no training row and are known by their counts alone. 3,000 rows of
bibtex, and of Debian packages (features are words, n-grams and an embedding), where packages tagged
later are predicted. Average precision of all labels, of the unseen ones alone (of rows that carry one),
and precision at 1.

``rmfl``: 60% of the entries of 2,000 rows are unknown; average precision of other rows, with f linear in
the features, with a Gaussian kernel, and with a regressor that learned the factors of either.

Needs benchmark sets and the folder ``realgaps`` under ``LABELGAP_DATA``.
Run: ``python benchmarks/factor_maps.py mllcs rmfl --draws 2``; ``--part 2/16``: every 16th.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.neural_network import MLPRegressor

import text_gaps
from labelgap import MLLCS, RMFL, Labels, metrics
from labelgap.cooccurrence import count_cooccurrence
from labelgap.data import load_dataset
from labelgap.kernels.neighbors import mean_distance_gamma
from labelgap.text import TextFeatures
from result_rows import ResultRows

MAPS = ("linear", "kernel ridge", "network", "forest")
DATASETS = {"mllcs": ("bibtex", "debtags"), "rmfl": ("science", "yeast", "scene")}
FORMS = {"mllcs": ("",), "rmfl": ("linear", "rbf")}
ROWS = ResultRows("factor_maps", ("model", "dataset", "form", "map", "draw"))


def regressor(name: str, X: Any) -> Any:
    if name == "linear":
        return None
    if name == "kernel ridge":
        return KernelRidge(kernel="rbf", gamma=mean_distance_gamma(X), alpha=1.0)
    if name == "network":
        return MLPRegressor((256,), alpha=1e-3, early_stopping=True, max_iter=60, random_state=0)
    features = "sqrt" if X.shape[1] > 300 else 0.2
    return ExtraTreesRegressor(100, min_samples_leaf=3, max_features=features, random_state=0)


def benchmark_set(name: str) -> tuple[Any, np.ndarray]:
    data = load_dataset(name)
    Y = data.Y.to_dense()
    return data.X.astype(float), Y[:, Y.sum(axis=0) >= 5]


def debian(draw: int) -> tuple[Any, ...]:
    """Features and labels of rows to learn from and of packages tagged later, and all known labels."""
    rows, tags = text_gaps.read("debtags"), text_gaps.read("debtags_labels")
    late = np.array([row["part"] == "tagged later" for row in rows])
    sources = {row["source"] for row, is_late in zip(rows, late, strict=True) if is_late}
    others = np.flatnonzero([row["source"] not in sources for row in rows])
    Y = text_gaps.tag_matrix(rows, "tags", [row["tag"] for row in tags]).astype(float)
    learned = np.random.default_rng(draw).permutation(others)[:3000]
    texts = np.array([row["text"] for row in rows], dtype=object)
    features = TextFeatures().fit(texts[learned])
    X = features.transform(texts[learned]), features.transform(texts[late])
    return *X, Y[learned], Y[late], Y[others]


def bibtex(draw: int) -> tuple[Any, ...]:
    X, Y = benchmark_set("bibtex")
    order = np.random.default_rng(draw).permutation(X.shape[0])
    learned, asked = order[:3000], order[-2000:]
    return X[learned], X[asked], Y[learned], Y[asked], Y[order[:-2000]]


def measure_mllcs(dataset: str, form: str, map_: str, draw: int) -> dict[str, float]:
    X, new, Y, truth, known = (debian if dataset == "debtags" else bibtex)(draw)
    names = np.arange(Y.shape[1])
    seen = np.sort(np.random.default_rng(draw).permutation(names)[: names.size // 2])
    unseen = np.setdiff1d(names, seen)
    labels = Labels.from_dense(Y, names=names).with_unseen(unseen)
    counts = count_cooccurrence(Labels.from_dense(known, names=names), seen=seen)
    model = MLLCS(map=regressor(map_, X), random_state=0).fit(X, labels, cooccurrence=counts)
    scores = model.decision_function(new)
    carries = truth[:, unseen].any(axis=1)
    of_unseen = truth[carries][:, unseen], scores[carries][:, unseen]
    return {
        "average_precision": metrics.label_ranking_average_precision(truth, scores),
        "unseen_average_precision": metrics.label_ranking_average_precision(*of_unseen),
        "precision_at_1": truth[np.arange(len(truth)), scores.argmax(axis=1)].mean(),
    }


def measure_rmfl(dataset: str, form: str, map_: str, draw: int) -> dict[str, float]:
    X, Y = benchmark_set(dataset)
    rng = np.random.default_rng(draw)
    order = rng.permutation(X.shape[0])
    learned, asked = order[: min(2000, int(0.8 * X.shape[0]))], order[-400:]
    gaps = Y[learned].copy()
    gaps[rng.random(gaps.shape) < 0.6] = np.nan
    model = RMFL(kernel=form, map=regressor(map_, X[learned]), random_state=0)
    scores = model.fit(X[learned], gaps).decision_function(X[asked])
    return {"average_precision": metrics.label_ranking_average_precision(Y[asked], scores)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", choices=sorted(DATASETS))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--part", default="1/1")
    given = parser.parse_args()
    wanted = [
        (model, dataset, form, map_, draw)
        for draw in range(given.draws)
        for model in given.models
        for dataset in DATASETS[model]
        for form in FORMS[model]
        for map_ in MAPS
    ]
    part, n_parts = map(int, given.part.split("/"))
    for key in wanted[part - 1 :: n_parts]:
        fields = dict(zip(ROWS.key, key, strict=True))
        if ROWS.find(**fields) is not None:
            continue
        model, *how = key
        start = time.perf_counter()
        found = (measure_mllcs if model == "mllcs" else measure_rmfl)(*how)
        rounded = {name: round(float(value), 4) for name, value in found.items()}
        ROWS.add({**fields, **rounded, "seconds": round(time.perf_counter() - start, 1)})


if __name__ == "__main__":
    main()
