"""Files are replaced whole or not at all."""

from __future__ import annotations

import pytest

from labelgap.files import replacing


def test_all_targets_are_replaced_together(tmp_path):
    targets = [tmp_path / "a.npz", tmp_path / "b.csv"]
    targets[0].write_text("old")
    with replacing(*targets) as partial:
        for path, target in zip(partial, targets, strict=True):
            assert path.suffix == target.suffix
            path.write_text("new")
        assert targets[0].read_text() == "old"
    assert [path.read_text() for path in sorted(tmp_path.iterdir())] == ["new", "new"]


def test_nothing_is_left_when_writing_fails(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write_half() -> None:
        with replacing(target) as (partial,):
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
