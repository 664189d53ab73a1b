"""Slow twins of the text parsers: split, strip and ask Python."""

from __future__ import annotations

import math


def arff_rows(text: str, categories: list[list[str] | None]) -> list[dict[int, float]]:
    """Stated values per row of unquoted ARFF data: the position of a category, or the number."""
    rows = []
    for line in text.split("\n"):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("{"):
            pairs = [part.split() for part in line[1:-1].split(",") if part.strip()]
            stated = {int(column): token for column, token in pairs}
        else:
            stated = dict(enumerate(token.strip() for token in line.split(",")))
        row = {column: _value(token, categories[column]) for column, token in stated.items()}
        if not line.startswith("{"):
            row = {column: value for column, value in row.items() if value != 0}
        rows.append(row)
    return rows


def pair_rows(text: str) -> list[tuple[list[int], dict[int, float]]]:
    """Labels and features of every line of ``label,label index:value ...``."""
    rows = []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        labels = []
        if words and ":" not in words[0]:
            labels = [int(label) for label in words.pop(0).split(",")]
        pairs = (word.split(":") for word in words)
        rows.append((labels, {int(feature): float(value) for feature, value in pairs}))
    return rows


def _value(token: str, categories: list[str] | None) -> float:
    if token == "?":
        return math.nan
    return float(token) if categories is None else float(categories.index(token))
