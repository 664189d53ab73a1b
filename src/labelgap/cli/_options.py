"""Options that commands share: where rows and labels come from, where results go, and the seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    AUTO = "auto"
    TABLE = "table"
    ARFF = "arff"
    SVMLIGHT = "svmlight"
    XC = "xc"
    MAT = "mat"
    NPZ = "npz"


class Rows(StrEnum):
    AUTO = "auto"
    ALL = "all"
    TRAIN = "train"
    TEST = "test"


class Unstated(StrEnum):
    IRRELEVANT = "irrelevant"
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"


class Empty(StrEnum):
    REFUSE = "refuse"
    MEAN = "mean"
    ZERO = "zero"
    KEEP = "keep"


class Zeros(StrEnum):
    AUTO = "auto"
    IRRELEVANT = "irrelevant"
    AMBIGUOUS = "ambiguous"


_ROWS, _LABELS = "Rows", "Labels"

Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")]
Threshold = Annotated[
    float,
    typer.Option(
        "--threshold", min=0, max=1, help="Labels more probable than this count as a yes."
    ),
]
Suggestions = Annotated[
    int, typer.Option("--suggestions", min=1, help="How many probably missing labels to list.")
]
ZerosMean = Annotated[
    Zeros,
    typer.Option(
        "--zeros",
        help="Whether a zero may be a forgotten label. auto: it may, unless the table also has "
        "empty cells for what nobody looked at.",
    ),
]
DecisionsFile = Annotated[
    Path | None,
    typer.Option(
        "--decisions",
        metavar="FILE",
        help="What was accepted and rejected, exported from the report or from labelgap review.",
    ),
]
_TABLE = typer.Option("--out", "-o", metavar="FILE", help="A .csv or .parquet file to write.")
TableFile = Annotated[Path, _TABLE]
TableFileIfAny = Annotated[Path | None, _TABLE]
Folder = Annotated[
    Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; made if need be.")
]


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Where rows of features come from."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A file (CSV, Parquet, ARFF, svmlight, MATLAB, NumPy; compressed or not), a "
            "folder of CSV or Parquet files, a DuckDB or SQLite file, or the name of a data "
            "set (see: labelgap datasets).",
        ),
    ]
    query: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="The rows of a database, such as 'SELECT * FROM items'; not needed when it holds "
            "one table.",
            rich_help_panel=_ROWS,
        ),
    ] = None
    format: Annotated[
        Format,
        typer.Option(help="The format of DATA; by its name unless given.", rich_help_panel=_ROWS),
    ] = Format.AUTO
    item: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that identifies a row; row numbers from 0 otherwise.",
            rich_help_panel=_ROWS,
        ),
    ] = None
    drop: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="A column (or pattern) that is neither feature nor label; repeatable.",
            rich_help_panel=_ROWS,
        ),
    ] = field(default_factory=list)
    rows: Annotated[
        Rows,
        typer.Option(
            help="Which part of the official split; auto: the part that suits the command.",
            rich_help_panel=_ROWS,
        ),
    ] = Rows.AUTO
    zero_based: Annotated[
        bool,
        typer.Option(
            "--zero-based",
            help="Feature numbers of an svmlight file start at 0.",
            rich_help_panel=_ROWS,
        ),
    ] = False
    fetch: Annotated[
        bool,
        typer.Option(help="Whether a data set may be fetched.", rich_help_panel=_ROWS),
    ] = True


@dataclass(frozen=True, kw_only=True)
class LabelledOptions(RowOptions):
    """Where rows and their labels come from."""

    labels: Annotated[
        list[str],
        typer.Option(
            "--labels",
            "-l",
            metavar="COLUMNS",
            help="Label columns: names or patterns such as 'tag_*', separated by commas or "
            "repeated. Cells are 1, 0, or empty for unknown. For ARFF also the Mulan XML file, "
            "or a number (first n, or last n when negative).",
            rich_help_panel=_LABELS,
        ),
    ] = field(default_factory=list)
    label_table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A long table (CSV, Parquet, or a folder of them) with one item-label pair per "
            "line, in place of the labels in DATA; --labels then says which columns of DATA are no "
            "features.",
            rich_help_panel=_LABELS,
        ),
    ] = None
    label_query: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="The long table from the database DATA, such as 'SELECT id, tag AS label FROM "
            "tags'; in place of --label-table.",
            rich_help_panel=_LABELS,
        ),
    ] = None
    label_column: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="The label in the long table.", rich_help_panel=_LABELS
        ),
    ] = "label"
    value_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="1, 0 or empty for unknown in the long table; the column 'value' if it has one, "
            "else every pair is a 1.",
            rich_help_panel=_LABELS,
        ),
    ] = None
    unstated: Annotated[
        Unstated,
        typer.Option(
            help="What a pair that is not in the long table means. For label columns: whether a 0 "
            "is a no (irrelevant) or may be a label nobody looked for (ambiguous).",
            rich_help_panel=_LABELS,
        ),
    ] = Unstated.IRRELEVANT
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of text, turned into TF-IDF features.",
            rich_help_panel=_ROWS,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LearningOptions(LabelledOptions):
    """Rows and labels to learn from."""

    empty: Annotated[
        Empty,
        typer.Option(
            "--empty",
            help="What an empty cell of a feature is. refuse: an error with its place; mean: the "
            "mean of its column; zero: 0; keep: absent, for models that take rows without some of "
            "their views (labelgap fit --model imvwl).",
            rich_help_panel=_ROWS,
        ),
    ] = Empty.REFUSE
