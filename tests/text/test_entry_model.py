"""The model of entries learns what texts say, and learns nothing from names that say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import average_precision_score

from labelgap import as_labels
from labelgap.text import TextEntryModel, match_texts

WORDS = [f"{a}{b}{c}" for a in "bdfgklmp" for b in "aeiou" for c in "nrstx"]


def items_and_labels(seed: int = 0, n_items: int = 400, n_labels: int = 12, text: float = 6.0):
    """Texts whose words look like names of labels, scores, and labels drawn from the model."""
    rng = np.random.default_rng(seed)
    names = rng.choice(WORDS, n_labels, replace=False)
    items = [" ".join(rng.choice(WORDS, 3)) for _ in range(n_items)]
    match = match_texts(items, names, encoder="tfidf")
    scores = rng.normal(size=(n_items, n_labels))
    relevant = rng.random(scores.shape) < expit(-4 + 1.5 * scores + text * match.best())
    return items, names, match, scores, relevant.astype(float)


def test_weights_are_recovered():
    _, _, match, scores, Y = items_and_labels(n_items=3000)
    weights = TextEntryModel(l2=1e-6).fit(scores, as_labels(Y), match).weights_
    assert weights.score == pytest.approx((1.5,), abs=0.12)
    assert weights.text == pytest.approx(6, abs=0.5)


def test_entries_are_better_than_scores_and_shuffled_names_lose_it():
    items, names, match, scores, Y = items_and_labels()
    labels = as_labels(Y, zeros="unlabeled")
    learned, held = np.arange(200), np.arange(200, 400)
    plain = average_precision_score(Y[held].ravel(), scores[held].ravel())
    found = {}
    for order in (names, np.roll(names, 5)):
        match = match_texts(items, order, encoder="tfidf")
        model = TextEntryModel().fit(scores[learned], labels[learned], match.rows(learned))
        entries = model.decision_function(scores[held], match.rows(held))
        found[order[0]] = average_precision_score(Y[held].ravel(), entries.ravel())
    gained, lost = found.values()
    assert gained > plain + 0.03
    assert lost < plain + 0.01


def test_a_weight_of_texts_may_be_given():
    _, _, match, scores, Y = items_and_labels()
    learned = TextEntryModel().fit(scores, as_labels(Y), match).weights_
    given = TextEntryModel().fit(scores, as_labels(Y), match, text_weight=learned.text).weights_
    assert given.text == learned.text
    assert given.score == pytest.approx(learned.score, rel=0.02)


@pytest.mark.parametrize("zeros", ["unlabeled", "negative"])
def test_unopened_items_and_named_labels_teach_only_where_zeros_are_negative(zeros):
    _, _, match, scores, Y = items_and_labels()
    Y[:200] = 0
    uninformative = match.named.toarray()
    uninformative[:200] = True
    other = np.where(uninformative, -scores, scores)
    labels = as_labels(Y, zeros=zeros)
    learned = TextEntryModel().fit(scores, labels, match).weights_
    again = TextEntryModel().fit(other, labels, match).weights_
    assert (learned == again) is (zeros == "unlabeled")


def test_texts_never_count_against_a_label():
    _, _, match, scores, Y = items_and_labels(text=-6.0)
    assert TextEntryModel().fit(scores, as_labels(Y), match).weights_.text == 0.0


def test_blocks_and_parts_agree():
    _, _, match, scores, Y = items_and_labels(n_items=50)
    model = TextEntryModel().fit(scores, as_labels(Y), match)
    weights = model.weights_
    slopes = np.array([*weights.score, weights.text, weights.frequency])
    intercept = weights.intercept
    frequency = np.log((Y.sum(axis=0) + 0.5) / 51)
    by_hand = slopes[0] * scores + slopes[1] * match.best() + slopes[2] * frequency + intercept
    np.testing.assert_allclose(model.decision_function(scores, match), by_hand)


def test_several_scores_have_a_weight_each():
    _, _, match, scores, Y = items_and_labels(n_items=1000)
    noise = np.random.default_rng(1).normal(size=scores.shape)
    model = TextEntryModel(l2=1e-6).fit((noise, 2 * scores), as_labels(Y), match)
    alone = TextEntryModel(l2=1e-6).fit(scores, as_labels(Y), match)
    assert model.weights_.score == pytest.approx((0.0, alone.weights_.score[0] / 2), abs=0.08)
    given = TextEntryModel().fit((noise, scores), as_labels(Y), match, text_weight=3.0).weights_
    assert given.text == 3.0
    assert len(given.score) == 2


def test_without_a_label_scores_stay_as_they_are():
    _, _, match, scores, Y = items_and_labels(n_items=20)
    model = TextEntryModel().fit(scores, as_labels(Y * 0, zeros="unlabeled"), match)
    np.testing.assert_allclose(model.decision_function(scores, match), scores)


def test_other_shapes_are_refused():
    _, _, match, scores, Y = items_and_labels(n_items=20)
    with pytest.raises(ValueError, match="one row per item and one column per label"):
        TextEntryModel().fit(scores[:10], as_labels(Y), match)
