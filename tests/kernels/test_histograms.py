import numpy as np

from labelgap.kernels.histograms import count_into


def test_entries_are_counted_by_table_column_and_bin(rng):
    bins, which = rng.integers(0, 5, (40, 3)), rng.integers(-1, 2, (40, 3))
    tables = np.ones((2, 3, 5), dtype=np.int32)
    count_into(tables, bins, which)
    for k in range(2):
        for column in range(3):
            here = bins[which[:, column] == k, column]
            np.testing.assert_array_equal(tables[k, column] - 1, np.bincount(here, minlength=5))
