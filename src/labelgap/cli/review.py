"""``labelgap review``: people decide about probably missing labels, in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from labelgap.auditing import Audit, AuditRescorer
from labelgap.auditing import audit as run_audit
from labelgap.cli._design_matrix import named_design
from labelgap.cli._options import DecisionsFile, LearningOptions, RandomState, Suggestions, Zeros
from labelgap.cli._read_data import data_sources, read_labelled, zeros_of_audit
from labelgap.cli._review_items import describe_items, explain_labels, table_population
from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.cli.audit import decisions_of
from labelgap.estimation import expected_width
from labelgap.extras import require
from labelgap.review import DecisionStore, Review, ReviewServer, item_traits, review_candidates

_RANDOM_FRACTION = 0.3


def review(
    terminal: Terminal,
    source: LearningOptions,
    db: Annotated[
        Path,
        typer.Option("--db", metavar="FILE", help="The SQLite file of decisions; made if need be."),
    ] = Path("decisions.sqlite"),
    estimate: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many entries at random, to estimate what is missing."),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(min=0.5, help="As --estimate, for a 95% interval about so many labels wide."),
    ] = None,
    certify: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=0.999,
            help="Draw some questions at random, to show when this fraction of the missing labels "
            "has been found with 95% confidence.",
        ),
    ] = None,
    reviewer: Annotated[
        str, typer.Option(metavar="NAME", help="The name that the page starts with.")
    ] = "",
    definitions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A table of labels and their definitions, to be shown."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of this machine; 0 takes a free one.")
    ] = 0,
    suggestions: Suggestions = 5000,
    decisions: DecisionsFile = None,
    random_state: RandomState = 0,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser of this machine.")
    ] = False,
) -> None:
    """Decide about probably missing labels, one question after another, in the browser.

    DATA is an [bold]audit.json[/bold] of labelgap audit, or what labelgap audit takes: then the
    page shows the items themselves, and answers about one item teach about similar ones. The next
    question is the one whose answer is expected to gain most; the model learns after each batch.

    With [bold]--estimate[/bold], questions are drawn at random from all entries that are not
    recorded (from the suggestions of an audit.json), and the answers say how many labels are missing.
    With [bold]--certify 0.9[/bold], the page shows when 90% of them have been found for sure.

    The page is served on this machine alone, to whoever has the address with its token. Every
    decision is on the disk before the next question comes; stop with Ctrl-C and go on any time.
    Several people may review at once, all answers are kept, and the last one about an entry counts.

    [bold]Examples[/bold]

    \b  labelgap review items.csv --labels 'tag_*' --item id --db decisions.sqlite
      labelgap review audit/audit.json --db decisions.sqlite --open
      labelgap review items.csv --labels 'tag_*' --item id --estimate 200
      labelgap review items.csv --labels 'tag_*' --item id --certify 0.9 --reviewer Ann
    """
    check_target(db, "--db")
    require("jinja2", extra="cli", purpose="labelgap review")
    _check_sampling(estimate, width, certify)
    sampling: dict[str, Any] = {}
    if estimate is not None or width is not None:
        sampling = {"n_wanted": estimate or 1}
    elif certify is not None:
        sampling = {"random_fraction": _RANDOM_FRACTION, "goal": certify}
    if Path(source.data).suffix.lower() == ".json":
        if source.zeros is not Zeros.AUTO or decisions is not None or definitions is not None:
            raise BadInputError(
                "--zeros, --decisions and --definitions: are for a table, and this is an audit; "
                "leave them out"
            )
        found = _read_audit(Path(source.data))
        session = Review(found, _store(db, found), **sampling)
    else:
        session = _of_data(
            source, db, suggestions, decisions, definitions, random_state, terminal, sampling
        )
    plan = _plan(session, estimate, width)
    try:
        server = ReviewServer(session, port=port, reviewer=reviewer)
    except OSError as error:
        raise BadInputError(f"--port {port}: {error.strerror}; take another, or 0") from error
    payload = {
        "url": server.url,
        "db": str(db),
        "audit_id": session.audit.audit_id,
        "n_suggestions": len(session.audit.suggestions),
        "n_answers_wanted": session.n_wanted,
    }
    terminal.result(payload, *_shown(session, server, db, plan))
    if open_page:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        for line in _outcome(session, db):
            terminal.note(line)
    finally:
        server.server_close()


def _check_sampling(estimate: int | None, width: float | None, certify: float | None) -> None:
    if certify is not None and (estimate is not None or width is not None):
        raise BadInputError(
            "--certify: cannot be combined with --estimate or --width, whose questions are all drawn "
            "at random; leave one out"
        )


def _store(db: Path, found: Audit) -> DecisionStore:
    if not found.suggestions:
        raise BadInputError("the audit suggests nothing: there is nothing to review")
    return DecisionStore(db, found.audit_id)


def _read_audit(path: Path) -> Audit:
    with reading(path):
        return Audit.from_json(path.read_bytes())


def _of_data(
    source: LearningOptions,
    db: Path,
    suggestions: int,
    decisions: Path | None,
    definitions: Path | None,
    random_state: int,
    terminal: Terminal,
    sampling: dict[str, Any],
) -> Review:
    decided = decisions_of(decisions)
    rows = read_labelled(source, terminal, part="all")
    explain = explain_labels(rows, definitions)
    X, names, scaled = named_design(rows, source.empty)
    how: dict[str, Any] = {
        "item_ids": rows.items,
        "zeros": zeros_of_audit(rows, source.zeros),
        "scale": not scaled,
        "decisions": decided,
        "random_state": random_state,
    }
    with terminal.progress(f"auditing {rows.n_samples} items") as advance, reading(rows.place):
        found = run_audit(
            X,
            rows.labels,
            **how,
            feature_names=names,
            n_suggestions=suggestions,
            progress=advance,
            command=terminal.command,
            sources=data_sources(rows, source),
        )
        population = table_population(rows, X, how) if sampling else None
    candidates = review_candidates(found, rows.items, item_traits(X, random_state=random_state))
    return Review(
        found,
        _store(db, found),
        candidates,
        population=population,
        describe=describe_items(rows),
        explain=explain,
        rescore=AuditRescorer(X, rows.labels, **how),
        **sampling,
    )


def _plan(session: Review, estimate: int | None, width: float | None) -> list[str]:
    """How many answers an estimate takes, said before anybody is asked."""
    part = session.random_part
    if width is not None:
        needed = part.answers_for_width(width)
        if needed is None or needed > part.design.n_entries:
            raise BadInputError(
                f"--width {width:g}: takes more answers than there are entries; ask for a wider one"
            )
        session.n_wanted = estimate = needed
    if estimate is None:
        return []
    session.n_wanted = min(estimate, part.design.n_entries)
    expected = expected_width(part.design, session.n_wanted)
    half = part.answers_for_width(expected / 2)
    return [
        f"{session.n_wanted:,} entries are drawn at random from {part.design.n_entries:,}: if the "
        f"predictions hold, an interval about {expected:,.0f} labels wide; half of that takes about "
        f"{half or part.design.n_entries:,} answers"
    ]


def _outcome(session: Review, db: Path) -> list[str]:
    seen = session.progress()
    lines = [
        f"{seen.n_accepted} accepted and {seen.n_rejected} rejected, kept in {db}",
    ]
    if session.n_wanted is not None and session.tally.n_answers:
        made = session.estimate()
        lines.append(
            f"missing labels: about {made.value:,.0f} ({made.low:,.0f} to {made.high:,.0f} if they "
            f"follow the predictions; whatever they follow, {made.guaranteed_low:,} to "
            f"{made.guaranteed_high:,}), from {made.n_answers} answers"
        )
    proof = seen.certificate
    if proof is not None and session.n_wanted is None:
        lines.append(
            f"with 95% confidence at least {proof.recall:.0%} of the missing labels were found "
            f"({proof.n_drawn} random draws answered)"
        )
    return lines


def _shown(session: Review, server: ReviewServer, db: Path, plan: list[str]) -> list[str]:
    seen = session.progress()
    n_decided = seen.n_accepted + seen.n_rejected
    return [
        f"{seen.n_candidates:,} probably missing labels to review; {n_decided:,} are decided in "
        f"{escape(str(db))}"
        if not plan
        else plan[0],
        f"open  [bold]{escape(server.url)}[/bold]",
        "stop with Ctrl-C",
    ]
