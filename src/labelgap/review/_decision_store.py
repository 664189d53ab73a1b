"""Decisions of reviewers in an SQLite file: appended, never overwritten, safe against a kill."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from labelgap.auditing import Decision, ReviewDecisions

DECISIONS = ("accept", "reject", "unsure", "skip", "withdraw")
"""The decisions about an entry: *unsure* is an answer, *skip* puts the question off, *withdraw* takes the
last decision back."""

_VERSION = 2
_PATIENCE_SECONDS = 30.0
_FIRST_BYTES = b"SQLite format 3\x00"
# a lock that lasts, a folder that cannot be written to, a full disk
_OF_THE_SYSTEM = {
    sqlite3.SQLITE_BUSY: errno.EAGAIN,
    sqlite3.SQLITE_LOCKED: errno.EAGAIN,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}
_DECISIONS_TABLE = """
CREATE TABLE IF NOT EXISTS decisions (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    item     TEXT NOT NULL,
    label    TEXT NOT NULL,
    decision TEXT NOT NULL
        CHECK (decision IN ('accept', 'reject', 'unsure', 'skip', 'withdraw')),
    reviewer TEXT NOT NULL,
    time     TEXT NOT NULL,
    request  TEXT UNIQUE,
    comment  TEXT NOT NULL DEFAULT ''
) STRICT;
"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
{_DECISIONS_TABLE}
CREATE INDEX IF NOT EXISTS entries ON decisions (item, label, number);
CREATE TABLE IF NOT EXISTS draws (
    draw    INTEGER PRIMARY KEY AUTOINCREMENT,
    item    TEXT NOT NULL,
    label   TEXT NOT NULL,
    weight  REAL NOT NULL,
    largest REAL NOT NULL,
    after   INTEGER NOT NULL,
    UNIQUE (item, label)
) STRICT;
"""
# the first layout knew neither comments nor "unsure"
_FROM_FIRST_LAYOUT = f"""
ALTER TABLE decisions RENAME TO decisions_before;
DROP INDEX IF EXISTS entries;
{_DECISIONS_TABLE}
INSERT INTO decisions (number, item, label, decision, reviewer, time, request)
    SELECT number, item, label, decision, reviewer, time, request FROM decisions_before;
