from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse, stats

from labelgap.fitting import FitDivergedError, LocalRows, run_gibbs
from labelgap.generators import make_topics
from labelgap.kernels.latent_counts import prepare_positives
from labelgap.kernels.products import prepare_features
from labelgap.models.bmlpl._bmlpl_em import BMLPLBlock, BMLPLParams, Mask
from labelgap.models.bmlpl._bmlpl_gibbs import (
    SampledTopicModel,
    align_topics,
    diagnose_predictions,
    draw_topic_chains,
    predictive_intervals,
    predictive_probabilities,
    topic_intervals,
)
from reference import geweke

LEARN_R = {"learn_r": True, "r_prior": (2.0, 2.0)}


def make_rows(X, labels, n_blocks=1, unknown=None):
    blocks = []
    for index, part in enumerate(np.array_split(np.arange(X.shape[0]), n_blocks)):
        mask = None
        if unknown is not None:
            mask = Mask(prepare_features(sparse.csr_array(unknown[part].astype(float))), True)
        positives = prepare_positives(sparse.csr_array(labels[part]))
        blocks.append(BMLPLBlock(index, prepare_features(X[part]), positives, mask))
    return blocks


def random_start(rng, n_labels, n_features, n_topics, r=1.0, tau=1.0):
    topics = rng.dirichlet(np.ones(n_labels), size=n_topics).T
    weights = 0.1 * rng.normal(size=(n_features + 1, n_topics))
    return BMLPLParams(topics, weights, np.full(n_topics, r), np.full(n_features + 1, tau), None)


@pytest.fixture
def small():
    """Features, labels and a start of a problem with 40 rows, 6 labels and 3 topics."""
    rng = np.random.default_rng(5)
    X = sparse.random_array((40, 7), density=0.4, rng=rng, format="csr")
    return X, rng.random((40, 6)) < 0.25, random_start(rng, 6, 7, 3)


def run(model, rows, start, n_sweeps=4, seed=3):
    kept = []
    run_gibbs(
        model,
        rows,
        start,
        n_draws=n_sweeps,
        seed=seed,
        collect=lambda sweep, params, stats: kept.append((params, stats.log_posterior)),
    )
    return kept


# ---- Geweke's test ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"solver": "exact"}, {}),
        ({"solver": "exact", **LEARN_R}, {}),
        ({"solver": "cg", **LEARN_R}, {"unknown": geweke.UNKNOWN}),
    ],
    ids=["fixed r", "sampled r", "unknown entries"],
)
def test_both_simulators_of_the_joint_distribution_agree(settings, options):
    model = SampledTopicModel(eta=0.7, **settings)
    marginal = geweke.marginal_draws(model, 20_000, seed=0)
    successive = geweke.successive_draws(model, 2000, seed=1, **options)
    assert np.abs(geweke.z_scores(marginal, successive)).max() < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({}, {}),
        (LEARN_R, {}),
        ({"learn_tau": True, "tau_prior": (4.0, 2.0)}, {}),
        ({"solver": "cg", **LEARN_R, "learn_tau": True, "tau_prior": (4.0, 2.0)}, {}),
        ({}, {"unknown": geweke.UNKNOWN}),
        (LEARN_R, {"unknown": geweke.UNKNOWN, "listed_unknown": False}),
    ],
)
def test_both_simulators_agree_in_long_runs(settings, options):
    model = SampledTopicModel(eta=0.7, **{"solver": "exact", **settings})
    marginal = geweke.marginal_draws(model, 100_000, seed=0)
    successive = geweke.successive_draws(model, 20_000, seed=1, **options)
    assert np.abs(geweke.z_scores(marginal, successive)).max() < 4


def test_the_joint_test_finds_topic_weights_drawn_too_early():
    """The order of the original paper, u before r and w, is not a Gibbs sampler."""
    model = SampledTopicModel(eta=0.7, solver="exact")
    marginal = geweke.marginal_draws(model, 20_000, seed=0)
    successive = geweke.successive_draws(model, 6000, seed=1, stale_weights=True)
    assert np.abs(geweke.z_scores(marginal, successive)).max() > 6


