"""Sums over blocks, and what rows promise to loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from fitting.topic_problem import BLOCK_ROWS, N_ROWS, fit, prepare, problem
from labelgap.fitting import ArrayRows, LocalRows, PreparedBlocks, open_rows, row_slices


class Stats(NamedTuple):
    total: np.ndarray
    absent: None
    number: float


def step(block, local, argument):
    local = (0 if local is None else local) + argument
    return local, Stats(block, None, float(local))


def test_update_steps_every_block_and_sums():
    rows = LocalRows([np.ones(2), np.full(2, 2.0), np.full(2, 4.0)])
    rows.update(step, 1)
    stats = rows.update(step, 10)
    assert stats.total.tolist() == [7, 7]
    assert stats.absent is None
    assert stats.number == 33
    assert list(rows.local_states()) == [11, 11, 11]
    assert rows.total(lambda block, local, argument: argument * local, 2) == 66


def test_sums_do_not_write_into_blocks():
    blocks = [np.ones(2), np.ones(2), np.ones(2)]
    rows = LocalRows(blocks)
    assert rows.update(step, 1).total.tolist() == [3, 3]
    assert all(block.tolist() == [1, 1] for block in blocks)


def test_restored_states_are_used_and_counted():
    rows = LocalRows([np.ones(1)] * 3)
    rows.restore([1, 2, 3])
    assert rows.update(step, 0).number == 6
    for states in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="3 blocks now"):
            rows.restore(states)


def test_no_blocks_no_rows():
    with pytest.raises(ValueError, match="at least one block"):
        LocalRows([])


def test_slices_cover_all_rows_once():
    slices = row_slices(10, 4)
    assert [(part.start, part.stop) for part in slices] == [(0, 4), (4, 8), (8, 10)]
    assert row_slices(3, None) == [slice(0, 3)]
    with pytest.raises(ValueError, match="block_rows=0"):
        row_slices(3, 0)


@pytest.mark.parametrize("gaps", [False, True])
def test_number_of_blocks_changes_rounding_only(gaps):
    X, labels = problem(gaps=gaps)
    one, _ = fit(open_rows(ArrayRows(X, labels), prepare(gaps)))
    many, _ = fit(open_rows(ArrayRows(X, labels, block_rows=BLOCK_ROWS), prepare(gaps)))
    single, _ = fit(open_rows(ArrayRows(X, labels, block_rows=1), prepare(gaps)))
    for found in (many, single):
        assert np.allclose(found.topics, one.topics, rtol=1e-9, atol=1e-13)
        assert np.allclose(found.weights, one.weights, rtol=1e-9, atol=1e-13)


def test_array_rows_are_the_rows(tmp_path):
    X, labels = problem(gaps=True)
    source = ArrayRows(X, labels, block_rows=BLOCK_ROWS)
    assert source.n_samples == N_ROWS
    assert source.names.tolist() == labels.names.tolist()
    part, y = source[4]
    assert np.array_equal(part.toarray(), X[64:].toarray())
    assert y.with_names(labels.names).equals(labels[64:])
    assert source.reader(4)()[1].equals(y)
    blocks = PreparedBlocks(source, lambda index, X, y: (index, X.shape, y.shape))
    assert [blocks[index] for index in (0, 4)] == [(0, (16, 6), (16, 9)), (4, (6, 6), (6, 9))]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ArrayRows(X, labels[:3])
