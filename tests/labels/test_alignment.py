"""Frames of features and labels are joined by what identifies their rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from labelgap import BinaryRelevance, audit
from labelgap.labels import Labels, align_rows

rng = np.random.default_rng(0)
IDS = [f"i{k}" for k in range(200)]
X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("pqrs"), index=IDS)
Y = (X[["p", "q"]] + 0.3 * rng.normal(size=(200, 2)) > 0).astype(int).set_axis(["a", "b"], axis=1)
SHUFFLED = Y.sample(frac=1, random_state=1)
MODEL = BinaryRelevance(LogisticRegression())


def test_an_index_in_another_order_changes_nothing():
    plain = MODEL.fit(X, Y)
    score, scores = plain.score(X, Y), plain.predict_proba(X)
    other = BinaryRelevance(LogisticRegression()).fit(X, SHUFFLED)
    np.testing.assert_array_equal(other.predict_proba(X), scores)
    assert other.score(X, SHUFFLED) == score > 0.9
    assert other.score(X, Y[["b", "a"]]) == score
    found = audit(X, SHUFFLED, n_suggestions=3)
    assert [s.item for s in found.suggestions] == [s.item for s in audit(X, Y).suggestions[:3]]
    assert found.suggestions[0].item in IDS


def test_classes_are_joined_too():
    y = Y["a"]
    model = BinaryRelevance(LogisticRegression()).fit(X, y.sample(frac=1, random_state=1))
    np.testing.assert_array_equal(model.predict(X), MODEL.fit(X, y).predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_ids(library):
    features = X.rename_axis("id").reset_index()
    labels = SHUFFLED.rename_axis("id").reset_index()
    if library == "polars":
        features, labels = pl.from_pandas(features), pl.from_pandas(labels)
    model = BinaryRelevance(LogisticRegression()).fit(features, labels)
    expected = MODEL.fit(X.to_numpy(), Y.to_numpy()).predict_proba(X.to_numpy())
    np.testing.assert_array_equal(model.predict_proba(features), expected)
    assert (model.item_, model.feature_names_in_.tolist()) == ("id", list("pqrs"))
    assert model.classes_.tolist() == ["a", "b"]
    assert audit(features, labels, n_suggestions=2).suggestions[0].item in IDS


def test_a_long_table_of_labels():
    features = X.rename_axis("id").reset_index()
    rows, columns = np.nonzero(Y.to_numpy())
    long = pd.DataFrame({"id": np.array(IDS)[rows], "label": np.array(["a", "b"])[columns]})
    found = align_rows(features, long.sample(frac=1, random_state=2))
    assert found.y.equals(Labels.from_frame(Y))
    assert list(found.X) == list("pqrs")
    stranger = pd.concat([long, pd.DataFrame({"id": ["zz"], "label": ["a"]})])
    with pytest.raises(ValueError, match=r"item 'zz' \(row \d+ of y, .* is not in X"):
        align_rows(features, stranger)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y.drop("i7"), r"item 'i7' \(row 7 of X, counted from 0\) is not in y"),
        (Y.rename({"i9": "zz"}), r"item 'i9' \(row 9 of X.*to_numpy\(\)"),
        (pd.concat([Y, Y[:1].rename({"i0": "new"})]), r"item 'new' \(row 200 of y.*is not in X"),
        (pd.concat([Y[1:], Y[5:6]]), r"item 'i5' is twice in y, in rows 4 and 199"),
        (Y.reset_index(drop=True), r"item 'i0' \(row 0 of X"),
    ],
)
def test_a_mismatch_names_the_first_item(y, message):
    with pytest.raises(ValueError, match=message):
        align_rows(X, y)
    with pytest.raises(ValueError, match=message):
        BinaryRelevance(LogisticRegression()).fit(X, y)


def test_what_has_no_ids_stays_in_its_order():
    for a, b in ((X.to_numpy(), SHUFFLED), (X, SHUFFLED.to_numpy()), (X, Y)):
        found = align_rows(a, b)
        assert found.X is a
        assert found.y is b
    twice = X.set_axis(["same"] * 200)
    assert align_rows(twice, Y.set_axis(["same"] * 200)).item is None


def test_a_shared_name_that_is_a_label_is_no_id():
    features = pd.DataFrame({"a": [0, 1, 1], "x": [1.0, 2, 3]})
    labels = pd.DataFrame({"a": [1, 0, 1], "b": [1, 1, 0]})
    assert align_rows(features, labels).item is None
