"""A level of the beam search is the one written node by node."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.kernels.beam_search import child_margins, most_probable
from reference.beam_search import advance


@pytest.mark.parametrize("width", [1, 3, 20])
def test_against_the_slow_way(width):
    rng = np.random.default_rng(2)
    starts = np.array([0, 3, 4, 9])
    X, weights = (
        (rng.normal(size=shape) * (rng.random(shape) < 0.5)).astype(np.float32)
        for shape in [(12, 6), (9, 6)]
    )
    intercepts = rng.normal(size=9).astype(np.float32)
    parents = np.array([rng.permutation([0, 1, 2, -1])[:2] for _ in range(12)], dtype=np.int32)
    log_odds = rng.normal(size=parents.shape).astype(np.float32)
    mix = np.array([0.1, 0.5, 2.0], dtype=np.float32)
    margins = np.zeros((12, 2, 5), np.float32)
    rows, models = (
        (part.indptr, part.indices, part.data)
        for part in (sparse.csr_array(X), sparse.csr_array(weights))
    )
    pairs = np.argsort(parents, axis=None, kind="stable")
    child_margins(rows, models, intercepts, starts, parents, pairs, 6, margins)
    nodes, values = np.empty((12, width), np.int32), np.empty((12, width), np.float32)
    most_probable(margins, starts, parents, log_odds, mix, nodes, values)
    expected = advance(X, weights, intercepts, starts, parents, log_odds, mix, width)
    np.testing.assert_array_equal(nodes, expected[0])
    np.testing.assert_allclose(values, expected[1], rtol=1e-4, atol=1e-5)


def test_the_first_of_equal_nodes_comes_first():
    starts = np.array([0, 2, 4])
    parents = np.array([[1, 0]], dtype=np.int32)
    margins = np.zeros((1, 2, 2), np.float32)
    mix = np.array([0.0, 1.0, 1.0], dtype=np.float32)
    nodes, values = np.empty((1, 3), np.int32), np.empty((1, 3), np.float32)
    most_probable(margins, starts, parents, np.zeros((1, 2), np.float32), mix, nodes, values)
    assert nodes.tolist() == [[0, 1, 2]]
