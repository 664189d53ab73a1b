"""The co-occurrence map as inline SVG: blue pairs come together often, orange ones seldom."""

from __future__ import annotations

from html import escape

import numpy as np

from labelgap.audit import MOST_EXTREME, CooccurrenceMap, damped_log_lift

_CELL, _LETTER, _MOST_LETTERS = 22, 7.0, 18


def map_svg(pairs: CooccurrenceMap, n_items: int) -> str:
    """The picture; every cell says in words what it is when pointed at."""
    names = [_short(name) for name in pairs.labels]
    left = int(_LETTER * max(map(len, names))) + 12
    top = int(0.82 * _LETTER * max(map(len, names))) + 16
    right = int(0.6 * _LETTER * len(names[-1])) + 8
    width, height = left + _CELL * len(names) + right, top + _CELL * len(names) + 2
    parts = [
        f'<svg class="map" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="map-title map-words">'
        '<title id="map-title">How often labels come together</title>'
        f'<desc id="map-words">{escape(describe(pairs, n_items))}</desc>'
    ]
    for k, name in enumerate(names):
        x, y = left + _CELL * k + _CELL / 2, top + _CELL * k + _CELL / 2
        parts.append(
            f'<text class="name" transform="translate({x + 3:g} {top - 5}) rotate(-55)">'
            f"{escape(name)}</text>"
            f'<text class="name" x="{left - 6}" y="{y + 4:g}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
    strength = damped_log_lift(np.array(pairs.counts), n_items)
    for i in range(len(names)):
        for j in range(len(names)):
            place = (left + _CELL * j, top + _CELL * i)
            parts.append(_cell(pairs, float(strength[i, j]), i, j, *place))
    return "".join([*parts, "</svg>"])


def strongest(
    pairs: CooccurrenceMap, n_items: int, most: int = 10
) -> list[tuple[str, str, int, float]]:
    """The pairs that differ most from independence, with counts and lift."""
    if not pairs.labels:
        return []
    strength = np.abs(damped_log_lift(np.array(pairs.counts), n_items))
    found = [
        (strength[i, j], i, j)
        for i in range(len(pairs.labels))
        for j in range(i + 1, len(pairs.labels))
    ]
    found.sort(key=lambda one: -one[0])
    return [
        (pairs.labels[i], pairs.labels[j], pairs.counts[i][j], pairs.lift[i][j])
        for _, i, j in found[:most]
    ]


def describe(pairs: CooccurrenceMap, n_items: int) -> str:
    """The picture in a sentence, for those who cannot see it."""
    said = [
        f"{first} and {second}: {n} items, {lift:.1f} times what chance would give"
        for first, second, n, lift in strongest(pairs, n_items, 5)
    ]
    return f"{len(pairs.labels)} labels. Farthest from chance: {'; '.join(said)}."


def _cell(pairs: CooccurrenceMap, strength: float, i: int, j: int, x: int, y: int) -> str:
    size = _CELL - 2
    place = f'x="{x + 1}" y="{y + 1}" width="{size}" height="{size}" rx="2"'
    first, second, n = pairs.labels[i], pairs.labels[j], pairs.counts[i][j]
    if i == j:
        words = f"{first}: {n:,} items"
        return f'<rect class="self" {place}><title>{escape(words)}</title></rect>'
    kind = "often" if strength >= 0 else "seldom"
    words = f"{first} and {second}: {n:,} items, {pairs.lift[i][j]:.2f} times what chance gives"
    return (
        f'<rect class="{kind}" {place} fill-opacity="{abs(strength) / MOST_EXTREME:.2f}">'
        f"<title>{escape(words)}</title></rect>"
    )


def _short(name: str) -> str:
    return name if len(name) <= _MOST_LETTERS else name[: _MOST_LETTERS - 1] + "…"
