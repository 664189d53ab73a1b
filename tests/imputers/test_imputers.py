"""Probabilities of a label given the features and the other labels of a row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from labelgap import BinaryRelevance, KNeighborsLabels, Labels
from labelgap.imputers import (
    EstimatorImputer,
    Imputer,
    NeighborsImputer,
    PerLabelImputer,
    StackingImputer,
)
from labelgap.imputers._imputer import cross_fitted
from labelgap.imputers._per_label_imputer import centred_labels, without_column
from labelgap.imputers._stacking_imputer import convex_weights
from labelgap.labels import LabelWarning


@pytest.fixture(scope="module")
def problem():
    """Label 1 nearly repeats label 0, which features tell little about."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    first = (X[:, 0] + 2 * rng.normal(size=400) > 0).astype(float)
    second = np.where(rng.random(400) < 0.95, first, 1 - first)
    third = (X[:, 1] > 0.5).astype(float)
    truth = np.column_stack([first, second, third])
    gaps = rng.random(truth.shape) < 0.4
    return X, np.where(gaps, np.nan, truth), truth


def columns(imputer, X, labels):
    return np.column_stack(list(imputer.columns(X, labels)))


def test_codes():
    Y = np.array([[1, 0, np.nan], [0, 0, 1], [np.nan, 1, 0.0]])
    frequency = np.array([0.6, 0.3, 0.01])
    codes = centred_labels(Labels.from_dense(Y), frequency).toarray()
    expected = np.where(np.isnan(Y), 0, Y - frequency)
    expected[2, 2] = 0  # next to nothing
    np.testing.assert_allclose(codes, expected)


def test_codes_of_unlabeled_zeros_are_those_of_the_ones():
    labels = Labels.from_dense(np.array([[1, 0], [0, 1]]), zeros="unlabeled")
    codes = centred_labels(labels, np.array([0.5, 0.4])).toarray()
    np.testing.assert_allclose(codes, [[0.5, 0], [0, 0.6]])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_column_is_blanked_in_a_copy(container):
    A = np.arange(6.0).reshape(2, 3) + 1
    given = container(A)
    blind = without_column(given, 1)
    blind = blind.toarray() if sparse.issparse(blind) else blind
    np.testing.assert_array_equal(blind, A * [1, 0, 1])
    np.testing.assert_array_equal(given.toarray() if sparse.issparse(given) else given, A)


@pytest.mark.parametrize("estimator", [None, Ridge(), LinearSVC()])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_other_labels_tell(problem, estimator, container):
    X, Y, truth = problem
    X, labels = container(X), Labels.from_dense(Y)
    joint = columns(PerLabelImputer(estimator).fit(X, labels), X, labels)
    assert ((joint >= 0) & (joint <= 1)).all()
    alone = BinaryRelevance(LogisticRegression()).fit(X, labels).predict_proba(X)
    told = np.isnan(Y[:, 1]) & ~np.isnan(Y[:, 0])
    hits = (joint[told, 1] > 0.5) == truth[told, 1]
    assert hits.mean() > 0.9 > ((alone[told, 1] > 0.5) == truth[told, 1]).mean()


def test_dense_and_sparse_features_agree(problem):
    X, Y, _ = problem
    labels = Labels.from_dense(Y)
    estimator = LogisticRegression(tol=1e-8)
    dense = columns(PerLabelImputer(estimator).fit(X, labels), X, labels)
    S = sparse.csr_array(X)
    np.testing.assert_allclose(
        columns(PerLabelImputer(estimator).fit(S, labels), S, labels), dense, atol=1e-5
    )


@pytest.mark.parametrize("label", [0, 1, 2])
def test_a_label_does_not_explain_itself(problem, label):
    X, Y, _ = problem
    imputer = PerLabelImputer().fit(X, Labels.from_dense(Y))
    for value in (0.0, 1.0):
        changed = Y.copy()
        changed[:, label] = value
        found = columns(imputer, X, Labels.from_dense(changed))[:, label]
        np.testing.assert_array_equal(found, columns(imputer, X, Labels.from_dense(Y))[:, label])


def test_wanted_labels_only(problem):
    X, Y, _ = problem
    labels = Labels.from_dense(Y)
    precise = PerLabelImputer(LogisticRegression(tol=1e-10))
    everything = columns(precise.fit(X, labels), X, labels)
    some = columns(precise.fit(X, labels, np.array([2, 0])), X, labels)
    np.testing.assert_allclose(some, everything[:, [2, 0]], atol=1e-9)
    scorer = EstimatorImputer(BinaryRelevance())
    whole = columns(scorer.fit(X, labels), X, labels)
    np.testing.assert_array_equal(
        columns(scorer.fit(X, labels, np.array([1])), X, labels), whole[:, [1]]
    )


