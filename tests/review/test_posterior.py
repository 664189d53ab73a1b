"""What answers teach: against brute force, against scikit-learn, and whatever their order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from labelgap.review import ReviewCandidates, item_traits
from labelgap.review import _answer_model as module
from labelgap.review._answer_model import (
    expected_probability,
    learn_from_answers,
    prior_log_odds,
    remaining_missing,
    with_constant,
)
from review.books import drawn_candidates


def everything(candidates):
    return np.arange(candidates.n)


def test_without_answers_the_audit_is_believed():
    candidates, _ = drawn_candidates()
    posterior = learn_from_answers(candidates, np.empty(0, dtype=int), np.empty(0))
    mean, variance = posterior.log_odds(candidates, everything(candidates))
    np.testing.assert_allclose(mean, candidates.log_odds)
    assert (variance > 0).all()


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (2.0, 0.3), (-1.0, 2.0), (3.0, 0.0)])
def test_chance_is_near_the_integral(mean, variance):
    exact = expit(mean)
    if variance:
        spread = np.sqrt(variance)
        exact = quad(lambda x: expit(x) * norm.pdf(x, mean, spread), mean - 12, mean + 12)[0]
    assert expected_probability(np.array(mean), np.array(variance)) == pytest.approx(
        exact, abs=0.01
    )


def test_the_mode_is_that_of_the_joint_objective(monkeypatch):
    # prior variances held fixed: then it is one convex problem, which L-BFGS solves as well
    candidates, answers = drawn_candidates(80, 3, 1)
    monkeypatch.setattr(module, "_pooled", lambda *_: np.array([0.5, 0.05]))
    monkeypatch.setattr(module, "_MAX_ITER", 300)
    monkeypatch.setattr(module, "_TOL", 1e-9)
    answered = np.arange(0, candidates.n, 2)
    posterior = learn_from_answers(candidates, answered, answers[answered])
    base = with_constant(candidates.log_odds[answered])
    traits = candidates.reach(answered)
    columns = candidates.columns[answered]

    def loss(parameters: np.ndarray) -> float:
        scale, means = parameters[:2], parameters[2:].reshape(3, 2)
        eta = base @ scale + (traits * means[columns]).sum(axis=1)
        fit = np.logaddexp(0, eta) - answers[answered] * eta
        off = scale - module._SCALE_MEAN
        prior = off @ module._SCALE_PRECISION @ off + (means**2 / [0.5, 0.05]).sum()
        return float(fit.sum() + prior / 2)

    best = minimize(loss, np.zeros(8), method="L-BFGS-B", tol=1e-14, options={"maxiter": 2000}).x
    np.testing.assert_allclose(posterior.scale, best[:2], atol=1e-3)
    np.testing.assert_allclose(posterior.means.ravel(), best[2:], atol=1e-3)


def test_the_order_of_answers_does_not_matter(rng):
    candidates, answers = drawn_candidates()
    answered = rng.permutation(candidates.n)[:200]
    one = learn_from_answers(candidates, answered, answers[answered])
    turned = answered[::-1]
    other = learn_from_answers(candidates, turned, answers[turned])
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-8)


def test_answers_improve_what_is_said_of_other_entries(rng):
    candidates, answers = drawn_candidates(600)
    order = rng.permutation(candidates.n)
    answered, others = order[:600], order[600:]
    losses = []
    for known in (answered[:0], answered[:60], answered):
        posterior = learn_from_answers(candidates, known, answers[known])
        p = np.clip(expected_probability(*posterior.log_odds(candidates, others)), 1e-9, 1 - 1e-9)
        losses.append(-np.mean(np.where(answers[others] == 1, np.log(p), np.log(1 - p))))
    assert losses[0] > losses[1] > losses[2]


def test_a_label_of_which_nothing_is_known_learns_from_the_others():
    candidates, _ = drawn_candidates(100, 3, 1)
    answered = np.flatnonzero(candidates.columns < 2)
    posterior = learn_from_answers(candidates, answered, np.ones(answered.size))
    third = np.flatnonzero(candidates.columns == 2)
    mean, _ = posterior.log_odds(candidates, third)
    assert (mean - candidates.log_odds[third]).mean() > 0.2
    assert np.abs(posterior.means[2]).max() == 0


def test_remaining_gaps_cover_the_truth():
    covered = 0
    for seed in range(40):
        candidates, answers = drawn_candidates(150, 4, 1, seed=seed, effect=0.5)
        order = np.random.default_rng(seed).permutation(candidates.n)
        answered, left = order[:200], order[200:]
        posterior = learn_from_answers(candidates, answered, answers[answered])
        guess = remaining_missing(candidates, posterior, left)
        covered += guess.low <= answers[left].sum() <= guess.high
    assert 34 <= covered <= 40


def test_nothing_remains_when_all_is_decided():
    candidates, answers = drawn_candidates(20)
    posterior = learn_from_answers(candidates, everything(candidates), answers)
    assert remaining_missing(candidates, posterior, np.empty(0, dtype=int)).high == 0


@pytest.mark.parametrize("kind", ["dense", "sparse", "constant"])
def test_traits_are_scaled_scores(rng, kind):
    X = rng.standard_normal((50, 8))
    if kind == "sparse":
        from scipy import sparse

        X = sparse.csr_array(np.where(X > 0.5, X, 0))
    if kind == "constant":
        X = np.ones((50, 8))
    traits = item_traits(X, 3)
    assert traits.shape == ((50, 1) if kind == "constant" else (50, 4))
    np.testing.assert_array_equal(traits[:, 0], 1)
    np.testing.assert_allclose((traits**2).mean(axis=0), 1, rtol=1e-6)


def test_what_the_top_of_a_label_tells_fades_where_probabilities_are_small():
    """Forty refusals among the surest entries of a label say little of its thousand last ones."""
    said = np.concatenate([np.full(60, 0.4), np.full(1000, 0.002)])
    n = said.size
    rows = np.concatenate([np.arange(n), np.arange(n)])
    columns = np.repeat([0, 1], n)
    log_odds = prior_log_odds(np.concatenate([said, said]))
    items = [f"i{k}" for k in range(n)]
    candidates = ReviewCandidates(rows, columns, log_odds, np.ones((n, 1)), items, ["a", "b"])
    answered = np.concatenate([np.arange(40), n + np.arange(40)])
    answers = np.concatenate([np.zeros(40), np.arange(40) % 2])
    p = expected_probability(
        *learn_from_answers(candidates, answered, answers).log_odds(candidates, np.arange(2 * n))
    )
    refused, other = p[:n], p[n:]
    assert refused[50] < 0.15 < 0.4 < other[50]
    assert refused[-1] > 0.7 * other[-1]
    np.testing.assert_allclose(
        candidates.reach(np.array([0, n - 1]))[:, 0], [0.4 / 0.45, 0.002 / 0.052], rtol=1e-6
    )
