"""``labelgap diff``: what changed between two versions of a table, or where two sources differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from labelgap.auditing import TableDiff
from labelgap.auditing import diff as compare_versions
from labelgap.cli._options import LabelledOptions
from labelgap.cli._read_data import read_labelled
from labelgap.cli._table_files import TableOutput
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.cli.audit import read_audit
from labelgap.estimation import SourceOverlap, TwoSources, compare_sources

_N_SHOWN = 10


def diff(
    terminal: Terminal,
    source: LabelledOptions,
    output: TableOutput,
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The later version, or the second source.")
    ],
    audit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="audit.json of the old version: was it right?"),
    ] = None,
    sources: Annotated[
        bool,
        typer.Option(
            "--sources",
            help="DATA and --new are two annotators of the same items: estimate what both missed.",
        ),
    ] = False,
) -> None:
    """Compare two versions of a table, or two sources that labelled the same items.

    Says which labels were added and removed.

    With [bold]--audit[/bold], the suggestions for the old version are compared with what was added.
    With [bold]--sources[/bold], two annotators are compared, and capture-recapture estimates what
    neither of them recorded, if they worked independently of each other; people who both record the
    obvious make the estimate too small.

    [bold]Examples[/bold]

    \b  labelgap diff old.csv new.csv --labels 'tag_*' --item id
      labelgap diff old.csv new.csv --labels 'tag_*' --item id --audit audit/audit.json
      labelgap diff ann.csv bob.csv --labels 'tag_*' --item id --sources
    """
    out = output.check()
    if sources and audit is not None:
        raise BadInputError("--audit: is for two versions of a table; leave it out with --sources")
    before = read_labelled(source, terminal, part="all")
    after = read_labelled(replace(source, data=new), terminal, part="all")
    found = None if audit is None else read_audit(audit)
    with reading(new):
        made = compare_versions(
            before.labels, after.labels, audit=found, old_ids=before.items, new_ids=after.items
        )
    if sources:
        overlap = _overlap(before, after, made)
        payload, lines = _plain_overlap(overlap), _overlap_lines(overlap)
    else:
        payload, lines = _plain_diff(made), _diff_lines(made)
    if out is not None:
        frame = made.to_frame()
        output.save({name: frame[name].to_numpy() for name in frame.columns})
        payload["file"] = out
    terminal.result(payload, *lines)


def _overlap(before: Any, after: Any, made: TableDiff) -> TwoSources:
    """Both sources at the items and labels that both have, in the same order."""
    parts = []
    lost = set(made.lost_items) | set(made.new_items)
    for rows in (before, after):
        names = [str(name) for name in rows.labels.names]
        places = {str(item): row for row, item in enumerate(rows.items)}
        items = sorted(item for item in places if item not in lost)
        parts.append((rows.labels[[places[item] for item in items]], names))
    if parts[0][1] != parts[1][1]:
        raise BadInputError("--sources: needs the same labels in the same order in both tables")
    return compare_sources(parts[0][0], parts[1][0])


def _plain_overlap(overlap: TwoSources) -> dict[str, Any]:
    def plain(counts: SourceOverlap) -> dict[str, Any]:
        return {**counts._asdict(), "missing": counts.missing}

    return {
        "table": plain(overlap.table),
        "labels": {name: plain(counts) for name, counts in overlap.labels.items()},
    }


def _overlap_lines(overlap: TwoSources) -> list[str]:
    table = overlap.table
    lines = [
        f"the first source has {table.n_first:,} labels, the second {table.n_second:,}, both "
        f"{table.n_both:,}",
        f"if they are independent: about {table.value:,.0f} in all ({table.low:,.0f} to "
        f"{table.high:,.0f}), of which neither has {table.missing:,.0f}",
        f"if some labels are easier to see than others: at least about {table.lower_bound:,.0f}",
    ]
    worst = sorted(overlap.labels.items(), key=lambda pair: -pair[1].missing)[:_N_SHOWN]
    return lines + [
        escape(f"  {name}: {counts.n_seen:,} seen, about {counts.missing:,.0f} missed by both")
        for name, counts in worst
        if counts.missing >= 0.5
    ]


def _plain_diff(made: TableDiff) -> dict[str, Any]:
    return {
        "n_items": made.n_items,
        "n_labels": made.n_labels,
        "n_common": made.n_common,
        "n_added": len(made.added),
        "n_removed": len(made.removed),
        "new_items": len(made.new_items),
        "lost_items": len(made.lost_items),
        "new_labels": list(made.new_labels),
        "lost_labels": list(made.lost_labels),
        "by_label": {name: list(counts) for name, counts in made.by_label().items()},
        "suggestions": _checked(made),
        "calibration": None if made.calibration is None else made.calibration._asdict(),
    }


def _checked(made: TableDiff) -> dict[str, Any] | None:
    """How many suggestions there were, how many of them the audit expected right, and how many came."""
    if made.calibration is None:
        return None
    n = len(made.suggested)
    return {
        "n": n,
        "expected": round(sum(p for p, _ in made.suggested), 1),
        "added": sum(came for _, came in made.suggested),
    }


def _diff_lines(made: TableDiff) -> list[str]:
    lines = [
        f"{made.n_items:,} items and {made.n_labels:,} labels in both: {len(made.added):,} labels "
        f"added, {len(made.removed):,} removed, {made.n_common:,} kept",
    ]
    for words, names in (
        ("only in the new version", (made.new_items, made.new_labels)),
        ("only in the old version", (made.lost_items, made.lost_labels)),
    ):
        if any(names):
            lines.append(f"{words}: {len(names[0]):,} items, {len(names[1]):,} labels")
    checked = _checked(made)
    if checked is not None:
        lines.append(
            f"of {checked['n']:,} suggestions of the audit {checked['added']:,} were added since; it "
            f"expected {checked['expected']:,.0f} to be right (what was added is a lower bound)"
        )
    for name, (n_added, n_removed) in list(made.by_label().items())[:_N_SHOWN]:
        lines.append(escape(f"  {name}: +{n_added:,} -{n_removed:,}"))
    return lines
