"""What texts of items and labels find of the labels that curators added later.

``emoji`` and ``mdi``: how many of the first 100 and 500 suggestions of :func:`labelgap.audit` are tags
that a later release has, and of the first 100 whose label the item does not name. Features are words.
The methods are the audit ``without texts``, ``with texts``, and ``with shuffled names``, in which each
label has the name of another one.

``debtags``: half of the tags have no training item; what :class:`labelgap.MLLCS` says of packages tagged
later, knowing unseen tags by ``counts``, by ``texts`` (their definitions), or by ``both``.

``added``: ten tags that are no column of the training table are added by their definition alone
(:meth:`labelgap.MLLCS.add_labels`); the AUC of each on packages that were not learned from.

``later``: what estimators that learned the old tags of mdi say of icons that came later, by the average
precision of all entries together: a logistic regression of words, and :class:`labelgap.Mend` with texts
alone or with the names of the labels, with both meanings of a zero.

Needs the folder ``realgaps`` under ``LABELGAP_DATA``. Run: ``python benchmarks/text_gaps.py emoji mdi``;
``--part 2/16`` runs every 16th measurement.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline

from labelgap import MLLCS, BinaryRelevance, Labels, Mend, audit, metrics
from labelgap.cooccurrence import count_cooccurrence
from result_rows import ResultRows

METHODS = ("without texts", "with texts", "with shuffled names")
KNOWN_BY = ("counts", "texts", "both")
PREDICTORS = (
    "logistic regression of words",
    "linear, texts",
    "linear, texts and names",
    "Mend, texts",
    "Mend, texts and names",
)
METHODS_OF = {
    "emoji": METHODS,
    "mdi": METHODS,
    "debtags": KNOWN_BY,
    "added": ("texts",),
    # what zeros mean is nothing to the first
    "later": tuple(
        f"{name}; zeros {zeros}" for name in PREDICTORS for zeros in ("negative", "unlabeled")
    )[1:],
}
ROWS = ResultRows("text_gaps", ("dataset", "method", "draw", "n_training"))


def read(name: str) -> list[dict[str, str]]:
    folder = Path(os.environ["LABELGAP_DATA"]) / "realgaps"
    with gzip.open(folder / f"{name}.csv.gz", "rt", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tag_matrix(rows: list[dict[str, str]], column: str, names: list[str]) -> np.ndarray:
    sets = [set(row[column].split(";")) for row in rows]
    return np.array([[name in tags for name in names] for tags in sets])


def measure_audit(dataset: str, method: str) -> None:
    rows = read(dataset)
    texts = [row["text"] for row in rows]
    names = sorted({tag for row in rows for tag in row["tags_then"].split(";") if tag})
    then, later = (tag_matrix(rows, column, names) for column in ("tags_then", "tags_later"))
    given = {"item_text": texts} if method != METHODS[0] else {}
    shown = list(np.roll(names, 7)) if method == METHODS[2] else names
    labels = Labels.from_dense(then.astype(float), names=shown)
    start = time.perf_counter()
    found = audit(TfidfVectorizer().fit_transform(texts), labels, **given)
    hits, unnamed = [], []
    for suggestion in found.suggestions:
        item, label = int(suggestion.item), shown.index(suggestion.label)
        hits.append(later[item, label])
        words = set(texts[item].lower().split())
        unnamed.append(not set(names[label].lower().split()) <= words)
    hit, is_unnamed = np.array(hits), np.array(unnamed)
    ROWS.add(
        {
            "dataset": dataset,
            "method": method,
            "draw": 0,
            "n_training": len(rows),
            "precision_100": round(float(hit[:100].mean()), 3),
            "precision_500": round(float(hit[:500].mean()), 3),
            "unnamed_precision_100": round(float(hit[is_unnamed][:100].mean()), 3),
            "seconds": round(time.perf_counter() - start, 1),
        }
    )


def measure_unseen(method: str, draw: int, n_training: int) -> None:
    rows, tags = read("debtags"), read("debtags_labels")
    names, definitions = [row["tag"] for row in tags], [row["definition"] for row in tags]
    is_late = np.array([row["part"] == "tagged later" for row in rows])
    late_sources = {row["source"] for row, late in zip(rows, is_late, strict=True) if late}
    others = np.array([row["source"] not in late_sources for row in rows])
    Y = tag_matrix(rows, "tags", names)
    rng = np.random.default_rng(draw)
    seen = np.sort(rng.permutation(len(names))[: len(names) // 2])
    learned = rng.permutation(np.flatnonzero(others))[:n_training]
    full = Labels.from_dense(Y[others].astype(float), names=names)
    counts = count_cooccurrence(full, seen=[names[label] for label in seen])
    labels = Labels.from_dense(Y[learned].astype(float), names=names)
    labels = labels.with_unseen(np.setdiff1d(np.arange(len(names)), seen))
    start = time.perf_counter()
    model = MLLCS(random_state=0).fit(
        [rows[row]["text"] for row in learned],
        labels,
        cooccurrence=None if method == "texts" else counts,
        label_text=None if method == "counts" else definitions,
    )
    scores = model.decision_function(
        [row["text"] for row, late in zip(rows, is_late, strict=True) if late]
    )
    truth = Y[is_late]
    ROWS.add(
        {
            "dataset": "debtags",
            "method": method,
            "draw": draw,
            "n_training": n_training,
            "precision_at_1": round(
                float(truth[np.arange(len(truth)), scores.argmax(1)].mean()), 3
            ),
            "average_precision": round(
                float(metrics.label_ranking_average_precision(truth.astype(float), scores)), 3
            ),
            "seconds": round(time.perf_counter() - start, 1),
        }
    )


def measure_added(draw: int, n_training: int) -> None:
    rows, tags = read("debtags"), read("debtags_labels")
    names, definitions = [row["tag"] for row in tags], [row["definition"] for row in tags]
    Y, texts = tag_matrix(rows, "tags", names), [row["text"] for row in rows]
    rng = np.random.default_rng(draw)
    order = rng.permutation(len(rows))
    learned, asked = order[:n_training], order[-5000:]
    common = np.flatnonzero(Y[asked].sum(axis=0) >= 10)
    new = rng.permutation(common)[:10]
    old = np.setdiff1d(np.arange(len(names)), new)
    start = time.perf_counter()
    labels = Labels.from_dense(Y[np.ix_(learned, old)].astype(float), names=[names[k] for k in old])
    model = MLLCS(random_state=0)
    model.fit([texts[row] for row in learned], labels, label_text=[definitions[k] for k in old])
    model.add_labels(names=[names[k] for k in new], label_text=[definitions[k] for k in new])
    scores = model.decision_function([texts[row] for row in asked])[:, -10:]
    auc = [roc_auc_score(Y[asked, label], scores[:, k]) for k, label in enumerate(new)]
    ROWS.add(
        {
            "dataset": "added",
            "method": "texts",
            "draw": draw,
            "n_training": n_training,
            "median_auc": round(float(np.median(auc)), 3),
            "worst_auc": round(float(np.min(auc)), 3),
            "seconds": round(time.perf_counter() - start, 1),
        }
    )


def measure_later(method: str) -> None:
    old, new = read("mdi"), read("mdi_later")
    names = sorted({tag for row in old for tag in row["tags_then"].split(";") if tag})
    then = tag_matrix(old, "tags_then", names).astype(float)
    truth = tag_matrix(new, "tags", names)
    predictor, zeros = method.split("; zeros ")
    shown = names if predictor.endswith("names") else None
    labels = Labels.from_dense(then, names=shown, zeros=zeros)
    if predictor.startswith("Mend"):
        model = Mend()
    elif predictor.startswith("linear"):
        model = Mend(LogisticRegression(C=10))
    else:
        model = BinaryRelevance(make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)))
    start = time.perf_counter()
    model.fit([row["text"] for row in old], labels)
    scores = model.predict_proba([row["text"] for row in new])
    ROWS.add(
        {
            "dataset": "later",
            "method": method,
            "draw": 0,
            "n_training": len(old),
            "micro_average_precision": round(
                float(average_precision_score(truth.ravel(), scores.ravel())), 4
            ),
            "seconds": round(time.perf_counter() - start, 1),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+", choices=sorted(METHODS_OF))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--n-training", type=int, default=3000)
    parser.add_argument("--part", default="1/1")
    given = parser.parse_args()
    n_rows = {"emoji": 1884, "mdi": 5045, "later": 5045}
    wanted = [
        {"dataset": name, "method": method, "draw": draw, "n_training": n_rows.get(name, n)}
        for name in given.datasets
        for draw in range(1 if name in n_rows else given.draws)
        for method in METHODS_OF[name]
        for n in (given.n_training,)
    ]
    part, n_parts = map(int, given.part.split("/"))
    for key in wanted[part - 1 :: n_parts]:
        if ROWS.find(**key) is not None:
            continue
        if key["dataset"] == "debtags":
            measure_unseen(key["method"], key["draw"], key["n_training"])
        elif key["dataset"] == "added":
            measure_added(key["draw"], key["n_training"])
        elif key["dataset"] == "later":
            measure_later(key["method"])
        else:
            measure_audit(key["dataset"], key["method"])


if __name__ == "__main__":
    main()
