"""From the files of a registry entry to one data set; one function per `reader`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from labelgap.data._arff import read_arff
from labelgap.data._contents import Contents
from labelgap.data._dataset import Dataset, stack_splits
from labelgap.data._matlab import read_mat, read_mat_views
from labelgap.data._pairs import read_xc
from labelgap.data._pickles import read_array_pickle
from labelgap.data._registry import Source
from labelgap.views import from_blocks, to_blocks


def assemble(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    """Read the files of `source`, whose bytes are given by path."""
    return READERS[source.reader](name, source, contents)


def _split_or_whole(name: str, source: Source, read: Callable[[str], Dataset]) -> Dataset:
    files = source.files
    if "data" in files:
        return read(files["data"])
    return stack_splits(name, read(files["train"]), read(files["test"]))


def _arff(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    labels = contents[source.files["labels"]]
    return _split_or_whole(
        name, source, lambda path: read_arff(contents[path], labels, **source.options)
    )


def _xc(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    return _split_or_whole(name, source, lambda path: read_xc(contents[path], **source.options))


def _pickle(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    return _split_or_whole(
        name, source, lambda path: read_array_pickle(contents[path], **source.options)
    )


def _mat(name: str, source: Source, contents: Mapping[str, Contents]) -> Dataset:
    return _split_or_whole(name, source, lambda path: read_mat(contents[path], **source.options))


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
    n_rows = part.X.shape[0]
    blocks = to_blocks(part.X, part.views or {})
    present = {view: np.full(n_rows, view in blocks) for view in widths}
    complete: dict[str, Any] = {
        view: blocks.get(view, np.zeros((n_rows, width), dtype=part.X.dtype))
        for view, width in widths.items()
    }
    X, views = from_blocks(complete, present)
    return Dataset(part.name, X, part.Y, views=views)


READERS: dict[str, Callable[[str, Source, Mapping[str, Contents]], Dataset]] = {
    "arff": _arff,
    "xc": _xc,
    "pickle": _pickle,
    "mat": _mat,
    "mat_views": _mat_views,
}
