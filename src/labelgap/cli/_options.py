"""Options that commands share: where rows and labels come from, and where results go."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(StrEnum):
    AUTO = "auto"
    TABLE = "table"
    ARFF = "arff"
    SVMLIGHT = "svmlight"
    XC = "xc"
    MAT = "mat"
    NPZ = "npz"


class SplitPart(StrEnum):
    AUTO = "auto"
    ALL = "all"
    TRAIN = "train"
    TEST = "test"


class Empty(StrEnum):
    REFUSE = "refuse"
    MEAN = "mean"
    ZERO = "zero"
    KEEP = "keep"


class EmptyLabels(StrEnum):
    AUTO = "auto"
    ZERO = "zero"
    UNKNOWN = "unknown"


class Zeros(StrEnum):
    AUTO = "auto"
    NEGATIVE = "negative"
    UNLABELED = "unlabeled"
    UNKNOWN = "unknown"


def _rows(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Rows", **settings)


def _labels(*names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Labels", **settings)


RandomState = Annotated[
    int,
    typer.Option(
        "--random-state", "--seed", min=0, help="The same random state gives the same result."
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        "--threshold", min=0, max=1, help="Labels more probable than this count as relevant."
    ),
]
ThresholdOfModel = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        min=0,
        max=1,
        help="Labels more probable than this count as relevant; where the model decides, unless "
        "given (0.5 for a table of predictions).",
    ),
]
Suggestions = Annotated[
    int, typer.Option("--suggestions", min=1, help="How many probably missing labels to list.")
]
DecisionsFile = Annotated[
    Path | None,
    typer.Option(
        "--decisions",
        metavar="FILE",
        help="What was accepted and rejected: exported from the report, or the database of "
        "labelgap review.",
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
            help="A file (CSV with any separator, Parquet, Excel, JSON lines, Feather, an export of "
            "Label Studio or Argilla, ARFF, svmlight, MATLAB, NumPy; compressed or not), a folder of "
            "such tables or of a saved Hugging Face data set, a DuckDB or SQLite file, or the name of "
            "a data set (see: labelgap datasets).",
        ),
    ]
    query: Annotated[
        str | None,
        _rows(
            metavar="SQL",
            help="The rows of a database, such as 'SELECT * FROM items'; not needed when it holds "
            "one table.",
        ),
    ] = None
    format: Annotated[Format, _rows(help="The format of DATA; by its name unless given.")] = (
        Format.AUTO
    )
    item: Annotated[
        str | None,
        _rows(
            metavar="COLUMN", help="The column that identifies a row; row numbers from 0 otherwise."
        ),
    ] = None
    drop: Annotated[
        list[str],
        _rows(
            metavar="COLUMN",
            help="A column (or pattern) that is neither feature nor label; repeatable.",
        ),
    ] = field(default_factory=list)
    rows: Annotated[
        SplitPart,
        _rows(help="Which part of the official split; auto: the part that suits the command."),
    ] = SplitPart.AUTO
    zero_based: Annotated[
        bool, _rows("--zero-based", help="Feature numbers of an svmlight file start at 0.")
    ] = False
    fetch: Annotated[bool, _rows(help="Whether a data set may be fetched.")] = True


@dataclass(frozen=True, kw_only=True)
class LabelledOptions(RowOptions):
    """Where rows and their labels come from."""

    labels: Annotated[
        list[str],
        _labels(
            "--labels",
            "-l",
            metavar="COLUMNS",
            help="Label columns: names or patterns such as 'tag_*', separated by commas or "
            "repeated. Cells are 1, 0, or empty for unknown; yes and no; x and nothing. One column "
            "may list the labels of a row: 'a;b;c', JSON lists. For ARFF also the Mulan XML file, "
            "or a number (first n, or last n when negative).",
        ),
    ] = field(default_factory=list)
    separator: Annotated[
        str,
        _labels(
            metavar="TEXT",
            help="What is between two labels in a column that lists them; json: JSON lists; auto: "
            "found out, and said.",
        ),
    ] = "auto"
    empty_labels: Annotated[
        EmptyLabels,
        _labels(
            "--empty-labels",
            help="What an empty cell of a label is. auto: unknown where the column has another way "
            "to say no (0, no, []), otherwise a zero.",
        ),
    ] = EmptyLabels.AUTO
    label_table: Annotated[
        Path | None,
        _labels(
            metavar="FILE",
            help="A long table (CSV, Parquet, or a folder of them) with one item-label pair per "
            "line, in place of the labels in DATA; --labels then says which columns of DATA are no "
            "features.",
        ),
    ] = None
    label_query: Annotated[
        str | None,
        _labels(
            metavar="SQL",
            help="The long table from the database DATA, such as 'SELECT id, tag AS label FROM "
            "tags'; in place of --label-table.",
        ),
    ] = None
    label_column: Annotated[str, _labels(metavar="COLUMN", help="The label in the long table.")] = (
        "label"
    )
    value_column: Annotated[
        str | None,
        _labels(
            metavar="COLUMN",
            help="1, 0 or empty for unknown in the long table; the column 'value' if it has one, "
            "else every pair is a 1.",
        ),
    ] = None
    zeros: Annotated[
        Zeros,
        _labels(
            "--zeros",
            help="What a 0, and a pair that is not in the long table, means. negative: the label "
            "is irrelevant; unlabeled: it may be missing; unknown: nothing is known of pairs that "
            "are not listed; auto: unlabeled where models learn from a table without unknown "
            "entries, otherwise negative.",
        ),
    ] = Zeros.AUTO
    text: Annotated[
        str | None, _rows(metavar="COLUMN", help="A column of text, turned into TF-IDF features.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class LearningOptions(LabelledOptions):
    """Rows and labels to learn from."""

    empty: Annotated[
        Empty,
        _rows(
            "--empty",
            help="What an empty cell of a feature is. mean: the mean of its column; zero: 0; refuse: "
            "an error with its place; keep: absent, for models that take rows without some of "
            "their views (labelgap fit --model imvwl).",
        ),
    ] = Empty.MEAN


@dataclass(frozen=True)
class AuditedOptions(LearningOptions):
    """Rows and labels to audit, and what the table says of how they came about."""

    date: Annotated[
        str | None,
        _rows(
            metavar="COLUMN",
            help="When a row was labelled: a label is unknown on rows from before it was first used.",
        ),
    ] = None
    annotator: Annotated[
        str | None,
        _rows(metavar="COLUMN", help="Who labelled a row: people differ in how much they record."),
    ] = None
    complete: Annotated[
        str | None,
        _rows(metavar="COLUMN", help="Whether a row has all its labels (1 or 0, yes or no)."),
    ] = None
