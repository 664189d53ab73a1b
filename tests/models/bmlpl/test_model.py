"""The steps of the model against independent oracles on tiny problems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from labelgap import Labels
from labelgap.fitting import LocalRows, Monitor, row_slices, run_em, run_online
from labelgap.models.bmlpl._bmlpl_data import block_maker
from labelgap.models.bmlpl._bmlpl_em import BMLPLLocal, BMLPLParams, TopicModel, constrained_topics


def tiny_problem(seed=0, n=12, d=3, n_labels=5, n_topics=2, unknown=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (rng.random((n, n_labels)) < 0.4).astype(float)
    Y[0] = 1
    gaps = rng.random(Y.shape) < unknown
    gaps[0] = False
    labels = Labels.from_dense(np.where(gaps, np.nan, Y))
    topics = rng.dirichlet(np.ones(n_labels), n_topics).T.copy()
    weights = 0.3 * rng.normal(size=(d + 1, n_topics))
    params = BMLPLParams(
        topics, weights, np.array([0.7, 1.6]), np.array([2.0, 1.0, 3.0, 0.01]), None
    )
    return X, labels, params


def rows_of(X, labels, block_rows=None):
    make = block_maker(None, labels.has_unknown, X.dtype)
    parts = row_slices(len(X), block_rows)
    return LocalRows([make(i, X[part], labels[part]) for i, part in enumerate(parts)])


def log_posterior(X, labels, topics, weights, u, params, eta, r=None):
    """The log posterior over (V, log u, W), written from the generative model entry by entry."""
    r = params.r if r is None else r
    psi = X @ weights[:-1] + weights[-1]
    rate = u @ topics.T
    Y = labels.to_dense()
    value = 0.0
    for n, label in np.ndindex(*Y.shape):
        if np.isnan(Y[n, label]):
            continue
        if Y[n, label] == 1:
            value += np.log1p(-np.exp(-rate[n, label]))
        else:
            value -= rate[n, label]
    prior = stats.gamma.logpdf(u, r, scale=np.exp(psi)) + np.log(u)
    value += prior.sum()
    value -= 0.5 * (params.tau[:, None] * weights**2).sum()
    return value + (eta - 1) * np.log(topics).sum()


@pytest.mark.parametrize("unknown", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("eta", [1.0, 1.5])
def test_objective_is_the_log_posterior_up_to_one_constant(unknown, eta):
    X, labels, params = tiny_problem(unknown=unknown)
    model = TopicModel(eta=eta)
    rows = rows_of(X, labels)
    block = rows.blocks[0]
    differences = []
    for scale in (0.5, 1.0, 2.0):
        moved = params._replace(weights=scale * params.weights)
        counts = scale * np.ones((len(X), 2))
        psi = X @ moved.weights[:-1] + moved.weights[-1]
        observed = ~np.isnan(labels.to_dense())
        exposure = observed @ moved.topics
        u = (moved.r + counts) / (np.exp(-psi) + exposure)
        _, statistics = model.step(block, BMLPLLocal(counts, counts), moved)
        oracle = log_posterior(X, labels, moved.topics, moved.weights, u, moved, eta)
        differences.append(model.objective(statistics, moved) - oracle)
    assert np.ptp(differences) < 1e-8


@pytest.mark.parametrize("unknown", [0.0, 0.3, 0.7])
def test_em_ends_where_a_general_optimiser_finds_no_ascent(unknown):
    X, labels, params = tiny_problem(unknown=unknown)
    model = TopicModel(eta=1.5, solver="exact")
    rows = rows_of(X, labels)
    fitted, trace = run_em(model, rows, params, Monitor(5000, 1e-15))
    counts = rows.store.get(0).counts
    psi = X @ fitted.weights[:-1] + fitted.weights[-1]
    exposure = (~np.isnan(labels.to_dense())) @ fitted.topics
    u = (fitted.r + counts) / (np.exp(-psi) + exposure)
    shapes = [fitted.topics.shape, fitted.weights.shape, u.shape]
    sizes = np.cumsum([np.prod(shape) for shape in shapes])

    def negative(vector):
        free, weights, log_u = np.split(vector, sizes[:-1])
        topics = special.softmax(free.reshape(shapes[0]), axis=0)
        return -log_posterior(
            X,
            labels,
            topics,
            weights.reshape(shapes[1]),
            np.exp(log_u.reshape(shapes[2])),
            fitted,
            1.5,
        )

    start = np.concatenate(
        [np.log(fitted.topics).ravel(), fitted.weights.ravel(), np.log(u).ravel()]
    )
    gradient = optimize.approx_fprime(start, negative, 1e-6)
    assert np.abs(gradient).max() < 2e-3
    assert trace.outcome == "converged"


@pytest.mark.parametrize("weights", ["map", "mean"])
@pytest.mark.parametrize("solver", ["cg", "exact"])
@pytest.mark.parametrize("learn_r", [False, True])
@pytest.mark.parametrize("unknown", [0.0, 0.3, 0.7])
def test_objective_never_gets_worse(weights, solver, learn_r, unknown):
    X, labels, params = tiny_problem(seed=3, n=40, unknown=unknown)
    model = TopicModel(weights=weights, solver=solver, learn_r=learn_r, eta=1.2)
    _, trace = run_em(model, rows_of(X, labels, 13), params, Monitor(200, 0))
    assert trace.largest_drop() < 1e-10
    assert trace.objective[-1] > trace.objective[0] + 1


def test_variational_bound_is_below_the_exact_marginal():
    """The bound of weights="mean" against numerical integration over the topic weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1, 1))
    labels = Labels.from_dense(np.array([[1.0, 0.0, 1.0]]))
    topics = np.array([[0.5], [0.2], [0.3]])
    params = BMLPLParams(topics, np.array([[0.4], [0.1]]), np.array([0.8]), np.zeros(2), None)
    model = TopicModel(weights="mean")
    rows = rows_of(X, labels)
    for _ in range(50):
        statistics = rows.update(model.step, params)
    psi = (X @ params.weights[:-1] + params.weights[-1]).item()

    def joint(u):
        likelihood = (1 - np.exp(-0.5 * u)) * np.exp(-0.2 * u) * (1 - np.exp(-0.3 * u))
        return likelihood * stats.gamma.pdf(u, 0.8, scale=np.exp(psi))

    from scipy import integrate

    exact = np.log(integrate.quad(joint, 0, np.inf)[0])
    bound = model.objective(statistics, params)
    assert bound < exact + 1e-9
    assert bound > exact - 1.0


