"""What every estimator for unseen labels promises: matching, order, restriction, no leakage."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from labelgap import Labels, LabelWarning, metrics
from labelgap.baselines import CooccurrenceVote
from labelgap.cooccurrence import Cooccurrence, as_cooccurrence
from labelgap.generators import make_unseen
from labelgap.zero_shot import ZeroShotClassifier, prior_of_unconnected
from labelgap_papers.methods import COSTA

_LOGISTIC = LogisticRegression(solver="liblinear", tol=1e-8)
ESTIMATORS = [
    CooccurrenceVote(_LOGISTIC),
    *(COSTA(_LOGISTIC, normalisation=name) for name in ("fraction", "conditional", "dice", "pmi")),
]
every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: " ".join(str(e).split())
)
NAMES = np.array([f"tag {j}" for j in range(10)], dtype=object)


@pytest.fixture(scope="module")
def made():
    return make_unseen(80, 6, 10, n_factors=2, random_state=0)


def scores(estimator, X, labels="all"):
    return [
        getattr(estimator, method)(X, labels=labels)
        for method in ("decision_function", "predict_proba", "predict")
    ]


def same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


# -- how labels and counts meet -----------------------------------------------------------------


def test_all_labels_keep_their_order(made):
    model = clone(ESTIMATORS[0]).fit(made.X, made.hidden.labels, cooccurrence=made.cooccurrence)
    np.testing.assert_array_equal(model.classes_, np.arange(10))
    np.testing.assert_array_equal(np.flatnonzero(model.seen_), made.hidden.seen)
    assert model.predict(made.X).shape == (80, 10)


@every_estimator
def test_every_way_to_say_the_same(estimator, made):
    hidden = made.hidden
    seen, order = hidden.seen, np.concatenate([hidden.seen, hidden.unseen])
    counts = made.cooccurrence
    reference = clone(estimator).fit(made.X, hidden.labels, cooccurrence=counts)
    expected = scores(reference, made.X)
    frame = pd.DataFrame(counts.toarray(), index=NAMES[seen], columns=NAMES)
    shuffled = frame.sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=2)
    named = hidden.labels.with_names(NAMES)
    for labels, given in [
        (hidden.labels, counts.toarray()),
        (hidden.labels, as_cooccurrence(counts, seen=seen)),
        (hidden.labels, as_cooccurrence(counts, seen=seen).rows(seen[::-1])),
        (hidden.labels, frame),
        (hidden.labels, frame.iloc[::-1]),
        (named, counts),
        (named, frame),
        (named, shuffled),
        (named, as_cooccurrence(shuffled)),
    ]:
        other = clone(estimator).fit(made.X, labels, cooccurrence=given)
        same(expected, scores(other, made.X))
        np.testing.assert_array_equal(other.seen_, reference.seen_)
    for labels, given in [
        (hidden.labels[:, seen], counts[:, order]),
        (hidden.labels[:, seen], as_cooccurrence(counts, seen=seen)),
        (named[:, seen], frame),
        (hidden.labels[:, seen], frame),
    ]:
        other = clone(estimator).fit(made.X, labels, cooccurrence=given)
        same([part[:, order] for part in expected], scores(other, made.X))
        np.testing.assert_array_equal(other.seen_, [True] * 5 + [False] * 5)


def test_names_of_all_labels(made):
    hidden, seen = made.hidden, made.hidden.seen
    frame = pd.DataFrame(made.cooccurrence.toarray(), index=NAMES[seen], columns=NAMES)
    marked = clone(ESTIMATORS[0]).fit(made.X, hidden.labels.with_names(NAMES), frame)
    assert list(marked.classes_) == list(NAMES)
    seen_only = hidden.labels[:, seen[::-1]].with_names(NAMES[seen[::-1]])
    apart = clone(ESTIMATORS[0]).fit(made.X, seen_only, frame)
    assert list(apart.classes_) == [*NAMES[seen[::-1]], *NAMES[hidden.unseen]]
    unnamed = clone(ESTIMATORS[0]).fit(made.X, hidden.labels[:, seen], frame)
    assert list(unnamed.classes_) == [*NAMES[seen], *NAMES[hidden.unseen]]
    columns = as_cooccurrence(made.cooccurrence, seen=seen)
    positions = clone(ESTIMATORS[0]).fit(made.X, hidden.labels[:, seen], columns)
    assert list(positions.classes_) == [*seen, *hidden.unseen]


@every_estimator
def test_a_square_table_of_all_labels_will_do(estimator, made):
    """Counts of unseen labels with each other are not read."""
    seen = made.hidden.seen
    labels = made.hidden.labels.with_names(NAMES)
    results = []
    for between_unseen in (0, 999):
        square = np.full((10, 10), between_unseen)
        square[seen] = made.cooccurrence.toarray()
        frame = pd.DataFrame(square, index=NAMES, columns=NAMES)
        results.append(scores(clone(estimator).fit(made.X, labels, frame), made.X))
    same(*results)


@every_estimator
def test_without_counts_all_labels_are_seen(estimator, made):
    model = clone(estimator).fit(made.X, made.full)
    assert model.seen_.all()
    positives = made.full.to_dense()
    counted = clone(estimator).fit(made.X, made.full, cooccurrence=positives.T @ positives)
    same(scores(model, made.X), scores(counted, made.X))
    assert model.predict_proba(made.X, labels="unseen").shape == (80, 0)


def test_what_does_not_match(made):
    model, hidden = ESTIMATORS[0], made.hidden
    X, counts, seen = made.X, made.cooccurrence, made.hidden.seen
    frame = pd.DataFrame(counts.toarray(), index=NAMES[seen], columns=NAMES)
    named, lost = hidden.labels.with_names(NAMES), NAMES[hidden.unseen[0]]
    right = as_cooccurrence(counts, seen=seen)
    other_rows = Cooccurrence(counts, hidden.unseen)
    for labels, given, message in [
        (hidden.labels, None, f"Y marks label {hidden.unseen[0]} as unseen, but there is no"),
        (hidden.labels, counts[:4], r"shape \(4, 10\), but Y asks for \(5, 10\)"),
        (hidden.labels, counts[:, :9], r"shape \(5, 9\), but Y asks for \(5, 10\)"),
        (hidden.labels, other_rows, f"no row for the label {seen[0]}"),
        (hidden.labels[:, seen[:4]], right, r"shape \(5, 10\), but Y asks for \(4, 10\)"),
        (named[:, seen], counts, "columns without names"),
        (named, frame.rename(index={NAMES[seen[1]]: "other"}), "row 1 is the label 'other'"),
        (named, frame.drop(columns=lost), f"no label '{lost}'"),
        (named, frame.drop(index=NAMES[seen[2]]), f"no row for the label '{NAMES[seen[2]]}'"),
        (np.arange(80) % 3, counts, "vector of classes, which exclude each other"),
    ]:
        with pytest.raises(ValueError, match=message):
            _fit_quietly(model, X, labels, given)


def _fit_quietly(model, X, labels, counts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        return clone(model).fit(X, labels, cooccurrence=counts)


# -- predictions of some labels -----------------------------------------------------------------


@every_estimator
def test_predictions_can_be_restricted(estimator, made):
    model = clone(estimator).fit(made.X, made.hidden.labels, cooccurrence=made.cooccurrence)
    everything = scores(model, made.X)
    for labels, columns in (("seen", made.hidden.seen), ("unseen", made.hidden.unseen)):
        same([part[:, columns] for part in everything], scores(model, made.X, labels))
    for method in ("decision_function", "predict_proba", "predict"):
        with pytest.raises(ValueError, match="labels='new': use 'all', 'seen' or 'unseen'"):
            getattr(model, method)(made.X, labels="new")
    classes = clone(estimator).fit(made.X, np.arange(80) % 3)
    with pytest.raises(ValueError, match="labels='seen': the target is a vector of classes"):
        classes.predict(made.X, labels="seen")


@every_estimator
def test_scores_say_something_about_unseen_labels(estimator):
    made = make_unseen(400, 10, 40, random_state=1)
    model = clone(estimator).fit(made.X, made.hidden.labels, cooccurrence=made.cooccurrence)
    predicted = model.decision_function(made.X)
    assert metrics.auc(made.hidden.truth, predicted, average="micro") > 0.65
    assert np.isfinite(predicted).all()
    probability = model.predict_proba(made.X)
    assert probability.min() >= 0
    assert probability.max() <= 1


# -- no leakage ---------------------------------------------------------------------------------


@every_estimator
def test_what_rows_say_of_unseen_labels_cannot_be_read(estimator, made):
    """Labels marked as unseen lose their entries: other entries there give the same model."""
    unseen = made.hidden.unseen
    truth = made.full.to_dense()
    results = []
    for behind in (truth[:, unseen], 1 - truth[:, unseen], np.full((80, unseen.size), np.nan)):
        values = truth.copy()
        values[:, unseen] = behind
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelWarning)
            labels = Labels.from_dense(values)
        labels = labels.with_unseen(unseen)
        model = clone(estimator).fit(made.X, labels, cooccurrence=made.cooccurrence)
        results.append(scores(model, made.X))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


class Recorder(ZeroShotClassifier):
    """Keeps what it was handed."""

    def _fit(self, X, labels, cooccurrence):
        self.handed_ = X, labels, cooccurrence


def test_a_model_is_handed_seen_labels_and_counts_only(made):
    hidden = made.hidden
    model = Recorder().fit(made.X, hidden.labels, cooccurrence=made.cooccurrence)
    X, labels, counts = model.handed_
    np.testing.assert_array_equal(X, made.X)
    assert labels.equals(made.full[:, hidden.seen])
    np.testing.assert_array_equal(counts.dense(), made.cooccurrence.toarray())
    np.testing.assert_array_equal(counts.seen, hidden.seen)
    known = {
        "handed_",
        "text_",
        "target_",
        "item_",
        "frame_reader_",
        "classes_",
        "seen_",
        "n_features_in_",
    }
    assert not set(vars(model)) - known


@every_estimator
def test_unseen_labels_are_told_apart_by_their_counts_only(estimator, made):
    seen, unseen = made.hidden.labels[:, made.hidden.seen], made.hidden.unseen
    block = made.cooccurrence.toarray()[:, made.hidden.seen]
    columns = made.cooccurrence.toarray()[:, unseen]
    plain = clone(estimator).fit(made.X, seen, cooccurrence=np.hstack([block, columns]))
    order = np.array([3, 0, 4, 2, 1])
    moved = clone(estimator).fit(made.X, seen, cooccurrence=np.hstack([block, columns[:, order]]))
    expected = [part[:, order] for part in scores(plain, made.X, "unseen")]
    same(expected, scores(moved, made.X, "unseen"))
    same(scores(plain, made.X, "seen"), scores(moved, made.X, "seen"))
    twins = np.hstack([block, columns, columns[:, :1]])
    doubled = clone(estimator).fit(made.X, seen, cooccurrence=twins)
    for part in scores(doubled, made.X):
        np.testing.assert_array_equal(part[:, 5], part[:, -1])


@every_estimator
def test_one_column_of_counts_moves_one_prediction(estimator, made):
    seen, unseen = made.hidden.seen, made.hidden.unseen
    changed = made.cooccurrence.toarray()
    changed[:, unseen[1]] = np.arange(1, 6)[::-1]
    # no count may exceed how often the seen label occurs
    assert (changed.max(axis=1) == changed[np.arange(5), seen]).all()
    before, after = (
        clone(estimator).fit(made.X, made.hidden.labels, cooccurrence=counts).predict_proba(made.X)
        for counts in (made.cooccurrence, changed)
    )
    difference = np.abs(before - after).max(axis=0)
    assert difference[unseen[1]] > 1e-3
    assert np.delete(difference, unseen[1]).max() < 1e-12


# -- labels without a connection ----------------------------------------------------------------


@every_estimator
def test_a_label_without_counts_falls_back_to_a_prior(estimator, made):
    counts = made.cooccurrence.toarray().astype(float)
    none, unknown = made.hidden.unseen[:2]
    counts[:, none], counts[:, unknown] = 0, np.nan
    with pytest.warns(LabelWarning, match=f"label {none} co-occurs with no seen label, nor do 1 o"):
        model = clone(estimator).fit(made.X, made.hidden.labels, cooccurrence=counts)
    labels = made.hidden.labels[:, made.hidden.seen]
    fraction = (labels.n_positives() + 0.5) / (80 * 5 + 1)
    probability = model.predict_proba(made.X)
    np.testing.assert_allclose(probability[:, none], fraction / (labels.n_positives() + 1))
    np.testing.assert_allclose(probability[:, unknown], fraction)
    assert np.isfinite(model.decision_function(made.X)).all()


def test_the_prior_counts_what_was_counted():
    labels = Labels.from_dense([[1, 0], [1, 1], [0, np.nan]])
    missing = [[False, False, True, False], [False, False, False, False]]
    matrix = sparse.csr_array([[2, 1, 0, 0], [1, 1, 0, 0]])
    fraction = (3 + 0.5) / (5 + 1)
    prior = prior_of_unconnected(labels, Cooccurrence(matrix, missing=missing))
    np.testing.assert_allclose(prior, [fraction / (1 + 1), fraction / (3 + 1)])


# -- life in scikit-learn -----------------------------------------------------------------------


@every_estimator
def test_searches_hand_the_counts_on(estimator, made):
    """Also when there are as many seen labels as rows, which is when arrays would be cut."""
    labels, counts = made.hidden.labels, as_cooccurrence(made.cooccurrence, seen=made.hidden.seen)
    search = GridSearchCV(
        clone(estimator), {"estimator__C": [0.1, 1.0]}, cv=KFold(2), error_score="raise"
    )
    for scoring in (None, metrics.get_scorer("auc_micro")):
        search.set_params(scoring=scoring).fit(made.X, labels, cooccurrence=counts)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.predict(made.X).shape == (80, 10)
    few = made.hidden.seen.size
    rows = np.argsort(-labels.n_positives(axis=1))[:few]
    cv = [(np.arange(few), np.arange(few))]
    search.set_params(scoring=None, cv=cv).fit(made.X[rows], labels[rows], cooccurrence=counts)
    assert len(search.best_estimator_.classes_) == 10


def test_seen_labels_alone_can_be_scored(made):
    labels, seen = made.hidden.labels, made.hidden.seen
    counts = as_cooccurrence(made.cooccurrence, seen=seen)
    model = clone(ESTIMATORS[0]).fit(made.X, labels[:, seen], cooccurrence=counts)
    expected = metrics.label_ranking_average_precision(
        labels[:, seen], model.decision_function(made.X, "seen")
    )
    assert model.score(made.X, labels[:, seen]) == expected
    search = GridSearchCV(clone(ESTIMATORS[0]), {}, cv=KFold(2), error_score="raise")
    search.fit(made.X, labels[:, seen], cooccurrence=counts)
    assert np.isfinite(search.best_score_)
    everything = made.full[:, model.classes_]
    assert model.score(made.X, everything) == metrics.label_ranking_average_precision(
        everything, model.decision_function(made.X)
    )


def test_pipelines_and_metadata_routing(made):
    labels, counts = made.hidden.labels, as_cooccurrence(made.cooccurrence, seen=made.hidden.seen)
    pipeline = make_pipeline(MaxAbsScaler(), clone(ESTIMATORS[0]))
    pipeline.fit(made.X, labels, cooccurrencevote__cooccurrence=counts)
    assert pipeline.predict_proba(made.X, labels="unseen").shape == (80, 5)
    with config_context(enable_metadata_routing=True):
        routed = clone(ESTIMATORS[0]).set_fit_request(cooccurrence=True)
        by_hand = cross_val_score(
            routed, made.X, labels, cv=KFold(2), params={"cooccurrence": counts}
        )
        assert np.isfinite(by_hand).all()
        search = GridSearchCV(routed, {"estimator__C": [0.1, 1.0]}, cv=KFold(2))
        search.fit(made.X, labels, cooccurrence=counts)
        assert len(search.best_estimator_.classes_) == 10


def test_a_refit_forgets_unseen_labels(made):
    model = clone(ESTIMATORS[0]).fit(made.X, made.hidden.labels, cooccurrence=made.cooccurrence)
    model.fit(made.X, made.full)
    assert model.seen_.all()
    same(scores(model, made.X), scores(clone(ESTIMATORS[0]).fit(made.X, made.full), made.X))


def test_a_subclass_must_write_fit(made):
    with pytest.raises(NotImplementedError, match="ZeroShotClassifier must implement _fit"):
        ZeroShotClassifier().fit(made.X, made.full)
