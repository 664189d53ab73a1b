import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from labelgap import Labels, LabelWarning
from labelgap.baselines import BinaryRelevance
from labelgap.one_vs_rest import ConstantLabel, readable_by_workers

LOGISTIC = LogisticRegression(tol=1e-10, max_iter=1000)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 5))
    Y = (X @ rng.standard_normal((5, 4)) + rng.standard_normal((60, 4)) > 0.3).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    return X, Y, rng.standard_normal((11, 5))


@pytest.mark.parametrize(
    "estimator", [LOGISTIC, DecisionTreeClassifier(max_depth=3, random_state=0)]
)
def test_each_label_is_learned_from_its_observed_rows(data, estimator):
    X, Y, X_new = data
    probability = BinaryRelevance(estimator).fit(X, Y).predict_proba(X_new)
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        expected = estimator.fit(X[known], Y[known, j]).predict_proba(X_new)[:, 1]
        np.testing.assert_allclose(probability[:, j], expected, atol=1e-12)


@pytest.mark.parametrize("estimator", [LOGISTIC, LinearSVC(random_state=0), RidgeClassifier()])
def test_complete_labels_are_one_versus_rest(data, estimator):
    X, Y, X_new = data
    complete = np.nan_to_num(Y).astype(int)
    ours = BinaryRelevance(estimator).fit(X, complete)
    theirs = OneVsRestClassifier(estimator).fit(X, complete)
    # logistic regressions are fitted together, to their tolerance
    np.testing.assert_allclose(
        ours.decision_function(X_new),
        theirs.decision_function(X_new),
        atol=1e-6 if estimator is LOGISTIC else 1e-12,
    )
    np.testing.assert_array_equal(ours.predict(X_new), theirs.predict(X_new))


def test_unknown_as_negative_is_zero_filling(data):
    X, Y, _ = data
    negative = BinaryRelevance(LOGISTIC, unknown="negative").fit(X, Y)
    filled = BinaryRelevance(LOGISTIC).fit(X, np.nan_to_num(Y))
    skipping = BinaryRelevance(LOGISTIC).fit(X, Y)
    np.testing.assert_array_equal(negative.coef_, filled.coef_)
    assert np.abs(negative.coef_ - skipping.coef_).max() > 1e-3


def test_unlabeled_zeros_are_zeros(data):
    X, Y, _ = data
    complete = np.nan_to_num(Y)
    unlabeled = BinaryRelevance(LOGISTIC).fit(X, Labels.from_dense(complete, zeros="unlabeled"))
    np.testing.assert_array_equal(unlabeled.coef_, BinaryRelevance(LOGISTIC).fit(X, complete).coef_)


@pytest.mark.parametrize("unknown", ["ignore", "negative"])
def test_labels_with_one_observed_value_are_constant(data, unknown):
    X, Y, X_new = data
    never = np.where(np.isnan(Y[:, 0]), np.nan, 0)
    Y = np.column_stack([Y, never, np.ones(60)])
    model = BinaryRelevance(unknown=unknown).fit(X, Y)
    probability = model.predict_proba(X_new)
    assert isinstance(model.estimators_[4], ConstantLabel)
    assert (probability[:, 4] == probability[0, 4]).all()
    assert 0 < probability[0, 4] < 0.05
    assert 0.95 < probability[0, 5] < 1
    assert not model.coef_[4:].any()
    np.testing.assert_array_equal(model.estimators_[5].predict(X_new), 1)


def test_a_label_without_observed_entries_has_the_pooled_fraction(data):
    X, Y, X_new = data
    Y = np.column_stack([Y, np.full(60, np.nan)])
    with pytest.warns(LabelWarning, match="label 4 has no observed entry"):
        model = BinaryRelevance().fit(X, Y)
    pooled = (np.nansum(Y) + 0.5) / ((~np.isnan(Y)).sum() + 1)
    np.testing.assert_allclose(model.predict_proba(X_new)[:, 4], pooled)


def test_unseen_labels_are_not_negatives(data):
    X, Y, X_new = data
    labels = Labels.from_dense(np.nan_to_num(Y)).with_unseen([2])
    probability = BinaryRelevance(unknown="negative").fit(X, labels).predict_proba(X_new)
    pooled = (labels.n_positives() + 0.5) / (3 * 60 + 1)
    np.testing.assert_allclose(probability[:, 2], pooled)