# ---- exact posterior of a tiny problem -------------------------------------------------------


def log_label_probability(X, labels, observed, topics, weights, r):
    """log P(y | V, W, r) of many parameters at once, by inclusion and exclusion.

    P(the labels of a set are all zero) = prod_k (1 + exp(psi_k) sum of v_lk over the set)^-r_k.
    Shapes: topics (S, L, K), weights (S, d + 1, K); returns (S,).
    """
    total = 0
    for x, y, seen in zip(X, labels, observed, strict=True):
        growth = np.exp(np.tensordot(weights, np.append(x, 1), axes=(1, 0)))
        ones, zeros = np.flatnonzero(y & seen), np.flatnonzero(~y & seen)
        probability = 0
        for size in range(ones.size + 1):
            for chosen in itertools.combinations(ones, size):
                silent = [*zeros, *chosen]
                fraction = topics[:, silent].sum(axis=1)
                probability += (-1) ** size * np.prod((1 + fraction * growth) ** -r, axis=1)
        total += np.log(np.maximum(probability, 1e-300))
    return total


@pytest.mark.parametrize("masked", [False, True])
def test_predictions_agree_with_the_exact_posterior(masked):
    """Oracle: 200,000 draws of the prior, weighted by the exact probability of the labels."""
    rng = np.random.default_rng(2)
    X = np.array([[1.0], [-1.0], [0.3], [2.0]])
    labels = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]], dtype=bool)
    observed = np.ones_like(labels)
    if masked:
        observed[[0, 1, 3, 3], [1, 2, 0, 1]] = False
    r, tau = np.array([0.7, 1.2]), np.array([1.0, 0.5])
    topics = rng.dirichlet(np.full(3, 0.8), size=(200_000, 2)).transpose(0, 2, 1)
    weights = rng.normal(size=(200_000, 2, 2)) / np.sqrt(tau)[:, None]
    score = log_label_probability(X, labels, observed, topics, weights, r)
    importance = np.exp(score - score.max())
    importance /= importance.sum()
    new = np.array([[0.5], [-2.0]])
    psi = np.einsum("nd,sdk->snk", np.hstack([new, np.ones((2, 1))]), weights)
    factors = 1 + topics[:, None] * np.exp(psi)[:, :, None]
    exact = np.einsum("s,snl->nl", importance, 1 - np.prod(factors**-r, axis=-1))

    unknown = ~observed if masked else None
    rows = LocalRows(make_rows(X, labels & observed, n_blocks=2, unknown=unknown))
    model = SampledTopicModel(eta=0.8, solver="exact")
    start = BMLPLParams(topics[0], weights[0], r, tau, None)
    samples = draw_topic_chains(model, rows, [start], n_burn_in=100, n_draws=3000, seed=0)
    found = predictive_probabilities(samples, prepare_features(new))
    ess = diagnose_predictions(samples, prepare_features(new)).ess_bulk
    assert 1 / np.square(importance).sum() > 1000
    assert np.abs(found - exact).max() < 4 * 0.3 / np.sqrt(ess.min())


# ---- the pieces ------------------------------------------------------------------------------


