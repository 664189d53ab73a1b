"""Rows of ``label,label index:value index:value ...``: svmlight, extreme classification."""

from __future__ import annotations

import numpy as np
from numba import njit

from labelgap.kernels.parsing import (
    COLON,
    COMMA,
    HASH,
    LINE_FEED,
    is_blank,
    parse_float,
    parse_integer,
    trimmed_line,
)

OK = 0
BAD_LABEL = 1
BAD_FEATURE = 2


@njit(cache=True)
def _count_pairs(buffer, start):
    n_lines, n_commas, n_colons = 1, 0, 0
    for position in range(start, len(buffer)):
        n_lines += buffer[position] == LINE_FEED
        n_commas += buffer[position] == COMMA
        n_colons += buffer[position] == COLON
    return n_lines, n_commas, n_colons


@njit(cache=True)
def _word_end(buffer, start, stop):
    """End of the word at `start`, and the position of its first colon (-1: none)."""
    colon = -1
    while start < stop and not is_blank(buffer[start]):
        if colon < 0 and buffer[start] == COLON:
            colon = start
        start += 1
    return start, colon


@njit(cache=True)
def _label_list(buffer, start, stop, labels, n_labels):
    """Append the comma-separated integers of ``buffer[start:stop]``."""
    while start <= stop:
        end = start
        while end < stop and buffer[end] != COMMA:
            end += 1
        label = parse_integer(buffer, start, end)
        if label < 0:
            return n_labels, BAD_LABEL, start
        labels[n_labels] = label
        n_labels += 1
        start = end + 1
    return n_labels, OK, stop


@njit(cache=True)
def _pair_row(buffer, start, stop, out, n_labels, n_entries, pending):
    labels, features, values = out
    position = start
    while position < stop and buffer[position] != HASH:
        end, colon = _word_end(buffer, position, stop)
        if colon < 0:
            if position != start:
                return n_labels, n_entries, BAD_FEATURE, position
            n_labels, status, place = _label_list(buffer, position, end, labels, n_labels)
            if status != OK:
                return n_labels, n_entries, status, place
        else:
            feature = parse_integer(buffer, position, colon)
            if feature < 0 or colon + 1 == end:
                return n_labels, n_entries, BAD_FEATURE, position
            value, exact = parse_float(buffer, colon + 1, end)
            if not exact:
                pending.append((n_entries, colon + 1, end))
            features[n_entries] = feature
            values[n_entries] = value
            n_entries += 1
        position = end
        while position < stop and is_blank(buffer[position]):
            position += 1
    return n_labels, n_entries, OK, stop


@njit(cache=True)
def parse_pair_rows(buffer, start, skip_empty):
    """Read every line from `start` on.

    Parameters
    ----------
    buffer : uint8 array, the file.
    start : int
    skip_empty : bool
        Whether a line without any word is nothing, or a row without labels and features.

    Returns
    -------
    label_indptr, labels : the labels of the rows, in CSR layout.
    indptr, features, values : the features of the rows, in CSR layout.
    line_of_row : int64 array, the first line is 1.
    pending : list of (entry, first, last), numbers that Python must read.
    status, place, line : OK or the first failure, its byte position and line.
    """
    n_lines, n_commas, n_colons = _count_pairs(buffer, start)
    out = (
        np.empty(n_lines + n_commas, np.int64),
        np.empty(n_colons, np.int64),
        np.empty(n_colons, np.float64),
    )
    label_indptr = np.zeros(n_lines + 1, np.int64)
    indptr = np.zeros(n_lines + 1, np.int64)
    line_of_row = np.empty(n_lines, np.int64)
    pending = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    n_rows, n_labels, n_entries, line, status, place = 0, 0, 0, 0, OK, start
    position = start
    while position < len(buffer):
        first, last, position = trimmed_line(buffer, position, len(buffer))
        line += 1
        if skip_empty and (first == last or buffer[first] == HASH):
            continue
        n_labels, n_entries, status, place = _pair_row(
            buffer, first, last, out, n_labels, n_entries, pending
        )
        if status != OK:
            break
        line_of_row[n_rows] = line
        n_rows += 1
        label_indptr[n_rows] = n_labels
        indptr[n_rows] = n_entries
    return (
        label_indptr[: n_rows + 1],
        out[0][:n_labels],
        indptr[: n_rows + 1],
        out[1][:n_entries],
        out[2][:n_entries],
        line_of_row[:n_rows],
        pending,
        status,
        place,
        line,
    )
