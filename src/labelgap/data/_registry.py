"""The table of known data sets: one TOML file each in ``registry/``."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal


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
    :mod:`labelgap.data._assemble` that reads the `files`, `options` are its arguments.
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
    """What is known about a data set without loading it.

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
    """Names that :func:`load_dataset` knows, sorted."""
    return sorted(_table())


def dataset_info(name: str) -> DatasetInfo:
    """The registry entry of a data set: shape, split, licence, citation, sources.

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
