"""Rows of ARFF files, read from a ``uint8`` array that holds the whole file."""

from __future__ import annotations

import numpy as np
from numba import njit

from labelgap.kernels.parsing import (
    COMMA,
    LINE_FEED,
    is_blank,
    parse_float,
    trimmed_line,
)

NUMERIC, NOMINAL, SKIPPED = 0, 1, 2

OK = 0
TOO_MANY_VALUES = 1
TOO_FEW_VALUES = 2
BAD_INDEX = 3
UNKNOWN_CATEGORY = 4
UNCLOSED = 5
WEIGHTED_ROW = 6

_DOUBLE_QUOTE, _PERCENT, _QUOTE, _QUESTION, _BACKSLASH, _OPEN, _CLOSE = 34, 37, 39, 63, 92, 123, 125
_ZERO, _NINE = 48, 57


@njit(cache=True)
def _quoted_token(buffer, start, stop):
    """Inside of the quoted token at `start`, and the position after it (-1: never closed)."""
    quote = buffer[start]
    position = start + 1
    while position < stop and buffer[position] != quote:
        position += 2 if buffer[position] == _BACKSLASH else 1
    if position >= stop:
        return start + 1, stop, -1
    return start + 1, position, position + 1


@njit(cache=True)
def _next_value(buffer, start, stop):
    """Bounds of the value at `start`, and the position after its comma (-1: unclosed quote)."""
    while start < stop and is_blank(buffer[start]):
        start += 1
    if start < stop and (buffer[start] == _QUOTE or buffer[start] == _DOUBLE_QUOTE):
        first, last, position = _quoted_token(buffer, start, stop)
        if position < 0:
            return first, last, -1
        while position < stop and is_blank(buffer[position]):
            position += 1
        if position < stop and buffer[position] != COMMA:
            return first, last, -1
        return first, last, position + 1
    position = start
    while position < stop and buffer[position] != COMMA:
        position += 1
    last = position
    while last > start and is_blank(buffer[last - 1]):
        last -= 1
    return start, last, position + 1


@njit(cache=True)
def _same_bytes(buffer, start, stop, text, text_start, text_stop):
    """Whether a token, its backslash escapes undone, equals a category's bytes."""
    at = text_start
    position = start
    while position < stop:
        if buffer[position] == _BACKSLASH and position + 1 < stop:
            position += 1
        if at >= text_stop or buffer[position] != text[at]:
            return False
        at += 1
        position += 1
    return at == text_stop


@njit(cache=True)
def _nominal_value(buffer, start, stop, column, schema):
    """Value of a category, and whether the token is one; 1.0 is the category 1."""
    _, first_category, category_start, category_bytes, category_values, _ = schema
    begin, end = first_category[column], first_category[column + 1]
    for k in range(begin, end):
        if _same_bytes(
            buffer, start, stop, category_bytes, category_start[k], category_start[k + 1]
        ):
            return category_values[k], True
    value, exact = parse_float(buffer, start, stop)
    for k in range(begin, end):
        other, number = parse_float(category_bytes, category_start[k], category_start[k + 1])
        if exact and number and value == other:
            return category_values[k], True
    return 0.0, False


@njit(cache=True)
def _column_value(buffer, start, stop, column, schema):
    """Value, status, and whether the value still has to be read by Python."""
    if stop - start == 1 and buffer[start] == _QUESTION:
        return np.nan, OK, False
    kind = schema[0][column]
    if kind == SKIPPED:
        return 0.0, OK, False
    if kind == NOMINAL:
        value, known = _nominal_value(buffer, start, stop, column, schema)
        return value, (OK if known else UNKNOWN_CATEGORY), False
    value, exact = parse_float(buffer, start, stop)
    return value, OK, not exact


@njit(cache=True)
def _dense_row(buffer, start, stop, schema, columns, values, n_entries, pending):
    """Append the non-zero values of a comma-separated row: entries so far, status, place."""
    n_columns = len(schema[0])
    column = 0
    position = start
    while position <= stop:
        if position == stop and buffer[stop - 1] != COMMA:
            break
        first, last, following = _next_value(buffer, position, stop)
        if following < 0:
            return n_entries, UNCLOSED, first
        if column >= n_columns:
            weighted = first < last and buffer[first] == _OPEN
            return n_entries, (WEIGHTED_ROW if weighted else TOO_MANY_VALUES), first
        value, status, unread = _column_value(buffer, first, last, column, schema)
        if status != OK:
            return n_entries, status, first
        if unread:
            pending.append((n_entries, first, last))
        if unread or value != 0.0:
            columns[n_entries] = column
            values[n_entries] = value
            n_entries += 1
        column += 1
        position = following
    return n_entries, (OK if column == n_columns else TOO_FEW_VALUES), stop


