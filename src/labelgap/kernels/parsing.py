"""Numbers, lines and label-feature pairs of text files, from ``uint8`` arrays of the whole file.

Numbers are read exactly: a decimal whose digits fit 53 bits and whose power of ten is at most 22 is
one correctly rounded multiplication or division; every other token (long mantissas, huge exponents,
``nan``, ``inf``, nonsense) is reported as inexact, so that the caller lets Python decide.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LINE_FEED = 10
COMMA, COLON, HASH = 44, 58, 35
_TAB, _CR, _SPACE = 9, 13, 32
_PLUS, _MINUS, _DOT = 43, 45, 46
_ZERO, _NINE, _UPPER_E, _LOWER_E = 48, 57, 69, 101

_POWERS = np.array([10.0**k for k in range(23)])
_LARGEST_EXACT = 2**53


@njit(cache=True)
def is_blank(byte):
    return byte in (_SPACE, _TAB, _CR)


@njit(cache=True)
def parse_integer(buffer, start, stop):
    """Return non-negative integer in ``buffer[start:stop]``, or -1 when it is not one."""
    if stop <= start or stop - start > 18:
        return -1
    value = 0
    for position in range(start, stop):
        digit = np.int64(buffer[position]) - _ZERO
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@njit(cache=True)
def _parse_exponent(buffer, start, stop):
    negative = start < stop and buffer[start] == _MINUS
    if start < stop and (buffer[start] == _MINUS or buffer[start] == _PLUS):
        start += 1
    if stop - start > 4:
        return 0, False
    size = parse_integer(buffer, start, stop)
    return (-size if negative else size), size >= 0


@njit(cache=True)
def parse_float(buffer, start, stop):
    """Return value of the decimal in ``buffer[start:stop]``, and whether it is exact."""
    position = start
    negative = position < stop and buffer[position] == _MINUS
    if position < stop and (buffer[position] == _MINUS or buffer[position] == _PLUS):
        position += 1
    mantissa = np.int64(0)
    n_digits = 0
    scale = 0
    seen_dot = False
    while position < stop:
        byte = buffer[position]
        if _ZERO <= byte <= _NINE:
            mantissa = mantissa * 10 + (np.int64(byte) - _ZERO)
            n_digits += 1
            if seen_dot:
                scale -= 1
            if mantissa > _LARGEST_EXACT:
                return 0.0, False
        elif byte == _DOT and not seen_dot:
            seen_dot = True
        else:
            break
        position += 1
    if n_digits == 0:
        return 0.0, False
    if position < stop:
        if buffer[position] != _LOWER_E and buffer[position] != _UPPER_E:
            return 0.0, False
        exponent, valid = _parse_exponent(buffer, position + 1, stop)
        if not valid:
            return 0.0, False
        scale += exponent
    if scale > 22 or scale < -22:
        return 0.0, False
    value = float(mantissa)
    value = value * _POWERS[scale] if scale >= 0 else value / _POWERS[-scale]
    return (-value if negative else value), True


@njit(cache=True)
def trimmed_line(buffer, start, stop):
    """Bounds of the line at `start` without surrounding blanks, and where the next line begins."""
    end = start
    while end < stop and buffer[end] != LINE_FEED:
        end += 1
    following = end + 1
    while start < end and is_blank(buffer[start]):
        start += 1
    while end > start and is_blank(buffer[end - 1]):
        end -= 1
    return start, end, following


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

    buffer : uint8 array, the file.
    start : int
    skip_empty : bool. Whether a line without any word is nothing, or a row without labels and
        features.
    Returns label_indptr, labels : the labels of the rows, in CSR layout.
    and indptr, features, values : the features of the rows, in CSR layout.
    and line_of_row : int64 array, the first line is 1.
    and pending : list of (entry, first, last), numbers that Python must read.
    and status, place, line : OK or the first failure, its byte position and line.
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
    n_samples, n_labels, n_entries, line, status, place = 0, 0, 0, 0, OK, start
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
        line_of_row[n_samples] = line
        n_samples += 1
        label_indptr[n_samples] = n_labels
        indptr[n_samples] = n_entries
    return (
        label_indptr[: n_samples + 1],
        out[0][:n_labels],
        indptr[: n_samples + 1],
        out[1][:n_entries],
        out[2][:n_entries],
        line_of_row[:n_samples],
        pending,
        status,
        place,
        line,
    )
