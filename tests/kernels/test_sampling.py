from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from labelgap.kernels import latent_counts, polya_gamma
from labelgap.kernels.latent_counts import expected_counts, prepare_positives
from reference import sampling as slow

# every statistical test below has a fixed seed; its threshold is what 1 seed in 1e5 would exceed
LARGEST_Z = 4.4
SMALLEST_P = 1e-5


def chi_square_p(draws, pmf, first):
    """p-value of integer draws against a pmf over first, first + 1, ...; rare values pooled."""
    observed = np.bincount(np.minimum(draws - first, pmf.size - 1), minlength=pmf.size)
    expected = np.append(pmf[:-1], 1 - pmf[:-1].sum()) * draws.size
    order = np.argsort(-expected)
    n_common = max(int((expected[order] >= 8).sum()), 1)
    pooled = [
        np.append(x[order[:n_common]], x[order[n_common:]].sum()) for x in (observed, expected)
    ]
    observed, expected = (x[pooled[1] > 1e-9] for x in pooled)
    if expected.size == 1:
        return 1.0
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("rate", [1e-3, 0.2, 0.9, 1.0, 3.0, 9.5, 10.5, 40.0])
def test_positive_poisson_has_the_truncated_distribution(rate, rng):
    draws = np.array([latent_counts.positive_poisson(rng, rate) for _ in range(20_000)])
    assert draws.min() >= 1
    pmf = slow.positive_poisson_pmf(rate, np.arange(1, 200))
    assert chi_square_p(draws, pmf, first=1) > SMALLEST_P


@pytest.mark.parametrize("rate", [0.0, 5e-324, 1e-300, 1e-12])
def test_positive_poisson_is_one_at_tiny_rates(rate, rng):
    assert {latent_counts.positive_poisson(rng, rate) for _ in range(1000)} == {1}


@pytest.mark.parametrize("rate", [1e4, 1e9, 1e15])
def test_positive_poisson_at_huge_rates(rate, rng):
    draws = np.array([float(latent_counts.positive_poisson(rng, rate)) for _ in range(20_000)])
    scores = (draws - rate) / np.sqrt(rate)
    assert stats.kstest(scores, "norm").pvalue > SMALLEST_P


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 400])
def test_split_count_is_multinomial(count, rng):
    weights = np.array([0.5, 0.0, 2.0, 1.5])
    steps, fractions = np.cumsum(weights), np.empty(4, dtype=np.int64)
    draws = np.empty((20_000, 4), dtype=np.int64)
    for row in draws:
        latent_counts.split_count(rng, count, steps, fractions)
        row[:] = fractions
    assert (draws.sum(axis=1) == count).all()
    for k, probability in enumerate(weights / weights.sum()):
        pmf = stats.binom.pmf(np.arange(count + 1), count, probability)
        assert chi_square_p(draws[:, k], pmf, first=0) > SMALLEST_P
    exact = -count * weights[0] * weights[2] / weights.sum() ** 2
    covariance = np.cov(draws[:, 0], draws[:, 2])[0, 1]
    assert covariance == pytest.approx(exact, abs=0.05 * max(count, 0.01))


def test_split_count_never_gives_to_a_part_without_weight(rng):
    fractions = np.empty(4, dtype=np.int64)
    for count in (2, 50):
        for weights in ([0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]):
            latent_counts.split_count(
                rng, count, np.cumsum(np.array(weights, dtype=float)), fractions
            )
            assert (fractions == count * np.array(weights)).all()


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    U = rng.gamma(0.7, 2.0, size=(5, 3))
    V = rng.dirichlet(np.full(4, 3.0), size=3).T
    labels = rng.random((5, 4)) < 0.4
    labels[2] = False
    return labels, U, V


def standardised(draws, reference):
    """Differences of means in standard errors, where there is any spread."""
    error = np.sqrt((draws.var(axis=0) + reference.var(axis=0)) / len(draws))
    gap = draws.mean(axis=0) - reference.mean(axis=0)
    assert (gap[error == 0] == 0).all()
    return gap[error > 0] / error[error > 0]


def test_sampled_counts_agree_with_the_slow_twin_and_the_expectation(problem, rng):
    labels, U, V = problem
    positives = prepare_positives(sparse.csr_array(labels))
    fast = [latent_counts.sample_counts(rng, positives, U, V) for _ in range(4000)]
    twin = [slow.sample_counts(rng, labels, U, V) for _ in range(4000)]
    expected = expected_counts(positives, U, V)
    for field in ("by_row", "by_label"):
        draws = np.array([getattr(f, field) for f in fast])
        reference = np.array([t[("by_row", "by_label").index(field)] for t in twin])
        assert np.abs(standardised(draws, reference)).max() < LARGEST_Z
        assert np.abs(standardised(draws**2, reference**2)).max() < LARGEST_Z
        exact = np.broadcast_to(getattr(expected, field), draws.shape)
        assert np.abs(standardised(draws, exact)).max() < LARGEST_Z
        assert (draws == draws.round()).all()


def test_sampled_counts_total_the_same_by_row_and_by_label(problem, rng):
    labels, U, V = problem
    drawn = latent_counts.sample_counts(rng, prepare_positives(sparse.csr_array(labels)), U, V)
    assert np.array_equal(drawn.by_row.sum(axis=0), drawn.by_label.sum(axis=0))
    assert drawn.by_row.sum() >= labels.sum()
    assert not drawn.by_row[2].any()


