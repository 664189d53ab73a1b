"""Splitters: partitions, evenness, gaps, scikit-learn tools."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from labelgap.data import load_dataset
from labelgap.labels import Labels
from labelgap.model_selection import IterativeStratification, stratified_folds, train_test_split
from reference import stratification as reference


def skewed_positives(n_samples=400, n_labels=25, seed=0):
    rng = np.random.default_rng(seed)
    rates = np.geomspace(0.01, 0.5, n_labels)
    return rng.random((n_samples, n_labels)) < rates


def unevenness(positives, tests):
    fractions = np.full(len(tests), 1 / len(tests))
    folds = np.empty(len(positives), dtype=int)
    for k, test in enumerate(tests):
        folds[test] = k
    return reference.unevenness(positives, fractions, folds, size_weight=0.0)


def folds_of(splitter, positives):
    return [test for _, test in splitter.split(np.zeros((len(positives), 1)), positives)]


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 5), st.integers(5, 40), st.integers(1, 6), st.booleans(), st.integers(0, 99))
def test_every_row_is_tested_once(n_splits, n_samples, n_labels, shuffle, seed):
    positives = np.random.default_rng(seed).random((n_samples, n_labels)) < 0.3
    splitter = IterativeStratification(
        n_splits, shuffle=shuffle, random_state=seed if shuffle else None
    )
    pairs = list(splitter.split(np.zeros((n_samples, 1)), positives))
    assert len(pairs) == splitter.get_n_splits() == n_splits
    np.testing.assert_array_equal(
        np.sort(np.concatenate([test for _, test in pairs])), range(n_samples)
    )
    for train, test in pairs:
        assert test.size > 0
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), range(n_samples))


def test_unrefined_folds_are_the_published_algorithm():
    positives = skewed_positives(120, 10)
    fractions = np.full(4, 0.25)
    expected = reference.assign_folds(positives, fractions, np.arange(10), np.zeros(120))
    folds = stratified_folds(positives, fractions, shuffle=False, n_refinements=0)
    np.testing.assert_array_equal(folds, expected)


@pytest.mark.parametrize("seed", range(3))
def test_more_even_than_unstratified_and_refinement_helps(seed):
    positives = skewed_positives(seed=seed)
    options = {"shuffle": True, "random_state": seed}
    plain = unevenness(positives, folds_of(KFold(5, **options), positives))
    published = IterativeStratification(5, n_refinements=0, **options)
    published = unevenness(positives, folds_of(published, positives))
    refined = unevenness(positives, folds_of(IterativeStratification(5, **options), positives))
    assert refined < published < plain


@pytest.mark.parametrize("n_refinements", [0, 10])
def test_rare_label_reaches_every_fold(n_refinements):
    positives = skewed_positives()
    positives[:, 0] = False
    positives[7:12, 0] = True
    splitter = IterativeStratification(5, shuffle=True, random_state=3, n_refinements=n_refinements)
    assert [positives[test, 0].sum() for test in folds_of(splitter, positives)] == [1] * 5


@pytest.mark.parametrize("n_refinements", [0, 10])
def test_rows_without_a_label_are_spread_evenly(n_refinements):
    positives = np.zeros((100, 3), dtype=bool)
    positives[:20, 0] = True
    splitter = IterativeStratification(4, n_refinements=n_refinements)
    for test in folds_of(splitter, positives):
        assert test.size == 25
        assert positives[test].sum() == 5


def test_fold_sizes_stay_close():
    positives = skewed_positives(1003)
    sizes = [test.size for test in folds_of(IterativeStratification(10), positives)]
    assert max(sizes) - min(sizes) <= 4


def test_unknown_entries_do_not_count():
    positives = skewed_positives().astype(float)
    unknown = np.random.default_rng(1).random(positives.shape) < 0.4
    with_nan = np.where(unknown, np.nan, positives)
    known_positives = np.where(unknown, 0.0, positives)
    fractions = np.full(5, 0.2)
    expected = stratified_folds(known_positives, fractions, random_state=0)
    encodings = {
        "nan": with_nan,
        "labels": Labels.from_dense(with_nan),
        "sparse": sparse.csr_matrix(known_positives),
        "unlabeled": Labels.from_dense(known_positives, zeros="unlabeled"),
        "masked": np.ma.masked_array(positives, mask=unknown),
    }
    for name, y in encodings.items():
        folds = stratified_folds(y, fractions, random_state=0)
        np.testing.assert_array_equal(folds, expected, err_msg=name)


def test_a_label_nobody_looked_at_does_not_disturb():
    labels = Labels.from_dense(skewed_positives()).with_unseen([3])
    assert len(list(IterativeStratification(3).split(None, labels))) == 3


def test_random_state_repeats_and_matters():
    positives = skewed_positives()
    fractions = np.full(5, 0.2)
    first = stratified_folds(positives, fractions, random_state=1)
    np.testing.assert_array_equal(first, stratified_folds(positives, fractions, random_state=1))
    assert (first != stratified_folds(positives, fractions, random_state=2)).any()


class MeanOfLabels(DummyRegressor):
    """A regressor that takes labels with gaps, for scikit-learn's tools."""

    def fit(self, X, y):
        assert isinstance(y, Labels)
        return super().fit(X, y.to_dense(unknown=0.0))


