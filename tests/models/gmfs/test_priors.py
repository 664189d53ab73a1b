"""Priors of the weights against densities written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from labelgap.models.gmfs._gmfs_priors import INTERCEPT_PRECISION, Laplace, SpikeSlab
from reference.gmfs import in_slab

variances = st.floats(1e-6, 0.3)


@given(variances, st.floats(1.01, 1e4), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_a_row_is_where_its_density_is_larger(spike, ratio, c, seed):
    prior = SpikeSlab(spike, spike * ratio)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(5, c)) * np.sqrt(prior.bound(c) / c) * rng.uniform(0.3, 2, (5, 1))
    # rounding decides at the boundary itself
    lengths = (weights[:-1] ** 2).sum(axis=1)
    clear = np.abs(lengths / prior.bound(c) - 1) > 1e-9
    expected = [in_slab(w, spike, spike * ratio) for w in weights[:-1]]
    np.testing.assert_array_equal(prior.selected(weights)[clear], np.array(expected)[clear])


def test_the_printed_threshold_is_the_derived_one_for_one_factor():
    derived, printed = SpikeSlab(1e-3, 0.5), SpikeSlab(1e-3, 0.5, "printed")
    assert printed.bound(1) == derived.bound(1)
    assert printed.bound(9) == pytest.approx(derived.bound(9) / 9)


def rows_at(length, c):
    weights = np.zeros((2, c))
    weights[0, 0] = length
    return weights


def test_only_the_derived_threshold_leaves_no_jump():
    """A row that grows past the printed one loses density: the objective can get worse there."""
    c = 8
    for threshold, jumps in (("derived", False), ("printed", True)):
        prior = SpikeSlab(1e-3, 0.5, threshold)
        edge = np.sqrt(prior.bound(c))
        below, above = (
            prior.log_density(rows_at(edge * factor, c)) for factor in (1 - 1e-9, 1 + 1e-9)
        )
        assert (above < below - 1) == jumps


def test_log_density_of_spike_and_slab_is_the_larger_gaussian():
    prior = SpikeSlab(0.01, 0.5)
    weights = np.random.default_rng(0).normal(size=(7, 3)) * 0.2
    expected = 0.0
    for w in weights[:-1]:
        both = [stats.norm.logpdf(w, scale=np.sqrt(v)).sum() for v in (0.01, 0.5)]
        expected += max(both) + 1.5 * np.log(2 * np.pi)
    expected -= 0.5 * INTERCEPT_PRECISION * (weights[-1] ** 2).sum()
    assert prior.log_density(weights) == pytest.approx(expected)


@pytest.mark.parametrize("by_row", [False, True])
def test_log_density_of_laplace(by_row):
    weights = np.random.default_rng(1).normal(size=(5, 3))
    rows = weights[:-1]
    sizes = np.linalg.norm(rows, axis=1) if by_row else np.abs(rows)
    expected = -0.7 * sizes.sum() - 0.5 * INTERCEPT_PRECISION * (weights[-1] ** 2).sum()
    assert Laplace(0.7, by_row=by_row).log_density(weights) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("prior", [SpikeSlab(0.01, 0.5), Laplace(0.7), Laplace(0.7, by_row=True)])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_gaussian_of_the_precisions_lies_below_and_touches(prior, seed):
    rng = np.random.default_rng(seed)
    here = rng.normal(size=(4, 2)) * 0.4
    there = here + rng.normal(size=here.shape) * rng.choice([0.01, 0.3])
    precisions = prior.precisions(here)
    quadratic = -0.5 * (precisions * (there**2 - here**2)).sum()
    assert prior.log_density(there) >= prior.log_density(here) + quadratic - 1e-9


def test_everything_starts_in_the_slab():
    np.testing.assert_allclose(
        SpikeSlab(1e-4, 0.25).starting_precisions(3)[:, 0], [4, 4, 4, INTERCEPT_PRECISION]
    )