def test_log_density_of_sampled_counts(rng):
    """With one row, the split of every label can be read off by_label."""
    U, V = np.array([[3.0, 8.0]]), np.array([[0.7, 0.1], [0.3, 0.9]])
    positives = prepare_positives(sparse.csr_array(np.ones((1, 2), dtype=bool)))
    for _ in range(20):
        drawn = latent_counts.sample_counts(rng, positives, U, V)
        expected = slow.log_counts_density(drawn.by_label[None], V)
        assert drawn.log_density == pytest.approx(expected, rel=1e-12)


def test_sampled_counts_without_rate_or_positives(rng):
    U, V = np.zeros((2, 3)), np.full((4, 3), 0.25)
    everywhere = prepare_positives(sparse.csr_array(np.ones((2, 4), dtype=bool)))
    drawn = latent_counts.sample_counts(rng, everywhere, U, V)
    assert drawn.by_label.sum() == 8
    nowhere = prepare_positives(sparse.csr_array((2, 4), dtype=bool))
    assert not latent_counts.sample_counts(rng, nowhere, U + 1, V).by_label.any()


@pytest.mark.parametrize("listed_unknown", [True, False])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_unknown_counts_are_poisson_at_unknown_entries(problem, rng, listed_unknown, scale):
    """A scale of 20 takes the branch that draws label by label."""
    unknown, U, V = problem
    listed = sparse.csr_array(unknown if listed_unknown else ~unknown)
    draws = np.array(
        [
            latent_counts.sample_unknown_counts(rng, listed, listed_unknown, scale * U, V)
            for _ in range(4000)
        ]
    )
    twin = np.array([slow.sample_unknown_counts(rng, unknown, scale * U, V) for _ in range(4000)])
    assert np.abs(standardised(draws, twin)).max() < LARGEST_Z
    assert np.abs(standardised(draws**2, twin**2)).max() < LARGEST_Z


def test_unknown_counts_do_not_need_sorted_columns(rng):
    V = np.array([[0.5], [0.3], [0.2]])
    listed = sparse.csr_array((np.ones(2), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert not listed.has_sorted_indices
    drawn = latent_counts.sample_unknown_counts(rng, listed, True, np.array([[2.9]]), V)
    many = latent_counts.sample_unknown_counts(rng, listed, True, np.array([[500.0]]), V)
    assert drawn[1] == many[1] == 0
    assert (many[[0, 2]] > 0).all()


@pytest.mark.parametrize(("count", "r"), [(0, 1.0), (1, 0.2), (2, 0.3), (7, 0.3), (30, 4.0)])
def test_table_counts_have_the_exact_distribution(count, r, rng):
    counts = np.full((1, 20_000), float(count))
    draws = latent_counts.sample_tables(rng, counts, np.full(20_000, r)).astype(np.int64)
    assert chi_square_p(draws, slow.table_count_pmf(count, r), first=0) > SMALLEST_P


def test_tables_are_summed_over_rows(rng):
    counts = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    assert latent_counts.sample_tables(rng, counts, np.array([0.5, 2.0])).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("shape", [0.05, 0.3, 1.0, 1.3, 2.3, 5.0, 40.7])
@pytest.mark.parametrize("psi", [0.0, -0.02, 0.3, -3.0, 9.0, -25.0, 39.9, -40.1, 1e3, 1e8])
def test_polya_gamma_moments_and_laplace_transform(shape, psi, rng):
    draws = polya_gamma.sample_polya_gamma(rng, np.array(shape), np.full(40_000, psi))
    mean = shape * slow.polya_gamma_unit_mean(psi)
    for power in (0.3, 1.0, 3.0):
        t = power / mean
        values = np.exp(-t * draws)
        error = values.std() / np.sqrt(draws.size)
        z = (values.mean() - slow.polya_gamma_laplace(shape, psi, t)) / error
        assert abs(z) < LARGEST_Z
    assert draws.mean() == pytest.approx(mean, abs=LARGEST_Z * draws.std() / 200)
    assert (draws > 0).all()


@pytest.mark.parametrize(
    ("shape", "psi", "place"),
    [
        ([1.0, 1.0], [0.0, np.nan], r"psi\[1\] is nan"),
        ([1.0, 1.0], [-np.inf, 1.0], r"psi\[0\] is -inf"),
        ([1.0, 0.0], [2.0, 1.0], r"shape\[1\] is 0.0"),
    ],
)
def test_parameters_without_a_polya_gamma_variable(shape, psi, place, rng):
    with pytest.raises(ValueError, match=place):
        polya_gamma.sample_polya_gamma(rng, np.array(shape), np.array(psi))


def test_unit_variance_is_the_derivative_of_the_mean():
    """Var[PG(1, z)] = -(d/dz E[PG(1, z)]) / z, across the switch to the series."""
    for z in (0.02, 0.049, 0.051, 0.2, 1.0, 7.0, 60.0):
        step = 1e-4 * z
        slope = (slow.polya_gamma_unit_mean(z + step) - slow.polya_gamma_unit_mean(z - step)) / (
            2 * step
        )
        assert polya_gamma.unit_variance(z) == pytest.approx(-slope / z, rel=1e-3)
        assert polya_gamma.unit_variance(-z) == polya_gamma.unit_variance(z)
    assert polya_gamma.unit_variance(0.05) == pytest.approx(
        polya_gamma.unit_variance(0.05 - 1e-12), rel=1e-9
    )


def test_kernels_draw_from_the_generator_alone():
    draws = [
        polya_gamma.sample_polya_gamma(np.random.default_rng(3), np.ones(5), np.ones(5))
        for _ in range(2)
    ]
    assert np.array_equal(*draws)
