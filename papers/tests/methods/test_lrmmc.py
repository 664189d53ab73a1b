from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap import Labels
from labelgap.fitting import FitWarning, Monitor
from labelgap.kernels.low_rank import nuclear_norm
from labelgap.views import from_blocks
from labelgap_papers.methods import LRMMC, _lrmmc
from labelgap_papers.methods._label_completion import CompletionProblem, complete_labels


def two_views(rng, n=60, k=2, noise=0.05):
    """Two views and four labels of the same k hidden numbers."""
    hidden = rng.normal(size=(n, k))
    blocks = {
        "a": hidden @ rng.normal(size=(k, 6)) + noise * rng.normal(size=(n, 6)),
        "b": hidden @ rng.normal(size=(k, 9)) + noise * rng.normal(size=(n, 9)),
    }
    X, views = from_blocks(blocks)
    return X, views, (hidden @ rng.normal(size=(k, 4)) > 0.3).astype(float)


@pytest.mark.parametrize("gamma", [None, 0.05, 5.0])
@pytest.mark.parametrize("init", ["spectral", "random"])
def test_both_objectives_never_increase_and_are_what_they_say(rng, gamma, init):
    X, views, Y = two_views(rng)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    start = rng.normal(size=(60, 3)) if init == "random" else init
    model = LRMMC(views, 3, gamma=gamma, init=start, max_iter=30, tol=0.0).fit(X, Y)
    for trace in (model.trace_, model.completion_trace_):
        assert (np.diff(trace.objective) <= 1e-12).all()
    B, P = model.embedding_, model.loadings_
    theta = np.array(list(model.view_weights_.values()))
    residual = B @ P - model.scaling_.scaled(X)
    losses = [np.square(residual[:, view]).sum() / 60 for view in views.values()]
    expected = theta @ losses + 1e-3 * nuclear_norm(B) + 1e-3 * np.square(P).sum()
    expected += (gamma or 0.0) * theta @ theta
    assert model.trace_.objective[-1] == pytest.approx(expected)
    assert theta.sum() == pytest.approx(1)


def test_weights_are_stationary_on_the_simplex(rng):
    X, views, Y = two_views(rng)
    X[:, views["b"]] += 3 * rng.normal(size=(60, 9))
    model = LRMMC(views, 2, gamma=0.5, max_iter=400, tol=1e-14).fit(X, Y)
    theta = np.array(list(model.view_weights_.values()))
    residual = model.embedding_ @ model.loadings_ - model.scaling_.scaled(X)
    losses = np.array([np.square(residual[:, view]).sum() / 60 for view in views.values()])
    assert theta[0] > theta[1] > 0  # the view without noise counts more
    slopes = losses + 2 * 0.5 * theta
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-6)
    alone = LRMMC(views, 2, gamma=1e-6, max_iter=5, tol=0.0).fit(X, Y)
    assert alone.view_weights_ == {"a": 1.0, "b": 0.0}


def test_nearest_point_of_the_simplex(rng):
    for x in rng.normal(size=(20, 4)):
        found = _lrmmc.project_on_simplex(x)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(4), 200)
        assert np.square(found - x).sum() <= np.square(others - x).sum(axis=1).min() + 1e-12


def test_with_equal_weights_the_start_is_the_end(rng):
    X, views, Y = two_views(rng)
    one = LRMMC(views, 3, gamma=None, max_iter=1, tol=0.0).fit(X, Y)
    many = LRMMC(views, 3, gamma=None, max_iter=50, tol=0.0).fit(X, Y)
    assert many.trace_.objective[-1] == pytest.approx(one.trace_.objective[0], rel=1e-12)


def test_a_row_without_labels_is_predicted_as_it_was_completed(rng):
    X, views, Y = two_views(rng)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[50:] = np.nan
    model = LRMMC(views, 3, feature_scale=3.0, n_steps=2, max_iter=800, tol=0.0).fit(X, Y)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    np.testing.assert_allclose(
        model.decision_function(X[50:]), model.imputed_[50:], rtol=0, atol=1e-4
    )
    assert np.abs(model.decision_function(X[:50]) - model.imputed_[:50]).max() > 1e-3


