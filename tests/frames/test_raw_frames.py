"""Frames with text, categories, dates and holes go into estimators as they are."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from labelgap import BinaryRelevance, KNeighborsLabels, Mend, audit
from labelgap.frames import FrameEncoder, FrameRows

pytest.importorskip("skrub")


def _frame(n: int = 160, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A label per kind of column: each follows from one of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": 1000 * rng.normal(size=n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "shop": rng.choice(["north", "south"], n),
            "sold": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "note": [
                " ".join(rng.choice(["sweet", "sour", "bitter", "salty"], 2)) + f" item {i}"
                for i in range(n)
            ],
        }
    )
    labels = pd.DataFrame(
        {
            "large": frame["size"] > 0,
            "red": frame["colour"] == "red",
            "north": frame["shop"] == "north",
            "late": frame["day"] >= pd.Timestamp("2025-01-01"),
        }
    ).astype(float)
    for column in ("size", "colour", "shop", "sold", "day"):
        frame[column] = frame[column].astype(object if column == "sold" else frame[column].dtype)
        frame.loc[rng.choice(n, 5, replace=False), column] = None
    hidden = rng.random(labels.shape) < 0.2
    return frame, labels.mask(hidden)


FRAME, LABELS = _frame()
NEW, TRUTH = _frame(80, seed=1)
BY_NAME = ColumnTransformer(
    [
        ("words", TfidfVectorizer(), "note"),
        ("codes", OneHotEncoder(handle_unknown="ignore"), ["colour", "shop"]),
    ]
)
MODELS = {
    "binary relevance": BinaryRelevance(LogisticRegression()),
    "mend": Mend(LogisticRegression()),
    "neighbors": KNeighborsLabels(),
    "forest, which takes NaN": BinaryRelevance(RandomForestClassifier(20, random_state=0)),
    "categories": BinaryRelevance(HistGradientBoostingClassifier(max_iter=10)),
    "pipeline": Mend(make_pipeline(BY_NAME, LogisticRegression())),
    "pipeline alone": BinaryRelevance(make_pipeline(BY_NAME, LogisticRegression())),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_frame_as_it_is(name):
    model = MODELS[name].fit(FRAME, LABELS)
    probabilities = model.predict_proba(NEW)
    assert probabilities.shape == (80, 4)
    assert np.isfinite(probabilities).all()
    right = ((probabilities > 0.5) == TRUTH.fillna(0)).where(TRUTH.notna())
    learned = ["red", "north"] if "pipeline" in name else ["large", "red", "north", "late"]
    if name != "neighbors":
        assert right[learned].mean().mean() > 0.85
    np.testing.assert_array_equal(model.predict_proba(NEW[NEW.columns[::-1]]), probabilities)
    assert model.feature_names_in_.tolist() == list(FRAME.columns)


def test_other_columns_are_refused_by_name():
    for name in ("binary relevance", "pipeline alone", "categories"):
        model = MODELS[name].fit(FRAME, LABELS)
        with pytest.raises(ValueError, match="X lacks the column 'colour'"):
            model.predict(NEW.drop(columns="colour"))
        with pytest.raises(ValueError, match="X has the column 'new', which it did not have"):
            model.predict(NEW.assign(new=1))
        with pytest.raises(ValueError, match="X is no frame"):
            model.predict(NEW.to_numpy())


def test_values_that_were_never_seen_are_predicted():
    model = MODELS["binary relevance"].fit(FRAME, LABELS)
    strange = NEW.assign(colour="violet", shop=None, day=None, note=None, size=None)
    assert np.isfinite(model.predict_proba(strange)).all()


def test_polars_frames_are_read_alike():
    polars = pytest.importorskip("polars")
    expected = MODELS["binary relevance"].fit(FRAME, LABELS).predict_proba(NEW)
    other = BinaryRelevance(LogisticRegression())
    other.fit(polars.from_pandas(FRAME), polars.from_pandas(LABELS))
    for rows in (NEW, polars.from_pandas(NEW)):
        np.testing.assert_allclose(other.predict_proba(rows), expected, atol=0.02)


def test_a_pipeline_asks_for_columns_by_name_in_plain_frames_too():
    numbers = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0)[::-1]})
    Y = pd.DataFrame({"l": (numbers["a"] > 30).astype(int), "m": (numbers["a"] < 20).astype(int)})
    select = ColumnTransformer([("kept", "passthrough", ["b"])])
    model = Mend(make_pipeline(select, LogisticRegression())).fit(numbers, Y)
    assert model.score(numbers, Y) == 1


def test_models_are_pickled_with_what_they_learned_of_the_table():
    model = MODELS["mend"].fit(FRAME, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


def test_the_audit_takes_the_frame():
    zeros = LABELS.fillna(0)
    found = audit(FRAME, zeros, n_suggestions=5)
    encoded = FrameEncoder(text="sparse").fit(FRAME).transform(FRAME)
    matrix = audit(encoded, zeros, item_text=FRAME["note"], n_suggestions=5)
    assert found.missing.value == pytest.approx(matrix.missing.value, rel=1e-6)


def test_rows_of_frames_are_like_rows_of_arrays():
    rows = FrameRows(FRAME, np.arange(160.0)[:, None])
    some = rows[np.array([5, 2])].with_columns(np.array([[7.0], [8.0]]))
    assert some.beside.tolist() == [[5.0, 7.0], [2.0, 8.0]]
    assert some.frame["note"].tolist() == FRAME["note"].iloc[[5, 2]].tolist()
    assert some.without_column(some.shape[1] - 1).beside[:, 1].tolist() == [0, 0]
    assert rows[:3].shape == (3, 7)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [[1, 2], [3]]}), "column 'a' of X holds list values"),
        (pd.DataFrame({"a": [b"x", b"y"]}), "column 'a' of X holds bytes values"),
        (pd.DataFrame(np.array([[b"x"], [b"y"]]), columns=["a"]), "column 'a' of X holds bytes"),
        (pd.DataFrame([["x", "y"]] * 2, columns=["a", "a"]), "two columns called 'a'"),
    ],
)
def test_columns_that_are_no_features(frame, message):
    with pytest.raises(ValueError, match=message):
        FrameEncoder().fit(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_predictions_carry_the_ids_of_their_rows(library):
    module = pytest.importorskip(library)
    X, Y = (frame.assign(id=[f"i{k}" for k in range(160)]) for frame in (FRAME, LABELS.fillna(0.0)))
    if library == "polars":
        X, Y = module.from_pandas(X), module.from_pandas(Y)
    plain = BinaryRelevance(LogisticRegression()).fit(X, Y)
    model = BinaryRelevance(LogisticRegression()).set_output(transform=library).fit(X, Y)
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(X[:5])
        ids = found["id"].to_list() if library == "polars" else found.index.tolist()
        assert ids == ["i0", "i1", "i2", "i3", "i4"]
        values = found.drop("id") if library == "polars" else found
        assert list(values.columns) == ["large", "red", "north", "late"]
        np.testing.assert_array_equal(values.to_numpy(), getattr(plain, method)(X[:5]))
    assert model.score(X, Y) == plain.score(X, Y)
    assert list(model.predict_names(X[:5], k=2).columns)[-2:] == ["1", "2"]
