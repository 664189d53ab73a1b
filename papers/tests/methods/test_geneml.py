from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from labelgap import Labels, State, metrics
from labelgap.fitting import FitWarning
from labelgap.kernels.products import prepare_features
from labelgap_papers.methods import GenEML
from labelgap_papers.methods._geneml import _Params


def mixed_states(rng, n=40, c=6):
    """Entries of all four kinds."""
    states = rng.choice([1, 2, 3, 4], p=[0.35, 0.15, 0.2, 0.3], size=(n, c)).astype(np.int8)
    rows, columns = np.indices(states.shape).reshape(2, -1)
    labels = Labels.from_dense(np.zeros(states.shape))
    return rng.normal(size=(n, 3)), labels.with_entries(rows, columns, states.ravel())


def by_hand(model, X, labels):
    """The objective, entry by entry; constants of the priors are left out."""
    U, V, mu = model.row_factors_, model.label_factors_, model.label_frequency_
    total = 0.0
    for (i, j), state in np.ndenumerate(labels.states()):
        p = expit(U[i] @ V[j])
        if state == State.RELEVANT:
            total += np.log(mu[j] * p)
        elif state == State.NEGATIVE:
            total += np.log(1 - p)
        elif state == State.UNLABELED:
            total += np.log(1 - mu[j] * p)
    if model.fit_label_frequency:
        total += ((model.a - 1) * np.log(mu) + (model.b - 1) * np.log(1 - mu)).sum()
    total -= model.lambda_u / 2 * np.square(U - X @ model.coef_ - model.intercept_).sum()
    total -= model.lambda_v / 2 * np.square(V).sum()
    W = np.vstack([model.coef_, model.intercept_])
    return total - model.lambda_w / 2 * np.square(W).sum()


@pytest.mark.parametrize("exposure", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_objective_never_falls_and_is_what_it_says(rng, form, intercept, exposure):
    X, labels = mixed_states(rng)
    model = GenEML(
        3,
        a=2,
        b=3,
        lambda_u=0.7,
        lambda_w=0.3,
        fit_intercept=intercept,
        fit_label_frequency=exposure,
        tol=0.0,
    )
    model.set_params(max_iter=60, random_state=0).fit(form(X), labels)
    trace = np.array(model.trace_.objective)
    assert len(trace) == model.n_iter_ == 60
    assert (np.diff(trace) >= -1e-10 * np.abs(trace[:-1])).all()
    assert trace[-1] == pytest.approx(by_hand(model, X, labels), rel=1e-10)
    assert (model.intercept_ == 0).all() == (not intercept)


def test_the_end_is_a_stationary_point(rng):
    X, labels = mixed_states(rng)
    model = GenEML(2, a=2, b=2, max_iter=1500, tol=0.0, random_state=0).fit(X, labels)
    W = np.vstack([model.coef_, model.intercept_])
    end = _Params(model.label_factors_, W, model.label_frequency_)
    features, states = prepare_features(X), labels.states()
    for name, value in (("U", model.row_factors_), *end._asdict().items()):
        direction = rng.normal(size=value.shape)
        values = []
        for step in (1e-5, -1e-5):
            moved = value + step * direction
            U = moved if name == "U" else model.row_factors_
            params = end if name == "U" else end._replace(**{name: moved})
            values.append(model._objective(U, params, features, states))
        assert abs(values[0] - values[1]) / 2e-5 < 1e-3, name


def test_steps_over_parts_of_the_rows_come_close_to_all_of_them(rng):
    X = rng.normal(size=(600, 4))
    Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(600, 5)) > 0).astype(float)
    settings = {"n_factors": 2, "fit_label_frequency": False, "tol": 0.0, "random_state": 0}
    whole = GenEML(max_iter=300, **settings).fit(X, Y)
    parts = GenEML(max_iter=60, batch_rows=100, step_power=0.6, **settings).fit(X, Y)
    assert parts.trace_.objective[0] > whole.trace_.objective[0]
    np.testing.assert_allclose(parts.trace_.objective[-1], whole.trace_.objective[-1], rtol=0.1)
    assert np.abs(parts.predict_proba(X) - whole.predict_proba(X)).mean() < 0.05


def test_exposure_finds_the_rate_and_the_forgotten(rng):
    """Where row factors are held near the regression; rates are somewhat high by shrinkage."""
    X = rng.normal(size=(1500, 3))
    truth = (X @ rng.normal(scale=3, size=(3, 3)) > 1).astype(float)
    recorded = truth * (rng.random(truth.shape) < 0.6)
    settings = {"lambda_u": 300.0, "lambda_v": 1.0, "lambda_w": 1e-3}
    settings |= {"max_iter": 200, "tol": 0.0, "random_state": 0}
    model = GenEML(**settings).fit(X, recorded)
    np.testing.assert_allclose(model.label_frequency_, 0.6, atol=0.2)
    without = GenEML(fit_label_frequency=False, **settings).fit(X, recorded)
    losses = [metrics.log_loss(truth, one.predict_proba(X)) for one in (model, without)]
    assert losses[0] < 0.65 * losses[1]


def test_unlabeled_zeros_without_exposure_are_zeros(rng):
    X, Y = rng.normal(size=(30, 3)), (rng.random((30, 4)) < 0.4).astype(float)
    settings = {"fit_label_frequency": False, "max_iter": 5, "tol": 0.0, "random_state": 0}
    unlabeled = GenEML(**settings).fit(X, Y)
    known = GenEML(**settings).fit(X, Labels.from_dense(Y))
    np.testing.assert_allclose(unlabeled.label_factors_, known.label_factors_)


def test_endings_and_bad_input(rng):
    X, labels = mixed_states(rng)
    with pytest.warns(FitWarning, match="max_iter=2"):
        GenEML(2, max_iter=2, random_state=0).fit(X, labels)
    model = GenEML(2, max_iter=5000, random_state=0).fit(X, labels)
    assert model.trace_.outcome == "converged"
    stopped = GenEML(callback=lambda progress: progress.iteration == 3, tol=0.0, random_state=0)
    assert stopped.fit(X, labels).n_iter_ == 4
    with pytest.raises(ValueError, match=r"init has the shapes \(6, 2\), \(3, 2\) and \(6,\)"):
        GenEML(init=(np.ones((6, 2)), np.ones((3, 2)), np.ones(6))).fit(X, labels)
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        GenEML().fit(X, np.full((40, 6), np.nan))
