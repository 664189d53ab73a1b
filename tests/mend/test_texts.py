"""Mend learns from texts, and from what they say about the names of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from labelgap import BinaryRelevance, Labels, Mend

WORDS = [f"{a}{b}{c}" for a in "bdfgklmp" for b in "aeiou" for c in "nrstx"]
NAMES = WORDS[::9][:16]


def items(seed: int, n: int = 150) -> tuple[list[str], np.ndarray]:
    """Texts of four words, and labels of which each is rare and named in its items."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 4)) for _ in range(n)]
    return texts, np.array([[name in text for name in NAMES] for text in texts], dtype=float)


TEXTS, Y = items(0)
NEW, TRUTH = items(1)


def average_precision(model, X) -> float:
    return average_precision_score(TRUTH.ravel(), model.predict_proba(X).ravel())


@pytest.mark.parametrize("estimator", [LogisticRegression(), "auto"])
def test_names_of_labels_help_and_shuffled_ones_do_not(estimator):
    how = {"preset": "fast"} if estimator == "auto" else {}
    found = {}
    for case, names in (("right", NAMES), ("wrong", list(np.roll(NAMES, 3))), ("none", None)):
        model = Mend(estimator, text_encoder="tfidf", **how)
        found[case] = average_precision(model.fit(TEXTS, Labels.from_dense(Y, names=names)), NEW)
    assert 1 - found["right"] < 0.7 * (1 - found["none"])
    assert found["wrong"] < found["none"] + 0.02


def test_a_column_of_texts_is_like_a_sequence():
    labels = Labels.from_dense(Y, names=NAMES)
    model = Mend(LogisticRegression(), text_encoder="tfidf")
    alone = model.fit(TEXTS, labels).predict_proba(NEW)
    frame, new = pd.DataFrame({"note": TEXTS}), pd.DataFrame({"note": NEW})
    np.testing.assert_allclose(model.fit(frame, labels).predict_proba(new), alone)
    one_by_one = np.vstack([model.predict_proba(new[k : k + 1]) for k in range(5)])
    np.testing.assert_allclose(one_by_one, alone[:5])


def test_the_portfolio_learns_from_left_out_rows():
    model = Mend(time_limit=1e-9, text_encoder="tfidf").fit(
        TEXTS, Labels.from_dense(Y, names=NAMES)
    )
    plain = Mend(time_limit=1e-9, text_encoder="tfidf").fit(TEXTS, Y)
    assert average_precision(model, NEW) > average_precision(plain, NEW) + 0.01


def test_definitions_may_be_given_in_place_of_names():
    labels = Labels.from_dense(Y, names=list(range(len(NAMES)))).with_text(NAMES)
    model = Mend(LogisticRegression(), text_encoder="tfidf")
    numbers = Labels.from_dense(Y, names=list(range(len(NAMES))))
    without = average_precision(model.fit(TEXTS, numbers), NEW)
    assert average_precision(model.fit(TEXTS, labels), NEW) > without + 0.03


def test_pipelines_see_the_texts():
    model = BinaryRelevance(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    by_hand = BinaryRelevance(LogisticRegression())
    words = TfidfVectorizer().fit(TEXTS)
    expected = by_hand.fit(words.transform(TEXTS), Y).predict_proba(words.transform(NEW))
    np.testing.assert_allclose(model.fit(TEXTS, Y).predict_proba(NEW), expected, atol=1e-3)


def test_features_in_place_of_texts_are_refused():
    model = BinaryRelevance(LogisticRegression()).fit(TEXTS, Y)
    with pytest.raises(ValueError, match="give one text per row"):
        model.predict(np.zeros((2, 3)))
