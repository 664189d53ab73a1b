"""``labelgap review``: people decide about probably missing labels, in the browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from labelgap.auditing import Audit, AuditRescorer, impute
from labelgap.auditing import audit as run_audit
from labelgap.cli._design_matrix import named_design
from labelgap.cli._item_cells import ItemCells, explain_labels
from labelgap.cli._options import DecisionsFile, LearningOptions, RandomState, Suggestions
from labelgap.cli._read_data import InputRows, data_sources, read_labelled, zeros_of_audit
from labelgap.cli._table_files import LabelTextFile, check_target, read_label_text
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.cli.audit import decisions_of, read_audit
from labelgap.estimation import expected_width
from labelgap.extras import require
from labelgap.labels import State
from labelgap.review import (
    DecisionStore,
    Population,
    Review,
    ReviewServer,
    item_traits,
    review_candidates,
)

_RANDOM_FRACTION = 0.3
_MOST_ENTRIES = 20_000_000


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Which questions are drawn at random."""

    estimate: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many entries at random, to estimate what is missing."),
    ] = None
    width: Annotated[
        float | None,
        typer.Option(min=0.5, help="As --estimate, for a 95% interval about so many labels wide."),
    ] = None
    certify: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=0.999,
            help="Draw some questions at random, to show when this fraction of the missing labels "
            "has been found with 95% confidence.",
        ),
    ] = None

    def of_review(self) -> dict[str, Any]:
        """Options of a review."""
        if self.estimate is not None or self.width is not None:
            if self.certify is not None:
                raise BadInputError(
                    "--certify: cannot be combined with --estimate or --width, whose questions are "
                    "all drawn at random; leave one out"
                )
            return {"n_wanted": self.estimate or 1}
        if self.certify is not None:
            return {"random_fraction": _RANDOM_FRACTION, "goal": self.certify}
        return {}


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How the page is served."""

    reviewer: Annotated[
        str, typer.Option(metavar="NAME", help="The name that the page starts with.")
    ] = ""
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of this machine; 0 takes a free one.")
    ] = 0
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser of this machine.")
    ] = False


def review(
    terminal: Terminal,
    source: LearningOptions,
    draws: DrawOptions,
    serving: ServerOptions,
    db: Annotated[
        Path,
        typer.Option("--db", metavar="FILE", help="The SQLite file of decisions; made if need be."),
    ] = Path("decisions.sqlite"),
    label_text: LabelTextFile = None,
    suggestions: Suggestions = 5000,
    decisions: DecisionsFile = None,
    random_state: RandomState = 0,
) -> None:
    """Decide about probably missing labels, one question after another, in the browser.

    DATA is an [bold]audit.json[/bold] of labelgap audit, or what labelgap audit takes: then answers
    about one item teach about similar ones, and all labels of an item can be set. The next question
    is the one whose answer is expected to gain most; the model learns after each batch.

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
    sampling = draws.of_review()
    if _is_audit(source):
        of_tables = (label_text, decisions, suggestions, random_state)
        if source != LearningOptions(data=source.data) or of_tables != (None, None, 5000, 0):
            raise BadInputError(
                f"{source.data}: is an audit, which knows its table; leave out all options of tables "
                "(--labels, --item, --text, --zeros, --label-text, --decisions, --suggestions, ...)"
            )
        found = read_audit(Path(source.data))
        session = Review(found, _store(db, found), **sampling)
    else:
        session = _of_data(
            source, db, suggestions, decisions, label_text, random_state, terminal, sampling
        )
    plan = _plan(session, draws)
    try:
        server = ReviewServer(session, port=serving.port, reviewer=serving.reviewer)
    except OSError as error:
        raise BadInputError(
            f"--port {serving.port}: {error.strerror}; take another, or 0"
        ) from error
    payload = {
        "url": server.url,
        "db": str(db),
        "audit_id": session.audit.audit_id,
        "n_suggestions": len(session.audit.suggestions),
        "n_answers_wanted": session.n_wanted,
    }
    terminal.result(payload, *_shown(session, server, db, plan))
    if serving.open_page:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        for line in _outcome(session, db):
            terminal.note(line)
    finally:
        server.server_close()


def _is_audit(source: LearningOptions) -> bool:
    """Whether DATA is an audit, or a folder with one; exports of annotation tools are JSON too."""
    path = Path(source.data)
    if path.is_dir():
        return (path / "audit.json").is_file()
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with open(path, "rb") as stream:
        return not source.labels or b'"audit_id"' in stream.read(4096)


def _store(db: Path, found: Audit) -> DecisionStore:
    if not found.suggestions:
        raise BadInputError("the audit suggests nothing: there is nothing to review")
    return DecisionStore(db, found.audit_id)


def _of_data(
    source: LearningOptions,
    db: Path,
    suggestions: int,
    decisions: Path | None,
    label_text: Path | None,
    random_state: int,
    terminal: Terminal,
    sampling: dict[str, Any],
) -> Review:
    decided = decisions_of(decisions)
    rows = read_labelled(source, terminal, part="all")
    meanings = read_label_text(label_text)
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
    cells = ItemCells(rows)
    candidates = review_candidates(found, rows.items, item_traits(X, random_state=random_state))
    return Review(
        found,
        _store(db, found),
        candidates,
        population=population,
        describe=cells,
        labels_of=cells.labels_of,
        explain=explain_labels(rows, meanings or {}),
        rescore=AuditRescorer(X, rows.labels, **how),
        **sampling,
    )


def table_population(rows: InputRows, X: Any, how: Mapping[str, Any]) -> Population:
    """All entries of a table that are not recorded, with the probabilities of the audit's model."""
    labels = rows.labels
    n_entries = rows.n_samples * labels.n_labels
    if n_entries > _MOST_ENTRIES:
        raise BadInputError(
            f"--estimate, --certify: draw from all entries of the table, and {n_entries:,} are "
            f"more than {_MOST_ENTRIES:,}; give a part of the rows, or an audit.json, whose "
            "suggestions are then drawn from"
        )
    if how["zeros"] == "auto" and not labels.has_gaps:
        # people decide: that labels are missing may be assumed
        how = {**how, "zeros": "unlabeled"}
    at, columns, p = impute(X, labels, threshold=0.0, max_entries=n_entries, **how)
    probabilities = np.zeros((rows.n_samples, labels.n_labels))
    probabilities[at, columns] = p
    states = labels.states()
    is_open = (states == State.UNKNOWN) | (states == State.UNLABELED)
    if not is_open.any():
        # a table that leaves nothing open may still lack what it says is irrelevant
        is_open = states != State.RELEVANT
    items, names = [str(item) for item in rows.items], [str(name) for name in labels.names]  # type: ignore[union-attr]
    for decision in how["decisions"].last().values() if how["decisions"] is not None else ():
        is_open[items.index(decision.item), names.index(decision.label)] = False
    entry_rows, entry_columns = np.nonzero(is_open)
    return Population(
        entry_rows,
        entry_columns,
        probabilities[is_open],
        items,
        names,
    )


def _plan(session: Review, draws: DrawOptions) -> list[str]:
    """How many answers an estimate takes, said before anybody is asked."""
    part, estimate = session.random_part, draws.estimate
    if draws.width is not None:
        needed = part.answers_for_width(draws.width)
        if needed is None or needed > part.design.n_entries:
            raise BadInputError(
                f"--width {draws.width:g}: takes more answers than there are entries; ask for a "
                "wider one"
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
        f"{seen.n_accepted} accepted and {seen.n_rejected} rejected, kept in {db}; labelgap fit, audit "
        f"and impute take them with --decisions {db}",
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
