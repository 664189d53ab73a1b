"""The tools of scikit-learn with NaN in y: the same results on complete labels, and gaps skipped."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import model_selection as theirs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelgap import BinaryRelevance, KNeighborsLabels, Mend, as_labels, metrics
from labelgap import model_selection as ours

ROWS, LABELS = 90, 3


@pytest.fixture
def table(rng):
    X = rng.normal(size=(ROWS, 4))
    full = (X @ rng.normal(size=(4, LABELS)) > 0.3).astype(float)
    return X, full, np.where(rng.random(full.shape) < 0.3, np.nan, full)


def frame_of(Y):
    return pd.DataFrame(Y, index=[f"item {i}" for i in range(len(Y))], columns=list("abc"))


ENCODINGS = {
    "array": lambda Y: Y,
    "frame": frame_of,
    "nullable": lambda Y: frame_of(Y).astype("Int64"),
    "labels": as_labels,
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_a_number_of_folds_and_a_name_are_enough(table, encode):
    X, _, gaps = table
    model = make_pipeline(StandardScaler(), Mend(preset="fast"))
    names = ["f1_macro", "auc_macro", "roc_auc", "neg_log_loss", "accuracy"]
    scores = ours.cross_validate(model, X, encode(gaps), cv=3, scoring=names, error_score="raise")
    for name in names:
        assert np.isfinite(scores[f"test_{name}"]).all()
    np.testing.assert_array_equal(scores["test_auc_macro"], scores["test_roc_auc"])
    assert (scores["test_neg_log_loss"] < 0).all()


def test_a_score_counts_known_entries_of_the_rows_left_out(table):
    X, _, gaps = table
    found = ours.cross_val_score(BinaryRelevance(), X, gaps, cv=3, scoring="brier")
    for value, (train, test) in zip(
        found, ours.IterativeStratification(3).split(X, gaps), strict=True
    ):
        proba = BinaryRelevance().fit(X[train], gaps[train]).predict_proba(X[test])
        known = ~np.isnan(gaps[test])
        assert value == pytest.approx(-np.mean((proba - gaps[test])[known] ** 2))


def test_complete_labels_give_what_scikit_learn_gives(table):
    X, full, _ = table
    folds = theirs.KFold(3, shuffle=True, random_state=0)
    model = BinaryRelevance()
    for name in ("f1_macro", "f1_micro", "roc_auc", "accuracy", "precision_macro"):
        mine = ours.cross_val_score(model, X, full.astype(int), cv=folds, scoring=name)
        their = theirs.cross_val_score(model, X, full.astype(int), cv=folds, scoring=name)
        np.testing.assert_allclose(mine, their, err_msg=name)
    for method in ("predict", "predict_proba", "decision_function"):
        mine = ours.cross_val_predict(model, X, full.astype(int), cv=folds, method=method)
        their = theirs.cross_val_predict(model, X, full.astype(int), cv=folds, method=method)
        np.testing.assert_allclose(mine, their, err_msg=method)


def test_predictions_are_of_rows_left_out(table):
    X, _, gaps = table
    proba = ours.cross_val_predict(BinaryRelevance(), X, gaps, cv=4, method="predict_proba")
    for train, test in ours.IterativeStratification(4).split(X, gaps):
        fitted = BinaryRelevance().fit(X[train], gaps[train])
        np.testing.assert_allclose(proba[test], fitted.predict_proba(X[test]))
    with pytest.raises(ValueError, match="tested exactly once"):
        ours.cross_val_predict(BinaryRelevance(), X, gaps, cv=theirs.ShuffleSplit(2))


@pytest.mark.parametrize("encode", [lambda Y: Y, frame_of], ids=["array", "frame"])
def test_searches(table, encode):
    X, _, gaps = table
    grid = {"n_neighbors": [2, 20, 40]}
    y = encode(gaps)
    search = ours.GridSearchCV(KNeighborsLabels(), grid, cv=3, scoring="log_loss").fit(X, y)
    by_hand = theirs.GridSearchCV(
        KNeighborsLabels(),
        grid,
        cv=ours.IterativeStratification(3),
        scoring=metrics.get_scorer("log_loss"),
    ).fit(X, as_labels(gaps))
    assert search.best_params_ == by_hand.best_params_
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"]
    )
    assert (search.cv, search.scoring) == (3, "log_loss")
    assert search.score(X, y) == pytest.approx(by_hand.score(X, as_labels(gaps)))
    drawn = ours.RandomizedSearchCV(
        KNeighborsLabels(), grid, n_iter=2, cv=3, scoring=["f1_macro", "brier"], refit="brier"
    )
    assert set(drawn.fit(X, y).cv_results_) >= {"mean_test_f1_macro", "mean_test_brier"}


def test_unlabeled_zeros_stay_unlabeled(table):
    X, full, _ = table
    scores = ours.cross_validate(
        Mend(preset="fast", zeros="unlabeled", label_frequency=0.5),
        X,
        full,
        cv=2,
        return_estimator=True,
    )
    assert all(model.label_frequency_ == 0.5 for model in scores["estimator"])


def test_groups_stay_together(table):
    X, _, gaps = table
    groups = np.arange(ROWS) // 3
    scores = ours.cross_validate(
        BinaryRelevance(), X, gaps, cv=3, groups=groups, return_indices=True
    )
    for train, test in zip(scores["indices"]["train"], scores["indices"]["test"], strict=True):
        assert not set(groups[train]) & set(groups[test])
    search = ours.GridSearchCV(KNeighborsLabels(), {"n_neighbors": [3]}, cv=3)
    assert search.fit(X, gaps, groups=groups).n_splits_ == 3
    train, test = ours.train_test_split(groups, groups=groups, random_state=0)
    assert not set(train) & set(test)


def test_vectors_of_classes_are_left_to_scikit_learn(table):
    X, full, _ = table
    y = np.where(full[:, 0] == 1, "yes", "no")
    mine = ours.cross_val_score(LogisticRegression(), X, y, cv=3, scoring="accuracy")
    np.testing.assert_allclose(mine, theirs.cross_val_score(LogisticRegression(), X, y, cv=3))
    split = ours.train_test_split(X, y, stratify=y, random_state=1)
    their = theirs.train_test_split(X, y, stratify=y, random_state=1)
    for part, expected in zip(split, their, strict=True):
        np.testing.assert_array_equal(part, expected)


def test_frames_keep_their_index_and_names(table):
    X, _, gaps = table
    frame = frame_of(gaps)
    train, test = ours.train_test_split(frame, stratify=frame, random_state=0)
    assert sorted([*train.index, *test.index]) == sorted(frame.index)
    model = ours.GridSearchCV(KNeighborsLabels(), {"n_neighbors": [3]}, cv=3).fit(X, frame)
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ("precision_macro", "no metric that skips unknown labels"),
        ("f1_marco", "f1_macro"),
        ("neg_auc_macro", "larger is better already"),
    ],
)
def test_names_that_cannot_be(table, scoring, said):
    X, _, gaps = table
    with pytest.raises(ValueError, match=said):
        ours.cross_validate(BinaryRelevance(), X, gaps, scoring=scoring)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_scikit_learn_itself_takes_labels(table):
    # its own functions refuse NaN before they ask the estimator
    X, _, gaps = table
    with pytest.raises(ValueError, match="Input y contains NaN"):
        theirs.cross_validate(BinaryRelevance(), X, gaps, cv=3)
    scores = theirs.cross_validate(BinaryRelevance(), X, as_labels(gaps), cv=3)
    assert np.isfinite(scores["test_score"]).all()
