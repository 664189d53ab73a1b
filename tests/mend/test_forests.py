"""Trees that learn from probabilities, and what forests say of rows that they did not see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from labelgap import Labels, Mend
from labelgap.imputers import PerLabelImputer
from labelgap.imputers._imputer import cross_fitted
from labelgap.imputers._per_label_imputer import ForestAndLabels
from labelgap.metrics import log_loss
from labelgap.one_vs_rest import SoftLabel, fit_soft
from labelgap.one_vs_rest._fit_single_label import SoftLabelTrees, split_by_gini

FORESTS = [
    RandomForestClassifier(7, min_samples_leaf=3, random_state=0),
    ExtraTreesClassifier(7, max_depth=4, bootstrap=True, max_samples=0.5, random_state=0),
    DecisionTreeClassifier(min_samples_leaf=5, min_impurity_decrease=0.01, random_state=0),
    DecisionTreeClassifier(ccp_alpha=0.005, random_state=0),
]


def rows(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    probabilities = 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1] ** 2 + 1))
    return X, probabilities


@pytest.mark.parametrize("forest", FORESTS, ids=lambda one: type(one).__name__)
def test_of_certain_labels_trees_of_probabilities_say_what_the_classifier_says(forest):
    X, probabilities = rows()
    y = (np.random.default_rng(1).random(probabilities.size) < probabilities).astype(int)
    plain = forest.fit(X, y).predict_proba(X)
    ours = SoftLabelTrees(forest).fit(X, y.astype(float))
    # splits that are equally good may be taken in another order
    assert np.mean(np.abs(ours.predict_proba(X) - plain) < 1e-9) > 0.95
    assert (ours.predict(X) == ours.classes_[ours.predict_proba(X).argmax(axis=1)]).all()


def test_a_tree_splits_probabilities_where_it_splits_rows_that_stand_in_it_twice():
    X, probabilities = rows()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    twice = tree.fit(
        np.vstack([X, X]),
        np.repeat([1, 0], probabilities.size),
        sample_weight=np.concatenate([probabilities, 1 - probabilities]),
    )
    once = SoftLabelTrees(tree).fit(X, probabilities).trees_
    np.testing.assert_array_equal(once.tree_.feature, twice.tree_.feature)
    np.testing.assert_allclose(once.tree_.threshold, twice.tree_.threshold)
    np.testing.assert_allclose(once.predict(X), twice.predict_proba(X)[:, 1], atol=1e-9)


def test_the_smallest_leaf_counts_rows():
    X, probabilities = rows(60)
    label = SoftLabel(np.arange(60), probabilities, np.ones(60))
    model = fit_soft(DecisionTreeClassifier(min_samples_leaf=10, random_state=0), X, label)
    _, sizes = np.unique(model.trees_.apply(X), return_counts=True)
    assert sizes.min() >= 10


def test_weights_count():
    X, probabilities = rows(80)
    label = SoftLabel(np.arange(80), probabilities, np.where(X[:, 2] > 0, 1.0, 1e-9))
    model = fit_soft(DecisionTreeClassifier(max_depth=1, random_state=0), X, label)
    kept = X[:, 2] > 0
    alone = SoftLabelTrees(DecisionTreeClassifier(max_depth=1, random_state=0))
    alone.fit(X[kept], probabilities[kept])
    np.testing.assert_allclose(model.trees_.tree_.value.ravel(), alone.trees_.tree_.value.ravel(),
                               atol=1e-6)  # fmt: skip


def test_certain_labels_go_to_the_classifier_itself():
    X, probabilities = rows(80)
    label = SoftLabel(np.arange(80), (probabilities > 0.5).astype(float), np.ones(80))
    assert type(fit_soft(FORESTS[0], X, label)) is RandomForestClassifier


def test_only_what_is_equivalent_is_replaced():
    assert split_by_gini(RandomForestClassifier())
    assert not split_by_gini(RandomForestClassifier(criterion="entropy"))
    assert not split_by_gini(RandomForestClassifier(class_weight="balanced"))
    assert not split_by_gini(HistGradientBoostingClassifier())


def with_unlabeled_zeros(n: int = 400) -> tuple[np.ndarray, np.ndarray, Labels]:
    rng = np.random.default_rng(3)
    X, probabilities = rows(n, seed=3)
    first = rng.random(n) < probabilities
    truth = np.column_stack([first, np.where(rng.random(n) < 0.8, first, ~first)]).astype(float)
    recorded = truth * (rng.random(truth.shape) < 0.7)
    return X, truth, Labels.from_dense(recorded, zeros="unlabeled")


FOLDS = np.array_split(np.random.default_rng(0).permutation(400), 5)


def test_of_rows_that_tell_nothing_held_out_probabilities_tell_nothing():
    """A forest with leaves of one row repeats what it saw; trees that did not see it cannot."""
    rng = np.random.default_rng(0)
    X, values = rng.normal(size=(400, 5)), rng.integers(0, 2, size=400)
    codes = sparse.csr_array(rng.integers(0, 2, size=(400, 3)) - 0.5)
    model = ForestAndLabels(RandomForestClassifier(40, random_state=0), 3.0).fit(X, codes, values)
    said = model.held_out_probabilities(np.arange(400) % 5)
    truth = values[:, None].astype(float)
    fooled = model.forest_.predict_proba(X)[:, 1:].clip(0.01, 0.99)
    assert log_loss(truth, fooled) < 0.3
    assert 0.68 < log_loss(truth, said[:, None]) < 0.75


def test_held_out_is_as_good_as_leaving_the_rows_out_of_the_forest():
    X, _, labels = with_unlabeled_zeros()
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    both = np.arange(2)
    parts = list(cross_fitted(PerLabelImputer(forest), X, labels, both, FOLDS))
    once = list(PerLabelImputer(forest).held_out_columns(X, labels, both, FOLDS))
    recorded = np.asarray(labels, dtype=float)
    losses = [log_loss(recorded, np.column_stack(some)) for some in (parts, once)]
    assert losses[1] < losses[0] + 0.01


def test_other_labels_have_a_say_beside_many_features():
    """A copy of the label among 300 columns of noise, of which a forest tries 17 at a split."""
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 2, size=(400, 1)), 2, axis=1).astype(float)
    hidden = rng.random(400) < 0.5
    Y = truth.copy()
    Y[hidden, 0] = np.nan
    forest = RandomForestClassifier(20, min_samples_leaf=3, random_state=0)
    X = rng.normal(size=(400, 300))
    labels = Labels.from_dense(Y)
    column = next(PerLabelImputer(forest).fit(X, labels, np.array([0])).columns(X, labels))
    assert ((column > 0.5) == truth[:, 0])[hidden].mean() > 0.99


def test_a_label_does_not_explain_itself():
    X, _, labels = with_unlabeled_zeros()
    imputer = PerLabelImputer(RandomForestClassifier(10, random_state=0)).fit(X, labels)
    other = labels.hide(np.arange(400), np.zeros(400, dtype=int))
    first, again = (next(imputer.columns(X, one)) for one in (labels, other))
    np.testing.assert_allclose(first, again)


def test_rows_that_every_tree_saw_have_the_frequency():
    X, _, labels = with_unlabeled_zeros(100)
    rows, values = labels.column(1)
    nothing = sparse.csr_array((100, 2))
    model = ForestAndLabels(RandomForestClassifier(1, random_state=0), 1.0)
    odds = model.fit(X[rows], nothing, values.astype(int)).design_.toarray()[:, 0]
    frequency = logit((values.mean() + 0.5) / 2)
    # the only tree sees a row with the probability 1 - 1/e
    assert 0.5 < np.isclose(odds, frequency).mean() < 0.75
    np.testing.assert_allclose(np.unique(odds.round(9)), [-np.log(3), frequency, np.log(3)])


def test_unknown_entries_beside_unlabeled_zeros_are_said_by_all_trees():
    X, _, labels = with_unlabeled_zeros()
    labels = labels.hide(np.arange(30), np.zeros(30, dtype=int))
    imputer = PerLabelImputer(RandomForestClassifier(10, random_state=0))
    column = next(imputer.held_out_columns(X, labels, np.array([0]), FOLDS))
    again = next(imputer.fit(X, labels, np.array([0])).columns(X, labels))
    np.testing.assert_allclose(column[:30], again[:30])
    assert not np.allclose(column[30:], again[30:])


def test_sparse_rows_with_long_indices():
    X, _, labels = with_unlabeled_zeros()
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    imputer = PerLabelImputer(RandomForestClassifier(5, random_state=0))
    first = np.array([0])
    dense, wide = (next(imputer.held_out_columns(one, labels, first, FOLDS)) for one in (X, long))
    np.testing.assert_allclose(dense, wide)
    assert next(imputer.fit(long, labels, first).columns(long, labels)).shape == (400,)
    imputed = Mend(RandomForestClassifier(5, random_state=0), random_state=0).fit(long, labels)
    np.testing.assert_allclose(imputed.predict_proba(long), imputed.predict_proba(X))


def test_labels_of_one_value_are_constant():
    X, _, labels = with_unlabeled_zeros()
    Y = np.asarray(labels, dtype=float)
    Y[:, 1] = 0
    labels = Labels.from_dense(Y, zeros="unlabeled")
    imputer = PerLabelImputer(RandomForestClassifier(5, random_state=0))
    both = np.arange(2)
    for columns in (
        imputer.held_out_columns(X, labels, both, FOLDS),
        imputer.fit(X, labels, both).columns(X, labels),
    ):
        assert np.ptp(list(columns)[1]) == 0


def test_forests_without_a_bootstrap_get_one():
    X, _, labels = with_unlabeled_zeros()
    first = np.array([0])
    said = [
        next(PerLabelImputer(forest).held_out_columns(X, labels, first, FOLDS))
        for forest in (
            ExtraTreesClassifier(10, random_state=0),
            ExtraTreesClassifier(10, bootstrap=True, random_state=0),
        )
    ]
    np.testing.assert_allclose(*said)
    assert not PerLabelImputer(HistGradientBoostingClassifier()).is_of_forests


def test_mending_with_a_forest_fits_one_per_label_to_complete_unlabeled_zeros(monkeypatch):
    X, _, labels = with_unlabeled_zeros()
    fitted = []
    plain = RandomForestClassifier.fit

    def counted(self, X, y, sample_weight=None):
        fitted.append(self.oob_score)
        return plain(self, X, y, sample_weight)

    monkeypatch.setattr(RandomForestClassifier, "fit", counted)
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    model = Mend(forest, label_frequency=0.7).fit(X, labels)
    assert model.imputed_.weights.tolist() == [1.0, 1.0]
    # without imputation, to complete; with it, trees of probabilities
    assert sorted(fitted) == [False, False, True, True]
    assert all(isinstance(one, SoftLabelTrees) for one in model.estimators_)
    assert all(type(one) is RandomForestClassifier for one in model.plain_estimators_.values())


def test_a_imputer_of_forests_checks_its_settings():
    X, probabilities = rows(60)
    labels = Labels.from_dense(
        np.column_stack([probabilities > 0.5, probabilities > 0.3]).astype(float)
    )
    forest = RandomForestClassifier(3, random_state=0)
    folds = np.array_split(np.arange(60), 2)
    for settings, word in ({"device": "cuda"}, "device"), ({"label_variance": -1.0}, "label_var"):
        imputer = PerLabelImputer(forest, **settings)
        with pytest.raises(ValueError, match=word):
            imputer.fit(X, labels)
        with pytest.raises(ValueError, match=word):
            list(imputer.held_out_columns(X, labels, np.arange(2), folds))


def test_importances_are_those_of_the_classifier():
    X, probabilities = rows()
    y = (probabilities > 0.5).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    ours = SoftLabelTrees(tree).fit(X, y.astype(float))
    assert ours.n_features_in_ == 5
    np.testing.assert_allclose(ours.feature_importances_, tree.feature_importances_, atol=1e-9)
