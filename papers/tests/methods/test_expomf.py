from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta, norm
from sklearn.linear_model import Ridge

from labelgap import Labels, State, metrics
from labelgap.fitting import FitWarning
from labelgap_papers.methods import ExpoMF
from labelgap_papers.methods._expomf import _Point


def mixed_states(rng, n=40, c=6):
    """Entries of all four kinds."""
    states = rng.choice([1, 2, 3, 4], p=[0.35, 0.15, 0.2, 0.3], size=(n, c))
    rows, columns = np.indices(states.shape).reshape(2, -1)
    labels = Labels.from_dense(np.zeros(states.shape)).with_entries(
        rows, columns, states.ravel().astype(np.int8)
    )
    return rng.normal(size=(n, 3)), labels


def by_hand(model, labels):
    """The objective, entry by entry."""
    U, V, mu = model.row_factors_, model.label_factors_, model.label_frequency_
    total = 0.0
    for (i, j), state in np.ndenumerate(labels.states()):
        density = norm(U[i] @ V[j], model.precision**-0.5)
        if state == State.RELEVANT:
            total += np.log(mu[j] * density.pdf(1))
        elif state == State.NEGATIVE:
            total += np.log(density.pdf(0))
        elif state == State.UNLABELED:
            total += np.log(mu[j] * density.pdf(0) + 1 - mu[j])
    a, b = model.a, model.b
    flat = beta(a, b).logpdf(0.5) - (a + b - 2) * np.log(0.5)
    total += (beta(a, b).logpdf(mu) - flat).sum()
    return total - (model.lambda_u * (U**2).sum() + model.lambda_v * (V**2).sum()) / 2


@pytest.mark.parametrize(("precision", "a", "b"), [(1.0, 1.0, 1.0), (5.0, 2.0, 3.0)])
def test_the_objective_never_falls_and_is_what_it_says(rng, precision, a, b):
    X, labels = mixed_states(rng)
    model = ExpoMF(3, precision=precision, a=a, b=b, max_iter=60, tol=0.0, random_state=0)
    model.fit(X, labels)
    trace = np.array(model.trace_.objective)
    assert len(trace) == model.n_iter_ == 60
    assert (np.diff(trace) >= -1e-10 * np.abs(trace[:-1])).all()
    assert trace[-1] == pytest.approx(by_hand(model, labels), rel=1e-10)


def test_the_end_is_a_stationary_point(rng):
    X, labels = mixed_states(rng)
    model = ExpoMF(2, a=2.0, b=2.0, max_iter=2000, tol=0.0, random_state=0).fit(X, labels)
    end = _Point(model.row_factors_, model.label_factors_, model.label_frequency_)
    states = labels.states()
    for name, value in end._asdict().items():
        direction = rng.normal(size=value.shape)
        ahead, behind = (
            model._objective(end._replace(**{name: value + step * direction}), states)
            for step in (1e-5, -1e-5)
        )
        assert abs(ahead - behind) / 2e-5 < 1e-4, name


def test_without_unlabeled_zeros_it_is_alternating_least_squares(rng):
    """Every known entry counts once, and every look was made."""
    X, Y = rng.normal(size=(30, 3)), (rng.random((30, 5)) < 0.4).astype(float)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    U, V = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    labels = Labels.from_dense(Y)
    model = ExpoMF(lambda_u=0.3, lambda_v=0.2, precision=2.0, init=(U, V), max_iter=3, tol=0.0)
    model.fit(X, labels)
    known = ~np.isnan(Y)
    for _ in range(3):
        U = np.stack([_ridge(V[k], y[k], 0.3 / 2) for k, y in zip(known, Y, strict=True)])
        V = np.stack([_ridge(U[k], y[k], 0.2 / 2) for k, y in zip(known.T, Y.T, strict=True)])
    np.testing.assert_allclose(model.row_factors_, U, atol=1e-9)
    np.testing.assert_allclose(model.label_factors_, V, atol=1e-9)
    np.testing.assert_allclose(model.label_frequency_, 1.0)


def _ridge(F, y, weight):
    return np.linalg.solve(F.T @ F + weight * np.eye(F.shape[1]), F.T @ y)


def test_forgotten_positives_of_clusters_score_above_true_zeros(rng):
    cluster = rng.integers(3, size=300)
    truth = (np.repeat(np.eye(3), 5, axis=1)[cluster]).astype(float)
    forgotten = (truth == 1) & (rng.random(truth.shape) < 0.4)
    forgotten[:, ::5] = False  # of a row without any one nothing could be said
    model = ExpoMF(3, lambda_u=0.01, lambda_v=0.01, precision=10, random_state=0, tol=0.0)
    model.fit(np.eye(3)[cluster], np.where(forgotten, 0, truth))
    scores = model.row_factors_ @ model.label_factors_.T
    recorded = (truth == 1) & ~forgotten
    assert metrics.auc(np.where(recorded, np.nan, truth), scores, average="micro") > 0.99
    assert (model.predict_proba(np.eye(3)) > 0.4).sum() == 15


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_new_rows_are_predicted_by_ridge_regression(rng, form):
    X, labels = mixed_states(rng)
    model = ExpoMF(2, alpha=3.0, max_iter=5, tol=0.0, random_state=0).fit(form(X), labels)
    ridge = Ridge(3.0).fit(X, model.row_factors_)
    new = rng.normal(size=(7, 3))
    scores = new @ model.coef_ + model.intercept_
    np.testing.assert_allclose(scores, ridge.predict(new) @ model.label_factors_.T, atol=1e-10)
    decision = model.slope_ * scores + model.level_
    np.testing.assert_allclose(model.decision_function(form(new)), decision)


def test_endings_and_bad_input(rng):
    X, labels = mixed_states(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        ExpoMF(2, max_iter=2, random_state=0).fit(X, labels)
    assert ExpoMF(2, max_iter=5000, random_state=0).fit(X, labels).trace_.outcome == "converged"
    stopped = ExpoMF(callback=lambda progress: progress.iteration == 3, tol=0.0, random_state=0)
    assert stopped.fit(X, labels).n_iter_ == 4
    with pytest.raises(ValueError, match=r"init has the shapes \(2, 2\) and \(6, 2\)"):
        ExpoMF(2, init=(np.ones((2, 2)), np.ones((6, 2)))).fit(X, labels)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        ExpoMF().fit(X, np.full((40, 6), np.nan))