def test_stacked_coefficients_say_what_the_classifiers_say(data):
    X, Y, X_new = data
    model = BinaryRelevance().fit(X, Y)
    for j, one in enumerate(model.estimators_):
        assert np.shares_memory(one.coef_, model.coef_)
        np.testing.assert_allclose(
            model.decision_function(X_new)[:, j], one.decision_function(X_new), atol=1e-12
        )
        np.testing.assert_allclose(
            model.predict_proba(X_new)[:, j], one.predict_proba(X_new)[:, 1], atol=1e-12
        )


def test_coefficients_of_an_earlier_fit_do_not_survive(data):
    X, Y, _ = data
    model = BinaryRelevance().fit(X, Y)
    model.set_params(estimator=DecisionTreeClassifier(max_depth=2)).fit(X, Y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


def test_a_pickle_holds_the_coefficients_once(rng):
    X = rng.standard_normal((30, 2000))
    model = BinaryRelevance().fit(X, rng.integers(0, 2, (30, 5)))
    blob = pickle.dumps(model)
    assert len(blob) < 1.3 * model.coef_.nbytes
    restored = pickle.loads(blob)
    np.testing.assert_array_equal(restored.coef_, model.coef_)
    assert np.shares_memory(restored.estimators_[0].coef_, restored.coef_)


def test_margins_have_no_probabilities_and_the_error_says_what_to_do(data):
    X, Y, X_new = data
    model = BinaryRelevance(LinearSVC(random_state=0)).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as error:
        model.predict_proba(X_new)
    assert "CalibratedClassifierCV" in str(error.value.__cause__)
    np.testing.assert_array_equal(model.predict(X_new), model.decision_function(X_new) > 0)


def test_missing_features_are_the_business_of_the_classifier(data):
    X, Y, _ = data
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        BinaryRelevance().fit(X, Y)
    boosting = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    assert BinaryRelevance(boosting).fit(X, Y).predict(X).shape == Y.shape


class Probe(ClassifierMixin, BaseEstimator):
    """Keeps what it was given."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.given_ = X
        return self

    def decision_function(self, X):
        return np.zeros(X.shape[0])


def test_complete_labels_copy_nothing(data):
    X, Y, _ = data
    model = BinaryRelevance(Probe()).fit(X, np.nan_to_num(Y))
    assert all(np.shares_memory(one.given_, X) for one in model.estimators_)


def test_labels_with_the_same_gaps_fraction_one_selection(data):
    X, Y, _ = data
    model = BinaryRelevance(Probe()).fit(X, Y[:, [0, 1, 0, 0]])
    given = [one.given_ for one in model.estimators_]
    assert given[0] is given[2] is given[3]
    assert given[1] is not given[0]


@pytest.mark.parametrize("gaps", [False, True])
def test_workers_can_read_unsorted_wide_sparse_input(data, gaps):
    X, Y, _ = data
    Y = Y if gaps else np.nan_to_num(Y)
    wide = sparse.csr_array(X)
    backwards = np.concatenate([np.arange(4, -1, -1) + 5 * i for i in range(60)])
    parts = (wide.data[backwards], wide.indices[backwards].astype(np.int64))
    wide = sparse.csr_array((*parts, wide.indptr.astype(np.int64)), shape=X.shape)
    assert not wide.has_sorted_indices
    exact = LogisticRegression(tol=1e-8)
    expected = BinaryRelevance(exact).fit(X, Y).coef_
    with parallel_config(backend="loky", max_nbytes=1):
        model = BinaryRelevance(exact, n_jobs=2).fit(wide, Y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-5)


def test_preparing_for_workers_copies_only_what_must_change(data):
    X = sparse.csr_array(data[0])
    assert readable_by_workers(X) is X
    assert readable_by_workers(data[0]) is data[0]
    twice = sparse.csr_array((np.ones(4), np.array([1, 0, 1, 2]), np.array([0, 3, 4])))
    ready = readable_by_workers(twice)
    assert ready.has_canonical_format
    assert twice.nnz == 4
    np.testing.assert_array_equal(ready.toarray(), [[1, 2, 0], [0, 0, 1]])


def test_errors_name_the_parameter(data):
    X, Y, _ = data
    with pytest.raises(ValueError, match="'unknown' parameter of BinaryRelevance"):
        BinaryRelevance(unknown="zero").fit(X, Y)
    with pytest.raises(ValueError, match="'estimator' parameter of BinaryRelevance"):
        BinaryRelevance("logistic").fit(X, Y)
