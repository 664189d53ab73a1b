"""Decisions of reviewers in an SQLite file: appended, never overwritten, safe against a kill."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

__all__ = ["DECISIONS", "DecisionStore", "ForeignReviewError", "LastDecision"]

DECISIONS = ("accept", "reject", "skip", "withdraw")
"""The decisions about an entry; *withdraw* takes the last one back."""

_VERSION = 1
_PATIENCE_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS decisions (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    item     TEXT NOT NULL,
    label    TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('accept', 'reject', 'skip', 'withdraw')),
    reviewer TEXT NOT NULL,
    time     TEXT NOT NULL,
    request  TEXT UNIQUE
) STRICT;
CREATE INDEX IF NOT EXISTS entries ON decisions (item, label, number);
"""
_LAST = """
SELECT d.number, d.item, d.label, d.decision, d.reviewer, d.time, last.n, last.n_reviewers
FROM decisions AS d JOIN (
    SELECT max(number) AS number, count(*) AS n, count(DISTINCT reviewer) AS n_reviewers
    FROM decisions GROUP BY item, label
) AS last USING (number) ORDER BY d.number
"""


class ForeignReviewError(ValueError):
    """The file holds the decisions of another audit, or no decisions at all."""


class LastDecision(NamedTuple):
    """The last decision on an entry, and how many decisions and reviewers there were."""

    number: int
    item: str
    label: str
    decision: str
    reviewer: str
    time: str
    n_decisions: int
    n_reviewers: int


class DecisionStore:
    """Keep all decisions about one audit in one SQLite file.

    Each decision is a transaction of its own, on the disk before :meth:`add` returns (write-ahead
    log, full synchronisation). Nothing is ever changed: a second decision on an entry adds a line,
    the last line counts, and all are kept. Any number of threads and processes may use the same
    file at once; a writer waits for its turn.

    Parameters
    ----------
    path : path
        Created when it does not exist.
    audit : str
        The id of the audit under review; a file that belongs to another one is refused.

    See Also
    --------
    Review : Asks the questions.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.review import DecisionStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = DecisionStore(Path(folder, "decisions.sqlite"), "5a0c1e7d9b3f2a64")
    ...     _ = store.add("photo 7", "sea", "accept", "Ann")
    ...     [(last.item, last.decision) for last in store.last()]
    [('photo 7', 'accept')]
    """

    def __init__(self, path: str | Path, audit: str) -> None:
        self.path = Path(path)
        self.audit = audit
        with self._connection() as connection:
            connection.executescript(_SCHEMA)
            self._claim(connection)

    def add(
        self, item: str, label: str, decision: str, reviewer: str, request: str | None = None
    ) -> int:
        """Keep a decision and return its number.

        Parameters
        ----------
        item, label : str
        decision : {"accept", "reject", "skip", "withdraw"}
        reviewer : str
        request : str, optional, default=None
            Names the click it comes from: the same click sent twice, because the answer to the
            first was lost, counts once.

        Returns
        -------
        int
        """
        if decision not in DECISIONS:
            raise ValueError(f"decision={decision!r}: must be one of {', '.join(DECISIONS)}")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO decisions (item, label, decision, reviewer, time, request)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (item, label, decision, reviewer, now, request),
            )
            if request is None:
                found = connection.execute("SELECT last_insert_rowid()")
            else:
                found = connection.execute(
                    "SELECT number FROM decisions WHERE request = ?", (request,)
                )
            return int(found.fetchone()[0])

    def last(self) -> list[LastDecision]:
        """Return the last decision on every entry, in the order of their numbers."""
        with self._connection() as connection:
            return [LastDecision(*row) for row in connection.execute(_LAST)]

    def history(self, item: str, label: str) -> list[tuple[str, str, str]]:
        """Return decision, reviewer and time of all decisions on one entry, the first one first."""
        with self._connection() as connection:
            return connection.execute(
                "SELECT decision, reviewer, time FROM decisions"
                " WHERE item = ? AND label = ? ORDER BY number",
                (item, label),
            ).fetchall()

    # -- internals ----------------------------------------------------------------------------

    def _claim(self, connection: sqlite3.Connection) -> None:
        """Write down whose decisions these are, or make sure that they are ours."""
        connection.execute("BEGIN IMMEDIATE")
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        if not facts:
            mine = [("version", str(_VERSION)), ("audit", self.audit)]
            connection.executemany("INSERT INTO facts VALUES (?, ?)", mine)
        connection.execute("COMMIT")
        if facts and facts.get("version") != str(_VERSION):
            raise ForeignReviewError(
                f"{self.path}: was written by another version of labelgap "
                f"(format {facts.get('version')}, this one writes {_VERSION})"
            )
        if facts and facts.get("audit") != self.audit:
            raise ForeignReviewError(
                f"{self.path}: holds decisions about another audit ({facts.get('audit')}, "
                f"this is {self.audit}); give another file with --db"
            )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for a moment: nothing is shared between threads."""
        connection = sqlite3.connect(self.path, timeout=_PATIENCE_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise ForeignReviewError(
                f"{self.path}: is not a database of decisions, or is damaged ({error}); take a "
                f"copy, and keep what can be read with: sqlite3 {self.path} .recover"
            ) from error
        finally:
            connection.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