def test_cg_and_cholesky_give_the_same_chain(small):
    X, labels, start = small
    draws = [
        run(SampledTopicModel(solver=solver, cg_tol=1e-12), LocalRows(make_rows(X, labels)), start)
        for solver in ("cg", "exact")
    ]
    for (left, _), (right, _) in zip(*draws, strict=True):
        np.testing.assert_allclose(left.weights, right.weights, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(left.topics, right.topics)


def test_regression_draws_have_the_gaussian_conditional(small):
    """Given omega, mean and covariance of w are those of the conjugate regression."""
    X, labels, start = small
    model = SampledTopicModel(solver="exact")
    rows = LocalRows(make_rows(X, labels))
    rows.update(model.sample_step, (start, (0, 0)))
    rows.update(model.draw_omega, (start, 7))
    (local,) = rows.local_states()
    design = np.hstack([X.toarray(), np.ones((40, 1))])
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(4000):
        residual = 0.5 * (local.counts - start.r) - local.omega * (design @ start.weights)
        residual += np.sqrt(local.omega) * rng.normal(size=local.omega.shape)
        sums = model.draw_omega(rows.blocks[0], local, (start, 0))[1]
        sums = sums._replace(gradient=design.T @ residual)
        draws.append(model._draw_regression(sums, start, rows, rng)[:, 0])
    precision = design.T @ (local.omega[:, :1] * design) + np.diag(start.tau)
    covariance = np.linalg.inv(precision)
    mean = covariance @ (design.T @ (0.5 * (local.counts[:, 0] - start.r[0])))
    draws = np.array(draws)
    z = (draws.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / len(draws))
    assert np.abs(z).max() < 4.4
    whitened = np.linalg.cholesky(precision).T @ np.cov(draws.T) @ np.linalg.cholesky(precision)
    np.testing.assert_allclose(whitened, np.eye(len(mean)), atol=0.12)


def test_topics_are_dirichlet():
    counts = np.array([[5.0, 0.0], [1.0, 2.0]])
    rng = np.random.default_rng(0)
    model = SampledTopicModel(eta=0.3)
    draws = np.array([model._draw_topics(counts, rng) for _ in range(20_000)])
    alpha = 0.3 + counts
    total = alpha.sum(axis=0)
    for (label, k), a in np.ndenumerate(alpha):
        draw = draws[:, label, k]
        assert stats.kstest(draw, "beta", args=(a, total[k] - a)).pvalue > 1e-5


def test_topics_stay_on_the_simplex_at_tiny_concentration():
    topics = SampledTopicModel(eta=1e-4)._draw_topics(np.zeros((3, 50)), np.random.default_rng(0))
    np.testing.assert_allclose(topics.sum(axis=0), 1)
    np.testing.assert_allclose(topics.max(axis=0), 1)


class LazyBlocks:
    """Blocks that are built when asked for, as those on disk are."""

    def __init__(self, make):
        self.make = make
        self.n_blocks = len(make())

    def __len__(self):
        return self.n_blocks

    def __getitem__(self, index):
        return self.make()[index]


class BackwardRows(LocalRows):
    """Visits the last block first and sums in the order of the blocks."""

    def update(self, step, argument):
        parts = {}
        for index in reversed(range(len(self.blocks))):
            local, parts[index] = step(self.blocks[index], self.store.get(index), argument)
            self.store[index] = local
        return self._add(parts)

    def total(self, function, argument):
        indices = reversed(range(len(self.blocks)))
        return self._add(
            {i: function(self.blocks[i], self.store.get(i), argument) for i in indices}
        )

    def _add(self, parts):
        one = LocalRows([parts[index] for index in range(len(parts))])
        return one.total(lambda part, local, argument: part, None)


@pytest.mark.parametrize("masked", [False, True])
def test_a_chain_depends_on_the_blocks_and_not_on_where_they_lie(small, masked):
    X, labels, start = small
    unknown = np.random.default_rng(0).random(labels.shape) < 0.3 if masked else None
    if masked:
        labels = labels & ~unknown
    model = SampledTopicModel(learn_r=True, learn_tau=True)

    def blocks():
        return make_rows(X, labels, n_blocks=3, unknown=unknown)

    runs = [
        run(model, rows, start)
        for rows in (LocalRows(blocks()), LocalRows(LazyBlocks(blocks)), BackwardRows(blocks()))
    ]
    for other in runs[1:]:
        for (left, value), (right, other_value) in zip(runs[0], other, strict=True):
            assert value == other_value
            for a, b in zip(left[:4], right[:4], strict=True):
                np.testing.assert_array_equal(a, b)


def test_a_chain_goes_on_where_it_was_left(small):
    X, labels, start = small
    model = SampledTopicModel(learn_r=True)
    whole = run(model, LocalRows(make_rows(X, labels)), start, n_sweeps=5)
    rows = LocalRows(make_rows(X, labels))
    half = run(model, rows, start, n_sweeps=2)
    rest = []
    run_gibbs(
        model,
        rows,
        half[-1][0],
        n_draws=3,
        seed=3,
        collect=lambda sweep, params, stats: rest.append(params),
        first_sample=2,
    )
    np.testing.assert_array_equal(rest[-1].weights, whole[-1][0].weights)


def test_blocks_and_the_global_step_draw_from_different_streams(small):
    """Seeds [s, t] and [s, t, 0] give the same stream; block 0 must not share the global one."""
    X, labels, start = small
    seen = []

    class Watching(SampledTopicModel):
        def draw_weights(self, block, counts, params, generator):
            seen.append(generator.bit_generator.state["state"]["state"])
            return super().draw_weights(block, counts, params, generator)

        def sample_global(self, stats, params, rows, generator):
            seen.append(generator.bit_generator.state["state"]["state"])
            return super().sample_global(stats, params, rows, generator)

    run(Watching(), LocalRows(make_rows(X, labels, n_blocks=3)), start, n_sweeps=3)
    assert len(set(seen)) == len(seen) == 12


def test_fixed_hyper_parameters_stay_fixed(small):
    X, labels, start = small
    rows = LocalRows(make_rows(X, labels))
    fixed = run(SampledTopicModel(), rows, start)[-1][0]
    np.testing.assert_array_equal(fixed.r, start.r)
    np.testing.assert_array_equal(fixed.tau, start.tau)
    drawn = run(SampledTopicModel(learn_r=True, learn_tau=True), rows, start)[-1][0]
    assert (drawn.r != start.r).all()
    assert (drawn.tau[:-1] != start.tau[:-1]).all()
    assert drawn.tau[-1] == start.tau[-1]


def test_errors_say_what_to_do(small):
    X, labels, start = small
    wild = start._replace(weights=start.weights + 60)
    unknown = np.ones_like(labels)
    rows = LocalRows(make_rows(X, labels & ~unknown, unknown=unknown))
    with pytest.raises(FitDivergedError, match="scale the features"):
        run(SampledTopicModel(), rows, wild)
    with pytest.raises(FitDivergedError, match="max_cg"):
        run(SampledTopicModel(max_cg=1), LocalRows(make_rows(X, labels)), start)


# ---- chains ----------------------------------------------------------------------------------


def test_thinning_keeps_every_other_draw_of_the_same_chain(small):
    X, labels, start = small
    rows = LocalRows(make_rows(X, labels, n_blocks=2))
    model = SampledTopicModel()
    every = draw_topic_chains(model, rows, [start], n_burn_in=0, n_draws=9, seed=1)
    thinned = draw_topic_chains(model, rows, [start], n_burn_in=3, n_draws=3, thin=2, seed=1)
    np.testing.assert_array_equal(thinned.draws.weights[0], every.draws.weights[0, 4::2])
    np.testing.assert_array_equal(thinned.log_posterior, every.log_posterior)
    assert thinned.n_chains == 1
    assert len(thinned) == thinned.n_draws == 3


def test_chains_differ_and_report_progress(small):
    X, labels, start = small
    told = []
    samples = draw_topic_chains(
        SampledTopicModel(),
        LocalRows(make_rows(X, labels)),
        [start, start],
        n_burn_in=1,
        n_draws=4,
        seed=1,
        dtype=np.float32,
        callback=told.append,
    )
    assert samples.draws.weights.dtype == np.float32
    assert (samples.draws.weights[0, 0] != samples.draws.weights[1, 0]).any()
    assert [progress.iteration for progress in told] == list(range(10))
    assert samples.diagnose_log_posterior().r_hat > 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_draws": 0}, "n_draws=0"),
        ({"n_burn_in": -1}, "n_burn_in=-1"),
        ({"thin": 0}, "thin=0"),
        ({"starts": []}, "starts is empty"),
    ],
)
def test_chain_lengths_are_checked(small, changes, message):
    X, labels, start = small
    arguments = {"starts": [start], "n_burn_in": 0, "n_draws": 1, "seed": 0} | changes
    with pytest.raises(ValueError, match=message):
        draw_topic_chains(SampledTopicModel(), LocalRows(make_rows(X, labels)), **arguments)


