from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from labelgap.cooccurrence import Cooccurrence
from labelgap_papers.methods._synthesis_weights import NORMALISATIONS, synthesis_weights
from reference.cooccurrence import similarity

# seen a, b; unseen c, d, e; e was never counted with a, d co-occurs with nothing
M = np.array([[8, 2, 4, 0, np.nan], [2, 5, 1, 0, 5]])


def counts(matrix=M, **parts) -> Cooccurrence:
    return Cooccurrence(sparse.csr_array(matrix), **parts)


@pytest.mark.parametrize(
    ("normalisation", "expected"),
    [
        ("fraction", [4 / 5, 1 / 5]),
        ("conditional", [0.5 / 0.7, 0.2 / 0.7]),
        ("dice", [(8 / 13) / (8 / 13 + 2 / 10), (2 / 10) / (8 / 13 + 2 / 10)]),
        ("pmi", [1, 0]),
    ],
)
def test_weights_by_hand(normalisation, expected):
    weights = synthesis_weights(counts(), normalisation).toarray()
    np.testing.assert_allclose(weights, [expected, [0, 0], [0, 1]], atol=1e-15)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_weights_are_those_of_a_loop(normalisation, rng):
    matrix = rng.poisson(2.0, size=(5, 9)).astype(float)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    seen = np.array([7, 0, 3, 8, 1])
    matrix[np.arange(5), seen] = 30 + np.arange(5)
    made = counts(matrix, seen=seen)
    weights = synthesis_weights(made, normalisation).toarray()
    n_s = 30.0 + np.arange(5)
    for place, u in enumerate(made.unseen):
        column = np.nan_to_num(matrix[:, u])
        raw = [
            similarity(normalisation, column[s], n_s[s], column.sum(), n_s.sum()) for s in range(5)
        ]
        total = sum(raw)
        expected = np.array(raw) / total if total else np.zeros(5)
        np.testing.assert_allclose(weights[place], expected)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
def test_weights_of_a_label_need_no_other_unseen_label(normalisation):
    alone = synthesis_weights(counts(M[:, [0, 1, 2]]), normalisation).toarray()
    np.testing.assert_array_equal(synthesis_weights(counts(), normalisation).toarray()[:1], alone)
