from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso

from labelgap import Labels
from labelgap.views import from_blocks
from labelgap_papers.methods import IMSF, _imsf, _imsf_problem
from labelgap_papers.methods._view_blocks import dense_views


def incomplete(rng, n=120, noise=0.3):
    """Two views, of which one third of the rows lack the first and one third the second."""
    a, b = rng.normal(size=(n, 5)), rng.normal(size=(n, 4))
    score = np.column_stack([a[:, 0] + b[:, 0], a[:, 1] - b[:, 1], b[:, 2] + 0.3 * a[:, 2]])
    Y = (score + noise * rng.normal(size=score.shape) > 0).astype(float)
    kind = np.arange(n) % 3
    X, views = from_blocks({"a": a, "b": b}, {"a": kind != 1, "b": kind != 2})
    return X, views, Y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def test_with_one_pattern_and_least_squares_it_is_the_lasso(rng):
    X = rng.normal(size=(80, 6))
    Y = (X[:, :2] + 0.5 * rng.normal(size=(80, 2)) > 0.2).astype(float)
    model = IMSF(None, 0.2, loss="squared", max_iter=1000, tol=0.0).fit(X, Y)
    A = standardised(X)
    for j in range(2):
        y = 2 * Y[:, j] - 1
        weight = 0.2 * np.abs(A.T @ y).max()
        lasso = Lasso(weight / 80, fit_intercept=False, tol=1e-12, max_iter=10000).fit(A, y)
        np.testing.assert_allclose(model.coef_[0, :, j], lasso.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_every_label_alone_is_as_all_together(rng, loss):
    X, views, Y = incomplete(rng)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    together = IMSF(views, loss=loss, max_iter=1000, tol=0.0).fit(X, Y)
    for j in range(3):
        alone = IMSF(views, loss=loss, max_iter=1000, tol=0.0).fit(X, Y[:, [j]])
        np.testing.assert_allclose(together.coef_[:, :, j], alone.coef_[:, :, 0], atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_solution_has_a_certificate(rng, loss):
    """The gradient of a feature that is used points against its weights, with length lambda."""
    X, views, Y = incomplete(rng)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    model = IMSF(views, 0.3, loss=loss, max_iter=4000, tol=0.0).fit(X, Y)
    values, there = dense_views(X, model.views_)
    pattern_of = np.array([np.flatnonzero((model.patterns_ == t).all(axis=1))[0] for t in there])
    columns = [model._columns(p) for p in model.patterns_]
    problem = _imsf_problem.read_problem(
        model.scaling_.filled(values), 2 * Y - 1, pattern_of, columns
    )
    smooth = getattr(_imsf_problem, f"{loss}_loss")(problem)
    start = _imsf_problem.first_state(problem, with_intercepts=loss == "logistic")
    weights = 0.3 * _imsf_problem.largest_weights(smooth, start)
    state = np.concatenate([model.coef_, model.intercept_[:, None]], axis=1)
    gradient = smooth.at(state).gradient
    lengths, norms = _imsf_problem.feature_norms(gradient), _imsf_problem.feature_norms(state)
    assert (lengths <= weights * (1 + 1e-6)).all()
    used = norms > 0
    assert 0 < used.sum() < used.size
    scaled = np.divide(state[:, :-1], norms, out=np.zeros_like(state[:, :-1]), where=used)
    np.testing.assert_allclose(
        np.where(used, gradient[:, :-1], 0), -weights * scaled, atol=1e-6 * weights.max()
    )
    np.testing.assert_allclose(gradient[:, -1], 0, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gradient(rng, loss):
    X, _, Y = incomplete(rng, n=30)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    values = np.nan_to_num(X)
    kinds = np.arange(30) % 3
    columns = [np.arange(9), np.arange(5, 9), np.arange(5)]
    problem = _imsf_problem.read_problem(values, 2 * Y - 1, kinds, columns)
    smooth = getattr(_imsf_problem, f"{loss}_loss")(problem)
    at, direction = rng.normal(size=(2, *problem.shape))
    if loss == "squared":
        at[:, -1] = direction[:, -1] = 0
    h = 1e-6
    slope = (smooth.at(at + h * direction).value - smooth.at(at - h * direction).value) / (2 * h)
    assert np.vdot(smooth.at(at).gradient, direction) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_from_the_largest_weight_on_no_feature_is_used(rng, loss):
    X, views, Y = incomplete(rng)
    none = IMSF(views, 1.0001, loss=loss, max_iter=50, tol=0.0).fit(X, Y)
    assert (none.coef_ == 0).all()
    some = IMSF(views, 0.95, loss=loss, max_iter=500, tol=0.0).fit(X, Y)
    assert (np.abs(some.coef_).max(axis=(0, 1)) > 0).all()
    if loss == "logistic":
        fractions = [Y[np.arange(120) % 3 == kind].mean(axis=0) for kind in (0, 1, 2)]
        found = none.predict_proba(X)
        for kind in range(3):
            np.testing.assert_allclose(found[kind], fractions[kind], atol=1e-6)


def test_a_feature_is_used_in_all_patterns_or_in_none(rng):
    X, views, Y = incomplete(rng)
    model = IMSF(views, 0.4, max_iter=2000, tol=0.0).fit(X, Y)
    used = model.coef_ != 0
    has = np.array([np.isin(np.arange(9), model._columns(p)) for p in model.patterns_])
    for f in range(9):
        for j in range(3):
            assert len(set(used[has[:, f], f, j])) == 1
    assert not used[~has].any()
    assert used.any()
    assert not used.all(axis=0).all()


def test_the_trace_is_the_objective_and_never_increases(rng):
    X, views, Y = incomplete(rng)
    model = IMSF(views, 0.2, loss="squared", max_iter=40, tol=0.0).fit(X, Y)
    assert (np.diff(model.trace_.objective) <= 0).all()
    A = np.nan_to_num(model.scaling_.scaled(X))
    there = ~np.isnan(X[:, [0, 5]])
    total, cross = 0.0, np.zeros((len(model.patterns_), 9, 3))
    for p, pattern in enumerate(model.patterns_):
        rows = (there == pattern).all(axis=1)
        y = 2 * Y[rows] - 1
        total += 0.5 * np.square(A[rows] @ model.coef_[p] - y).sum()
        cross[p] = A[rows].T @ y
    weights = 0.2 * np.linalg.norm(cross, axis=0).max(axis=0)
    total += (weights * np.linalg.norm(model.coef_, axis=0)).sum()
    assert model.trace_.objective[-1] == pytest.approx(total)


def test_unknown_labels_are_left_out_or_irrelevant(rng):
    X, views, Y = incomplete(rng)
    hidden = rng.random(Y.shape) < 0.3
    gaps = np.where(hidden, np.nan, Y)
    negative = IMSF(views, unknown="negative", max_iter=30, tol=0.0).fit(X, gaps)
    filled = IMSF(views, max_iter=30, tol=0.0).fit(X, np.where(hidden, 0.0, Y))
    np.testing.assert_array_equal(negative.coef_, filled.coef_)
    one = np.where(hidden[:, :1], np.nan, Y[:, :1])
    seen = ~hidden[:, 0]
    skipped = IMSF(views, max_iter=500, tol=0.0).fit(X, one)
    rows = IMSF(views, max_iter=500, tol=0.0)
    rows.fit(X[seen], Y[seen][:, :1])
    # features are standardised over all rows that have them
    assert np.corrcoef(skipped.coef_.ravel(), rows.coef_.ravel())[0, 1] > 0.99


def test_patterns_that_did_not_occur(rng):
    X, views, Y = incomplete(rng)
    both = ~np.isnan(X).any(axis=1)
    only_b = np.isnan(X[:, 0])
    model = IMSF(views, max_iter=200, tol=0.0).fit(X[both | only_b], Y[both | only_b])
    scaled = model.scaling_.filled(X)
    only_a = np.isnan(X[:, 5])
    whole = np.flatnonzero(model.patterns_.all(axis=1))[0]
    # no pattern has just the first view: the model of both, with the second at its mean
    expected = scaled[only_a] @ model.coef_[whole] + model.intercept_[whole]
    np.testing.assert_allclose(model.decision_function(X[only_a]), expected)
    parts = IMSF(views, max_iter=200, tol=0.0).fit(X[~both], Y[~both])
    # both views, but no such pattern: the widest of those it has all views for
    first = np.flatnonzero(parts.patterns_[:, 0])[0]
    expected = parts.scaling_.filled(X[both]) @ parts.coef_[first] + parts.intercept_[first]
    np.testing.assert_allclose(parts.decision_function(X[both]), expected)


def test_a_label_of_one_kind_in_a_pattern_is_taken_from_another(rng):
    X, views, Y = incomplete(rng)
    both = ~np.isnan(X).any(axis=1)
    Y[both, 0] = 1.0
    Y[:, 1] = 0.0
    model = IMSF(views, max_iter=200, tol=0.0).fit(X, Y)
    whole = np.flatnonzero(model.patterns_.all(axis=1))[0]
    assert not model.modelled_[whole, 0]
    assert not model.modelled_[:, 1].any()
    scores = model.decision_function(X[both])
    first = np.flatnonzero((model.patterns_ == [True, False]).all(axis=1))[0]
    expected = model.scaling_.filled(X[both]) @ model.coef_[first] + model.intercept_[first]
    np.testing.assert_allclose(scores[:, 0], expected[:, 0])
    np.testing.assert_allclose(scores[:, 1], model.prior_[1])
    assert model.prior_[1] < -2


def test_planted_features_are_found_and_labels_predicted(rng):
    X, views, Y = incomplete(rng, n=600, noise=0.1)
    model = IMSF(views, 0.2).fit(X[:450], Y[:450])
    assert set(np.flatnonzero(np.abs(model.coef_[:, :, 0]).max(axis=0) > 0.3)) == {0, 5}
    both = np.arange(450, 600) % 3 == 0
    assert (model.predict(X[450:])[both] == Y[450:][both]).mean() > 0.93
    # half of the score is out of sight where a view is absent
    assert (model.predict(X[450:])[~both] == Y[450:][~both]).mean() > 0.7


def test_sparse_views_and_missing_values(rng):
    X, views, Y = incomplete(rng)
    X[0, 1] = np.nan
    blocks = {name: X[:, view] for name, view in views.items()}
    there = {name: ~np.isnan(block).all(axis=1) for name, block in blocks.items()}
    blocks = {
        name: sparse.csr_array(np.where(there[name][:, None], b, 0)) for name, b in blocks.items()
    }
    marked, _ = from_blocks(blocks, there)
    dense = IMSF(views, max_iter=20, tol=0.0).fit(X, Y)
    marked_fit = IMSF(views, max_iter=20, tol=0.0).fit(marked, Y)
    np.testing.assert_allclose(dense.coef_, marked_fit.coef_, atol=1e-12)
    np.testing.assert_allclose(
        dense.decision_function(X), marked_fit.decision_function(marked), atol=1e-12
    )
    filled = X.copy()
    filled[0, 1] = np.nanmean(X[:, 1])
    np.testing.assert_allclose(
        dense.decision_function(X[:1]), dense.decision_function(filled[:1]), atol=1e-12
    )


def test_bad_input(rng):
    X, views, Y = incomplete(rng)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        IMSF(views).fit(X, Labels.from_dense(np.full((120, 3), np.nan)))
    X[3] = np.nan
    with pytest.raises(ValueError, match="row 3 has no view"):
        IMSF(views).fit(X, Y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_working_sets_reach_what_all_features_at_once_reach(rng, monkeypatch, loss):
    """From two features of a label on, so that the sets have to grow."""
    X, views, Y = incomplete(rng)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[:, 1] = 0.0  # no model at all
    settings = {"loss": loss, "max_iter": 3000, "tol": 1e-13}
    at_once = IMSF(views, 0.05, **settings).fit(X, Y)
    monkeypatch.setattr(_imsf, "_MOST_NUMBERS", 0)
    monkeypatch.setattr(_imsf_problem, "_FEWEST_NEW", 2)
    by_sets = IMSF(views, 0.05, **settings).fit(X, Y)
    assert (by_sets.coef_[:, :, 0] != 0).any(axis=0).sum() > 2
    assert 3 < by_sets.n_iter_ < at_once.n_iter_
    assert by_sets.trace_.outcome == "converged"
    assert (np.diff(by_sets.trace_.objective) <= 0).all()
    reached, expected = (model.trace_.objective[-1] for model in (by_sets, at_once))
    assert reached == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(by_sets.coef_, at_once.coef_, atol=1e-5)
    np.testing.assert_allclose(by_sets.intercept_, at_once.intercept_, atol=1e-5)
    assert not by_sets.coef_[:, :, 1].any()


def test_a_restricted_problem_is_the_whole_one_without_the_rest(rng):
    X, _, Y = incomplete(rng, n=30)
    columns = [np.arange(9), np.arange(5, 9), np.arange(5)]
    Y[np.arange(30) % 3 == 1, 2] = 1.0  # of one kind in the second pattern
    kinds = np.arange(30) % 3
    whole = _imsf_problem.read_problem(np.nan_to_num(X), 2 * Y - 1, kinds, columns)
    features = np.array([1, 4, 6])
    part, patterns = _imsf_problem.restricted(whole, 2, features)
    assert patterns.tolist() == [0, 2]
    x = rng.normal(size=part.shape)
    x[1, 2] = 0  # the third pattern lacks the second view
    state = np.zeros(whole.shape)
    state[np.ix_(patterns, [1, 4, 6, -1], [2])] = x
    found, expected = (_imsf_problem.logistic_loss(p) for p in (part, whole))
    constant = expected.at(np.zeros(whole.shape)).value - found.at(np.zeros(part.shape)).value
    assert found.at(x).value + constant == pytest.approx(expected.at(state).value)
    np.testing.assert_allclose(
        found.at(x).gradient,
        expected.at(state).gradient[np.ix_(patterns, [1, 4, 6, -1], [2])],
        atol=1e-14,
    )


def test_scores_beyond_a_step_follow_from_those_around_it(rng):
    X, _, Y = incomplete(rng, n=30)
    columns = [np.arange(9), np.arange(5, 9), np.arange(5)]
    problem = _imsf_problem.read_problem(np.nan_to_num(X), 2 * Y - 1, np.arange(30) % 3, columns)
    smooth = _imsf_problem.logistic_loss(problem)
    before, here = (smooth.at(x) for x in rng.normal(size=(2, *problem.shape)))
    ahead = smooth.ahead(here, before, 0.7)
    there = smooth.at(here.x + 0.7 * (here.x - before.x))
    np.testing.assert_allclose(ahead.x, there.x)
    assert ahead.value == pytest.approx(there.value)
    np.testing.assert_allclose(ahead.gradient, there.gradient, atol=1e-14)