def test_predictions_are_averages_and_intervals_quantiles(small):
    X, labels, start = small
    rows = LocalRows(make_rows(X, labels))
    samples = draw_topic_chains(
        SampledTopicModel(learn_r=True), rows, [start, start], n_burn_in=2, n_draws=10, seed=0
    )
    draws = []
    for params in samples:
        psi = X @ params.weights[:-1] + params.weights[-1]
        factors = 1 + params.topics[None] * np.exp(psi)[:, None]
        draws.append(1 - np.prod(factors**-params.r, axis=-1))
    features = prepare_features(X)
    np.testing.assert_allclose(
        predictive_probabilities(samples, features), np.mean(draws, axis=0), rtol=1e-9
    )
    interval = predictive_intervals(samples, features, level=0.8)
    np.testing.assert_allclose(interval.lower, np.quantile(draws, 0.1, axis=0), rtol=1e-9)
    np.testing.assert_allclose(interval.upper, np.quantile(draws, 0.9, axis=0), rtol=1e-9)
    with pytest.raises(ValueError, match="level=1"):
        predictive_intervals(samples, features, level=1)


def test_aligning_topics_undoes_permutations(small):
    X, labels, start = small
    rows = LocalRows(make_rows(X, labels))
    samples = draw_topic_chains(
        SampledTopicModel(learn_r=True), rows, [start], n_burn_in=0, n_draws=5, seed=0
    )
    order = [2, 0, 1]
    shuffled = align_topics(samples, reference=samples.draws.topics[0, -1][:, order])
    again = align_topics(shuffled, reference=samples.draws.topics[0, -1])
    np.testing.assert_array_equal(again.draws.topics[0, -1], samples.draws.topics[0, -1])
    np.testing.assert_array_equal(
        shuffled.draws.weights[0, -1], samples.draws.weights[0, -1][:, order]
    )
    np.testing.assert_array_equal(shuffled.draws.r[0, -1], samples.draws.r[0, -1][order])
    features = prepare_features(X)
    np.testing.assert_allclose(
        predictive_probabilities(shuffled, features), predictive_probabilities(samples, features)
    )


