from __future__ import annotations

import numpy as np
from scipy import sparse

from labelgap.cooccurrence import Cooccurrence, conditional_fractions, occurrences

# seen a, b; unseen c, d, e; e was never counted with a, d co-occurs with nothing
M = np.array([[8, 2, 4, 0, np.nan], [2, 5, 1, 0, 5]])


def counts(matrix=M, **parts) -> Cooccurrence:
    return Cooccurrence(sparse.csr_array(matrix), **parts)


def test_occurrences_are_the_diagonal():
    np.testing.assert_array_equal(occurrences(counts()), [8, 5])


def test_occurrences_without_a_diagonal_are_at_least_every_count():
    without = M.copy()
    without[0, 0], without[1, 1] = np.nan, 0
    np.testing.assert_array_equal(occurrences(counts(without)), [4, 5])
    assert occurrences(counts(np.zeros((2, 3)))).tolist() == [0, 0]


def test_conditional_fractions_by_hand():
    expected = [[4 / 8, 1 / 5], [0, 0], [0, 5 / 5]]
    np.testing.assert_allclose(conditional_fractions(counts()).toarray(), expected)
    assert conditional_fractions(counts(np.zeros((2, 3)))).nnz == 0