@njit(cache=True)
def _sparse_row(buffer, start, stop, schema, columns, values, n_entries, pending):
    """Append the stated values of a ``{index value, ...}`` row: entries so far, status, place."""
    if buffer[stop - 1] != _CLOSE:
        return n_entries, UNCLOSED, stop
    digits = schema[5]
    stop -= 1
    position = start + 1
    while position < stop:
        while position < stop and is_blank(buffer[position]):
            position += 1
        if position == stop:
            break
        column, end = 0, position
        while end < stop and _ZERO <= buffer[end] <= _NINE and end - position < 10:
            column = column * 10 + (np.int64(buffer[end]) - _ZERO)
            end += 1
        if end in (position, stop) or not is_blank(buffer[end]) or column >= len(digits):
            return n_entries, BAD_INDEX, position
        # most values of sparse files are one digit: read those here, without a call
        first, following = end + 1, end + 3
        known = following - 1 == stop or (following <= stop and buffer[following - 1] == COMMA)
        if known and _ZERO <= buffer[first] <= _NINE:
            value = digits[column, np.int64(buffer[first]) - _ZERO]
            known = value == value
        else:
            known = False
        if not known:
            value, status, following = _stated_value(
                buffer, end, stop, column, schema, n_entries, pending
            )
            if status != OK:
                return n_entries, status, position
        columns[n_entries] = column
        values[n_entries] = value
        n_entries += 1
        position = following
    return n_entries, OK, stop


@njit(cache=True)
def _stated_value(buffer, start, stop, column, schema, n_entries, pending):
    """Value after an index, status, and the position after its comma."""
    first, last, following = _next_value(buffer, start, stop)
    if following < 0:
        return 0.0, UNCLOSED, first
    value, status, unread = _column_value(buffer, first, last, column, schema)
    if unread:
        pending.append((n_entries, first, last))
    return value, status, following


@njit(cache=True)
def count_values(buffer, start):
    """Return upper bounds for what follows `start`: lines, and comma-separated values."""
    n_lines = 1
    n_commas = 0
    for position in range(start, len(buffer)):
        n_lines += buffer[position] == LINE_FEED
        n_commas += buffer[position] == COMMA
    return n_lines, n_lines + n_commas


@njit(cache=True)
def parse_arff_rows(buffer, start, schema):
    """Read the data section of an ARFF file, dense and sparse rows alike.

    buffer : uint8 array, the file.
    start : int, position after the ``@data`` line.
    schema : tuple of arrays. ``(kinds, first_category, category_start, category_bytes,
        category_values, digits)``: `kinds` holds NUMERIC, NOMINAL or SKIPPED per column. The
        categories of column ``j`` are ``first_category[j]:first_category[j + 1]``; category ``k``
        is spelt ``category_bytes[category_start[k]:category_start[k + 1]]`` and stands for
        ``category_values[k]``. ``digits[j, v]`` is the value of the token ``v`` of one digit in
        column ``j``, NaN if it needs a closer look.
    Returns indptr, columns, values : the rows in CSR layout. Dense rows leave out zeros, sparse
        rows keep what they state.
    and line_of_row : int64 array, lines counted from the ``@data`` line.
    and is_sparse : bool array, one per row.
    and pending : list of (entry, first, last), numbers that Python must read.
    and status, place, line : OK or the first failure, its byte position and line.
    """
    n_lines, capacity = count_values(buffer, start)
    columns = np.empty(capacity, np.int32)
    values = np.empty(capacity, np.float64)
    indptr = np.zeros(n_lines + 1, np.int64)
    line_of_row = np.empty(n_lines, np.int64)
    is_sparse = np.zeros(n_lines, np.bool_)
    pending = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    n_samples, n_entries, line, status, place = 0, 0, 0, OK, start
    position = start
    while position < len(buffer):
        first, last, position = trimmed_line(buffer, position, len(buffer))
        line += 1
        if first == last or buffer[first] == _PERCENT:
            continue
        is_sparse[n_samples] = buffer[first] == _OPEN
        if is_sparse[n_samples]:
            n_entries, status, place = _sparse_row(
                buffer, first, last, schema, columns, values, n_entries, pending
            )
        else:
            n_entries, status, place = _dense_row(
                buffer, first, last, schema, columns, values, n_entries, pending
            )
        if status != OK:
            break
        line_of_row[n_samples] = line
        n_samples += 1
        indptr[n_samples] = n_entries
    return (
        indptr[: n_samples + 1],
        columns[:n_entries],
        values[:n_entries],
        line_of_row[:n_samples],
        is_sparse[:n_samples],
        pending,
        status,
        place,
        line,
    )


@njit(cache=True)
def select_columns(indptr, columns, values, position):
    """Return the entries of some columns of a CSR matrix; ``position`` is -1 for all others.

    Returns the pointers, the new positions and the values.
    """
    new_indptr = np.zeros(len(indptr), indptr.dtype)
    new_columns = np.empty(len(columns), columns.dtype)
    new_values = np.empty(len(values), values.dtype)
    n_kept = 0
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            column = position[columns[entry]]
            if column >= 0:
                new_columns[n_kept] = column
                new_values[n_kept] = values[entry]
                n_kept += 1
        new_indptr[row + 1] = n_kept
    return new_indptr, new_columns[:n_kept], new_values[:n_kept]
