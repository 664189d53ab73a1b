from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import gamma, multivariate_normal, norm

from labelgap import Labels, metrics
from labelgap.fitting import FitWarning
from labelgap.kernels.products import linear_part, prepare_features
from labelgap_papers.methods import BCS
from labelgap_papers.methods._bcs import _bound, _first_rows, _Prior, _Regression, _update_rows


def problem(rng, n=60, d=4, c=8, gaps=0.4):
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, c)) + rng.normal(size=(n, c)) > 1).astype(float)
    Y[rng.random(Y.shape) < gaps] = np.nan
    Y[:, 0] = np.nan_to_num(Y[:, 0])
    return X, Y


@pytest.mark.parametrize("gaps", [0.0, 0.4])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_the_bound_never_falls(rng, form, gaps):
    X, Y = problem(rng, gaps=gaps)
    model = BCS(5, max_iter=40, tol=0.0, random_state=0).fit(form(X), Y)
    trace = np.array(model.trace_.objective)
    assert len(trace) == model.n_iter_ == 40
    assert (np.diff(trace) >= -1e-10 * np.abs(trace[:-1])).all()


def believed(rng, n=5, c=4, k=3):
    """Some rows, what is believed of them after two rounds, and what all that rests on."""
    known = (rng.random((n, c)) < 0.5).astype(float)
    known[rng.random((n, c)) < 0.5] = np.nan
    known[0] = 1.0
    prior = _Prior(rng.normal(size=(k, c)), 0.3, 0.2, 1.5, 0.7)
    mean = rng.normal(size=(n, k))
    rows = _first_rows(known, prior)
    for _ in range(2):
        before, rows = rows, _update_rows(rows, known, mean, prior)
    return known, prior, mean, before, rows


def test_labels_have_the_normal_posterior_of_their_row(rng):
    """With all labels of a row in one matrix, as the paper writes it."""
    known, prior, _, before, rows = believed(rng)
    for i, row in enumerate(known):
        gap = np.isnan(row)
        Phi = prior.Phi[:, gap]
        precision = np.diag((prior.a + 0.5) / before.rate[i, gap]) + Phi.T @ Phi / prior.noise_y
        covariance = np.linalg.inv(precision)
        rest = before.z[i] - prior.Phi[:, ~gap] @ row[~gap]
        np.testing.assert_allclose(rows.y[i, gap], covariance @ Phi.T @ rest / prior.noise_y)
        np.testing.assert_allclose(rows.variance[i, gap], np.diag(covariance), rtol=1e-9)
        np.testing.assert_allclose(rows.y[i, ~gap], row[~gap])
        assert (rows.variance[i, ~gap] == 0).all()
        np.testing.assert_allclose(rows.log_det[i], np.linalg.slogdet(covariance)[1], atol=1e-9)
        np.testing.assert_allclose(rows.trace[i], np.trace(Phi @ covariance @ Phi.T), atol=1e-9)


def test_the_bound_is_the_mean_over_draws_from_the_beliefs(rng):
    """E[log p - log q] by simulation, for the labels, precisions and projections of one row."""
    known, prior, mean, before, rows = believed(rng, n=2)
    i, n = 1, 200_000
    gap = np.isnan(known[i])
    Phi = prior.Phi[:, gap]
    precision = np.diag((prior.a + 0.5) / before.rate[i, gap]) + Phi.T @ Phi / prior.noise_y
    belief = multivariate_normal(rows.y[i, gap], np.linalg.inv(precision))
    y = np.tile(known[i], (n, 1))
    y[:, gap] = belief.rvs(n, random_state=rng).reshape(n, -1)
    alpha = rng.gamma(prior.a + 0.5, 1 / rows.rate[i], size=(n, len(gap)))
    z = rng.normal(rows.z[i], prior.variance_z**0.5, size=(n, len(mean[i])))
    log_p = -np.square(mean[i] - z).sum(axis=1) / (2 * prior.noise_z)
    log_p -= np.square(y @ prior.Phi.T - z).sum(axis=1) / (2 * prior.noise_y)
    log_p += norm.logpdf(y, 0, alpha**-0.5).sum(axis=1)
    log_p += gamma.logpdf(alpha, prior.a, scale=1 / prior.b).sum(axis=1)
    log_q = belief.logpdf(y[:, gap])
    log_q += gamma.logpdf(alpha, prior.a + 0.5, scale=1 / rows.rate[i]).sum(axis=1)
    log_q += norm.logpdf(z, rows.z[i], prior.variance_z**0.5).sum(axis=1)
    draws = log_p - log_q
    alone = type(rows)(*(part[i : i + 1] for part in rows))
    expected = _bound(alone, known[i : i + 1], mean[i : i + 1], prior)
    assert abs(draws.mean() - expected) < 5 * draws.std() / np.sqrt(n)


