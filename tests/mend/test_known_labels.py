"""Known labels of a row: the closed form, and what they say of the others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from labelgap import Labels, Mend
from labelgap.mend._known_labels import ResidualCorrelation

NAN = np.nan


def moments(n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(n_labels, 2))
    made = made @ made.T + 0.5 * np.eye(n_labels)
    spread = np.sqrt(np.diag(made))
    return made / np.outer(spread, spread)


def test_the_update_is_the_mean_of_a_gaussian_given_the_known_ones():
    C, p = moments(), np.array([[0.3, 0.5, 0.6, 0.4], [0.5, 0.5, 0.3, 0.6]])
    known = np.array([[1.0, NAN, 0.0, NAN], [NAN, 1.0, NAN, NAN]])
    found = ResidualCorrelation(C).update(p, known)
    for row in range(2):
        given = np.flatnonzero(~np.isnan(known[row]))
        # with noise of variance 1/2 at what is known, in units of labels
        s = np.sqrt(p[row] * (1 - p[row]))
        covariance = s[:, None] * C * s
        noise = 0.5 * np.diag(s[given] ** 2)
        gain = covariance[:, given] @ np.linalg.inv(covariance[np.ix_(given, given)] + noise)
        mean = p[row] + gain @ (known[row, given] - p[row, given])
        open_labels = np.isnan(known[row])
        np.testing.assert_allclose(found[row, open_labels], mean[open_labels].clip(1e-3, 0.999))
        np.testing.assert_array_equal(found[row, given], known[row, given])


def test_independent_residuals_leave_the_others_alone():
    p = np.random.default_rng(0).uniform(0.1, 0.9, size=(6, 4))
    known = np.full((6, 4), NAN)
    known[:, 1] = [0, 1, 0, 1, 0, 1]
    found = ResidualCorrelation(np.eye(4)).update(p, known)
    others = [0, 2, 3]
    np.testing.assert_allclose(found[:, others], p[:, others])
    np.testing.assert_array_equal(found[:, 1], known[:, 1])


def test_nothing_known_changes_nothing():
    p = np.random.default_rng(0).uniform(0.1, 0.9, size=(3, 4))
    found = ResidualCorrelation(moments()).update(p, np.full((3, 4), NAN))
    np.testing.assert_array_equal(found, p)


def test_moments_are_those_of_rows_with_both_labels_known():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, size=(500, 3))
    Y = (rng.random(p.shape) < p).astype(float)
    Y[rng.random(p.shape) < 0.3] = NAN
    found = ResidualCorrelation.fit(p, Labels.from_dense(Y)).moments
    z = (Y - p) / np.sqrt(p * (1 - p))
    for j in range(3):
        for k in range(3):
            both = np.isfinite(z[:, j]) & np.isfinite(z[:, k])
            expected = (z[both, j] @ z[both, k]) / (both.sum() + 50)
            assert found[j, k] == pytest.approx(expected)


def test_unlabeled_zeros_count_as_zeros_in_the_moments():
    Y = np.array([[1.0, 0.0], [1.0, 1.0]] * 50)
    labels = Labels.from_dense(Y, zeros="unlabeled")
    found = ResidualCorrelation.fit(np.full((100, 2), 0.5), labels).moments
    np.testing.assert_allclose(found, [[100 / 150, 0.0], [0.0, 100 / 150]], atol=1e-12)


def test_the_label_that_explains_the_others_is_asked_first():
    C = np.eye(4)
    C[1] = C[:, 1] = 0.8
    C[1, 1] = 1
    residuals = ResidualCorrelation(C)
    p = np.full((1, 4), 0.5)
    assert residuals.information(p, np.full((1, 4), NAN)).argmax() == 1
    known = np.array([[NAN, 1.0, NAN, NAN]])
    left = residuals.information(p, known)
    assert left[0, 1] == 0
    assert (left[0, [0, 2, 3]] > 0).all()


def test_information_is_the_variance_an_answer_takes_away():
    C, p = moments(), np.array([[0.3, 0.5, 0.6, 0.4]])
    found = ResidualCorrelation(C).information(p, np.full((1, 4), NAN))[0]
    variance = (p * (1 - p))[0]
    for k in range(4):
        others = [j for j in range(4) if j != k]
        expected = variance[k] + sum(variance[j] * C[j, k] ** 2 / (C[k, k] + 0.5) for j in others)
        assert found[k] == pytest.approx(expected)


# -- Mend


@pytest.fixture(scope="module")
def fitted():
    """Four labels of a cause that the features do not show, and one of the features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    cause = rng.normal(size=400)
    noise = 0.3 * rng.normal(size=(400, 4))
    Y = (cause[:, None] * [1, 1, 1, -1] + noise > 0).astype(float)
    Y = np.column_stack([Y, X[:, 0] > 0])
    gaps = np.where(rng.random(Y.shape) < 0.2, NAN, Y)
    model = Mend(time_limit=1e-6, random_state=0).fit(X[:300], gaps[:300])
    return model, X[300:], Y[300:]


