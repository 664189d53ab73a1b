"""``--label-text``: a table of names and definitions of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgap.cli._terminal import reading
from labelgap.data import DataFormatError, read_frame

LabelTextFile = Annotated[
    Path | None,
    typer.Option(
        "--label-text",
        metavar="FILE",
        help="A table (CSV, Parquet) with the columns label and text: label names, what they mean.",
    ),
]
_COLUMNS = ("label", "text")


def read_label_text(path: Path | None) -> dict[str, str] | None:
    """Return definitions by name of label; None without a file."""
    if path is None:
        return None
    with reading(path):
        table, file = read_frame(path, ids=["label"])
        for name in _COLUMNS:
            if name not in table.columns:
                raise DataFormatError(
                    f"there is no column {name!r}",
                    **file.place_of_names(),
                    remedy="Give the columns label and text",
                )
        names = table["label"].astype(str)
        twice = names.duplicated().to_numpy().nonzero()[0]
        if twice.size:
            raise DataFormatError(
                f"the label {names[twice[0]]!r} occurs twice",
                **file.place(int(twice[0])),
                remedy="Keep one line of each label",
            )
    return dict(zip(names, table["text"].fillna("").astype(str), strict=True))
