"""Tests of differences, against other libraries and against what they must do by definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from labelgap_papers.bench.statistics import (
    better_than_published,
    critical_difference,
    holm,
    paired_comparison,
    rank_methods,
)


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    return rng.normal(size=(9, 4)) + np.array([0.0, 0.3, 0.9, 2.0])


def test_paired_tests_are_those_of_scipy(table):
    one, two = table[:, 0], table[:, 2]
    found = paired_comparison(one, two)
    assert found.n == 9
    assert found.difference == pytest.approx(one.mean() - two.mean())
    assert found.t_p == pytest.approx(stats.ttest_rel(one, two).pvalue)
    assert found.wilcoxon_p == pytest.approx(stats.wilcoxon(one, two).pvalue)
    gaps = one - two
    assert found.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1))
    swapped = paired_comparison(two, one)
    assert swapped.t_p == pytest.approx(found.t_p)
    assert swapped.effect == pytest.approx(-found.effect)


def test_no_difference_one_run_and_no_run():
    assert paired_comparison([1, 2], [1, 2]).t_p == 1
    assert paired_comparison([1, 2], [1, 2]).wilcoxon_p == 1
    alone = paired_comparison([1], [0])
    assert (alone.n, alone.difference) == (1, 1)
    assert math.isnan(alone.t_p)
    assert math.isnan(alone.wilcoxon_p)
    assert paired_comparison([], []).n == 0
    constant = paired_comparison([1.5, 2.5, 3.5], [1, 2, 3])
    assert constant.t_p == 0
    assert constant.effect == math.inf


def test_ties_and_zeros_among_many_runs():
    gaps = np.array([0, 0, 1, 1, 1, -1, 2, 2, 3, 1, 1, 1, -2, 1, 1, 2, 2], dtype=float)
    found = paired_comparison(gaps, np.zeros(gaps.size))
    assert 0 < found.wilcoxon_p < 0.05


def test_different_runs_are_refused():
    with pytest.raises(ValueError, match="2 and 3 values"):
        paired_comparison([1, 2], [1, 2, 3])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.9]) == pytest.approx([1.0, 1.0])
    found = holm([0.01, math.nan, 0.04])
    assert found[[0, 2]] == pytest.approx([0.02, 0.04])
    assert math.isnan(found[1])
    assert holm([]).size == 0


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(p_values):
    """A hypothesis is rejected when every set of hypotheses that it belongs to is."""
    places = range(len(p_values))
    sets = [some for size in places for some in itertools.combinations(places, size + 1)]
    worth = {some: min(1.0, len(some) * min(p_values[k] for k in some)) for some in sets}
    closed = [max(p for some, p in worth.items() if k in some) for k in places]
    assert holm(p_values) == pytest.approx(closed, abs=1e-12)


def test_holm_is_that_of_statsmodels():
    # once: each call of it collects the garbage of the whole process
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(0).random(12) ** 3
    theirs = multitest.multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(theirs, abs=1e-12)


def test_against_a_published_spread_is_welchs_test(table):
    ours = table[:, 1]
    theirs = np.random.default_rng(0).normal(size=10)
    found = better_than_published(ours, theirs.mean(), theirs.std(ddof=1), 10)
    wanted = stats.ttest_ind(ours, theirs, equal_var=False, alternative="greater").pvalue
    assert found == pytest.approx(wanted)


def test_against_a_mean_alone(table):
    ours = table[:, 1]
    found = better_than_published(ours, 0.1)
    assert found == pytest.approx(stats.ttest_1samp(ours, 0.1, alternative="greater").pvalue)
    assert better_than_published(ours, 0.1, std=0.5) == pytest.approx(found)
    assert math.isnan(better_than_published([1.0], 0.5))
    assert better_than_published([1.0, 1.0], 0.5) == 0
    assert better_than_published([1.0, 1.0], 0.5, 0.0, 10) == 0
    assert better_than_published([1.0, 1.0], 1.5) == 1


def test_ranks_and_friedman(table):
    ranking = rank_methods(["a", "b", "c", "d"], table, higher_is_better=True)
    assert ranking.methods[0] == "d"
    assert ranking.mean_ranks == tuple(sorted(ranking.mean_ranks))
    assert sum(ranking.mean_ranks) == pytest.approx(4 * 5 / 2)
    chi_squared = stats.friedmanchisquare(*table.T).statistic
    f = 8 * chi_squared / (9 * 3 - chi_squared)
    assert ranking.friedman_p == pytest.approx(stats.f.sf(f, 3, 24))
    turned = rank_methods(["a", "b", "c", "d"], table, higher_is_better=False)
    assert turned.methods[-1] == "d"


def test_friedman_with_ties_is_that_of_scipy(table):
    rounded = np.round(table)
    chi_squared = stats.friedmanchisquare(*rounded.T).statistic
    f = 8 * chi_squared / (9 * 3 - chi_squared)
    ranking = rank_methods(["a", "b", "c", "d"], rounded, higher_is_better=True)
    assert ranking.friedman_p == pytest.approx(stats.f.sf(f, 3, 24))
    assert rank_methods(["a", "b"], np.ones((3, 2)), True).friedman_p == 1
    assert rank_methods(["a", "b"], np.tile([1.0, 2.0], (3, 1)), True).friedman_p == 0
    assert math.isnan(rank_methods(["a", "b"], np.array([[1.0, 2.0]]), True).friedman_p)


def test_nemenyi_is_that_of_scikit_posthocs(table):
    posthocs = pytest.importorskip("scikit_posthocs")
    p_values = np.asarray(posthocs.posthoc_nemenyi_friedman(table))
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    for alpha in (0.01, 0.05, 0.2, 0.5):
        apart = np.abs(ranks[:, None] - ranks) > critical_difference(4, 9, alpha)
        assert (apart == (p_values < alpha)).all()


@pytest.mark.parametrize(("n_methods", "quantile"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_tabulated_quantiles(n_methods, quantile):
    unit = math.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14) / unit == pytest.approx(quantile, abs=6e-4)


def test_cliques_are_the_largest_groups_that_are_not_told_apart():
    scores = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], (30, 1))
    ranking = rank_methods(list("abcde"), scores, higher_is_better=False)
    assert ranking.critical_difference == pytest.approx(1.11, abs=0.01)
    assert ranking.cliques() == [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    few = rank_methods(list("abcde"), scores[:2], higher_is_better=False)
    assert few.cliques() == [("a", "b", "c", "d", "e")]
    many = rank_methods(list("abcde"), np.tile(scores, (2, 1)), higher_is_better=False)
    assert many.cliques() == []


def test_what_cannot_be_ranked_is_refused(table):
    with pytest.raises(ValueError, match=r"scores of shape \(9, 4\) for 3 methods"):
        rank_methods(list("abc"), table, True)
    table[0, 0] = math.nan
    with pytest.raises(ValueError, match="finite score in every block"):
        rank_methods(list("abcd"), table, True)
