"""The audit where people left the gaps, and under three kinds of loss, beside three other methods.

Parts, each resumed where its row is missing (``--only`` names some):

* ``mdi``, ``emoji``: tags of an old release audited, counted against those that curators added to the
  same items later (a lower bound of the truth). Features are words and character n-grams of the names.
* ``debtags``: 6,000 packages, of which 3,393 were never tagged: how many of these are named.
* a data set and a kind of loss, such as ``yeast uniform``: 40% of the positives, a rate between 0 and 80%
  for each label, or all labels of 40% of the items are deleted (``uniform``, ``label``, ``item``).
* ``planted``: a hundredth of the absent labels of a data set is added: which of the first 200 questioned
  labels of the audit and of cleanlab are among them.

Other methods see the same table: ``logistic`` (out of fold, C = 1), ``forest`` (100 trees, out of bag)
and ``cleanlab`` (the entries it flags first, from the probabilities of ``logistic``).

Run: ``python benchmarks/audit_real_gaps.py [--only "yeast item" mdi]``; real tables need
``LABELGAP_DATA``.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_union
from sklearn.preprocessing import StandardScaler

from labelgap import BinaryRelevance, audit
from labelgap.data import load_dataset
from result_rows import ResultRows

SETS = ("emotions", "yeast", "image", "scene", "science")
LOSSES = ("uniform", "label", "item")
REAL = ("mdi", "emoji", "debtags")
FIRST, FEWEST = 500, 10


def words(texts: Any) -> sparse.csr_array:
    parts = make_union(
        TfidfVectorizer(sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=2),
    )
    return sparse.csr_array(parts.fit_transform(texts))


def tags(column: Any, names: list[str] | None = None) -> tuple[np.ndarray, list[str]]:
    lists = [[one for one in str(cell).split(";") if one] for cell in column]
    names = sorted({one for cell in lists for one in cell}) if names is None else names
    places = {name: k for k, name in enumerate(names)}
    found = np.zeros((len(lists), len(names)), dtype=np.int8)
    for row, cell in enumerate(lists):
        found[row, [places[one] for one in cell if one in places]] = 1
    return found, names


def read(name: str) -> Any:
    import pandas

    folder = Path(os.environ["LABELGAP_DATA"]) / "realgaps"
    return pandas.read_csv(folder / f"{name}.csv.gz", keep_default_na=False)


def lose(truth: np.ndarray, loss: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if loss == "uniform":
        return truth * (rng.random(truth.shape) > 0.4)
    if loss == "label":
        return truth * (rng.random(truth.shape) > rng.uniform(0, 0.8, truth.shape[1]))
    left = truth.copy()
    left[rng.permutation(len(truth))[: int(0.4 * len(truth))]] = 0
    return left


def scores_of(found: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of the first suggestions, and what they claim."""
    listed = found.suggestions[:n]
    return np.array([(int(s.item), int(s.label)) for s in listed]).T, np.array(
        [s.probability for s in listed]
    )


