"""The byte parsers against Python's own float, int and split."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgap.kernels import parsing, parsing_arff
from reference.text_rows import arff_rows, pair_rows


def as_buffer(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_to_the_last_bit_or_left_to_python(number):
    for token in (repr(number), f"{number:.6g}", f"{number:.3f}", f"{number:e}"):
        value, exact = parsing.parse_float(as_buffer(token), 0, len(token))
        if exact:
            assert struct.pack("d", value) == struct.pack("d", float(token))


@pytest.mark.parametrize(
    "token", ["0", "-0", "1", "+2.5", "0.034741", "1e3", "1E-5", ".5", "5.", "123456789012345"]
)
def test_everyday_numbers_take_the_fast_path(token):
    value, exact = parsing.parse_float(as_buffer(token), 0, len(token))
    assert exact
    assert value == float(token)


@pytest.mark.parametrize(
    "token", ["", "-", ".", "e5", "1e", "1e+", "nan", "inf", "1x", "1 2", "--1"]
)
def test_what_is_no_plain_decimal_is_never_called_exact(token):
    assert not parsing.parse_float(as_buffer(token), 0, len(token))[1]


@settings(deadline=None)
@given(st.text(alphabet="0123456789-+. x", max_size=20))
def test_integers(token):
    expected = int(token) if token.isdigit() and len(token) <= 18 else -1
    assert parsing.parse_integer(as_buffer(token), 0, len(token)) == expected


def schema_of(categories: list[list[str] | None]) -> tuple:
    flat = [category for known in categories for category in known or ()]
    counts = [len(known or ()) for known in categories]
    digits = np.full((len(categories), 10), np.nan)
    for column, known in enumerate(categories):
        for digit in range(10):
            if known is None:
                digits[column, digit] = digit
            elif str(digit) in known:
                digits[column, digit] = known.index(str(digit))
    return (
        np.array([parsing_arff.NUMERIC if c is None else parsing_arff.NOMINAL for c in categories]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([[0], np.cumsum([len(c) for c in flat])]).astype(np.int64),
        as_buffer("".join(flat) + "\0"),
        np.array([float(k) for c in counts for k in range(c)] + [0.0]),
        digits,
    )


def fast_arff_rows(text: str, categories: list[list[str] | None]) -> list[dict[int, float]]:
    indptr, columns, values, _, _, pending, status, _, _ = parsing_arff.parse_arff_rows(
        as_buffer(text), 0, schema_of(categories)
    )
    assert status == parsing_arff.OK
    for entry, first, last in pending:
        values[entry] = float(text[first:last])
    return [
        dict(zip(columns[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(indptr)
    ]


CATEGORIES: list[list[str] | None] = [None, ["0", "1"], ["red", "green", "blue"], None, ["1", "0"]]
numbers = st.one_of(
    st.integers(-20, 20).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr)
)
cells = [
    st.one_of(st.just("?"), numbers if known is None else st.sampled_from(known))
    for known in CATEGORIES
]
dense_row = st.tuples(*cells).map(", ".join)
sparse_row = st.tuples(*[st.one_of(st.none(), cell) for cell in cells]).map(
    lambda row: "{" + ",".join(f"{j} {v}" for j, v in enumerate(row) if v is not None) + "}"
)
noise = st.sampled_from(["", "   ", "% a comment, with a comma"])


def same(left: list[dict[int, float]], right: list[dict[int, float]]) -> bool:
    def key(value: float) -> object:
        return "nan" if math.isnan(value) else value

    return [{j: key(v) for j, v in row.items()} for row in left] == [
        {j: key(v) for j, v in row.items()} for row in right
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(dense_row, sparse_row, noise), max_size=8), st.sampled_from(["\n", "\r\n"])
)
def test_arff_rows_agree_with_the_slow_twin(lines, end):
    text = end.join(lines)
    assert same(fast_arff_rows(text, CATEGORIES), arff_rows(text, CATEGORIES))


pair_line = st.tuples(
    st.lists(st.integers(0, 99), max_size=4),
    st.dictionaries(st.integers(0, 500), numbers, max_size=6),
).map(
    lambda row: ",".join(map(str, row[0])) + " " + " ".join(f"{j}:{v}" for j, v in row[1].items())
)


@settings(max_examples=60, deadline=None)
@given(st.lists(pair_line, min_size=1, max_size=8))
def test_pair_rows_agree_with_the_slow_twin(lines):
    text = "\n".join(lines)
    label_indptr, labels, indptr, features, values, _, pending, status, _, _ = (
        parsing.parse_pair_rows(as_buffer(text), 0, False)
    )
    assert status == parsing.OK
    for entry, first, last in pending:
        values[entry] = float(text[first:last])
    fast = [
        (
            labels[label_indptr[i] : label_indptr[i + 1]].tolist(),
            dict(
                zip(
                    features[indptr[i] : indptr[i + 1]].tolist(),
                    values[indptr[i] : indptr[i + 1]].tolist(),
                    strict=True,
                )
            ),
        )
        for i in range(len(indptr) - 1)
    ]
    slow = pair_rows(text)
    # a last line without anything is no line
    assert fast == slow[: len(fast)]
    assert all(row == ([], {}) for row in slow[len(fast) :])


def test_columns_are_selected_like_a_sparse_matrix(rng):
    dense = rng.integers(0, 3, size=(20, 9)) * rng.random((20, 9))
    rows, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    position = np.full(9, -1, dtype=np.int32)
    position[[7, 2, 4]] = [0, 1, 2]
    new_indptr, new_columns, values = parsing_arff.select_columns(
        indptr, columns.astype(np.int32), dense[rows, columns], position
    )
    found = np.zeros((20, 3))
    found[np.repeat(np.arange(20), np.diff(new_indptr)), new_columns] = values
    np.testing.assert_array_equal(found, dense[:, [7, 2, 4]])
