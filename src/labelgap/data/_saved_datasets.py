"""Folders that ``datasets.Dataset.save_to_disk`` writes, read without that package."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from labelgap.data._contents import DataFormatError, shown_damage
from labelgap.extras import require
from labelgap.files import read_json

_STATE, _SPLITS, _INFO = "state.json", "dataset_dict.json", "dataset_info.json"


def is_saved_dataset(folder: Path) -> bool:
    """Whether a folder holds a data set, or several splits of one."""
    return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()


def read_saved_dataset(folder: Path) -> tuple[Any, tuple[str, ...]]:
    """Return the rows of all splits as a frame, with the names of class labels, and notes."""
    pandas = require("pandas", extra="frames", purpose=f"reading {folder}")
    arrow = require("pyarrow", extra="frames", purpose=f"reading {folder}")
    if not (folder / _SPLITS).is_file():
        return _one(folder, arrow), ()
    with _shown_damage(folder):
        splits = read_json((folder / _SPLITS).read_bytes())["splits"]
        frames = [_one(folder / split, arrow) for split in splits]
    note = f"read the splits {', '.join(splits)}, one below the other"
    return pandas.concat(frames, ignore_index=True), (note,)


def _one(folder: Path, arrow: Any) -> Any:
    with _shown_damage(folder):
        state = read_json((folder / _STATE).read_bytes())
        frame = arrow.concat_tables(
            [_rows(folder / part["filename"], arrow) for part in state["_data_files"]]
        ).to_pandas()
        is_picked = bool(state.get("_indices_data_files"))
    if is_picked:
        raise DataFormatError(
            "the data set has rows picked or shuffled that are not written out",
            file=str(folder),
            remedy="Save it with dataset.flatten_indices().save_to_disk(...)",
        )
    info = folder / _INFO
    with _shown_damage(info):
        features = read_json(info.read_bytes()) if info.is_file() else {}
        for column, feature in (features.get("features") or {}).items():
            _name_classes(frame, column, feature)
    return frame


def _shown_damage(file: Path) -> AbstractContextManager[None]:
    return shown_damage("saved data set", file, "Save the data set again with save_to_disk")


def _rows(path: Path, arrow: Any) -> Any:
    with _shown_damage(path), arrow.memory_map(str(path)) as source:
        return arrow.ipc.open_stream(source).read_all()


def _name_classes(frame: Any, column: str, feature: Any) -> None:
    """Numbers of classes become their names; -1 says nothing."""
    inner = feature.get("feature", feature) if isinstance(feature, dict) else feature
    if not isinstance(inner, dict) or inner.get("_type") != "ClassLabel" or column not in frame:
        return
    names = inner["names"]
    if inner is feature:
        frame[column] = [names[int(k)] if k is not None and k >= 0 else None for k in frame[column]]
    else:
        frame[column] = [
            None if row is None else [names[int(k)] for k in row] for row in frame[column]
        ]
