"""The portfolio of ``Mend()``: how members are weighted, skipped and kept within a time limit."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from labelgap import Mend
from labelgap.kernels.logistic import mean_log_loss
from labelgap.kernels.probabilities import weighted_mean
from labelgap.mend._member import Limits
from labelgap.mend._portfolio import greedy_weights, shrunken_weights
from labelgap.mend._portfolio_members import MEMBERS_OF_PRESET, NetworkMember


def with_gaps(n_samples=260, n_labels=3, seed=0, gaps=0.3):
    """Labels of a line and of a curve, and the same with unknown entries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 5))
    scores = np.column_stack([X[:, 0] + X[:, 1], np.abs(X[:, 2]) - 0.7, X[:, 3] * X[:, 4]])
    truth = (scores[:, :n_labels] + 0.4 * rng.normal(size=(n_samples, n_labels)) > 0).astype(float)
    return X, truth, np.where(rng.random(truth.shape) < gaps, np.nan, truth)


@pytest.fixture(scope="module")
def fitted():
    X, _, Y = with_gaps()
    return Mend(random_state=0).fit(X[:200], Y[:200])


def test_a_label_tree_is_for_many_labels(monkeypatch):
    X, _, Y = with_gaps()
    rows = {row.name: row for row in Mend(random_state=0).fit(X, Y).leaderboard_}
    assert "few enough" in rows["label tree"].skipped
    monkeypatch.setattr("labelgap.mend._portfolio_members.MANY_LABELS", 2)
    rows = {row.name: row for row in Mend(random_state=0).fit(X, Y).leaderboard_}
    assert rows["label tree"].log_loss < 0.7


# -- weights


def some_members(n_members, n=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 1))
    values = (truth + rng.normal(size=(n, 1)) > 0).astype(float)
    noise = [truth + (1 + k) * rng.normal(size=(n, 1)) for k in range(n_members)]
    values[rng.random((n, 1)) < 0.2] = np.nan
    return [1 / (1 + np.exp(-z)) for z in noise], values


@pytest.mark.parametrize("n_members", [2, 3])
def test_greedy_weights_are_nearly_the_best_of_a_grid(n_members):
    members, values = some_members(n_members)
    weights = greedy_weights(members, values)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()

    def loss(w):
        return mean_log_loss(
            expit(sum(a * logit(p) for a, p in zip(w, members, strict=True))), values
        )

    grid = [
        np.array(w) / 50 for w in itertools.product(range(51), repeat=n_members) if sum(w) == 50
    ]
    assert loss(weights) == pytest.approx(min(loss(w) for w in grid), abs=2e-4)
    assert loss(weights) <= min(loss(w) for w in np.eye(n_members))


def test_the_best_member_alone_is_found():
    rng = np.random.default_rng(0)
    values = (rng.random((300, 2)) < 0.5).astype(float)
    right, wrong = 0.02 + 0.96 * values, 0.98 - 0.96 * values
    np.testing.assert_array_equal(greedy_weights([wrong, right], values), [0, 1])


def test_without_observed_entries_members_count_alike():
    half = np.full((4, 1), 0.5)
    np.testing.assert_array_equal(greedy_weights([half, half], np.full((4, 1), np.nan)), [0.5, 0.5])


def test_weights_of_a_label_are_drawn_to_the_common_ones():
    rng = np.random.default_rng(0)
    Y = (rng.random((600, 2)) < 0.5).astype(float)
    Y[20:, 1] = np.nan
    right, wrong = 0.1 + 0.8 * Y, 0.9 - 0.8 * Y
    first, second = right.copy(), wrong.copy()
    first[:, 1], second[:, 1] = wrong[:, 1], right[:, 1]
    weights = shrunken_weights([first, second], Y)
    np.testing.assert_allclose(weights.sum(axis=0), 1)
    n = np.nansum(Y, axis=0)
    common = greedy_weights([first, second], Y)
    own = n[0] / (n[0] + 200)
    assert weights[0, 0] == pytest.approx(own + (1 - own) * common[0])
    np.testing.assert_allclose(weights[:, 1], common)


# -- the fit


@pytest.mark.parametrize("gaps", [0.0, 0.4])
@pytest.mark.parametrize("seed", [1, 2])
def test_hardly_worse_than_the_best_member(gaps, seed):
    X, truth, Y = with_gaps(400, seed=seed, gaps=gaps)
    model = Mend(random_state=0).fit(X[:250], Y[:250])
    alone = [
        mean_log_loss(member.predict(X[250:]), truth[250:]) for member in model._portfolio.members
    ]
    assert mean_log_loss(model.predict_proba(X[250:]), truth[250:]) < min(alone) + 0.01


def test_better_than_one_line_where_labels_are_curved(fitted):
    X, truth, Y = with_gaps()
    line = Mend(preset="fast").fit(X[:200], Y[:200])
    assert fitted.score(X[200:], truth[200:]) > line.score(X[200:], truth[200:]) + 0.02


def test_the_leaderboard_is_in_order_and_adds_up(fitted):
    rows = [row for row in fitted.leaderboard_ if not row.skipped]
    assert {row.name for row in fitted.leaderboard_} == {
        member.name for member in MEMBERS_OF_PRESET["balanced"]
    }
    assert [row.log_loss for row in rows] == sorted(row.log_loss for row in rows)
    assert sum(row.weight for row in rows) == pytest.approx(1)
    assert all(row.seconds >= 0 for row in rows)
    np.testing.assert_allclose(fitted._portfolio.weights.sum(axis=0), 1)


