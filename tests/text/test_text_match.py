"""Words of items beside names of labels, against loops over entries."""

from __future__ import annotations

import numpy as np
import pytest

from labelgap import Labels
from labelgap.text import (
    StaticEmbedding,
    TextFeatures,
    TfidfEncoder,
    check_encoder,
    encode_unit,
    label_texts,
    match_texts,
    words_of_name,
)

ITEMS = ["Alarm clock, ringing", "time zone map", "", "Music box; clock-work", "?!"]
NAMES = ["Date / Time", "music", "map::zone"]


def test_best_is_the_nearest_of_all_words():
    match = match_texts(ITEMS, NAMES, encoder="tfidf")
    expected = np.zeros((len(ITEMS), len(NAMES)))
    for item in range(len(ITEMS)):
        words = match.words[[item]].indices
        for label in range(len(NAMES)):
            near = [match.nearness[word, label] for word in words]
            expected[item, label] = max(near, default=0.0)
    np.testing.assert_array_equal(match.best(), expected.astype(np.float32))
    np.testing.assert_array_equal(match.best(np.array([3, 0])), expected[[3, 0]].astype("float32"))


def test_a_label_is_as_near_as_its_nearest_alternative():
    match = match_texts(ITEMS, NAMES, encoder="tfidf")
    place = list(match.vocabulary).index("clock")
    vectors = match.encoder.encode(["clock", "date", "time"]).toarray()
    assert match.nearness[place, 0] == pytest.approx(max(vectors[0] @ vectors[1:].T), abs=1e-6)


def test_named_needs_all_words_of_an_alternative():
    match = match_texts(ITEMS, NAMES, encoder="tfidf")
    expected = [[False, False, False]] * 5
    expected[1] = [True, False, True]
    expected[3] = [False, True, False]
    np.testing.assert_array_equal(match.named.toarray(), expected)


def test_the_best_word_is_the_evidence():
    match = match_texts(ITEMS, NAMES, encoder="tfidf")
    assert match.best_word(3, 1) == ("music", 1.0)
    assert match.best_word(2, 1) == ("", 0.0)


def test_columns_are_those_of_some_labels():
    match = match_texts(ITEMS, NAMES, encoder="tfidf").columns([2, 0])
    np.testing.assert_array_equal(
        match.best(), match_texts(ITEMS, NAMES, encoder="tfidf").best()[:, [2, 0]]
    )
    assert match.named.toarray()[1].tolist() == [True, True]


def test_definitions_bring_items_near():
    plain = match_texts(["tick tock"], ["time", "sea"], encoder="tfidf")
    defined = match_texts(
        ["tick tock"], ["time", "sea"], ["clocks that tick", "water"], encoder="tfidf"
    )
    assert defined.best()[0, 0] > plain.best()[0, 0]
    assert not defined.named.toarray().any()


def test_items_without_a_word():
    match = match_texts(["", "?"], ["a", "b"], encoder="tfidf")
    assert not match.best().any()
    assert not match.named.toarray().any()


def test_texts_of_labels():
    labels = Labels.from_dense([[1, 0]], names=["game::board", "x/y"])
    assert label_texts(labels) == ["game board", "x, y"]
    given = labels.with_text({"x/y": "axes"})
    assert label_texts(given) == ["game board", "axes"]
    assert label_texts(given[:, [1]]) == ["axes"]
    assert label_texts(given, ["A", None]) == ["A", ""]
    assert label_texts(given.with_text(None)) == label_texts(labels)
    assert label_texts(Labels.concatenate([given, given])) == ["game board", "axes"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["one"], "one text per label"),
        ({"other": "text"}, "'other' is the name of no label"),
    ],
)
def test_wrong_texts_of_labels_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        Labels.from_dense([[1, 0]], names=["a", "b"]).with_text(texts)


def test_labels_without_names_need_texts():
    with pytest.raises(ValueError, match="neither names nor texts"):
        label_texts(Labels.from_dense([[1, 0]]))
    with pytest.raises(ValueError, match="its keys must be names of labels such as 'a'"):
        label_texts(Labels.from_dense([[1]], names=["a"]), {"b": "text"})
    with pytest.raises(ValueError, match=r"label_text has 1 texts for 2 labels"):
        label_texts(Labels.from_dense([[1, 0]]), ["one"])


def test_names_without_letters_stand_for_themselves():
    assert words_of_name("?!") == ["?!"]


class Counting:
    """An encoder that says how often it was asked."""

    def __init__(self):
        self.asked: list[str] = []

    def encode(self, texts):
        self.asked += texts
        return np.array([[len(text), text.count("a") + 1.0] for text in texts])


def test_any_object_with_encode_is_asked_once_per_text():
    encoder = Counting()
    first = encode_unit(encoder, ["banana", "pear", "banana"])
    again = encode_unit(encoder, ["pear", "fig"])
    assert encoder.asked == ["banana", "pear", "fig"]
    np.testing.assert_array_equal(first[1], again[0])
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-6)
    assert match_texts(["banana"], ["pear"], encoder=encoder).encoder is encoder


def test_wrong_encoders_are_refused():
    with pytest.raises(ValueError, match="'static', 'tfidf' or an object"):
        check_encoder("bert")
    with pytest.raises(TypeError, match="has no method encode"):
        check_encoder(3)

    class Short:
        def encode(self, texts):
            return np.zeros((1, 2))

    with pytest.raises(ValueError, match="one row per text"):
        encode_unit(Short(), ["a", "b"])


def test_tfidf_of_nothing():
    encoder = TfidfEncoder().fit(["", ""])
    assert encoder.encode(["a"]).shape == (1, 1)


@pytest.mark.skipif(not StaticEmbedding.is_installed(), reason="needs labelgap[text]")
def test_the_static_embedding_knows_synonyms():
    match = match_texts(["clock", "violin"], ["time", "music"], encoder="static")
    near = match.best()
    assert near[0, 0] > near[0, 1]
    assert near[1, 1] > near[1, 0]
    vectors = StaticEmbedding().encode(["", "Clock", "clock"])
    assert not vectors[0].any()
    np.testing.assert_array_equal(vectors[1], vectors[2])


@pytest.mark.parametrize("encoder", ["tfidf", Counting()])
def test_text_features_have_names(encoder):
    features = TextFeatures(encoder).fit(["red car", "blue car", "red bus"])
    X = features.transform(["red car"])
    names = features.get_feature_names_out()
    assert X.shape == (1, len(names))
    said = {name for name, value in zip(names, X.toarray()[0], strict=True) if value > 0}
    assert {"red", "car", "'car'"} <= said
    assert "bus" not in said
    assert features.n_embedded_ == (0 if encoder == "tfidf" else 2)


def test_a_language_model_is_never_fitted():
    class Model:
        def fit(self, train_objectives):
            raise AssertionError("its fit wants pairs of texts")

        def encode(self, texts):
            return np.array([[len(text), text.count("e"), 1.0] for text in texts])

    match = match_texts(["red car", "bus"], ["car", "tree"], encoder=Model())
    assert match.named.toarray().tolist() == [[True, False], [False, False]]
    assert TextFeatures(Model()).fit_transform(["red car", "bus"]).shape[0] == 2
