"""The picture of the rooms is drawn from its script, and agrees with the map of imports."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from test_architecture import ALLOWED

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from draw_architecture import LAYERS, TARGET, WAY, drawing  # noqa: E402

LAYER = {room: position for position, (_, rooms) in enumerate(LAYERS) for room in rooms}
# the door, and helpers of a few lines
NOT_DRAWN = {room for room in ALLOWED if not room or room.startswith("_")}


def test_the_picture_has_every_room():
    assert set(LAYER) == set(ALLOWED) - NOT_DRAWN
    assert sum(len(rooms) for _, rooms in LAYERS) == len(LAYER)


@pytest.mark.parametrize("room", sorted(LAYER))
def test_a_room_stands_on_what_it_may_import(room):
    above = {other for other in ALLOWED[room] - NOT_DRAWN if LAYER[other] < LAYER[room]}
    assert not above, f"{room} may import {above}, which the picture has above it"


def test_the_drawing_is_current():
    assert TARGET.read_text(encoding="utf-8") == drawing(), "run: python docs/draw_architecture.py"
    assert all(0 <= layer < len(LAYERS) for layer, _ in WAY)


def test_the_page_shows_it():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert re.search(r"^```\{image\} architecture\.svg$", page, re.MULTILINE)
