from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap_papers.kernels.warp import warp_loss, warp_steps
from reference import warp as slow


def problem(rng, n=12, d=5, c=7, k=3, scale=1.0):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    states = rng.choice([0, 1, 2], p=[0.2, 0.3, 0.5], size=(n, c))  # unknown, relevant, others
    A, B = scale * rng.normal(size=(d, k)), scale * rng.normal(size=(c, k))
    return X, states == 1, states == 2, A, B


def as_csr(matrix):
    return sparse.csr_array(matrix)


@pytest.mark.parametrize("max_norm", [0.7, 100.0])
@pytest.mark.parametrize("learning_rate", [0.01, 0.5])
def test_steps_are_those_of_the_slow_twin(rng, learning_rate, max_norm):
    X, positives, others, A, B = problem(rng)
    others[0] = False  # nothing to compare with
    pairs = rng.permutation(np.argwhere(positives))
    settings = {"learning_rate": learning_rate, "max_norm": max_norm}
    expected = slow.warp_steps(np.random.default_rng(3), X, pairs, others, A, B, **settings)
    n_violated = warp_steps(
        np.random.default_rng(3), as_csr(X), pairs, as_csr(others), A, B, **settings
    )
    np.testing.assert_allclose(A, expected[0], atol=1e-12)
    np.testing.assert_allclose(B, expected[1], atol=1e-12)
    assert 0 < n_violated == expected[2]


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_loss_is_that_of_the_slow_twin(rng, scale):
    X, positives, others, A, B = problem(rng, scale=scale)
    found = warp_loss(as_csr(positives), as_csr(others), X @ A, B)
    assert found == pytest.approx(slow.warp_loss(positives, others, X @ A, B))
    assert warp_loss(as_csr(positives), as_csr(others & False), X @ A, B) == 0


@pytest.mark.parametrize("cells", [1, 7, 3 * 7])
def test_blocks_of_rows_add_up(rng, monkeypatch, cells):
    X, positives, others, A, B = problem(rng)
    monkeypatch.setattr("labelgap_papers.kernels.warp._BLOCK_CELLS", cells)
    found = warp_loss(as_csr(positives), as_csr(others), X @ A, B)
    assert found == pytest.approx(slow.warp_loss(positives, others, X @ A, B))


def test_labels_exactly_at_the_margin_do_not_violate():
    U, B = np.array([[1.0]]), np.array([[3.0], [2.0], [2.5], [3.0], [4.0]])
    positives, others = np.array([[True] + [False] * 4]), np.array([[False] + [True] * 4])
    found = warp_loss(as_csr(positives), as_csr(others), U, B)
    assert found == pytest.approx((1 + 1 / 2 + 1 / 3) * (0.5 + 1 + 2) / 3)
    assert found == pytest.approx(slow.warp_loss(positives, others, U, B))


@pytest.mark.parametrize("label", [0, 3])
def test_scores_that_are_no_numbers_are_no_fit(label):
    U, B = np.array([[1.0]]), np.array([[3.0], [1.0], [1.0], [1.0]])
    B[label] = np.nan
    positives, others = np.array([[True] + [False] * 3]), np.array([[False] + [True] * 3])
    assert np.isnan(warp_loss(as_csr(positives), as_csr(others), U, B))


def test_the_mean_step_has_the_expected_weight(rng):
    """N draws are geometric with probability |V| / n_others, cut off at n_others."""
    X, _, _, A, B = problem(rng, n=1, c=9, scale=2.0)
    positives, others = np.zeros((1, 9), bool), np.ones((1, 9), bool)
    positives[0, 4], others[0, 4] = True, False
    u = X[0] @ A
    order = np.argsort(B @ u)
    B[[4, order[5]]] = B[[order[5], 4]]  # some labels score higher and some lower
    margins = np.where(others[0], 1 + B @ u - B[4] @ u, 0)
    violators = np.flatnonzero(margins > 0)
    assert 0 < len(violators) < 8
    fraction = len(violators) / 8
    weight = sum(fraction * (1 - fraction) ** (n - 1) * slow.harmonic(8 // n) for n in range(1, 9))
    n_trials, moved = 10_000, np.zeros(B.shape)
    given = np.random.default_rng(0), as_csr(X), np.array([[0, 4]]), as_csr(others)
    for _ in range(n_trials):
        changed = B.copy()
        warp_steps(*given, A.copy(), changed, learning_rate=1.0, max_norm=1e9)
        moved += (changed - B) / n_trials
    expected = np.zeros(B.shape)
    expected[4] = weight * u
    expected[violators] = -weight * u / len(violators)
    np.testing.assert_allclose(moved, expected, atol=0.05 * np.abs(expected).max())


def test_small_steps_follow_the_gradient_of_the_loss(rng):
    """With one other label the rank is known, and a step is a gradient step."""
    X, positives, others, A, B = problem(rng, n=1, c=2)
    positives, others = np.array([[True, False]]), np.array([[False, True]])
    B[:] = 0.1 * B
    start = A.copy(), B.copy()
    arguments = as_csr(X), np.array([[0, 0]]), as_csr(others), A, B
    warp_steps(rng, *arguments, learning_rate=1e-3, max_norm=1e9)
    for at, (before, after) in enumerate(zip(start, (A, B), strict=True)):
        gradient = np.zeros_like(before)
        for place in np.ndindex(before.shape):
            values = []
            for step in (1e-6, -1e-6):
                moved = [start[0].copy(), start[1].copy()]
                moved[at][place] += step
                values.append(slow.warp_loss(positives, others, X @ moved[0], moved[1]))
            gradient[place] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(after - before, -1e-3 * gradient, atol=1e-9)