def mean_of(found, probabilities):
    """The weighted mean of log-odds."""
    pairs = zip(found._portfolio.weights, probabilities, strict=True)
    return expit(sum(w * logit(np.clip(p, 1e-5, 1 - 1e-5)) for w, p in pairs))


def test_log_odds_are_the_weighted_mean(fitted):
    X, _, _ = with_gaps()
    mean = mean_of(fitted, (member.predict(X) for member in fitted._portfolio.members))
    np.testing.assert_allclose(fitted.predict_proba(X), mean, atol=2e-3)


def test_a_mean_of_one_is_that_one_and_a_zero_does_not_outvote_the_others():
    p = np.array([0.0, 1e-9, 0.3, 1.0])
    np.testing.assert_allclose(weighted_mean([1.0], [p]), p, atol=1e-15)
    assert 1e-3 < weighted_mean([0.5, 0.5], [np.zeros(1), np.full(1, 0.5)])[0] < 0.01


def test_members_speak_alone(fitted):
    X, _, _ = with_gaps()
    alone = fitted.member_proba(X)
    assert set(alone) == {row.name for row in fitted.leaderboard_ if row.weight > 0}
    common = mean_of(fitted, (alone[member.name] for member in fitted._portfolio.members))
    np.testing.assert_allclose(common, fitted.predict_proba(X), atol=2e-3)
    with pytest.raises(ValueError, match="member_proba needs"):
        Mend(LogisticRegression()).fit(X, X > 0).member_proba(X)


def test_a_second_fit_without_members_has_no_leaderboard(fitted):
    X, _, Y = with_gaps()
    model = pickle.loads(pickle.dumps(fitted)).set_params(estimator=LogisticRegression()).fit(X, Y)
    assert not hasattr(model, "leaderboard_")


def test_predictions_do_not_need_the_training_rows(fitted):
    X, _, _ = with_gaps()
    copy = pickle.loads(pickle.dumps(fitted))
    copy._forget_training_rows()
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert copy._portfolio.out_of_fold.shape[0] == 0


def test_sparse_rows(fitted):
    X, truth, Y = with_gaps()
    model = Mend(random_state=0).fit(sparse.csr_array(X[:200]), Y[:200])
    assert model.score(sparse.csr_array(X[200:]), truth[200:]) > 0.7


def test_unlabeled_zeros_are_answered_by_relevance():
    X, truth, _ = with_gaps(300, gaps=0)
    recorded = truth * (np.random.default_rng(0).random(truth.shape) < 0.5)
    given = Mend(zeros="unlabeled", label_frequency=0.5, random_state=0).fit(X, recorded)
    plain = Mend(random_state=0).fit(X, recorded)
    assert given.label_frequency_ == 0.5
    assert plain.label_frequency_ == 1
    assert given.predict_proba(X).mean() == pytest.approx(truth.mean(), abs=0.08)
    estimated = Mend(zeros="unlabeled", random_state=0).fit(X, recorded)
    assert 0.3 < estimated.label_frequency_ <= 1


# -- skipped members, limits


def test_members_that_cannot_pay_say_why(monkeypatch):
    X, _, Y = with_gaps(120)
    monkeypatch.setattr(Limits, "of", lambda *_: Limits(10, 0.0, 200, 2, 1e13, None, None))
    monkeypatch.setattr(NetworkMember, "reason_to_skip", lambda *_: "torch is not installed")
    model = Mend(random_state=0).fit(X, Y)
    reasons = {row.name: row.skipped for row in model.leaderboard_ if row.skipped}
    assert reasons["kernel"] == "120 rows are more than 100"
    assert reasons["network"] == "torch is not installed"
    assert reasons["trees"] == "trees would take longer than 0 s"
    assert {row.name for row in model.leaderboard_ if not row.skipped} == {"linear", "neighbors"}


def test_without_torch_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(f"{NetworkMember.__module__}.find_spec", lambda name: None)
    X, _, Y = with_gaps(120)
    reasons = {row.name: row.skipped for row in Mend().fit(X, Y).leaderboard_}
    assert reasons["network"] == "torch is not installed: pip install 'labelgap[networks]'"
    assert reasons["linear"] == ""


def test_a_tiny_time_limit_still_fits_the_linear_models():
    X, truth, Y = with_gaps()
    model = Mend(time_limit=1e-6, random_state=0).fit(X, Y)
    fitted = [row.name for row in model.leaderboard_ if not row.skipped]
    assert fitted == ["linear"]
    assert "the time limit of 1e-06 s is near" in {row.skipped for row in model.leaderboard_}
    assert model.score(X, truth) > 0.6


def test_few_rows_get_one_classifier_per_label():
    X, _, Y = with_gaps(90)
    model = Mend(random_state=0).fit(X, Y)
    assert not hasattr(model, "leaderboard_")
    fast = Mend(preset="fast", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), fast.predict_proba(X))


@pytest.mark.parametrize(
    "setting", [{"max_iter": 2}, {"ensemble": True}, {"imputed_weights": (0.5,)}]
)
def test_settings_of_one_classifier_are_refused(setting):
    X, _, Y = with_gaps()
    with pytest.raises(ValueError, match=r"is for one classifier per label: give an estimator"):
        Mend(**setting).fit(X, Y)


def test_labels_nobody_knows_or_that_never_vary():
    X, _, Y = with_gaps(120)
    Y = np.column_stack([Y, np.zeros(120), np.ones(120)])
    Y[:, 0] = np.nan
    Y[:3, 0] = 1, 0, 1
    model = Mend(random_state=0).fit(X, Y)
    found = model.predict_proba(X)
    assert np.isfinite(found).all()
    assert found[:, -1].min() > 0.9
    assert found[:, -2].max() < 0.1
