from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, gammaln

from labelgap.fitting import FitDivergedError, LocalRows, Monitor, run_em, run_gibbs
from labelgap.kernels.products import prepare_features
from labelgap.models.mllcs import _mllcs_em, _mllcs_gibbs
from labelgap.models.mllcs._mllcs_counts import CooccurrenceCounts, CountTerms
from labelgap.models.mllcs._mllcs_em import CooccurrenceModel, MLLCSParams, exact_solver
from labelgap.models.mllcs._mllcs_gibbs import (
    SampledCooccurrenceModel,
    SampledRowSteps,
    draw_entries,
    slice_draw,
)
from labelgap.models.mllcs._mllcs_posterior import PosteriorPredictions, draw_label_chains
from labelgap.models.mllcs._mllcs_rows import MLLCSBlock, feature_gram
from models.mllcs.brute_force import SETTINGS, tiny_problem
from reference import geweke, geweke_mllcs

LEARN_R = {"learn_r": True, "r_prior": (4.0, 2.0)}
EVERYTHING = {**LEARN_R, "joint": True, "learn_label_frequency": True}


def make_rows(X, states, n_blocks=1):
    parts = np.array_split(np.arange(len(X)), n_blocks)
    return [MLLCSBlock(i, prepare_features(X[p]), states[p]) for i, p in enumerate(parts)]


def run(sampler, rows, start, n_sweeps=4, seed=3, first=0):
    kept = []
    run_gibbs(
        sampler,
        rows,
        start,
        n_draws=n_sweeps,
        seed=seed,
        collect=lambda sweep, params, stats: kept.append((params, stats.log_posterior)),
        first_sample=first,
    )
    return kept


def assert_same_params(left, right, **tolerance):
    for name, a, b in zip(MLLCSParams._fields, left, right, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, err_msg=name, **(tolerance or {"rtol": 0}))


@pytest.fixture
def tiny():
    """Features, states, a model with everything switched on, and a start."""
    problem = tiny_problem(3, label_frequency=0.7)
    model = CooccurrenceModel(problem.counts, np.array([1.0, 1.5, 0.4]), **SETTINGS, **EVERYTHING)
    params = problem.params._replace(label_frequency=np.full(4, 0.7))
    return problem.X, problem.labels.states(), model, params


# ---- Geweke's test ---------------------------------------------------------------------------


@pytest.fixture
def narrow_biases(monkeypatch):
    for module in (_mllcs_gibbs, _mllcs_em):
        monkeypatch.setattr(module, "BIAS_PRECISION", geweke_mllcs.BIAS_PRECISION)


@pytest.mark.usefixtures("narrow_biases")
@pytest.mark.parametrize(
    ("settings", "exposed"), [(LEARN_R, False), (EVERYTHING, True)], ids=["plain", "everything"]
)
def test_both_simulators_of_the_joint_distribution_agree(settings, exposed):
    model = geweke_mllcs.make_model(**settings)
    marginal = geweke_mllcs.marginal_draws(model, 8000, 0, exposed)
    successive = geweke_mllcs.successive_draws(model, 1500, 1, exposed)
    assert np.abs(geweke.z_scores(marginal, successive)).max() < 4


@pytest.mark.slow
@pytest.mark.usefixtures("narrow_biases")
@pytest.mark.parametrize(
    ("settings", "exposed"),
    [({}, False), (LEARN_R, False), ({"joint": True}, False), ({}, True), (EVERYTHING, True)],
    ids=["fixed", "sampled r", "joint", "fixed theta", "everything"],
)
def test_both_simulators_agree_in_long_runs(settings, exposed):
    model = geweke_mllcs.make_model(**settings)
    marginal = geweke_mllcs.marginal_draws(model, 50_000, 0, exposed)
    successive = geweke_mllcs.successive_draws(model, 20_000, 1, exposed)
    assert np.abs(geweke.z_scores(marginal, successive)).max() < 4.5


class PrintedKappa(SampledCooccurrenceModel):
    """The paper's kappa."""

    def draw_count_terms(self, params, generator):
        _, omega = super().draw_count_terms(params, generator)
        counts = self.model.counts
        return CountTerms(0.5 * counts.weights * (counts.values + params.r), omega)


class ForgetRelevant(SampledCooccurrenceModel):
    """Relevant entries were looked at, too."""

    def _draw_label_frequency(self, stats, generator):
        unlabeled_only = stats.candidates * [0, 1]
        return super()._draw_label_frequency(stats._replace(candidates=unlabeled_only), generator)