@pytest.mark.slow
def test_parameters_are_recovered_from_the_models_own_samples():
    """Draws of the model's own prior: topics are found, and credible intervals cover."""
    n_topics, n_labels = 3, 15
    problem = make_topics(
        1500, 3, n_labels, n_topics=n_topics, labels_per_row=3.0, eta=0.3, r=1.0, random_state=4
    )
    labels = problem.full.positives().toarray()
    rng = np.random.default_rng(0)
    starts = [random_start(rng, n_labels, 3, n_topics, tau=3.0) for _ in range(2)]
    starts = [s._replace(tau=np.array([3.0, 3.0, 3.0, 0.1])) for s in starts]
    rows = LocalRows(make_rows(problem.X, labels, n_blocks=2))
    model = SampledTopicModel(eta=0.3, solver="exact")
    samples = draw_topic_chains(model, rows, starts, n_burn_in=500, n_draws=500, thin=2, seed=0)
    truth = problem.parameters
    aligned = align_topics(samples, reference=truth["V"])
    assert np.abs(aligned.draws.topics.mean(axis=(0, 1)) - truth["V"]).max() < 0.05
    interval = topic_intervals(aligned, level=0.9)
    covered = (interval.lower <= truth["V"]) & (truth["V"] <= interval.upper)
    assert covered.mean() > 0.75
    features = prepare_features(problem.X[:60])
    psi = problem.X[:60] @ truth["W"] + truth["intercept"]
    exact = 1 - np.prod((1 + truth["V"][None] * np.exp(psi)[:, None]) ** -1.0, axis=-1)
    interval = predictive_intervals(samples, features, level=0.9)
    assert 0.75 < ((interval.lower <= exact) & (exact <= interval.upper)).mean() <= 1
    assert np.nanmax(diagnose_predictions(samples, features).r_hat) < 1.1
