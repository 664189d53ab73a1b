"""Texts of items and labels in the audit and in impute: what they add, and what they must not."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap import Labels, audit, impute
from labelgap.auditing import Audit

ANIMALS = ["dog", "cat", "horse", "eagle", "salmon", "whale", "lizard", "tiger"]
FILLER = ["old", "new", "big", "small", "red", "blue", "calm", "wild", "young", "quick"]


def table(seed: int = 0, n_items: int = 300):
    """Items whose texts name their labels, of which many are not recorded."""
    rng = np.random.default_rng(seed)
    true = (rng.random((n_items, len(ANIMALS))) < 0.2).astype(float)
    texts = [
        " ".join(
            rng.permutation([*rng.choice(FILLER, 3), *(np.array(ANIMALS)[row > 0] + " sound")])
        )
        for row in true
    ]
    recorded = true * (rng.random(true.shape) < 0.6)
    return rng.normal(size=(n_items, 4)), Labels.from_dense(recorded, names=ANIMALS), texts, true


def hits(found, true) -> float:
    wanted = [(int(s.item), ANIMALS.index(s.label)) for s in found.suggestions]
    return float(np.mean([true[place] for place in wanted]))


def test_texts_find_labels_and_shuffled_names_do_not():
    X, labels, texts, true = table()
    how = {"n_suggestions": 40, "item_text": texts, "text_encoder": "tfidf"}
    with_texts = audit(X, labels, **how)
    without = audit(X, labels, n_suggestions=40)
    shuffled = audit(X, labels.with_names([*ANIMALS[3:], *ANIMALS[:3]]), **how)
    shifted = [(int(s.item), (ANIMALS.index(s.label) + 3) % 8) for s in shuffled.suggestions]
    assert hits(with_texts, true) > hits(without, true) + 0.3
    assert np.mean([true[place] for place in shifted]) < hits(without, true) + 0.15


def test_the_nearest_word_is_evidence_and_survives_json():
    X, labels, texts, _ = table()
    found = audit(X, labels, n_suggestions=10, item_text=texts, text_encoder="tfidf")
    first = found.suggestions[0]
    assert first.evidence.words[0].word == first.label
    assert first.evidence.words[0].named
    assert Audit.from_json(found.to_json()) == found
    assert "words of items" in found.provenance.model
    plain = audit(X, labels, n_suggestions=10)
    assert not any(s.evidence.words for s in plain.suggestions)
    assert plain.audit_id != found.audit_id


def test_texts_alone_are_features_too():
    _, labels, texts, true = table()
    found = audit(None, labels, n_suggestions=40, item_text=texts, text_encoder="tfidf")
    assert hits(found, true) > 0.8
    same = audit(texts, labels, n_suggestions=40, text_encoder="tfidf")
    assert same.suggestions == found.suggestions
    assert not any(f.feature.startswith("feature") for f in same.suggestions[0].evidence.features)


def test_definitions_stand_beside_names():
    X, labels, texts, true = table()
    codes = labels.with_names([f"class {k}" for k in range(8)])
    given = {"n_suggestions": 40, "item_text": texts, "text_encoder": "tfidf"}
    by_argument = audit(X, codes, label_text=ANIMALS, **given)
    by_labels = audit(X, codes.with_text(ANIMALS), **given)
    assert by_argument.suggestions == by_labels.suggestions
    found = [true[int(s.item), int(s.label.split()[1])] for s in by_argument.suggestions]
    assert np.mean(found) > 0.7


def test_impute_takes_texts():
    X, labels, texts, true = table()
    how = {"threshold": 0.4, "zeros": "unlabeled"}
    found = impute(X, labels, **how, item_text=texts, text_encoder="tfidf")
    without = impute(X, labels, **how)
    rate = true[found.rows, found.labels].mean()
    assert rate > 0.6
    assert rate > true[without.rows, without.labels].mean() + 0.3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label_text": ANIMALS}, "label_text needs item_text"),
        ({"item_text": ["a text"]}, "item_text has 1 texts for 300 items"),
    ],
)
def test_wrong_texts_are_refused(given, message):
    X, labels, _, _ = table()
    with pytest.raises(ValueError, match=message):
        audit(X, labels, **given)
