"""Histograms of very many entries by column, added to tables where these lie."""

from __future__ import annotations

from numba import njit

__all__ = ["count_into"]


@njit(cache=True, nogil=True)
def count_into(tables, bins, which):
    """Add 1 to ``tables[which, column, bin]`` for every entry whose ``which`` is not negative.

    ``bins`` and ``which`` have the shape (n, n_columns), ``tables`` (n_tables, n_columns, n_bins).
    """
    for i in range(bins.shape[0]):
        for j in range(bins.shape[1]):
            if which[i, j] >= 0:
                tables[which[i, j], j, bins[i, j]] += 1