def test_a_label_of_one_value():
    X = np.random.default_rng(0).normal(size=(20, 2))
    Y = np.column_stack([np.ones(20), X[:, 0] > 0]).astype(float)
    labels = Labels.from_dense(Y)
    found = columns(PerLabelImputer().fit(X, labels), X, labels)
    assert np.ptp(found[:, 0]) == 0
    assert found[0, 0] > 0.9


class Memory(Imputer):
    """Says 1 of rows it has seen, by their first feature."""

    def fit(self, X, labels, wanted=None):
        self.seen_, self.n_ = set(X[:, 0]), labels.n_labels if wanted is None else len(wanted)
        return self

    def columns(self, X, labels):
        for _ in range(self.n_):
            yield np.array([float(x in self.seen_) for x in X[:, 0]])


def test_cross_fitting_leaves_a_row_out(problem):
    X, Y, _ = problem
    labels = Labels.from_dense(Y)
    folds = np.array_split(np.random.default_rng(0).permutation(400), 3)
    found = list(cross_fitted(Memory(), X, labels, np.arange(3), folds))
    assert len(found) == 3
    np.testing.assert_array_equal(found[0], 0)
    assert next(Memory().fit(X, labels).columns(X, labels)).all()


def test_stack_prefers_what_is_right(problem):
    X, Y, _ = problem
    labels = Labels.from_dense(Y)
    stack = StackingImputer([Memory(), PerLabelImputer()]).fit(X, labels)
    assert stack.weights_.sum() == pytest.approx(1)
    assert stack.weights_[1] > 0.6
    assert columns(stack, X, labels).shape == Y.shape


def test_convex_weights_against_a_grid():
    rng = np.random.default_rng(0)
    answers, truth = rng.random((50, 2)), rng.random(50)
    grid = np.linspace(0, 1, 2001)
    losses = [np.square(answers @ [w, 1 - w] - truth).sum() for w in grid]
    best = grid[int(np.argmin(losses))]
    found = convex_weights(answers, truth)
    np.testing.assert_allclose(found, [best, 1 - best], atol=2e-3)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    # answers of any size count the same
    np.testing.assert_allclose(convex_weights(1e6 * answers, 1e6 * truth), found, atol=1e-5)


def test_neighbours_complete_as_the_baseline_does(problem):
    X, Y, _ = problem
    labels = Labels.from_dense(Y)
    wanted = np.array([2, 0])
    imputer = NeighborsImputer(7).fit(X, labels, wanted)
    expected = KNeighborsLabels(7).fit(X, labels[:, wanted]).predict_proba(X)
    np.testing.assert_allclose(columns(imputer, X, labels), expected)


def test_fewer_rows_than_neighbours(problem):
    X, Y, _ = problem
    labels = Labels.from_dense(Y)
    few = NeighborsImputer(30).fit(X[:20], labels[:20])
    assert few.model_.n_neighbors == np.sum(labels[:20].n_observed(axis=1) > 0) < 30
    with pytest.warns(LabelWarning):
        unknown = Labels.from_dense(np.full((4, 2), np.nan))
    nothing = NeighborsImputer().fit(X[:4], unknown)
    np.testing.assert_array_equal(columns(nothing, X[:4], unknown), np.full((4, 2), 0.5))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_coefficients_of_labels_have_a_variance_of_their_own(problem, container):
    """A penalty of w^2 / (2 v) beside w^2 / (2 C), and no tolerance that matters."""
    X, Y, _ = problem
    labels, precise = Labels.from_dense(Y), LogisticRegression(C=0.02, tol=1e-8)
    found = PerLabelImputer(precise, label_variance=2.0).fit(container(X), labels)
    codes = centred_labels(labels, found.prevalence_).toarray() * np.sqrt(2.0 / 0.02)
    for label in range(3):
        others = np.delete(np.arange(3), label)
        joined = np.hstack([X, codes[:, others]])
        known = ~np.isnan(Y[:, label])
        plain = LogisticRegression(C=0.02, tol=1e-10, solver="newton-cholesky")
        plain.fit(joined[known], Y[known, label])
        said = list(found.columns(container(X), labels))[label]
        np.testing.assert_allclose(said, plain.predict_proba(joined)[:, 1], atol=1e-5)


def test_a_strong_penalty_of_features_leaves_labels_their_say(problem):
    X, Y, truth = problem
    hidden = np.isnan(Y[:, 1]) & ~np.isnan(Y[:, 0])
    right = []
    for variance in (0.001, 3.0):
        imputer = PerLabelImputer(LogisticRegression(C=0.001), label_variance=variance)
        said = columns(imputer.fit(X, Labels.from_dense(Y)), X, Labels.from_dense(Y))[:, 1]
        right.append(((said > 0.5) == truth[:, 1])[hidden].mean())
    assert right[1] > 0.9 > right[0]


@pytest.mark.parametrize("variance", [0.0, -1.0, float("nan")])
def test_a_variance_that_is_none(problem, variance):
    X, Y, _ = problem
    with pytest.raises(ValueError, match="label_variance"):
        PerLabelImputer(label_variance=variance).fit(X, Labels.from_dense(Y))
