"""Graphs of models that read words cut and weigh texts as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from labelgap import BinaryRelevance, Mend
from labelgap.export import NotLinearError, to_onnx

runtime = pytest.importorskip("onnxruntime", reason="pip install 'labelgap[test]'")

WORDS = ["contract", "Court", "NAÏVE", "straße", "x_1", "a", "tea-time", "don't", "ÄPFEL", "2024"]
NEW = [
    "",
    "a!",
    "Straße STRASSE äpfel",
    "nothing known",
    "contract\n court\tcontract  x_1",
    "日本 ½",
]
PROBABILITIES = ["probabilities"]


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], np.ndarray]:
    """Texts, and labels that their words say."""
    rng = np.random.default_rng(0)
    rows = [" ".join(rng.choice(WORDS, 6)) for _ in range(80)]
    found = [["contract" in text, "NAÏVE" in text, "2024" in text] for text in rows]
    return rows, np.array(found, dtype=float)


def _run(made, **inputs):
    session = runtime.InferenceSession(made.SerializeToString())
    assert {one.name for one in session.get_inputs()} == set(inputs)
    return session.run(PROBABILITIES, inputs)[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngram_range": (1, 2)},
        {"ngram_range": (2, 3), "norm": None},
        {"use_idf": False, "lowercase": False},
        {"token_pattern": r"(?u)\b\w+\b", "max_features": 5},
    ],
    ids=str,
)
def test_words_are_weighed_as_by_scikit_learn(texts, options):
    rows, Y = texts
    model = make_pipeline(TfidfVectorizer(**options), BinaryRelevance()).fit(rows, Y)
    given = np.array([*rows, *NEW], dtype=object)
    wanted = model.predict_proba(given)
    assert np.ptp(wanted, axis=0).min() > 0.01
    np.testing.assert_allclose(_run(to_onnx(model), texts=given), wanted, atol=1e-7)
    nothing = np.array([""], dtype=object)
    wanted = model.predict_proba(nothing)
    np.testing.assert_allclose(_run(to_onnx(model), texts=nothing), wanted, atol=1e-7)


def test_words_stand_after_the_features_before_them(texts):
    rows, Y = texts
    numbers = np.random.default_rng(1).standard_normal((len(rows), 3))
    numbers[::9, 1] = np.nan
    fill, words = SimpleImputer().fit(numbers), TfidfVectorizer().fit(rows)
    X = sparse.csr_array(sparse.hstack([fill.transform(numbers), words.transform(rows)]))
    scale = MaxAbsScaler().fit(X)
    model = BinaryRelevance().fit(scale.transform(X), Y)
    steps = Pipeline([("fill", fill), ("words", words), ("scale", scale), ("model", model)])
    made = to_onnx(steps, feature_names=["a", "b", "c"], label_names=["x", "y", "z"])
    given = _run(made, features=numbers, texts=np.array(rows, dtype=object))
    np.testing.assert_allclose(given, model.predict_proba(scale.transform(X)), atol=1e-7)


def test_any_machine_has_the_locale_of_plain_words(texts):
    rows, Y = texts

    def locale(vocabulary, **options):
        model = make_pipeline(TfidfVectorizer(vocabulary=vocabulary), BinaryRelevance())
        nodes = to_onnx(model.fit(rows, Y), **options).graph.node
        (step,) = (node for node in nodes if node.op_type == "StringNormalizer")
        return next(one.s.decode() for one in step.attribute if one.name == "locale")

    assert locale(["contract", "2024"]) == "C"
    assert locale(["contract", "naïve"]) == "C.UTF-8"
    assert locale(["contract", "naïve"], locale="de_DE.UTF-8") == "de_DE.UTF-8"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop_words": "english"}, "stop_words='english'"),
        ({"analyzer": "char_wb"}, "analyzer='char_wb'"),
        ({"sublinear_tf": True, "binary": True}, "leave them at the default"),
        ({"norm": "l1"}, "norm='l1'"),
        ({"token_pattern": r"\S+"}, "token_pattern"),
    ],
    ids=str,
)
def test_what_the_graph_cannot_do_is_named(texts, options, message):
    model = make_pipeline(TfidfVectorizer(**options), BinaryRelevance()).fit(*texts)
    with pytest.raises(NotLinearError, match=message):
        to_onnx(model)


@pytest.mark.parametrize("frame", [False, True])
def test_features_that_a_model_made_itself_are_no_input(texts, frame):
    rows, Y = texts
    X = pd.DataFrame({"note": rows, "size": np.arange(len(rows))}) if frame else rows
    for model in (BinaryRelevance(), Mend(preset="fast")):
        with pytest.raises(NotLinearError, match=r"make_pipeline\(TfidfVectorizer\(\)"):
            to_onnx(model.fit(X, Y))
