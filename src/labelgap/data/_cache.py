"""The cache folder: one file per data set, written at once or not at all, without pickles."""

from __future__ import annotations

import json
import os
import sys
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.data._dataset import Dataset
from labelgap.labels import Labels, State
from labelgap.views import ViewGroups

FORMAT = 1


def cache_folder(cache: str | os.PathLike | None = None) -> Path:
    """Where fetched data sets are kept.

    `cache`, else the environment variable ``LABELGAP_CACHE``, else the user's cache folder of the
    platform.
    """
    if cache is not None:
        return Path(cache).expanduser()
    if os.environ.get("LABELGAP_CACHE"):
        return Path(os.environ["LABELGAP_CACHE"]).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "labelgap"


@contextmanager
def complete_file(target: Path) -> Iterator[Path]:
    """A temporary path that becomes `target` if the block succeeds, and vanishes if it fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".partial-{uuid.uuid4().hex}{target.suffix}")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def dataset_file(folder: Path, name: str, fingerprint: str) -> Path:
    """The file of a data set; another fingerprint or format is another file."""
    return folder / "datasets" / f"{name}-{fingerprint[:12]}-v{FORMAT}.npz"


def save_dataset(dataset: Dataset, target: Path) -> None:
    """Write a data set to one ``.npz`` file that holds plain arrays only."""
    entries = dataset.Y.entries
    arrays: dict[str, Any] = {
        **_pack("X", dataset.X),
        **_pack("Y", entries),
        "unstated": np.array(int(dataset.Y.unstated)),
        "unseen": dataset.Y.unseen,
        "about": np.array(json.dumps({"name": dataset.name, "views": _bounds(dataset.views)})),
    }
    for key, names in (
        ("label_names", dataset.label_names),
        ("feature_names", dataset.feature_names),
    ):
        if names is not None:
            arrays[key] = np.array([str(name) for name in names], dtype=np.str_)
    for key in ("train", "test"):
        if getattr(dataset, key) is not None:
            arrays[key] = getattr(dataset, key)
    with complete_file(target) as partial:
        np.savez_compressed(partial, **arrays)


def load_cached(path: Path) -> Dataset | None:
    """Read what :func:`save_dataset` wrote; None when there is nothing, or nothing readable."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(str(arrays["about"]))
            names = arrays.get("label_names")
            return Dataset(
                name=about["name"],
                X=_unpack("X", arrays),
                Y=Labels(
                    _unpack("Y", arrays),
                    State(int(arrays["unstated"])),
                    names=names,
                    unseen=arrays["unseen"],
                ),
                feature_names=(
                    arrays["feature_names"].astype(object) if "feature_names" in arrays else None
                ),
                train=arrays.get("train"),
                test=arrays.get("test"),
                views=ViewGroups(about["views"]) if about["views"] else None,
            )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
        # damaged by something else than this library: fetched again, and replaced
        return None


def _bounds(views: ViewGroups | None) -> dict[str, list[int]] | None:
    if views is None:
        return None
    return {name: [part.start, part.stop] for name, part in views.items()}


def _pack(key: str, matrix: Any) -> dict[str, np.ndarray]:
    if not sparse.issparse(matrix):
        return {key: matrix}
    return {
        f"{key}_data": matrix.data,
        f"{key}_indices": matrix.indices,
        f"{key}_indptr": matrix.indptr,
        f"{key}_shape": np.array(matrix.shape),
    }


def _unpack(key: str, arrays: Any) -> Any:
    if key in arrays:
        return arrays[key]
    parts = (arrays[f"{key}_data"], arrays[f"{key}_indices"], arrays[f"{key}_indptr"])
    return sparse.csr_array(parts, shape=tuple(arrays[f"{key}_shape"].tolist()))