def test_known_labels_come_back_and_help(fitted):
    model, X, Y = fitted
    known = np.full(Y.shape, NAN)
    known[:, :2] = Y[:, :2]
    before, after = model.predict_proba(X), model.predict_proba(X, known=known)
    np.testing.assert_array_equal(after[:, :2], Y[:, :2])

    def log_loss(p):
        return -np.log(np.where(Y == 1, p, 1 - p))[:, 2:4].mean()

    assert log_loss(after) < 0.7 * log_loss(before)
    both = (Y[:, 0] == 1) & (Y[:, 1] == 1)
    assert (after[both, 2] > before[both, 2]).all()
    assert (after[both, 3] < before[both, 3]).all()
    np.testing.assert_allclose(after[:, 4], before[:, 4], atol=0.1)


def test_which_label_next(fitted):
    model, X, Y = fitted
    assert set(model.which_label_next(X)) <= {0, 1, 2, 3}
    all_but_one = Y.copy()
    all_but_one[:, 3] = NAN
    assert (model.which_label_next(X, all_but_one) == 3).all()
    assert (model.which_label_next(X, Y) == -1).all()


def test_wrong_known_labels_are_named(fitted):
    model, X, Y = fitted
    with pytest.raises(ValueError, match="known has 4 labels and the model 5: give one column"):
        model.predict_proba(X, known=Y[:, :4])
    with pytest.raises(
        ValueError, match=r'needs? .*label matrix.*estimator="auto"|estimator="auto"'
    ):
        Mend(LogisticRegression()).fit(X, Y).predict_proba(X, known=Y)


def test_of_unlabeled_zeros_only_ones_are_known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    Y = (X @ rng.normal(size=(3, 3)) > 0).astype(float)
    model = Mend(zeros="unlabeled", label_frequency=0.8, time_limit=1e-6).fit(X, Y)
    found = model.predict_proba(X, known=Y)
    assert (found[Y == 1] == 1).all()
    assert (found[Y == 0] > 0).all()


def test_unlabeled_zeros_do_not_make_independent_labels_correlated():
    recorded = (np.random.default_rng(0).random((4000, 2)) < 0.3).astype(float)
    labels = Labels.from_dense(recorded, zeros="unlabeled")
    moments = ResidualCorrelation.fit(np.full(recorded.shape, 0.3), labels).moments
    assert abs(moments[0, 1]) < 0.1


def test_a_known_label_is_expected_from_the_others():
    rng = np.random.default_rng(1)
    model, p = ResidualCorrelation(moments(5)), rng.uniform(0.2, 0.8, size=(4, 5))
    known = (rng.random((4, 5)) < p).astype(float)
    known[0, 2] = known[1, :3] = np.nan
    found = model.expected(p, known, left_out=True)
    for row, label in np.argwhere(~np.isnan(known)):
        others = known[[row]].copy()
        others[0, label] = np.nan
        alone = model.expected(p[[row]], others)
        np.testing.assert_allclose(found[row, label], alone[0, label], atol=1e-10)
    np.testing.assert_allclose(
        np.where(np.isnan(known), found, 0),
        np.where(np.isnan(known), model.expected(p, known), 0),
    )