def measured(X: Any, shown: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    begin = time.perf_counter()
    found = audit(X, shown.astype(float))
    seconds = time.perf_counter() - begin
    places, claimed = scores_of(found, 1000)
    right, missing = truth[tuple(places)] > 0, found.missing
    lost = int(((truth > 0) & (shown == 0)).sum())
    row = {
        "precision": round(float(right[:FIRST].mean()), 4),
        "right_1000": round(float(right.mean()), 4),
        "claimed_1000": round(float(claimed.mean()), 4),
        "missing": lost,
        "estimate": round(missing.value),
        "low": round(missing.low),
        "high": round(missing.high),
        "identified": missing.identified,
        "seconds": round(seconds, 1),
    }
    true = shown.sum(axis=0) / np.maximum(truth.sum(axis=0), 1)
    known = [k for k, one in enumerate(found.labels) if one.label_frequency is not None]
    of_labels = [found.labels[k].label_frequency for k in known]
    row["labels_shown"] = len(known)
    if known:
        inside = [one.low <= t <= one.high for one, t in zip(of_labels, true[known], strict=True)]
        row["labels_covered"] = round(float(np.mean(inside)), 3)
    if known and np.ptp(true[known]) > 0:
        found_rates = [one.value for one in of_labels]
        row["labels_rank_correlation"] = round(float(spearmanr(found_rates, true[known])[0]), 3)
    empty, stripped = shown.sum(axis=1) == 0, (shown.sum(axis=1) == 0) & (truth.sum(axis=1) > 0)
    probability = np.zeros(len(shown))
    for one in found.unopened_items:
        probability[int(one.item)] = one.probability
    few = stripped | (shown.sum(axis=1) <= 1)
    if stripped.any() and (few & ~stripped).any():
        row["unopened_auc"] = round(float(roc_auc_score(stripped[few], probability[few])), 3)
    row |= {"empty": int(empty.sum()), "unopened": round(float(probability.sum()))}
    return row


def others(X: Any, shown: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, float]:
    """Precision of the first suggestions of the other methods."""
    scaled = X if sparse.issparse(X) else StandardScaler().fit_transform(X)
    fold = np.random.default_rng(seed).permutation(len(shown)) % 5
    p = np.zeros(shown.shape)
    for k in range(5):
        model = BinaryRelevance(LogisticRegression(max_iter=500))
        model.fit(scaled[fold != k], shown[fold != k].astype(float))
        p[fold == k] = model.predict_proba(scaled[fold == k])
    forest = RandomForestClassifier(100, oob_score=True, random_state=seed).fit(X, shown)
    votes = np.nan_to_num(np.asarray(forest.oob_decision_function_))[:, 1]
    return {
        "logistic": first_right(p, shown, truth),
        "forest": first_right(votes, shown, truth),
        "cleanlab": first_right(flagged_first(p, shown), shown, truth),
    }


def flagged_first(p: np.ndarray, shown: np.ndarray) -> np.ndarray:
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class

    given = [np.flatnonzero(row).tolist() for row in shown]
    return p + 10.0 * np.asarray(find_multilabel_issues_per_class(given, p, n_jobs=1))


def first_right(scores: np.ndarray, shown: np.ndarray, truth: np.ndarray) -> float:
    order = np.argsort(-np.where(shown > 0, -np.inf, scores), axis=None, kind="stable")[:FIRST]
    return round(float((truth.ravel()[order] > 0).mean()), 4)


def of_set(name: str, loss: str, seed: int, alone: bool) -> dict[str, Any]:
    data = load_dataset(name)
    truth = data.Y.positives().toarray().astype(np.int8)
    truth = truth[:, truth.sum(axis=0) >= FEWEST]
    shown = lose(truth, loss, seed).astype(np.int8)
    kept = shown.sum(axis=0) >= FEWEST // 2
    shown, truth = shown[:, kept], truth[:, kept]
    beside = {} if alone else others(data.X, shown, truth, seed)
    return {**measured(data.X, shown, truth), **beside}


def of_release(name: str) -> dict[str, Any]:
    table = read(name)
    shown, names = tags(table["tags_then"])
    later, _ = tags(table["tags_later"], names)
    return measured(words(table["text"]), shown, np.maximum(shown, later))


def of_debtags(seed: int) -> dict[str, Any]:
    tagged, untagged = read("debtags"), read("debtags_untagged")
    rng = np.random.default_rng(seed)
    first = tagged.iloc[rng.permutation(len(tagged))[:2607]]
    second = untagged.iloc[rng.permutation(len(untagged))[:3393]]
    shown, _ = tags([*first["tags"], *[""] * len(second)])
    kept = shown.sum(axis=0) >= FEWEST // 2
    found = audit(words([*first["text"], *second["text"]]), shown[:, kept].astype(float))
    named = {int(one.item) for one in found.unopened_items if one.probability >= 0.5}
    every = set(np.flatnonzero(shown.sum(axis=1) == 0).tolist())
    return {
        "untagged": len(every),
        "named": len(named & every),
        "estimate": round(found.missing.value),
        "low": round(found.missing.low),
        "high": round(found.missing.high),
    }


def of_planted(name: str, seed: int) -> dict[str, Any]:
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    data = load_dataset(name)
    truth = data.Y.positives().toarray().astype(np.int8)
    planted = (truth == 0) & (np.random.default_rng(seed).random(truth.shape) < 0.01)
    shown = truth + planted
    found = audit(data.X, shown.astype(float), n_suggestions=1)
    listed = [planted[int(one.item), int(one.label)] for one in found.wrong_positives[:200]]
    scaled = data.X if sparse.issparse(data.X) else StandardScaler().fit_transform(data.X)
    fold, p = np.random.default_rng(seed).permutation(len(shown)) % 5, np.zeros(shown.shape)
    for k in range(5):
        model = BinaryRelevance(LogisticRegression(max_iter=500))
        p[fold == k] = model.fit(scaled[fold != k], shown[fold != k] * 1.0).predict_proba(
            scaled[fold == k]
        )
    quality = get_label_quality_scores_per_class([np.flatnonzero(row).tolist() for row in shown], p)
    order = np.argsort(np.where(shown > 0, quality, np.inf), axis=None, kind="stable")[:200]
    return {
        "n_planted": int(planted.sum()),
        "precision_200": round(float(np.mean(listed)), 4),
        "n_listed": len(listed),
        "cleanlab_200": round(float(planted.ravel()[order].mean()), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = [*REAL, *(f"{name} {loss}" for name in SETS for loss in LOSSES)]
    parts += [f"{name} planted" for name in SETS]
    parser.add_argument("--only", nargs="+", default=parts)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", action="store_true", help="without the other methods")
    chosen = parser.parse_args()
    results = ResultRows("audit_real_gaps", key=("part", "seed"))
    for part in chosen.only:
        key = {"part": part, "seed": chosen.seed}
        if results.find(**key):
            continue
        name, _, loss = part.partition(" ")
        if name == "debtags":
            kind, row = "untagged", of_debtags(chosen.seed)
        elif name in REAL:
            kind, row = "releases", of_release(name)
        elif loss == "planted":
            kind, row = "planted", of_planted(name, chosen.seed)
        else:
            kind, row = "losses", of_set(name, loss, chosen.seed, chosen.alone)
        results.add({"experiment": kind, **key, **row})


if __name__ == "__main__":
    main()
