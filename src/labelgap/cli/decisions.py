"""``labelgap decisions``: decisions of reviews out of a database, into one, and of several together."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from labelgap.auditing import read_decisions, write_decisions
from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.review import DecisionStore, ReviewTally, StoredDecision, is_decision_store


class Action(StrEnum):
    EXPORT = "export"
    IMPORT = "import"
    MERGE = "merge"
    AGREEMENT = "agreement"


def decisions(
    terminal: Terminal,
    action: Annotated[
        Action,
        typer.Argument(
            help="export: the answers of a database as a small JSON file. import, merge: all decisions "
            "of FILES into the database --out. agreement: how far reviewers agree.",
        ),
    ],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Databases of labelgap review, or decisions files."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")
    ] = None,
) -> None:
    """Export, import or merge the decisions of reviews, or compare the reviewers.

    All files must be about the same audit. A merged database has every decision once, in the order
    of their times: the last one about an entry counts.

    [bold]Examples[/bold]

    \b  labelgap decisions export decisions.sqlite -o decisions.json
      labelgap decisions import decisions.json -o decisions.sqlite
      labelgap decisions merge ann.sqlite bob.sqlite -o all.sqlite
      labelgap decisions agreement all.sqlite
    """
    audit, made = _read_all(files)
    if action is Action.AGREEMENT:
        if out is not None:
            raise BadInputError("--out: agreement writes nothing; leave it out, or add --json")
        return _show_agreement(terminal, made)
    if out is None:
        raise BadInputError(f"--out: name the file that {action} writes")
    check_target(out)
    if action is Action.EXPORT:
        if len(files) > 1:
            raise BadInputError("export: takes one database; merge several first")
        with reading(files[0]):
            answers = DecisionStore(files[0]).answers() if is_decision_store(files[0]) else None
        if answers is None:
            raise BadInputError(f"{files[0]}: is no database of decisions, and export reads one")
        write_decisions(answers, out)
        n_written = len(answers.decisions)
    else:
        with reading(out):
            store = DecisionStore(out, audit)
            n_written = store.add_all(made)
            store.close()
    payload = {"audit_id": audit, "n_read": len(made), "n_written": n_written, "file": str(out)}
    terminal.result(payload, f"{n_written:,} decisions written to {escape(str(out))}")
    return None


def _read_all(files: list[Path]) -> tuple[str, list[StoredDecision]]:
    """The audit that all files are about, and their decisions in the order of their times."""
    audits: dict[str, Path] = {}
    made: list[StoredDecision] = []
    for path in files:
        with reading(path):
            if is_decision_store(path):
                store = DecisionStore(path)
                audit, found = store.audit, store.since(0)
                store.close()
            else:
                read = read_decisions(path)
                audit = read.audit
                found = [
                    StoredDecision(
                        0, one.item, one.label, one.decision, one.reviewer or "reviewer", one.time
                    )
                    for one in read.decisions
                ]
        audits.setdefault(audit, path)
        made += found
    if len(audits) > 1:
        first, second = list(audits)[:2]
        raise BadInputError(
            f"{audits[second]}: is about the audit {second}, {audits[first]} about {first}; "
            "decisions of different audits cannot be put together"
        )
    return next(iter(audits)), sorted(made, key=lambda one: one.time)


def _show_agreement(terminal: Terminal, made: list[StoredDecision]) -> None:
    tally = ReviewTally()
    for number, one in enumerate(made, start=1):
        tally.add(one._replace(number=number))
    pairs, differ = tally.agreement(), tally.disagreements()
    payload = {
        "by_reviewer": dict(tally.by_reviewer),
        "pairs": [vars(pair) for pair in pairs],
        "disagreements": [vars(one) for one in differ],
    }
    lines = [f"{escape(name)}: {n:,} answers that count" for name, n in tally.by_reviewer.items()]
    lines += [
        f"{escape(pair.first)} and {escape(pair.second)}: agree on {pair.n_agree:,} of {pair.n_both:,}"
        + ("" if pair.kappa is None else f", kappa {pair.kappa:.2f}")
        for pair in pairs
    ]
    lines += [
        escape(f"{one.label} for {one.item}: " + ", then ".join(map(" ".join, one.answers)))
        for one in differ
    ]
    terminal.result(payload, *(lines or ["nobody has answered yet"]))