def test_prediction_is_the_expectation_over_topic_weights():
    rng = np.random.default_rng(1)
    from labelgap.kernels.topics import surprise_rates

    topics = rng.dirichlet(np.ones(4), 3).T.copy()
    psi = rng.normal(size=(2, 3))
    for r in (np.array([0.3, 0.3, 0.3]), np.array([0.3, 1.0, 2.0])):
        u = rng.gamma(r, size=(400_000, 3)) * np.exp(psi[:, None, :])
        expected = (1 - np.exp(-u @ topics.T)).mean(axis=1)
        predicted = -np.expm1(-surprise_rates(psi, topics, r))
        np.testing.assert_allclose(predicted, expected, atol=3e-3)


@pytest.mark.parametrize("magnitude", [-60.0, 0.0, 60.0, 1000.0])
def test_predicted_rates_are_right_far_out(magnitude):
    from labelgap.kernels.topics import surprise_rates

    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.ones(4), 30).T.copy()
    psi = magnitude + rng.normal(size=(3, 30))
    expected = 0.7 * np.logaddexp(0, np.log(topics)[None] + np.minimum(psi, 80)[:, None]).sum(-1)
    np.testing.assert_allclose(surprise_rates(psi, topics, np.full(30, 0.7)), expected, rtol=1e-6)