DROP TABLE decisions_before;
"""
_FIELDS = "number, item, label, decision, reviewer, time, comment"
_LAST = """
SELECT d.number, d.item, d.label, d.decision, d.reviewer, d.time, last.n, last.n_reviewers
FROM decisions AS d JOIN (
    SELECT max(number) AS number, count(*) AS n, count(DISTINCT reviewer) AS n_reviewers
    FROM decisions GROUP BY item, label
) AS last USING (number) ORDER BY d.number
"""


class ForeignReviewError(ValueError):
    """The file holds the decisions of another audit, or no decisions at all."""


class RequestReusedError(ValueError):
    """A request came again under the same id, with another content."""


class StoredDecision(NamedTuple):
    """A decision as it was made."""

    number: int
    item: str
    label: str
    decision: str
    reviewer: str
    time: str
    comment: str = ""


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


class RandomDraw(NamedTuple):
    """An entry that was drawn at random to be answered.

    ``weight`` is the inverse of the probability of the draw, and ``largest`` the largest that it could
    have had; decisions up to the number ``after`` were made before it.
    """

    item: str
    label: str
    weight: float
    largest: float
    after: int


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
    audit : str, optional, default=None
        The id of the audit under review; a file that belongs to another one is refused. None takes
        an existing file as it is.

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

    def __init__(self, path: str | Path, audit: str | None = None) -> None:
        self.path = Path(path)
        if audit is None and not self.path.exists():
            raise ForeignReviewError(f"{self.path}: there is no such file of decisions")
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        try:
            self.audit = self._opened(audit)
        except BaseException:
            self.close()
            raise

    def add(
        self,
        item: str,
        label: str,
        decision: str,
        reviewer: str,
        request: str | None = None,
        comment: str = "",
    ) -> int:
        """Keep a decision and return its number.

        Parameters
        ----------
        item, label : str
        decision : {"accept", "reject", "unsure", "skip", "withdraw"}
        reviewer : str
        request : str, optional, default=None
            Names the click it comes from: the same click sent twice, because the answer to the
            first was lost, counts once. The same name with another content is refused.
        comment : str, default=""

        Returns
        -------
        int
        """
        if decision not in DECISIONS:
            raise ValueError(f"decision={decision!r}: must be one of {', '.join(DECISIONS)}")
        content = (item, label, decision, reviewer, comment)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._writing() as connection:
            if request is not None:
                kept = connection.execute(
                    "SELECT number, item, label, decision, reviewer, comment FROM decisions"
                    " WHERE request = ?",
                    (request,),
                ).fetchone()
                if kept is not None and tuple(kept[1:]) != content:
                    raise RequestReusedError(
                        f"request={request!r}: was used before, for {kept[3]} of {kept[2]!r} for "
                        f"{kept[1]!r}; give every click a new id"
                    )
                if kept is not None:
                    return int(kept[0])
            made = connection.execute(
                "INSERT INTO decisions (item, label, decision, reviewer, comment, time, request)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*content, now, request),
            )
            return int(made.lastrowid or 0)

    def add_all(self, decisions: Iterable[StoredDecision]) -> int:
        """Keep decisions made elsewhere, with their times; those that are there already count once.

        Returns
        -------
        int
            How many were new.
        """
        with self._writing() as connection:
            there = set(
                connection.execute("SELECT item, label, decision, reviewer, time FROM decisions")
            )
            fresh = [made[1:] for made in decisions if made[1:6] not in there]
            connection.executemany(
                "INSERT INTO decisions (item, label, decision, reviewer, time, comment)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                fresh,
            )
        return len(fresh)

    def add_draws(self, draws: Iterable[RandomDraw]) -> None:
        """Keep entries that were drawn at random; what was drawn before is not drawn again."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO draws (item, label, weight, largest, after)"
                " VALUES (?, ?, ?, ?, ?)",
                draws,
            )

    def draws(self) -> list[RandomDraw]:
        """Return all random draws in their order."""
        query = "SELECT item, label, weight, largest, after FROM draws ORDER BY draw"
        return [RandomDraw(*row) for row in self._rows(query)]

    def since(self, number: int) -> list[StoredDecision]:
        """Return the decisions after the one with this number, the first one first."""
        query = f"SELECT {_FIELDS} FROM decisions WHERE number > ? ORDER BY number"
        return [StoredDecision(*row) for row in self._rows(query, number)]

    def last(self) -> list[LastDecision]:
        """Return the last decision on every entry, in the order of their numbers."""
        return [LastDecision(*row) for row in self._rows(_LAST)]

    def answers(self) -> ReviewDecisions:
        """Return the answers that count, as a decisions file has them."""
        made = tuple(
            Decision(last.item, last.label, last.decision, last.time, last.reviewer)  # type: ignore[arg-type]
            for last in self.last()
            if last.decision in ("accept", "reject")
        )
        return ReviewDecisions(self.audit, made, str(self.path))

    def history(self, item: str, label: str) -> list[tuple[str, str, str]]:
        """Return decision, reviewer and time of all decisions on one entry, the first one first."""
        query = (
            "SELECT decision, reviewer, time FROM decisions"
            " WHERE item = ? AND label = ? ORDER BY number"
        )
        return self._rows(query, item, label)

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    # -- internals ----------------------------------------------------------------------------

    def _rows(self, query: str, *values: object) -> list:
        with self._opening() as connection:
            return connection.execute(query, values).fetchall()

    def _opened(self, audit: str | None) -> str:
        """Write down whose decisions these are, or make sure that they are ours."""
        with self._opening() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                owner = self._claimed(connection, audit)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        return owner

    def _claimed(self, connection: sqlite3.Connection, audit: str | None) -> str:
        connection.execute(_SCHEMA.split(";")[0])
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        version = facts.get("version", str(_VERSION))
        if version not in ("1", str(_VERSION)):
            raise ForeignReviewError(
                f"{self.path}: was written by another version of labelgap "
                f"(format {version}, this one writes {_VERSION})"
            )
        owner = facts.get("audit")
        if owner is None and audit is None:
            raise ForeignReviewError(f"{self.path}: is not a database of decisions")
        if owner is not None and audit is not None and owner != audit:
            raise ForeignReviewError(
                f"{self.path}: holds decisions about another audit ({owner}, "
                f"this is {audit}); give another file with --db"
            )
        steps = (_FROM_FIRST_LAYOUT if version == "1" and facts else "") + _SCHEMA
        for statement in filter(str.strip, steps.split(";")):
            connection.execute(statement)
        mine = [("version", str(_VERSION)), ("audit", owner or audit)]
        connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", mine)
        return str(owner or audit)

    @contextmanager
    def _opening(self) -> Iterator[sqlite3.Connection]:
        """The connection, which one thread uses at a time."""
        with self._lock:
            if self._connection is None:
                self._connection = sqlite3.connect(
                    self.path,
                    timeout=_PATIENCE_SECONDS,
                    isolation_level=None,
                    check_same_thread=False,
                )
            try:
                yield self._connection
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                number = _OF_THE_SYSTEM.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
                if number is not None:
                    raise OSError(number, f"{error}; nothing was kept", str(self.path)) from error
                raise ForeignReviewError(
                    f"{self.path}: is not a database of decisions, or is damaged ({error}); take a "
                    f"copy, and keep what can be read with: sqlite3 {self.path} .recover"
                ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._opening() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def is_decision_store(path: str | Path) -> bool:
    """Return whether a file is an SQLite database, as those of the review are.

    Examples
    --------
    >>> from labelgap.review import is_decision_store
    >>> is_decision_store("decisions.json")
    False
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_FIRST_BYTES)) == _FIRST_BYTES
    except OSError:
        return False