def test_labels_of_rows_without_any_are_recovered(rng):
    X, views, Y = two_views(rng, n=200)
    seen = Y.copy()
    seen[rng.random(Y.shape) < 0.3] = np.nan
    seen[150:] = np.nan
    model = LRMMC(views, 2).fit(X, seen)
    assert ((model.imputed_[150:] > 0) == Y[150:]).mean() > 0.9
    assert (model.predict(X[150:]) == Y[150:]).mean() > 0.9


def test_gradient_and_curvature_of_the_completion(rng):
    Y = (rng.random((7, 3)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    p = CompletionProblem(Y, rng.normal(size=(7, 2)), 0.1)
    at, direction = rng.normal(size=(8, 5)), rng.normal(size=(8, 5))
    direction[7, 3:] = 0  # intercepts of features do not exist
    h = 1e-5
    values = [p.smooth(at + t * h * direction)[0] for t in (-1, 0, 1)]
    slope = (values[2] - values[0]) / (2 * h)
    assert np.vdot(p.smooth(at)[1], direction) == pytest.approx(slope, rel=1e-6)
    for _ in range(50):
        a, b = rng.normal(size=(2, 8, 5))
        a[7, 3:] = b[7, 3:] = 0
        change = p.smooth(a)[1] - p.smooth(b)[1]
        assert np.vdot(change, a - b) <= p.curvature() * np.vdot(a - b, a - b)


def test_the_whole_weight_leaves_the_fraction_of_each_label(rng):
    Y = (rng.random((40, 3)) < 0.4).astype(float)
    found = complete_labels(CompletionProblem(Y, rng.normal(size=(40, 2)), 1e3), Monitor(20, 0.0))
    assert np.ptp(found.log_odds, axis=0).max() == 0
    assert (found.coef == 0).all()
    np.testing.assert_allclose(1 / (1 + np.exp(-found.intercept)), Y.mean(axis=0), atol=0.01)
    below = complete_labels(CompletionProblem(Y, rng.normal(size=(40, 2)), 0.9), Monitor(50, 0.0))
    assert np.ptp(below.log_odds, axis=0).max() > 0


def test_absent_views_are_filled_with_means_and_it_is_said_once(rng):
    X, views, Y = two_views(rng)
    X[::3, views["b"]] = np.nan
    X[1, 0] = np.nan
    with pytest.warns(FitWarning, match="20 absent views") as caught:
        model = LRMMC(views, 2, max_iter=5, tol=0.0).fit(X, Y)
    assert len(caught) == 1
    means = np.nanmean(X, axis=0)
    filled = np.where(np.isnan(X), means, X)
    np.testing.assert_allclose(
        model.decision_function(X), model.decision_function(filled), atol=1e-12
    )
    raw = LRMMC(views, 2, scaling=None, max_iter=5, tol=0.0)
    with pytest.warns(FitWarning, match="complete views"):
        raw.fit(X, Y)
    np.testing.assert_allclose(raw.decision_function(X), raw.decision_function(filled), atol=1e-12)


def test_sparse_views_with_marks(rng):
    X, views, Y = two_views(rng)
    X[np.abs(X) < 0.5] = 0
    blocks = {name: sparse.csr_array(X[:, view]) for name, view in views.items()}
    there = {"b": np.arange(60) % 4 > 0}
    marked, _ = from_blocks(blocks, there)
    dense = X.copy()
    dense[~there["b"], views["b"]] = np.nan
    models = []
    for form in (marked, dense):
        with pytest.warns(FitWarning, match="15 absent views"):
            models.append(LRMMC(views, 2, max_iter=5, tol=0.0).fit(form, Y))
    np.testing.assert_allclose(
        models[0].decision_function(marked), models[1].decision_function(dense), atol=1e-10
    )


def test_bad_input(rng):
    X, views, Y = two_views(rng)
    with pytest.raises(ValueError, match=r"init has shape \(3, 2\)"):
        LRMMC(views, 2, init=np.zeros((3, 2))).fit(X, Y)
    with pytest.raises(ValueError, match="finite numbers"):
        LRMMC(views, 2, init=np.full((60, 2), np.inf)).fit(X, Y)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        LRMMC(views, 2).fit(X, Labels.from_dense(np.full((60, 3), np.nan)))
    gone = X.copy()
    gone[:, views["b"]] = np.nan
    with pytest.raises(ValueError, match="'b' is absent in every row"):
        LRMMC(views, 2).fit(gone, Y)
    gone[4] = np.nan
    with pytest.raises(ValueError, match="row 4 has no view"):
        LRMMC(views, 2).fit(gone, Y)