def test_serves_scikit_learn_searches():
    labels = Labels.from_dense(np.where(skewed_positives(60, 4), np.nan, 1.0))
    X = np.zeros((60, 2))

    def scorer(model, X, y):
        return float(len(X))

    splitter = IterativeStratification(3, shuffle=True, random_state=0)
    scores = cross_validate(MeanOfLabels(), X, labels, cv=splitter, scoring=scorer)
    assert scores["test_score"].sum() == 60
    search = GridSearchCV(MeanOfLabels(), {"quantile": [None]}, cv=splitter, scoring=scorer)
    assert search.fit(X, labels).best_score_ == 20


@pytest.mark.parametrize(("test_size", "expected"), [(None, 100), (0.3, 120), (50, 50)])
def test_train_test_split_sizes_and_fractions(test_size, expected):
    positives = skewed_positives()
    rows = np.arange(400)
    X_train, X_test, y_train, y_test, train, test = train_test_split(
        positives,
        Labels.from_dense(positives),
        rows,
        test_size=test_size,
        stratify=positives,
        random_state=0,
    )
    assert abs(len(test) - expected) <= 3
    np.testing.assert_array_equal(np.sort(np.r_[train, test]), rows)
    np.testing.assert_array_equal(X_train, positives[train])
    np.testing.assert_array_equal(X_test, positives[test])
    assert y_train.equals(Labels.from_dense(positives[train]))
    deviation = y_test.n_positives(axis=0) - positives.sum(0) * expected / 400
    assert np.abs(deviation).max() <= 2


def test_train_size_is_the_complement():
    positives = skewed_positives()
    options = {"stratify": positives, "random_state": 0}
    by_test = train_test_split(positives, test_size=0.25, **options)
    by_train = train_test_split(positives, train_size=0.75, **options)
    np.testing.assert_array_equal(by_test[0], by_train[0])


def test_unique_labels_still_reach_the_small_part():
    # rounding each label's share by itself would leave the test part empty
    labels = sparse.eye_array(100, format="csr")
    _, test = train_test_split(np.arange(100), test_size=0.2, stratify=labels, random_state=0)
    assert abs(len(test) - 20) <= 2


def test_errors_name_argument_and_remedy():
    positives = skewed_positives(20, 3)
    X = np.zeros((20, 1))
    with pytest.raises(ValueError, match="n_splits must be an integer of at least 2, got 1"):
        list(IterativeStratification(1).split(X, positives))
    with pytest.raises(ValueError, match="n_splits=30 is more than the 20 rows"):
        list(IterativeStratification(30).split(X, positives))
    with pytest.raises(ValueError, match="set shuffle=True"):
        list(IterativeStratification(3, random_state=0).split(X, positives))
    with pytest.raises(ValueError, match="y is needed"):
        list(IterativeStratification(3).split(X))
    with pytest.raises(ValueError, match="groups cannot be kept together"):
        list(IterativeStratification(3).split(X, positives, np.arange(20)))
    with pytest.raises(ValueError, match="X has 19 rows but y has 20"):
        list(IterativeStratification(3).split(X[:19], positives))
    with pytest.raises(ValueError, match="n_refinements"):
        list(IterativeStratification(3, n_refinements=-1).split(X, positives))
    with pytest.raises(ValueError, match="test_size=20: give a fraction"):
        train_test_split(X, stratify=positives, test_size=20)
    with pytest.raises(ValueError, match="do not make up all 20 rows"):
        train_test_split(X, stratify=positives, test_size=0.5, train_size=0.2)
    with pytest.raises(ValueError, match=r"arrays\[1\] has 3 rows"):
        train_test_split(X, X[:3])
    with pytest.raises(ValueError, match="sum to one"):
        stratified_folds(positives, [0.5, 0.2])


@pytest.mark.slow
def test_more_even_than_the_package_on_delicious(data_dir):
    ml_stratifiers = pytest.importorskip("iterstrat.ml_stratifiers")
    labels = load_dataset("delicious").Y
    positives = labels.positives().toarray()
    options = {"shuffle": True, "random_state": 0}
    theirs = ml_stratifiers.MultilabelStratifiedKFold(5, **options)
    theirs = [test for _, test in theirs.split(np.zeros(len(positives)), positives)]
    ours = [test for _, test in IterativeStratification(5, **options).split(None, labels)]
    assert label_odds_gap(positives, ours) < label_odds_gap(positives, theirs) / 2
    assert fraction_gap(positives, ours) < fraction_gap(positives, theirs)
    sizes = [test.size for test in ours]
    assert max(sizes) - min(sizes) <= 3


def label_odds_gap(positives, tests):
    """Mean distance of each label's odds in a fold from those in all rows (Sechidis et al.)."""
    odds = [positives[test].sum(0) / (~positives[test]).sum(0) for test in tests]
    return np.abs(odds - positives.sum(0) / (~positives).sum(0)).mean()


def fraction_gap(positives, tests):
    """Mean distance of a fold's fraction of each label's positives from one over the folds."""
    counts = np.array([positives[test].sum(0) for test in tests])
    return np.abs(counts / positives.sum(0) - 1 / len(tests)).mean()
