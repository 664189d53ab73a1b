"""``labelgap review``: people decide about probably missing labels, in the browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from scipy import sparse

from labelgap.auditing import Audit, AuditRescorer
from labelgap.auditing import audit as run_audit
from labelgap.cli._design_matrix import named_design
from labelgap.cli._options import DecisionsFile, LearningOptions, RandomState, Suggestions, Zeros
from labelgap.cli._read_data import InputRows, data_sources, read_labelled, zeros_of_audit
from labelgap.cli._table_files import check_target
from labelgap.cli._terminal import BadInputError, Terminal, reading
from labelgap.cli.audit import decisions_of
from labelgap.extras import require
from labelgap.review import (
    DecisionStore,
    Review,
    ReviewServer,
    item_traits,
    review_candidates,
)

_MOST_FEATURES = 5
_MOST_CELLS = 12


def review(
    terminal: Terminal,
    source: LearningOptions,
    db: Annotated[
        Path,
        typer.Option("--db", metavar="FILE", help="The SQLite file of decisions; made if need be."),
    ] = Path("decisions.sqlite"),
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

    The page is served on this machine alone, to whoever has the address with its token. Every
    decision is on the disk before the next question comes; stop with Ctrl-C and go on any time.
    Several people may review at once, all answers are kept, and the last one about an entry counts.

    [bold]Examples[/bold]

    \b  labelgap review items.csv --labels 'tag_*' --item id --db decisions.sqlite
      labelgap review audit/audit.json --db decisions.sqlite --open
    """
    check_target(db, "--db")
    require("jinja2", extra="cli", purpose="labelgap review")
    if Path(source.data).suffix.lower() == ".json":
        if source.zeros is not Zeros.AUTO or decisions is not None:
            raise BadInputError("--zeros and --decisions: are in the audit already; leave them out")
        found = _read_audit(Path(source.data))
        session = Review(found, _store(db, found))
    else:
        session = _of_data(source, db, suggestions, decisions, random_state, terminal)
    try:
        server = ReviewServer(session, port=port)
    except OSError as error:
        raise BadInputError(f"--port {port}: {error.strerror}; take another, or 0") from error
    payload = {
        "url": server.url,
        "db": str(db),
        "audit_id": session.audit.audit_id,
        "n_suggestions": len(session.audit.suggestions),
    }
    terminal.result(payload, *_shown(session, server, db))
    if open_page:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        seen = session.progress()
        terminal.note(f"{seen.n_accepted} accepted and {seen.n_rejected} rejected, kept in {db}")
    finally:
        server.server_close()


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
    random_state: int,
    terminal: Terminal,
) -> Review:
    decided = decisions_of(decisions)
    rows = read_labelled(source, terminal, part="all")
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
    candidates = review_candidates(found, rows.items, item_traits(X, random_state=random_state))
    return Review(
        found,
        _store(db, found),
        candidates,
        describe=describe_items(rows),
        rescore=AuditRescorer(X, rows.labels, **how),
    )


def describe_items(rows: InputRows) -> Callable[[str], Mapping[str, str]]:
    """What a reviewer sees of an item: its text or its most unusual features, and its labels."""
    features = rows.features
    row_of = {str(item): row for row, item in enumerate(rows.items)}
    labels = rows.labels
    positives = labels.positives()

    def describe(item: str) -> dict[str, str]:
        row = row_of[item]
        here = positives.indices[positives.indptr[row] : positives.indptr[row + 1]]
        names = [str(labels.names[column]) for column in here] if labels.names is not None else []
        about = {"recorded labels": ", ".join(names) or "none"}
        if rows.data.texts is not None:
            about[rows.text or "text"] = str(rows.data.texts[row])
        elif hasattr(rows.data.X, "columns"):
            cells = rows.data.X.iloc[row].dropna().iloc[:_MOST_CELLS]
            about |= {str(name): str(value) for name, value in cells.items()}
        elif features is not None:
            about["most unusual features"] = _unusual(rows.data.X[[row]], features, centre, spread)
        return about

    centre, spread = _centre_and_spread(rows.data.X)
    return describe


def _centre_and_spread(X: Any) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(X) or hasattr(X, "columns") or not X.size:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    filled = np.ma.masked_invalid(X)
    spread = np.ma.filled(filled.std(axis=0), 0.0)
    return np.ma.filled(filled.mean(axis=0), 0.0), np.where(spread > 0, spread, 1.0)


def _unusual(values: Any, features: list[str], centre: np.ndarray, spread: np.ndarray) -> str:
    """The features that a row has and that are farthest from the mean, in standard deviations."""
    values = values.toarray()[0] if sparse.issparse(values) else np.asarray(values)[0]
    far = np.abs((values - centre) / spread)
    far[(values == 0) | np.isnan(far)] = 0
    first = [k for k in np.argsort(-far, kind="stable")[:_MOST_FEATURES] if far[k] > 0]
    return ", ".join(f"{features[k]} {values[k]:.4g}" for k in first) or "none"


def _shown(session: Review, server: ReviewServer, db: Path) -> list[str]:
    seen = session.progress()
    n_decided = seen.n_accepted + seen.n_rejected
    return [
        f"{seen.n_candidates:,} probably missing labels to review; {n_decided:,} are decided in "
        f"{escape(str(db))}",
        f"open  [bold]{escape(server.url)}[/bold]",
        "stop with Ctrl-C",
    ]
