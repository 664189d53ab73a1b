"""Members of the portfolio: what they compute, and that nothing of a row returns to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge

from labelgap import Labels, Mend
from labelgap.kernels.logistic import mean_log_loss
from labelgap.mend import _forest_member, _kernel_member
from labelgap.mend._forest_member import ForestMember
from labelgap.mend._imputed_targets import impute_targets
from labelgap.mend._member import ImputedTargets, Limits, Member, Teaching

LIMITS = Limits(100, 60.0, 40, 3, 1e13, None, None)


def teaching(n_samples=90, n_labels=4, seed=0, *, as_sparse=False):
    """Curved labels that are complete, taught as if they had been imputed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    Y = (X[:, :n_labels] ** 2 + rng.normal(size=(n_samples, n_labels)) > 1).astype(np.float32)
    folds = rng.permutation(n_samples) % 3
    imputed = ImputedTargets([Y] * 3, Y, 1.0, False)
    X = sparse.csr_array(X) if as_sparse else X
    return Teaching(X, Labels.from_dense(Y), folds, {}, imputed), Y


# -- trees


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("fold", [-1, 1])
def test_weights_of_rows_give_what_the_forest_predicts(as_sparse, fold):
    data, Y = teaching(as_sparse=as_sparse)
    part = ForestMember(LIMITS, 0)._without(fold, data, 9)
    assert part.n_trees == 9
    np.testing.assert_array_equal(part.targets, Y[data.folds != fold])
    np.testing.assert_allclose(part.predict(data.X), part.forest.predict(data.X), atol=1e-6)


def test_trees_of_all_rows_know_them_and_those_of_the_folds_do_not():
    data, Y = teaching()
    member = ForestMember(LIMITS, 0)
    found = member.fit(data, None)
    member.refit(data, None)
    assert mean_log_loss(member.predict(data.X), Y) < mean_log_loss(found, Y) - 0.02
    mean = member.forest.forest.predict(data.X)
    np.testing.assert_allclose(
        member.predict(data.X), (40 * mean + member.prevalence) / 41, atol=1e-6
    )


def test_many_labels_are_split_by_combinations(monkeypatch):
    data, Y = teaching()
    monkeypatch.setattr(_forest_member, "_MOST_OUTPUTS", 2)
    member = ForestMember(LIMITS, 0)
    found = member.fit(data, None)
    member.refit(data, None)
    assert member.forest.forest.n_outputs_ == 2
    assert found.shape == Y.shape
    assert mean_log_loss(found, Y) < mean_log_loss(np.full(Y.shape, Y.mean(axis=0)), Y)


# -- the kernel machine


def test_kernel_regressions_without_a_fold_are_those_of_the_other_rows():
    data, Y = teaching()
    prevalence = Y.mean(axis=0)
    rows = np.arange(len(Y))
    exact = _kernel_member._Exact(data.X, rows, 0.2, data, prevalence)
    landmarks = _kernel_member._Landmarks(data.X, rows, 0.2, data, prevalence)
    for fold in range(3):
        learned = data.folds != fold
        model = KernelRidge(alpha=0.7, kernel="rbf", gamma=0.2)
        model.fit(data.X[learned], Y[learned] - prevalence)
        expected = model.predict(data.X[~learned]) + prevalence
        np.testing.assert_allclose(exact.without(fold, 0.7), expected, atol=1e-8)
        # all rows as landmarks: a space that holds the exact solution
        np.testing.assert_allclose(landmarks.without(fold, 0.7), expected, atol=1e-5)


@pytest.mark.parametrize("n_landmarks", [30, 200])
def test_the_kernel_member_learns_from_all_rows_in_the_end(n_landmarks):
    data, Y = teaching()
    member = _kernel_member.KernelMember(LIMITS._replace(kernel_rows=n_landmarks), 0)
    found = member.fit(data, None)
    member.refit(data, None)
    assert member.landmarks.shape[0] == min(n_landmarks, 90)
    assert mean_log_loss(found, Y) < mean_log_loss(np.full(Y.shape, Y.mean(axis=0)), Y)
    assert mean_log_loss(member.predict(data.X), Y) < mean_log_loss(found, Y)


# -- imputed labels


class Told(Member):
    """Says for each fold what it was told."""

    def __init__(self, *of_fold):
        self.of_fold = of_fold

    def predict_without(self, fold, X):
        return self.of_fold[fold]


def test_unknown_entries_are_imputed_without_the_fold_and_known_ones_stay():
    Y = np.array([[1, np.nan], [np.nan, 0], [0, 1.0]])
    data = Teaching(np.zeros((3, 1)), Labels.from_dense(Y), np.array([0, 1, 1]), {})
    told = [np.full((3, 2), 0.3), np.full((3, 2), 0.6)]
    mean = np.full((3, 2), 0.5)
    found = impute_targets(data, [Told(*told)], np.ones((1, 2)), mean, 1.0)
    assert found.has_gaps
    said = found.of_fold[0][np.isnan(Y)] - 0.3
    for fold, p in enumerate([0.3, 0.6]):
        values = found.of_fold[fold]
        np.testing.assert_array_equal(values[~np.isnan(Y)], Y[~np.isnan(Y)])
        # what the other label says, in standard deviations, is the same for each fold
        spread = np.sqrt(p * (1 - p) / (0.3 * 0.7))
        np.testing.assert_allclose(values[np.isnan(Y)] - p, spread * said, atol=1e-6)


def test_unlabeled_zeros_get_the_posterior():
    recorded = np.array([[1], [0], [0]])
    labels = Labels.from_dense(recorded, zeros="unlabeled")
    data = Teaching(np.zeros((3, 1)), labels, np.array([0, 1, 1]), {})
    g = np.full((3, 1), 0.2)
    found = impute_targets(data, [Told(g, g)], np.ones((1, 1)), g, 0.5)
    # (1 - c) / c * g / (1 - g)
    np.testing.assert_allclose(found.of_fold[1], [[1], [0.25], [0.25]], atol=1e-6)
    nothing = impute_targets(data, [Told(g, g)], np.ones((1, 1)), g, 1.0)
    np.testing.assert_array_equal(nothing.of_fold[0], recorded)
    assert not nothing.has_gaps


@pytest.mark.parametrize("gap", ["unknown", "unlabeled"])
def test_labels_of_chance_cannot_be_predicted_out_of_fold(gap):
    """Labels that were imputed by what had seen a row would give its own labels away."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    Y = (rng.random((200, 3)) < 0.4).astype(float)
    entropy = mean_log_loss(np.full(Y.shape, Y.mean(axis=0)), Y)
    if gap == "unknown":
        model = Mend(random_state=0).fit(X, np.where(rng.random(Y.shape) < 0.6, np.nan, Y))
    else:
        model = Mend(zeros="unlabeled", label_frequency=0.6, random_state=0).fit(X, Y)
    for row in model.leaderboard_:
        if not row.skipped:
            assert row.log_loss > entropy - 0.03, row