@pytest.mark.parametrize("unknown", [0.0, 0.5])
def test_full_batch_online_step_of_length_one_is_an_em_step(unknown):
    X, labels, params = tiny_problem(unknown=unknown)
    model = TopicModel(learn_r=True)
    batch, online = rows_of(X, labels), rows_of(X, labels)
    expected = params
    for _ in range(3):
        expected = model.maximise(batch.update(model.step, expected), expected, batch)
    running, result = None, params
    for step in range(3):
        result, running, _ = run_online(
            model, [online], result, running, step_size=lambda t: 1.0, first_step=step
        )
    for ours, theirs in zip(result[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_blocks_do_not_change_the_result():
    X, labels, params = tiny_problem(n=30, unknown=0.3)
    model = TopicModel()
    whole, _ = run_em(model, rows_of(X, labels), params, Monitor(10, 0))
    parts, _ = run_em(model, rows_of(X, labels, 7), params, Monitor(10, 0))
    for ours, theirs in zip(parts[:2], whole[:2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_constrained_topics_maximise_their_part_of_the_objective(seed):
    rng = np.random.default_rng(seed)
    counts, exposed = rng.gamma(0.5, size=(6, 2)), rng.gamma(2.0, size=(6, 2))
    counts[2, 0] = 0
    topics = constrained_topics(counts, exposed, 1.0, 0)
    np.testing.assert_allclose(topics.sum(axis=0), 1, rtol=1e-9)

    def value(candidate):
        return (special.xlogy(counts, candidate) - exposed * candidate).sum()

    best = value(topics)
    for _ in range(200):
        other = rng.dirichlet(np.ones(6), 2).T * (counts > 0)
        other /= other.sum(axis=0)
        for fraction in (1e-3, 0.1):
            assert value((1 - fraction) * topics + fraction * other) <= best + 1e-9


def test_constrained_topics_with_equal_exposure_are_a_normalisation():
    counts = np.random.default_rng(0).gamma(1.0, size=(5, 3))
    equal = np.full((5, 3), 2.5)
    np.testing.assert_allclose(
        constrained_topics(counts, equal, 1.3, 0), constrained_topics(counts, None, 1.3, 0)
    )


def test_empty_labels_left_out_of_the_topics_change_nothing():
    X, labels, params = tiny_problem(n=30)
    positives = labels.positives().toarray().astype(float)
    wide = Labels.from_dense(np.hstack([positives, np.zeros((30, 3))]))
    floor = np.full((3, 2), 0.02)
    topics = np.vstack([params.topics * (1 - 0.06), floor])
    full = TopicModel(eta=1.4)
    short = TopicModel(eta=1.4, n_empty=3)
    a, trace_a = run_em(full, rows_of(X, wide), params._replace(topics=topics), Monitor(8, 0))
    start = params._replace(topics=topics[:5])
    b, trace_b = run_em(short, rows_of(X, labels), start, Monitor(8, 0))
    np.testing.assert_allclose(a.topics[:5], b.topics, rtol=1e-10)
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-10)
    np.testing.assert_allclose(trace_a.objective, trace_b.objective, rtol=1e-10)


def test_constrained_topics_survive_a_tiny_mass_on_the_least_exposed_label():
    """There the start of the search for the multiplier is almost on the pole."""
    counts = np.array([[4e-34], [1.0], [2.0]])
    exposed = np.array([[0.1], [5.0], [7.0]])
    topics = constrained_topics(counts, exposed, 1.0, 0)
    np.testing.assert_allclose(topics.sum(axis=0), 1)
    assert (topics >= 0).all()
    assert (topics <= 1).all()
    multipliers = counts[1:] / topics[1:] - exposed[1:]
    np.testing.assert_allclose(multipliers[0], multipliers[1], rtol=1e-6)


def test_exposure_too_small_for_single_precision_is_none():
    X, labels, params = tiny_problem(unknown=0.7)
    topics = params.topics.copy()
    topics[1:, 0] *= 1e-38
    start = params._replace(topics=topics / topics.sum(axis=0))
    single = BMLPLParams(*(None if f is None else f.astype(np.float32) for f in start))
    model = TopicModel()
    expected, trace = run_em(model, rows_of(X, labels), start, Monitor(20, 0))
    result, _ = run_em(model, rows_of(X.astype(np.float32), labels), single, Monitor(20, 0))
    assert trace.largest_drop() < 1e-10
    np.testing.assert_allclose(result.weights, expected.weights, rtol=1e-2, atol=1e-3)
