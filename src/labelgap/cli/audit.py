"""``labelgap audit``: what gaps a table of labels has, and what is probably missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from labelgap.auditing import (
    Audit,
    Estimate,
    ReviewDecisions,
    Suggestion,
    audit_tables,
    read_decisions,
)
from labelgap.auditing import audit as run_audit
from labelgap.cli._design_matrix import named_design
from labelgap.cli._item_cells import with_item_cells
from labelgap.cli._options import (
    AuditedOptions,
    DecisionsFile,
    Folder,
    LearningOptions,
    RandomState,
    Suggestions,
)
from labelgap.cli._read_data import InputRows, data_sources, read_labelled, zeros_of_audit
from labelgap.cli._rows_in_blocks import Cluster, InBlocks, cluster_client, open_blocks
from labelgap.cli._table_files import (
    LabelTextFile,
    RawCsv,
    check_folder,
    read_label_text,
    write_table,
)
from labelgap.cli._terminal import BadInputError, Terminal, ToCopy, bullets, reading, table
from labelgap.data import write_preannotations
from labelgap.files import replacing_folder
from labelgap.report import write_audit_page
from labelgap.review import DecisionStore, is_decision_store

_N_SHOWN = 10
_PREANNOTATIONS = "preannotations.json"


def audit(
    terminal: Terminal,
    source: AuditedOptions,
    suggestions: Suggestions = 1000,
    topics: Annotated[
        int | None, typer.Option(min=1, help="Also find so many topics of the labels.")
    ] = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Also find so many features worth keeping (slow when many)."),
    ] = None,
    label_text: LabelTextFile = None,
    decisions: DecisionsFile = None,
    random_state: RandomState = 0,
    out: Folder = Path("audit"),
    raw_csv: RawCsv = False,
    in_blocks: InBlocks = False,
    cluster: Cluster = None,
) -> None:
    """Find out what gaps labels have, and which labels are probably missing.

    Writes a folder: [bold]report.html[/bold], to look at, with buttons to accept and reject;
    [bold]suggestions[/bold] as .csv and .parquet, the probably missing labels with their
    probabilities and the evidence; [bold]labels.csv[/bold], what was found of each label; and
    [bold]audit.json[/bold], everything. For an export of Label Studio or Argilla also
    [bold]preannotations.json[/bold], to import there.

    [bold]Examples[/bold]

    \b  labelgap audit items.csv --labels 'tag_*' --item id
      labelgap audit items.parquet --label-table tags.parquet --item id -o audit
      labelgap audit notes.csv --text note --labels urgent,legal
      labelgap audit shop.duckdb --query 'SELECT * FROM items' --label-query 'SELECT * FROM tags' \\
          --item id
      labelgap audit items.csv --labels 'tag_*' --item id --decisions decisions.json
      labelgap audit notes.csv --text note --labels urgent,legal --label-text meanings.csv
      labelgap audit items.csv --labels 'tag_*' --date added --annotator by --complete done
      labelgap audit items.parquet --label-table tags.parquet --item id --in-blocks
    """
    check_folder(out)
    decided = decisions_of(decisions)
    asked: dict[str, Any] = {
        "n_suggestions": suggestions,
        "random_state": random_state,
        "decisions": decided,
    }
    if in_blocks or cluster is not None:
        if topics or features or label_text:
            raise BadInputError("--in-blocks: leave out --topics, --features and --label-text")
        with cluster_client(cluster, in_blocks) as client:
            _audit_blocks(terminal, source, asked, client, out, raw_csv)
        return
    rows = read_labelled(source, terminal, part="all")
    X, names, scaled = named_design(rows, source.empty)
    with terminal.progress(f"auditing {rows.n_samples} items") as advance, reading(rows.place):
        found = run_audit(
            X,
            rows.labels,
            item_ids=rows.items,
            feature_names=names,
            zeros=zeros_of_audit(rows, source.zeros),
            n_topics=topics,
            n_selected=features,
            scale=not scaled,
            **_texts(rows, read_label_text(label_text)),
            **rows.history,
            **asked,
            progress=advance,
            command=terminal.command,
            sources=data_sources(rows, source),
        )
        advance("writing the report", 0, None)
        found = with_item_cells(found, rows)
        files = write_audit(found, out, rows.item, raw_csv=raw_csv)
        files += _preannotations(found, rows, source, out)
    terminal.result(
        {**_payload(found), "files": [str(path) for path in files]}, *_shown(found, files)
    )


def _audit_blocks(
    terminal: Terminal,
    source: LearningOptions,
    asked: dict[str, Any],
    client: Any,
    out: Path,
    raw_csv: bool,
) -> None:
    """The audit of rows that are read block by block."""
    with reading(source.data):
        rows = open_blocks(source)
        title = f"auditing {rows.source.n_samples} items"
        with terminal.progress(title) as advance:
            found = run_audit(
                rows.source,
                item_ids=rows.items,
                zeros=rows.zeros,
                **asked,
                progress=advance,
                client=client,
                command=terminal.command,
            )
            files = write_audit(found, out, rows.item, raw_csv=raw_csv)
    terminal.result(
        {**_payload(found), "files": [str(path) for path in files]}, *_shown(found, files)
    )


def _texts(rows: InputRows, meanings: dict[str, str] | None) -> dict[str, Any]:
    """Texts of items and labels, where labels have some."""
    if meanings is None:
        return {}
    if rows.data.texts is None:
        raise BadInputError("--label-text is compared with what items say: give their --text too")
    return {"item_text": list(rows.data.texts), "label_text": meanings}


def _preannotations(
    found: Audit, rows: InputRows, source: LearningOptions, out: Path
) -> list[Path]:
    """What is more likely right than wrong, for the annotation tool that the table came from."""
    table = rows.data.table
    if table is None or not table.is_annotation_export or len(source.labels) != 1:
        return []
    suggested: dict[str, list[tuple[str, float]]] = {}
    for one in found.suggestions:
        if one.probability > 0.5:
            suggested.setdefault(str(one.item), []).append((one.label, one.probability))
    return [write_preannotations(source.data, suggested, source.labels[0], out / _PREANNOTATIONS)]


def decisions_of(path: Path | None) -> ReviewDecisions | None:
    """What people decided, from a file of decisions or the database of a review."""
    if path is None:
        return None
    with reading(path):
        if is_decision_store(path):
            return DecisionStore(path).answers()
        return read_decisions(path)


def read_audit(path: Path) -> Audit:
    """The audit in an audit.json, or in the folder that holds one."""
    path = path / "audit.json" if path.is_dir() else path
    with reading(path):
        return Audit.from_json(path.read_bytes())


def write_audit(found: Audit, out: Path, item: str, *, raw_csv: bool = False) -> list[Path]:
    """All files of an audit, complete or not at all."""
    suggested, labels = audit_tables(found, item=item)
    names = ("report.html", "suggestions.csv", "suggestions.parquet", "labels.csv", "audit.json")
    with replacing_folder(out, names) as (page, as_csv, as_parquet, label_csv, as_json):
        write_audit_page(found, page)
        write_table(suggested, as_csv, ".csv", raw=raw_csv)
        write_table(suggested, as_parquet, ".parquet")
        write_table(labels, label_csv, ".csv", raw=raw_csv)
        as_json.write_text(found.to_json(indent=1) + "\n", encoding="utf-8")
    return [out / name for name in names]


def _payload(found: Audit) -> dict[str, Any]:
    plain = found.to_dict()
    kept = ("audit_id", "summary", "missing", "provenance")
    shown = [
        {"item": one.item, "label": one.label, "probability": one.probability}
        for one in found.suggestions[:_N_SHOWN]
    ]
    return {**{name: plain[name] for name in kept}, "first_suggestions": shown}


def _shown(found: Audit, files: list[Path]) -> list[Any]:
    summary = found.summary
    lines: list[Any] = [
        f"[bold]{summary.n_items:,} items x {summary.n_labels:,} labels[/bold], "
        f"{summary.n_positive:,} recorded, {summary.n_features:,} features",
        "",
        escape(summary.gaps_in_words),
        bullets(summary.sentences),
        "",
    ]
    if found.suggestions:
        lines.append(_suggestion_table(found.suggestions))
    worst = _with_most_gaps(found)
    if worst is not None:
        lines.append(worst)
    lines += [f"  [bold]{escape(str(file))}[/bold]" for file in files]
    lines.append(f"look at it: open {escape(str(files[0]))}")
    (made,) = (file for file in files if file.name == "audit.json")
    review = f"labelgap review {escape(str(made))} --db decisions.sqlite"
    return [*lines, ToCopy(f"decide with your team: {review}")]


def _suggestion_table(suggestions: tuple[Suggestion, ...]) -> Any:
    rows = [
        (escape(one.item), escape(one.label), f"{one.probability:.0%}", escape(_because(one)))
        for one in suggestions[:_N_SHOWN]
    ]
    columns = {"item": "left", "label": "left", "probability": "right", "because": "left"}
    more = len(suggestions) - len(rows)
    return table(
        "Probably missing", columns, rows, f"and {more:,} more in the files" if more else None
    )


def _because(one: Suggestion) -> str:
    """The strongest evidence in one line."""
    parts = [f"says {nearest.word!r}" for nearest in one.evidence.words]
    if one.evidence.cooccurring:
        parts.append("has " + ", ".join(c.label for c in one.evidence.cooccurring[:2]))
    if one.evidence.similar:
        parts.append("like " + ", ".join(s.item for s in one.evidence.similar[:2]))
    if one.evidence.features:
        parts.append(", ".join(f.feature for f in one.evidence.features[:2]))
    return "; ".join(parts)


def _with_most_gaps(found: Audit) -> Any:
    known = [one for one in found.labels if one.expected_missing]
    known.sort(key=lambda one: -(one.expected_missing or 0))
    if not known:
        return None
    frequencies = any(one.label_frequency is not None for one in known)
    rows = []
    for one in known[:_N_SHOWN]:
        cells = [escape(one.name), f"{one.n_positive:,}", f"{one.expected_missing:,.0f}"]
        cells += [_fraction(one.label_frequency)] if frequencies else []
        rows.append((*cells, _fraction(one.auc, 2)))
    headings = ["recorded", "missing", *(["label frequency"] if frequencies else []), "AUC"]
    columns = {"label": "left", **dict.fromkeys(headings, "right")}
    return table("Labels with the most gaps", columns, rows)


def _fraction(estimate: Estimate | None, digits: int = 0) -> str:
    if estimate is None:
        return ""
    if digits:
        return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
    return f"{estimate.value:.0%} ({estimate.low:.0%} to {estimate.high:.0%})"
