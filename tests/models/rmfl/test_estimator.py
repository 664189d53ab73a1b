"""RMFL as users meet it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import kneighbors_graph

from labelgap import RMFL, KernelRidgePerLabel, Labels, metrics
from labelgap.fitting import FitWarning
from labelgap.models.rmfl import _kernel_regression
from labelgap.models.rmfl._rmfl_labels import SignedLabels, best_cuts, sigmoid_slope
from models.rmfl.problems import data, fitted

# row factors that may leave the regression, as far as labels ask for it
LOOSE = {"lambda_1": 1.0, "lambda_3": 1.0, "lambda_4": 0.5, "ridge_v": 1.0}


def test_gaps_are_better_filled_than_by_one_ridge_per_label():
    """Labels share two directions: what is known of some tells of the others."""
    gains = []
    for seed in range(3):
        drawn = data(n_samples=150, n_labels=10, missing=0.7, seed=seed, n_new=200)
        model = fitted(drawn, lambda_4=0.3, ridge_v=10, max_iter=60)
        ridge = KernelRidgePerLabel(0.3).fit(drawn.X, drawn.Y)
        values = [
            metrics.label_ranking_average_precision(drawn.Y_new, one.decision_function(drawn.X_new))
            for one in (model, ridge)
        ]
        gains.append(values[0] - values[1])
    assert np.mean(gains) > 0.01


def test_completion_uses_the_labels_of_the_row():
    drawn = data(n_samples=150, n_labels=10, missing=0.5, unexplained=0.7)
    model = fitted(drawn, max_iter=60, **LOOSE)
    hidden = np.isnan(drawn.Y)
    completed = model.impute(drawn.Y)
    np.testing.assert_array_equal(completed[~hidden], 2 * drawn.truth[~hidden] - 1)
    fitted_scores = model.row_factors_ @ model.label_factors_.T
    np.testing.assert_allclose(completed[hidden], fitted_scores[hidden], atol=0.02)
    by_features = model.decision_function(drawn.X)
    truth = Labels.from_dense(np.where(hidden, drawn.truth, np.nan))
    with_labels, without = (
        metrics.auc(truth, scores, average="micro") for scores in (completed, by_features)
    )
    assert with_labels > without + 0.02 > 0.7


def test_completion_of_new_rows():
    drawn = data(n_samples=150, n_labels=10, missing=0.3, n_new=100, unexplained=0.7)
    model = fitted(drawn, **LOOSE)
    rng = np.random.default_rng(0)
    known = np.where(rng.random(drawn.Y_new.shape) < 0.5, drawn.Y_new, np.nan)
    completed = model.impute(known, drawn.X_new)
    scores = model.decision_function(drawn.X_new)
    truth = Labels.from_dense(np.where(np.isnan(known), drawn.Y_new, np.nan))
    values = [metrics.auc(truth, s, average="micro") for s in (completed, scores)]
    assert values[0] > values[1] + 0.02
    nothing = model.impute(np.full(known.shape, np.nan), drawn.X_new)
    np.testing.assert_allclose(nothing, scores, atol=1e-8)


def test_completion_reads_the_labels_it_is_given():
    drawn = data()
    model = fitted(drawn)
    other = np.where(np.isnan(drawn.Y), np.nan, 1 - drawn.Y)
    hidden = np.isnan(drawn.Y)
    assert np.abs(model.impute(other) - model.impute(drawn.Y))[hidden].max() > 0.1


@pytest.mark.parametrize("Y", [np.zeros((3, 5)), np.zeros((40, 4))])
def test_completion_of_something_else_is_refused(Y):
    with pytest.raises(ValueError, match=r"rows|labels"):
        fitted(data()).impute(Y)


def test_form_follows_the_shape():
    few, many = data(n_samples=40, n_features=4), data(n_samples=20, n_features=30)
    assert fitted(few, kernel="linear").form_ == "primal"
    assert fitted(many, kernel="linear").form_ == "dual"
    assert fitted(few).form_ == "dual"
    automatic = fitted(few, kernel="auto")
    assert (automatic.form_, automatic.gamma_) == ("primal", None)
    assert fitted(many, kernel="auto").gamma_ is not None


@pytest.mark.parametrize(
    ("settings", "kernel"),
    [
        ({"kernel": "rbf", "gamma": 0.7}, lambda A, B: rbf_kernel(A, B, gamma=0.7)),
        ({"kernel": "chi2", "kernel_params": {"gamma": 0.2}}, lambda A, B: chi2_kernel(A, B, 0.2)),
        ({"kernel": "poly", "kernel_params": {"degree": 2, "coef0": 1, "gamma": 0.5}},
         lambda A, B: (0.5 * A @ B.T + 1) ** 2),
        ({"kernel": lambda a, b: float(a @ b) ** 2}, lambda A, B: (A @ B.T) ** 2),
    ],
)  # fmt: skip
def test_any_kernel_is_its_matrix(settings, kernel):
    drawn = data()
    X, X_new = np.abs(drawn.X), np.abs(drawn.X_new)
    graph = kneighbors_graph(X, 5)
    common = {"max_iter": 10, "tol": 0, "random_state": 0, "lambda_1": 0, "graph": graph}
    named = RMFL(**settings, **common).fit(X, drawn.Y)
    precomputed = RMFL(kernel="precomputed", **common).fit(kernel(X, X), drawn.Y)
    np.testing.assert_allclose(
        named.decision_function(X_new), precomputed.decision_function(kernel(X_new, X)), atol=1e-6
    )


def test_precomputed_kernels_are_cut_in_both_directions():
    drawn = data()
    model = RMFL(kernel="precomputed", max_iter=5, tol=0, random_state=0)
    scores = cross_val_score(model, drawn.X @ drawn.X.T, Labels.from_dense(drawn.Y), cv=3)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_are_dense_rows(kernel):
    drawn = data(n_features=8)
    # few zeros: equal rows would have equally near neighbours, of which any may be taken
    X = np.where(np.abs(drawn.X) < 0.4, 0, drawn.X)
    scores = [
        fitted(drawn._replace(X=form(X)), kernel=kernel).decision_function(form(drawn.X_new))
        for form in (np.array, sparse.csr_array)
    ]
    np.testing.assert_allclose(*scores, atol=1e-7)


def test_a_given_graph_is_used():
    drawn = data()
    own = fitted(drawn, n_neighbors=5)
    given = fitted(drawn, graph=kneighbors_graph(drawn.X, 5), n_neighbors=1)
    other = fitted(drawn, graph=kneighbors_graph(drawn.X[::-1], 5))
    scores = [m.decision_function(drawn.X_new) for m in (own, given, other)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)
    assert np.abs(scores[0] - scores[2]).max() > 1e-3


def test_approximate_graph_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match=r"pynndescent.*labelgap\[neighbors\]"):
        fitted(data(), graph="approximate")


def test_the_best_of_several_starts_is_kept():
    drawn = data()
    settings = {"init": "random", "n_factors": 2, "lambda_2": 5.0, "max_iter": 40}
    several = fitted(drawn, n_init=5, **settings)
    single = fitted(drawn, n_init=1, **settings)
    assert several.trace_.objective[-1] <= single.trace_.objective[-1]
    assert several.trace_.objective[-1] == pytest.approx(sum(several.terms_))
    starts = []

    def watch(progress):
        if progress.iteration == 0:
            starts.append(progress.objective)

    fitted(drawn, n_init=3, callback=watch, **settings)
    assert len(set(starts)) == 3


def test_given_starts_are_used():
    drawn = data()
    rng = np.random.default_rng(0)
    init = rng.normal(size=(40, 3)), rng.normal(size=(5, 2))
    one, two = (fitted(drawn, n_factors=3, init=init, random_state=s, max_iter=3) for s in (0, 1))
    np.testing.assert_array_equal(one.label_factors_, two.label_factors_)
    other = fitted(drawn, n_factors=3, init=(-2 * init[0] + 1, init[1]), max_iter=3)
    assert np.abs(other.decision_function(drawn.X) - one.decision_function(drawn.X)).max() > 1e-4


def test_label_correlation_finds_twins_and_opposites():
    """Labels that agree get a positive correlation, opposite ones a negative one."""
    drawn = data(n_samples=80, n_labels=3, missing=0)
    Y = np.column_stack([drawn.truth, drawn.truth[:, 0], 1 - drawn.truth[:, 0]])
    for lambda_2 in (0.0, 1.0):
        correlation = fitted(drawn._replace(Y=Y), lambda_2=lambda_2).label_correlation_
        np.testing.assert_array_equal(correlation, correlation.T)
        np.testing.assert_array_equal(correlation.diagonal(), 1)
        assert np.abs(correlation).max() <= 1 + 1e-12
        assert correlation[0, 3] > 0.3
        assert correlation[0, 4] < -0.3


def test_cuts_are_the_best_of_all():
    rng = np.random.default_rng(0)
    for criterion in ("hamming", "f1"):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            scores = np.round(rng.normal(size=(12, 1)), 1)
            signed = rng.choice([-1.0, 0.0, 1.0], size=(12, 1))
            cut = best_cuts(scores, SignedLabels(signed, None), criterion)[0]
            known = signed[:, 0] != 0

            def value(cut, scores=scores, known=known, signed=signed, criterion=criterion):
                said, true = scores[known, 0] > cut, signed[known, 0] > 0
                if criterion == "hamming":
                    return -np.sum(said != true)
                return 2 * np.sum(said & true) / max(1, np.sum(said) + np.sum(true))

            tried = [value(c) for c in np.linspace(-4, 4, 801)]
            assert value(cut) == pytest.approx(max(tried))


def test_cuts_of_labels_without_information():
    scores = np.array([[0.5, -0.5, 0.3], [1.0, 0.2, 0.1]])
    signed = np.array([[0.0, -1, -1], [0.0, -1, -1]])
    cuts = best_cuts(scores, SignedLabels(signed, None), "f1")
    assert cuts[0] == 0
    assert (scores[:, 1:] <= cuts[1:]).all()


def test_thresholds_help_where_zero_is_wrong():
    """Rare labels: shrunken scores hardly reach zero."""
    drawn = data(n_samples=200, n_labels=6, missing=0.3, n_new=300)
    rare = (drawn.X[:, :1] + 0.5 * np.random.default_rng(0).normal(size=(200, 6)) > 1.2) * 1.0
    new = (drawn.X_new[:, :1] > 1.2) * np.ones((1, 6))
    settings = {"lambda_4": 10.0, "max_iter": 30}
    plain = fitted(drawn._replace(Y=rare), **settings)
    cut = fitted(drawn._replace(Y=rare), thresholds="f1", **settings)
    assert (plain.thresholds_ == 0).all()
    np.testing.assert_array_equal(
        plain.decision_function(drawn.X_new), cut.decision_function(drawn.X_new)
    )
    values = [metrics.f1(new, m.predict(drawn.X_new), average="micro") for m in (plain, cut)]
    assert values[1] > values[0] + 0.1
    decided = cut.decision_function(drawn.X_new) > cut.thresholds_
    np.testing.assert_array_equal(cut.predict(drawn.X_new), decided)


def test_slope_has_the_least_log_loss():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(400, 3))
    signed = np.where(rng.random(scores.shape) < 1 / (1 + np.exp(-3 * scores)), 1.0, -1.0)
    slope = sigmoid_slope(scores, SignedLabels(signed, None), np.zeros(3))
    assert slope == pytest.approx(3, rel=0.15)


def test_not_converged_is_said():
    drawn = data()
    with pytest.warns(FitWarning, match="max_iter=2"):
        fitted(drawn, max_iter=2, tol=1e-9)
    with pytest.warns(FitWarning, match="ridge_v=0"):
        fitted(drawn, max_iter=2, tol=1e-9, ridge_v=0)
    converged = fitted(drawn, max_iter=500, tol=1e-3)
    assert converged.trace_.outcome == "converged"
    assert converged.n_iter_ < 500


def test_a_callback_stops():
    model = fitted(data(), callback=lambda progress: progress.iteration == 3)
    assert (model.n_iter_, model.trace_.outcome) == (4, "stopped")


def test_one_factorisation_per_fit(monkeypatch):
    calls = []
    plain = _kernel_regression.invert
    monkeypatch.setattr(_kernel_regression, "invert", lambda *a: calls.append(a) or plain(*a))
    fitted(data(), n_init=3, max_iter=20)
    assert len(calls) == 1


def test_prediction_in_small_blocks(monkeypatch):
    drawn = data()
    model = fitted(drawn)
    whole = model.decision_function(drawn.X_new)
    monkeypatch.setattr("labelgap.memory.working_bytes", lambda fraction: 8 * 100)
    np.testing.assert_allclose(model.decision_function(drawn.X_new), whole, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_torch_gives_numpys_numbers(kernel):
    pytest.importorskip("torch")
    drawn = data()
    scores = [
        RMFL(3, kernel=kernel, max_iter=5, tol=0.0, device=device, random_state=0)
        .fit(drawn.X, drawn.Y)
        .decision_function(drawn.X)
        for device in (None, "cpu")
    ]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-7)