class StaleRows(SampledCooccurrenceModel):
    """Parameters move along directions of no likelihood, rows stay."""

    def _move(self, params, rows, generator):
        locals_ = list(rows.local_states())
        params = super()._move(params, rows, generator)
        rows.restore(locals_)
        return params


class ForgetMap(SampledCooccurrenceModel):
    """Count factors that do not know that label factors depend on them."""

    def _draw_count_factors(self, params, generator):
        alone = replace(self, model=replace(self.model, joint=False))
        return super(ForgetMap, alone)._draw_count_factors(params, generator)


@pytest.mark.usefixtures("narrow_biases")
@pytest.mark.parametrize(
    "broken",
    [
        PrintedKappa,
        pytest.param(ForgetRelevant, marks=pytest.mark.slow),
        pytest.param(ForgetMap, marks=pytest.mark.slow),
        StaleRows,
    ],
)
def test_the_joint_test_finds_a_wrong_step(broken):
    model = geweke_mllcs.make_model(**EVERYTHING)
    marginal = geweke_mllcs.marginal_draws(model, 4000, 0, True)
    successive = geweke_mllcs.successive_draws(model, 1200, 1, True, sampler=broken)
    assert np.abs(geweke.z_scores(marginal, successive)).max() > 5.5


# ---- exact posterior of a tiny problem -------------------------------------------------------

ONE_X = np.array([[1.0], [-1.0], [0.3], [2.0]])
ONE_STATES = np.array([[1], [2], [1], [3]], dtype=np.int8)
ONE_COUNTS = CooccurrenceCounts(
    np.array([[3.0, 1.0, 0.0]]), np.array([[0.5, 0.25, 1.5]]), np.array([0]), offset=0.2
)
ONE_TAU = np.array([1.0, 0.5])
NEW = np.array([[0.5], [-2.0]])


def one_label_model(**settings):
    """One factor, one seen label, counts with it and two others, all of them tempered."""
    return CooccurrenceModel(ONE_COUNTS, ONE_TAU, lambda_u=2.0, r_prior=(3.0, 2.0), **settings)


