"""Python, the first hour: scikit-learn's tools on a real table with NaN in its labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from labelgap import Mend, audit
from labelgap.auditing._audit_frames import TABLES, columns_of
from labelgap.fitting import ProgressBar
from labelgap.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_validate,
    train_test_split,
)


def test_cross_validation_with_a_number_and_a_name(parts):
    X, Y = parts
    model = make_pipeline(StandardScaler(), Mend(LogisticRegression()))
    for y in (Y, Y.to_numpy()):
        scores = cross_validate(model, X, y, cv=3, scoring=["f1_macro", "roc_auc"])
        assert (scores["test_f1_macro"] > 0.55).all()
        assert (scores["test_roc_auc"] > 0.75).all()
    proba = cross_val_predict(model, X, Y, cv=3, method="predict_proba")
    assert proba.shape == Y.shape


def test_a_search(parts):
    X, Y = parts
    model = make_pipeline(StandardScaler(), Mend(LogisticRegression()))
    grid = {"mend__estimator__C": [1e-6, 0.1]}
    search = GridSearchCV(model, grid, cv=3, scoring="average_precision").fit(X, Y)
    assert search.best_params_ == {"mend__estimator__C": 0.1}


def test_a_split_keeps_the_fractions(parts):
    X, Y = parts
    _, X_test, Y_train, Y_test = train_test_split(X, Y, stratify=Y, random_state=0)
    assert list(X_test.index) == list(Y_test.index)
    assert (Y_train.mean() - Y_test.mean()).abs().max() < 0.05


def test_weights_groups_frames_and_thresholds(parts):
    X, Y = parts
    weights, groups = np.ones(len(X)), np.arange(len(X)) // 2
    weights[:100] = 2
    model = Mend(LogisticRegression(), threshold=[0.3] * 6, class_weight={0: 1, 1: 2})
    model.set_output(transform="pandas").fit(X, Y, sample_weight=weights, groups=groups)
    decided = model.predict(X)
    assert list(decided.columns) == list(Y.columns)
    assert list(decided.index) == list(X.index)
    assert model.thresholds_.tolist() == [0.3] * 6


def test_trees_that_take_a_while_say_how_far_they_are(parts, capsys):
    X, Y = parts
    trees = HistGradientBoostingClassifier(max_iter=3)
    Mend(trees, callback=ProgressBar()).fit(X.iloc[:150], Y.iloc[:150])
    assert "fitting [" in capsys.readouterr().err


def test_a_pipeline_in_a_file(parts):
    skops = pytest.importorskip("skops.io")
    X, Y = parts
    fitted = make_pipeline(StandardScaler(), Mend(LogisticRegression())).fit(X, Y)
    document = skops.dumps(fitted)
    again = skops.loads(document, trusted=skops.get_untrusted_types(data=document))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_margins_of_a_label_with_three_relevant_rows(parts):
    X, Y = parts
    rare = Y["angry"].where(Y["angry"].ne(1) | (Y["angry"].eq(1).cumsum() <= 3), 0)
    proba = Mend(LinearSVC()).fit(StandardScaler().fit_transform(X), Y.assign(angry=rare))
    assert np.isfinite(proba.predict_proba(StandardScaler().fit_transform(X))).all()


def test_an_audit_fits_a_terminal(parts):
    X, Y = parts
    found = audit(X, Y)
    assert len(repr(found)) < 3000
    assert len(repr(found).splitlines()) < 40
    names = {one.name for one in found.labels}
    assert names == set(Y.columns)
    assert {one.item for one in found.suggestions} <= set(X.index)
    assert set(found.to_frame("labels")["label"]) == set(Y.columns)
    for table in TABLES:
        frame = found.to_frame(table)
        assert len(frame) == len(next(iter(columns_of(found, table).values()), []))
    curve = found.to_frame("learning_curve")
    assert (curve["average_precision_low"] <= curve["average_precision"]).all()
    with pytest.raises(ValueError, match="use one of 'suggestions', 'labels'"):
        found.to_frame("label")
