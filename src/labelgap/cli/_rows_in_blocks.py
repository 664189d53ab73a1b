"""Rows that a command reads block by block: a folder of blocks, or Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from labelgap.cli._options import LearningOptions, Zeros
from labelgap.cli._terminal import BadInputError
from labelgap.extras import require
from labelgap.fitting import BlockFolder, LongLabels, ParquetRows, RowSource, WideLabels

InBlocks = Annotated[
    bool,
    typer.Option(
        "--in-blocks",
        help="Read DATA, a folder of blocks or a Parquet file of numbers, block by block: for tables "
        "larger than memory.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="The Dask scheduler on whose workers sums over blocks are computed, with --in-blocks.",
    ),
]
# what says where rows and labels are, in the forms that are read in blocks
_READ = ("data", "item", "drop", "labels", "label_table", "label_column", "value_column", "zeros")


class BlockRows(NamedTuple):
    """Rows in blocks, with the name and values of what identifies them."""

    source: RowSource
    item: str
    items: Any
    zeros: Any


def open_blocks(source: LearningOptions) -> BlockRows:
    """Open DATA without reading its features."""
    _refuse_others(source)
    path, is_unknown = Path(source.data), source.zeros is Zeros.UNKNOWN
    zeros = "auto" if is_unknown else str(source.zeros)
    if path.is_dir():
        given = replace(source, zeros=Zeros.AUTO) != type(source)(data=source.data)
        if given or is_unknown:
            raise BadInputError(
                f"{path}: a folder of blocks brings its labels; leave out --labels, --label-table, "
                "--item, --drop and --zeros unknown"
            )
        return BlockRows(BlockFolder(path), "row", None, zeros)
    if path.suffix != ".parquet":
        raise BadInputError(f"--in-blocks: {path} is no folder of blocks and no .parquet file")
    names = (
        require("pyarrow.parquet", extra="frames", purpose="--in-blocks").read_schema(path).names
    )
    own = _matching(names, [part for given in source.labels for part in given.split(",")])
    if source.label_table is not None:
        labels: Any = LongLabels(
            source.label_table,
            row=source.item or "row",
            label=source.label_column,
            value=source.value_column,
            implicit="unknown" if is_unknown else "negative",
        )
    elif own:
        labels = WideLabels(own)
    else:
        raise BadInputError("--labels: say which columns are labels, or give --label-table")
    apart = {*own, *_matching(names, source.drop), source.item}
    columns = [name for name in names if name not in apart]
    rows = ParquetRows(path, labels, columns=columns, id_column=source.item)
    return BlockRows(rows, source.item or "row", _items(path, source.item), zeros)


@contextmanager
def cluster_client(address: str | None, in_blocks: bool) -> Iterator[Any]:
    """A client of the cluster at an address; None without one."""
    if address is None:
        yield None
        return
    if not in_blocks:
        raise BadInputError("--cluster: is for --in-blocks; add that, or leave it out")
    distributed = require("distributed", extra="dask", purpose="--cluster")
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise BadInputError(f"--cluster {address}: no scheduler answers there ({error})") from error
    with client:
        yield client


def _refuse_others(source: LearningOptions) -> None:
    kept = {name: getattr(source, name) for name in _READ}
    if source != type(source)(**kept):
        raise BadInputError(
            "--in-blocks: takes only --labels, --label-table, --label-column, --value-column, --item, "
            "--drop and --zeros of the options about rows; leave out the others"
        )


def _matching(names: list[str], patterns: list[str]) -> list[str]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BadInputError(f"{pattern}: no column is called that")
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _items(path: Path, item: str | None) -> Any:
    if item is None:
        return None
    parquet = require("pyarrow.parquet", extra="frames", purpose="--in-blocks")
    return parquet.read_table(path, columns=[item]).column(0).to_pylist()
