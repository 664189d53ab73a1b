"""Learn from labels as they were recorded, test on items whose labels came later."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labelgap.labels import Labels
from labelgap.protocols import MECHANISMS
from labelgap_papers.bench.protocols._gaps import Gaps, with_gaps
from labelgap_papers.bench.protocols.protocol import Setting, Task, shuffled
from labelgap_papers.bench.real_gaps import REAL_GAPS, VersionPair, load_versions, read_versions


class RealGaps(Gaps):
    """Two versions of a table: train on the old one, test on items that came later.

    ``features`` are "words" or "characters" (n-grams of 2 to 5 letters within words), weighted by
    tf-idf. ``labels`` are "old", as they were in the old version; "filled", with what the new
    one added; or a mechanism of `labelgap.protocols`, by which as large a fraction of the filled labels
    is lost as was missing. Without items that came later 30% of the rows are held out, by the seed
    of the run, and scored by their filled labels. ``pairs`` names versions of one's own, each a table
    of the arguments of `read_versions`.
    """

    keys: ClassVar[tuple[str, ...]] = ("features", "labels")
    tuning_keys: ClassVar[tuple[str, ...]] = ("features", "labels")
    options: ClassVar[dict[str, Any]] = {"train_fraction": 0.7, "pairs": {}}

    def known_datasets(self) -> set[str]:
        return {*REAL_GAPS, *self.chosen["pairs"]}

    def draw(self, dataset: str, setting: Setting, run: int) -> Task:
        pairs = self.chosen["pairs"]
        pair = read_versions(**pairs[dataset]) if dataset in pairs else load_versions(dataset)
        texts, then, filled = pair.texts, pair.then, pair.filled
        if pair.test_texts is None:
            n_train = int(self.chosen["train_fraction"] * len(texts))
            train, test = shuffled(len(texts), n_train, run)
            pair = VersionPair(
                [texts[row] for row in train],
                then[train],
                filled[train],
                [texts[row] for row in test],
                filled[test],
            )
        vectorizer = _vectorizer(setting["features"])
        X = vectorizer.fit_transform(pair.texts).tocsr()
        X_test = vectorizer.transform(pair.test_texts).tocsr()
        kept, Y = _training_labels(X, pair, setting["labels"], run)
        assert pair.test_labels is not None
        return Task(dataset, X[kept], Y, X_test, pair.test_labels)


def _training_labels(X: Any, pair: VersionPair, kind: str, run: int) -> tuple[np.ndarray, Labels]:
    """Rows to learn from, and their labels."""
    every = np.arange(pair.then.n_samples)
    if kind == "old":
        return every, pair.then
    # items that nobody ever labelled teach nothing once the gaps are filled
    stated = np.flatnonzero(np.asarray(pair.filled.n_observed(axis=1)) > 0)
    filled = pair.filled[stated]
    if kind == "filled":
        return stated, filled
    if kind not in MECHANISMS:
        raise ValueError(f'labels={kind!r}: use "old", "filled", {", ".join(MECHANISMS)}')
    lost = 1.0 - pair.then.n_positives() / filled.n_positives()
    if stated.size < every.size:
        lost = 1.0 - stated.size / every.size
    return stated, with_gaps(X[stated], filled, kind, lost, run)


def _vectorizer(features: str) -> TfidfVectorizer:
    if features == "words":
        return TfidfVectorizer(sublinear_tf=True)
    if features == "characters":
        return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True)
    raise ValueError(f'features={features!r}: use "words" or "characters"')