def test_the_part_of_the_weights(rng):
    """Bound with q(W): the log evidence of z under Bayesian linear regression, which is exact."""
    X, z = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    features, noise, precision = prepare_features(X), 0.4, 1.7
    regression = _Regression.of(features, noise, precision)
    W = regression.solve(features, z)
    error = np.square(linear_part(features, W) - z).sum()
    bound = regression.bound(W) - error / (2 * noise) - 12 * np.log(2 * np.pi * noise)
    design = np.column_stack([X, np.ones(12)])
    evidence = multivariate_normal(np.zeros(12), noise * np.eye(12) + design @ design.T / precision)
    assert bound == pytest.approx(evidence.logpdf(z.T).sum())


def test_sparse_labels_come_back_from_few_projections(rng):
    """Compressed sensing: 4 of 60 labels, 30 noiseless projections."""
    truth = np.zeros((20, 60))
    for row in truth:
        row[rng.choice(60, 4, replace=False)] = 1
    prior = _Prior(rng.normal(size=(30, 60)) / np.sqrt(30), 1e-4, 1e-4, 1e-6, 1e-6)
    unknown, z = np.full(truth.shape, np.nan), truth @ prior.Phi.T
    rows = _first_rows(unknown, prior)._replace(z=z)
    for _ in range(200):
        rows = _update_rows(rows, unknown, z, prior)
    assert np.abs(rows.y - truth).max() < 0.05
    spread_out = z @ np.linalg.pinv(prior.Phi).T
    assert np.abs(spread_out - truth).max() > 0.4


def test_gaps_cost_little_where_projections_are_many(rng):
    X, Y = problem(rng, 300, 5, 12, gaps=0.0)
    hidden = rng.random(Y.shape) < 0.5
    model = BCS(40, random_state=0, max_iter=60, tol=0.0)
    quality = []
    for labels in (Y, np.where(hidden, np.nan, Y)):
        scores = model.fit(X[:200], labels[:200]).decision_function(X[200:])
        quality.append(metrics.auc(Y[200:], scores, average="micro"))
    assert quality[0] > 0.88
    assert quality[1] > 0.86


def test_blocks_of_rows_change_nothing(rng, monkeypatch):
    X, Y = problem(rng, gaps=0.3)
    fits = []
    for cells in (2**22, 1):
        monkeypatch.setattr("labelgap_papers.methods._bcs._BLOCK_CELLS", cells)
        fits.append(BCS(5, max_iter=4, n_predict=3, tol=0.0, random_state=0).fit(X, Y))
    whole, rowwise = fits
    np.testing.assert_allclose(rowwise.trace_.objective, whole.trace_.objective)
    np.testing.assert_allclose(rowwise.predict_proba(X), whole.predict_proba(X))
    assert all(type(value) is float for value in whole.trace_.objective)


def test_a_singular_system_is_told(rng):
    X, Y = problem(rng, gaps=0.0)
    with pytest.raises(np.linalg.LinAlgError, match="raise precision_w"):
        BCS(3, precision_w=1e-300, random_state=0).fit(np.hstack([X, X]), Y)


def test_endings_unlabeled_zeros_and_bad_input(rng):
    X, Y = problem(rng, gaps=0.0)
    plain = BCS(max_iter=3, tol=0.0, random_state=0).fit(X, Y)
    assert plain.projection_.shape == (8, 8)
    unlabeled = BCS(max_iter=3, tol=0.0, random_state=0)
    unlabeled.fit(X, Labels.from_dense(Y, zeros="unlabeled"))
    np.testing.assert_array_equal(plain.coef_, unlabeled.coef_)
    with pytest.warns(FitWarning, match="max_iter=2"):
        BCS(max_iter=2, tol=1e-12, random_state=0).fit(X, Y)
    assert BCS(max_iter=500, random_state=0).fit(X, Y).trace_.outcome == "converged"
    with (
        pytest.warns(match="no observed entry"),
        pytest.raises(ValueError, match="no observed entry at all"),
    ):
        BCS().fit(X, np.full(Y.shape, np.nan))
