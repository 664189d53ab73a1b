"""Python, the first hour: scikit-learn's tools on a real table with NaN in its labels."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
from sklearn import model_selection
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import labelgap.model_selection
from labelgap import BinaryRelevance, Mend, as_labels, audit, metrics
from labelgap.auditing._audit_frames import TABLES, columns_of
from labelgap.data import load_dataset
from labelgap.fitting import Progress, ProgressBar
from labelgap.mend._training_rows import TrainingRows
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


# NaN is cast to an integer there
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_scikit_learns_own_tools_take_labels_and_ours_are_named_for_nan(parts):
    X, Y = parts
    known = as_labels(Y)
    scores = model_selection.cross_validate(BinaryRelevance(), X.to_numpy(), known, cv=3)
    assert (scores["test_score"] > 0.5).all()
    with pytest.raises(ValueError, match="Input y contains NaN") as error:
        model_selection.cross_validate(BinaryRelevance(), X.to_numpy(), Y.to_numpy(), cv=3)
    # scikit-learn says that before it asks any library: who looks for its words finds the remedy
    assert str(error.value).rstrip(".") in labelgap.model_selection.__doc__


def test_rows_that_come_in_parts(parts):
    X, Y = parts
    model = Mend(SGDClassifier(loss="log_loss", random_state=0))
    for start in range(0, 400, 100):
        here = slice(start, start + 100)
        model.partial_fit(StandardScaler().fit(X).transform(X.iloc[here]), Y.iloc[here])
    proba = model.predict_proba(StandardScaler().fit_transform(X))[400:]
    truth = Y.iloc[400:].to_numpy()
    assert metrics.auc(truth, proba, average="macro") > 0.75


@pytest.mark.parametrize("make", [BinaryRelevance, Mend], ids=lambda one: one.__name__)
def test_long_fits_count_and_use_several_processes(make, parts):
    X, Y = parts
    X = StandardScaler().fit_transform(X)
    heard: list[Progress] = []
    model = make(GaussianNB(), callback=heard.append, n_jobs=2).fit(X, Y)
    assert [one.iteration for one in heard] == list(range(len(heard)))
    assert len(heard) >= Y.shape[1]
    quiet = make(GaussianNB()).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), quiet.predict_proba(X), atol=1e-9)


def test_groups_are_in_one_part_of_every_internal_split(parts, monkeypatch):
    X, Y = parts
    groups = np.random.default_rng(0).integers(0, 60, len(X))
    held_out = TrainingRows.hold_out
    seen = []

    def watched(table, *how):
        learned, held = held_out(table, *how)
        seen.append(set(table.groups[learned]) & set(table.groups[held]))
        return learned, held

    monkeypatch.setattr(TrainingRows, "hold_out", watched)
    Mend(LogisticRegression()).fit(StandardScaler().fit_transform(X), Y, groups=groups)
    assert seen
    assert not any(seen)


def test_an_audit_is_a_card_in_a_notebook_with_names_of_the_frame(parts):
    X, Y = parts
    renamed = X.rename(columns={name: f"loudness of {name}" for name in X.columns})
    found = audit(renamed, Y)
    card = found._repr_html_()
    assert card.lstrip().startswith("<")
    assert len(card) < 20_000
    used = {one.feature for made in found.suggestions for one in made.evidence.features}
    assert used
    assert used <= set(renamed.columns)


def test_names_of_metrics_mean_what_scikit_learns_mean(parts):
    X, _ = parts
    truth = load_dataset("emotions").Y.to_dense().astype(int)
    scores = BinaryRelevance(C=1e-3).fit(X.to_numpy(), truth).predict_proba(X.to_numpy())
    decided = (scores > 0.5).astype(int)
    found = metrics.evaluate(truth, scores, y_pred=decided)
    expected = {
        "average_precision": sklearn.metrics.average_precision_score(truth, scores),
        "label_ranking_average_precision": sklearn.metrics.label_ranking_average_precision_score(
            truth, scores
        ),
        "auc_macro": sklearn.metrics.roc_auc_score(truth, scores, average="macro"),
        "auc_micro": sklearn.metrics.roc_auc_score(truth, scores, average="micro"),
        "ranking_loss": sklearn.metrics.label_ranking_loss(truth, scores),
        "hamming_loss": sklearn.metrics.hamming_loss(truth, decided),
        "f1_macro": sklearn.metrics.f1_score(truth, decided, average="macro"),
        "f1_micro": sklearn.metrics.f1_score(truth, decided, average="micro"),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name