def chance(psi, variance):
    """E[sigmoid] over the row's factor, by 40 nodes; psi (draws, rows), variance (draws, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    total = 0
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        total = total + weight * expit(psi + node * np.sqrt(variance))
    return total


@pytest.mark.usefixtures("narrow_biases")
def test_predictions_agree_with_the_exact_posterior():
    """Oracle: 50,000 draws of the prior, weighted by their exact tempered likelihood."""
    rng, n = np.random.default_rng(0), 50_000
    spread = 1 / np.sqrt(geweke_mllcs.BIAS_PRECISION)
    v, beta = rng.normal(size=(n, 1)), rng.normal(size=(n, 3))
    b, a = spread * rng.normal(size=(2, n, 1))
    c = spread * rng.normal(size=(n, 3))
    W, r = rng.normal(size=(n, 2)) / np.sqrt(ONE_TAU), rng.gamma(3.0, 1 / 2.0, size=(n, 1))
    p = chance((W[:, :1] * ONE_X.T + W[:, 1:]) * v + b, v**2 / 2.0)
    score = np.log(p[:, [0, 2]]).sum(axis=1) + np.log1p(-p[:, 1])
    psi, m = v * beta + a + c + 0.2, ONE_COUNTS.values
    likelihood = gammaln(m + r) - gammaln(r) + m * psi - (m + r) * np.logaddexp(0, psi)
    score += (ONE_COUNTS.weights * likelihood).sum(axis=1)
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    exact = weight @ chance((W[:, :1] * NEW.T + W[:, 1:]) * v + b, v**2 / 2.0)

    sampler = SampledCooccurrenceModel(one_label_model(learn_r=True))
    start = MLLCSParams(
        *(np.zeros(s) for s in ((1, 1), 1, 1, (3, 1), 3, (2, 1), (2, 1))),
        r=1.0,
        label_frequency=None,
    )
    rows = LocalRows(make_rows(ONE_X, ONE_STATES, n_blocks=2))
    samples, _ = draw_label_chains(sampler, rows, [start], n_burn_in=100, n_draws=4000, seed=0)
    features = prepare_features(NEW)
    about = PosteriorPredictions(samples, sampler.model.lambda_u)
    found = about.seen(features)[:, 0]
    ess = float(about.diagnose(features).ess_bulk.min())
    assert 1 / np.square(weight).sum() > 4000
    assert ess > 200
    assert np.abs(found - exact).max() < 4 * 0.25 / np.sqrt(ess)
    mean, variance = weight @ r[:, 0], weight @ np.square(r[:, 0])
    variance -= mean**2
    assert abs(samples.draws.r.mean() - mean) < 4 * np.sqrt(variance / 200)
    np.testing.assert_allclose(samples.draws.r.var(), variance, rtol=0.25)


def test_no_draw_is_above_the_mode_that_em_finds():
    """The log posterior of chains is the objective of EM, at other points."""
    model = one_label_model()
    start = tiny_problem(0, n_seen=1, k=1, d=1).params._replace(label_frequency=None, r=2.0)
    rows = LocalRows(make_rows(ONE_X, ONE_STATES))
    gram = rows.total(feature_gram, None)
    exact = replace(model, solve_weights=exact_solver(gram, model.lambda_u, ONE_TAU))
    modes = []
    for sign in (1, -1):
        first = start._replace(factors=sign * start.factors)
        modes.append(run_em(exact, rows, first, Monitor(3000, 1e-12))[1].objective[-1])
    samples, _ = draw_label_chains(
        SampledCooccurrenceModel(exact), rows, [start], n_burn_in=0, n_draws=1500, seed=0
    )
    gap = max(modes) - samples.log_posterior[0, 50:]
    assert gap.min() > 0
    # U, V, b, a, beta, c, W: 15 coordinates; a normal posterior loses half a unit in each
    assert 5 < gap.mean() < 11


# ---- the pieces ------------------------------------------------------------------------------


def test_entries_are_drawn_where_somebody_looked():
    rng = np.random.default_rng(0)
    states = np.repeat(np.array([[1, 2, 3, 4]], dtype=np.int8), 20_000, axis=0)
    psi = np.broadcast_to([0.5, -1.0, 0.3, 0.8], states.shape).copy()
    theta = np.array([0.5, 0.5, 0.5, 0.6])
    kappa, omega, looked = draw_entries(rng, psi, states, theta)
    zero = 0.6 * expit(-0.8)
    fraction = zero / (zero + 0.4)
    np.testing.assert_allclose(looked.mean(axis=0), [1, 1, 0, fraction], atol=0.015)
    np.testing.assert_array_equal(kappa, np.where(states == 1, 0.5, -0.5) * looked)
    np.testing.assert_array_equal(omega > 0, looked)
    mean = np.tanh(psi[0] / 2) / (2 * psi[0])
    drawn = [omega[looked[:, label], label].mean() for label in (0, 1, 3)]
    np.testing.assert_allclose(drawn, mean[[0, 1, 3]], rtol=0.02)
    without = draw_entries(rng, psi, states, None)
    np.testing.assert_array_equal(without.looked, states != 3)


@pytest.mark.parametrize("shape", [0.7, 5.0])
def test_the_slice_sampler_keeps_a_gamma_density(shape):
    rng, x, out = np.random.default_rng(1), 0.0, []
    for _ in range(20_000):
        x = slice_draw(lambda y: shape * y - 2 * np.exp(y), x, rng)
        out.append(np.exp(x))
    assert stats.kstest(out[::10], "gamma", args=(shape, 0, 0.5)).pvalue > 1e-4


def test_dispersion_of_whole_counts_is_that_of_tables(tiny):
    """With weights of one, CRT tables make r conjugate: another sampler of the same density."""
    _, _, model, params = tiny
    counts = replace(model.counts, weights=(model.counts.weights > 0) * 1.0)
    model = replace(model, counts=counts)
    sampler = SampledCooccurrenceModel(model)
    rng = np.random.default_rng(0)
    above = (counts.weights * np.logaddexp(0, model.count_psi(params))).sum()
    r, slices, tables = params.r, [], []
    values = counts.values[counts.weights > 0].astype(int)
    for _ in range(4000):
        params = params._replace(r=sampler._draw_dispersion(params, rng))
        slices.append(params.r)
        n_tables = sum((rng.random(m) < r / (r + np.arange(m))).sum() for m in values)
        r = rng.gamma(4.0 + n_tables) / (2.0 + above)
        tables.append(r)
    assert stats.ks_2samp(slices[::8], tables[::8]).pvalue > 1e-4


def test_factors_of_rows_have_the_gaussian_conditional(monkeypatch):
    """Given omega, mean and covariance of u are those of the conjugate regression."""
    problem = tiny_problem(1, n=1, unknown=0)
    V, b = problem.params.factors, problem.params.bias
    omega = np.array([[0.2, 0.1, 0.25, 0.15]])
    monkeypatch.setattr(
        _mllcs_gibbs, "sample_polya_gamma", lambda generator, shape, psi: omega.ravel()
    )
    rng, steps, mean = np.random.default_rng(0), SampledRowSteps(1.3), np.array([[0.4, -0.7]])
    states = problem.labels.states()
    arguments = states, mean, mean, problem.params._replace(label_frequency=None), rng
    draws = np.concatenate([steps.draw_factors(*arguments) for _ in range(6000)])
    covariance = np.linalg.inv((V.T * omega) @ V + 1.3 * np.eye(2))
    kappa = np.where(states == 1, 0.5, -0.5)
    expected = covariance @ (V.T @ (kappa - omega * b).ravel() + 1.3 * mean[0])
    z = (draws.mean(axis=0) - expected) / np.sqrt(np.diag(covariance) / len(draws))
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.06)


def test_weights_have_the_gaussian_conditional(tiny):
    X, states, model, start = tiny
    rows = LocalRows(make_rows(X, states, n_blocks=2))
    gram = rows.total(feature_gram, None)
    solver = exact_solver(gram.copy(), model.lambda_u, model.tau)
    sampler = SampledCooccurrenceModel(replace(model, solve_weights=solver))
    rows.update(sampler.sample_step, (start, (0, 0)))
    U = np.concatenate([local.factors for local in rows.local_states()])
    design = np.column_stack([X, np.ones(len(X))])
    off = U - design @ start.weights
    rng, draws = np.random.default_rng(0), []
    stats_ = rows.total(lambda block, local, _: squared(block), None)
    for _ in range(5000):
        noisy = off + rng.normal(size=off.shape) / np.sqrt(model.lambda_u)
        drawn = Gradient(design.T @ noisy, stats_)
        draws.append(sampler._draw_weights(drawn, start, rows, rng)[:, 0])
    covariance = np.linalg.inv(model.lambda_u * gram + np.diag(model.tau))
    mean = covariance @ (model.lambda_u * design.T @ U[:, 0])
    z = (np.mean(draws, axis=0) - mean) / np.sqrt(np.diag(covariance) / len(draws))
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(np.cov(np.transpose(draws)), covariance, atol=0.03)


class Gradient:
    """The two sums that the draw of W takes."""

    def __init__(self, gradient, curvature):
        self.gradient = gradient
        self.curvature = curvature


def squared(block):
    X = block.features.rows
    return np.append(np.square(X).sum(axis=0), len(X))


@pytest.mark.parametrize("joint", [False, True])
def test_moves_change_no_likelihood(tiny, joint):
    X, states, model, start = tiny
    model = replace(model, joint=joint)
    rows, sampler = LocalRows(make_rows(X, states, n_blocks=2)), SampledCooccurrenceModel(model)
    rows.update(sampler.sample_step, (start, (0, 0)))

    def meanings(params):
        U = np.concatenate([local.factors for local in rows.local_states()])
        mean = X @ params.weights[:-1] + params.weights[-1]
        off = (params.factors - model.prior_mean(params)) / params.factors
        standing = (U - mean) @ params.factors.T
        return U @ params.factors.T + params.bias, model.count_psi(params), off, standing

    before = meanings(start)
    moved = sampler._move(start, rows, np.random.default_rng(0))
    for name in ("factors", "bias", "beta", "weights", "count_bias"):
        assert np.all(getattr(moved, name) != getattr(start, name)), name
    for left, right in zip(before, meanings(moved), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-10)


def test_cg_and_cholesky_give_the_same_chain(tiny):
    X, states, model, start = tiny
    rows = LocalRows(make_rows(X, states))
    solver = exact_solver(rows.total(feature_gram, None), model.lambda_u, model.tau)
    by_cg = run(SampledCooccurrenceModel(model, cg_tol=1e-12), rows, start)
    exactly = run(SampledCooccurrenceModel(replace(model, solve_weights=solver)), rows, start)
    for (left, _), (right, _) in zip(by_cg, exactly, strict=True):
        assert_same_params(left, right, rtol=1e-7, atol=1e-8)


class BackwardRows(LocalRows):
    """Visits the last block first and sums in the order of the blocks."""

    def update(self, step, argument):
        parts = {}
        for index in reversed(range(len(self.blocks))):
            local, parts[index] = step(self.blocks[index], self.store.get(index), argument)
            self.store[index] = local
        ordered = LocalRows([parts[index] for index in range(len(parts))])
        return ordered.total(lambda part, local, argument: part, None)


def test_a_chain_depends_on_the_seed_and_the_blocks_and_not_on_where_they_lie(tiny):
    X, states, model, start = tiny
    sampler = SampledCooccurrenceModel(model)
    chains = [
        run(sampler, kind(make_rows(X, states, n_blocks=3)), start)
        for kind in (LocalRows, BackwardRows)
    ]
    for (left, value), (right, other) in zip(*chains, strict=True):
        assert value == other
        assert_same_params(left, right)
    other_seed = run(sampler, LocalRows(make_rows(X, states, n_blocks=3)), start, seed=4)
    assert (other_seed[-1][0].weights != chains[0][-1][0].weights).all()


def test_a_chain_goes_on_where_it_was_left(tiny):
    X, states, model, start = tiny
    sampler = SampledCooccurrenceModel(model)
    whole = run(sampler, LocalRows(make_rows(X, states)), start, n_sweeps=5)
    rows = LocalRows(make_rows(X, states))
    half = run(sampler, rows, start, n_sweeps=2)
    rest = run(sampler, rows, half[-1][0], n_sweeps=3, first=2)
    assert_same_params(rest[-1][0], whole[-1][0])


def test_a_new_chain_forgets_the_rows_of_the_last_one(tiny):
    X, states, model, start = tiny
    rows, sampler = LocalRows(make_rows(X, states)), SampledCooccurrenceModel(model)
    first = run(sampler, rows, start)
    assert_same_params(run(sampler, rows, start)[-1][0], first[-1][0])


def test_blocks_and_the_global_step_draw_from_different_streams(tiny, monkeypatch):
    """Seeds [s, t] and [s, t, 0] give the same stream; block 0 must not share the global one."""
    X, states, model, start = tiny
    seen = []

    class Watching(SampledCooccurrenceModel):
        def sample_global(self, stats, params, rows, generator):
            seen.append(generator.bit_generator.state["state"]["state"])
            return super().sample_global(stats, params, rows, generator)

    plain = SampledRowSteps.draw_factors

    def watched(self, states, U, mean, params, generator):
        seen.append(generator.bit_generator.state["state"]["state"])
        return plain(self, states, U, mean, params, generator)

    monkeypatch.setattr(SampledRowSteps, "draw_factors", watched)
    run(Watching(model), LocalRows(make_rows(X, states, n_blocks=3)), start, n_sweeps=3)
    assert len(set(seen)) == len(seen) == 12


def test_what_is_not_learned_stays_fixed(tiny):
    X, states, model, start = tiny
    rows = LocalRows(make_rows(X, states))
    drawn = run(SampledCooccurrenceModel(model), rows, start)[-1][0]
    for name in ("r", "label_frequency", "psi_map", "beta", "count_bias"):
        assert np.all(getattr(drawn, name) != getattr(start, name)), name
    fixed = replace(model, learn_r=False, joint=False, learn_label_frequency=False)
    drawn = run(SampledCooccurrenceModel(fixed), rows, start)[-1][0]
    for name in ("r", "label_frequency", "psi_map"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(start, name))
    drawn = run(SampledCooccurrenceModel(replace(model, counts=None)), rows, start)[-1][0]
    for name in ("r", "psi_map", "beta", "column_bias", "count_bias"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(start, name))
    assert (drawn.factors != start.factors).all()


def test_the_log_posterior_is_a_density_of_r_itself(tiny):
    """EM ascends the density of log r; that of r differs from it by the Jacobian."""
    X, states, model, start = tiny
    sampler = SampledCooccurrenceModel(model)
    rows = LocalRows(make_rows(X, states))
    sums = rows.update(sampler.sample_step, (start, (0, 0)))

    def shifted(r):
        return sampler.log_posterior(sums, start._replace(r=r))

    psi, counts = model.count_psi(start), model.counts
    m = counts.values

    def density(r):
        count = gammaln(m + r) - gammaln(r) - r * np.logaddexp(0, psi)
        return (counts.weights * count).sum() + stats.gamma.logpdf(r, 4.0, scale=0.5)

    np.testing.assert_allclose(shifted(3.0) - shifted(0.8), density(3.0) - density(0.8))


def test_errors_say_what_to_do(tiny):
    X, states, model, start = tiny
    with pytest.raises(FitDivergedError, match="max_cg"):
        run(SampledCooccurrenceModel(model, max_cg=1), LocalRows(make_rows(X, states)), start)
    wild = start._replace(weights=np.full_like(start.weights, np.nan))
    with pytest.raises(FitDivergedError, match="scale the features"):
        draw_label_chains(
            SampledCooccurrenceModel(model),
            LocalRows(make_rows(X, states)),
            [wild],
            n_burn_in=0,
            n_draws=1,
            seed=0,
        )


def test_the_quadrature_of_this_file_is_right():
    value, _ = integrate.quad(lambda z: expit(-2 + 1.5 * z) * stats.norm.pdf(z), -12, 12)
    np.testing.assert_allclose(chance(np.array([[-2.0]]), np.array([[2.25]]))[0, 0], value)
