"""Numbers and lines of text files, as functions of ``uint8`` arrays that hold the whole file.

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
    """Non-negative integer in ``buffer[start:stop]``, or -1 when it is not one."""
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
    """Value of the decimal in ``buffer[start:stop]``, and whether it is exact."""
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
