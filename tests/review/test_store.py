"""Decisions survive: threads, processes, kills, and other people's files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest

from labelgap.review import DecisionStore, ForeignReviewError, RequestReusedError


@pytest.fixture
def store(tmp_path):
    return DecisionStore(tmp_path / "decisions.db", "audit 1")


def test_the_last_word_counts_and_all_are_kept(store):
    store.add("b1", "crime", "accept", "Ann")
    store.add("b2", "crime", "reject", "Ann")
    store.add("b1", "crime", "reject", "Bob")
    first, second = store.last()
    assert (first.item, first.decision, first.n_decisions) == ("b2", "reject", 1)
    assert (second.item, second.decision, second.reviewer) == ("b1", "reject", "Bob")
    assert (second.n_decisions, second.n_reviewers) == (2, 2)
    said = [(decision, reviewer) for decision, reviewer, _ in store.history("b1", "crime")]
    assert said == [("accept", "Ann"), ("reject", "Bob")]


def test_the_same_click_counts_once(store):
    numbers = {store.add("b1", "crime", "accept", "Ann", request="click 1") for _ in range(3)}
    assert len(numbers) == 1
    assert store.last()[0].n_decisions == 1
    assert store.add("b1", "crime", "accept", "Ann", request="click 2") not in numbers


def test_entries_are_told_apart(store):
    store.add("b1", "a b", "accept", "Ann")
    store.add("b1 a", "b", "reject", "Ann")
    assert {(one.item, one.label) for one in store.last()} == {("b1", "a b"), ("b1 a", "b")}
    assert store.history("b1", "b") == []


def test_what_is_no_decision_is_refused(store):
    with pytest.raises(ValueError, match="decision='maybe'"):
        store.add("b1", "crime", "maybe", "Ann")
    assert store.last() == []


def test_a_file_of_another_audit_is_refused(store):
    with pytest.raises(ForeignReviewError, match=r"about another audit .audit 1, this is audit 2"):
        DecisionStore(store.path, "audit 2")


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(ForeignReviewError, match=r"notes\.txt: is not a database of decisions"):
        DecisionStore(path, "audit 1")
    assert path.read_text() == "not a database, " * 100


def test_a_file_of_a_later_version_is_refused(store):
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE facts SET value = '99' WHERE name = 'version'")
    connection.close()
    with pytest.raises(ForeignReviewError, match="format 99"):
        DecisionStore(store.path, "audit 1")


def test_a_database_whose_columns_are_damaged_is_refused(store):
    with sqlite3.connect(store.path) as connection:
        connection.execute("ALTER TABLE decisions RENAME COLUMN reviewer TO reviewee")
    connection.close()
    with pytest.raises(ForeignReviewError, match="no such column: reviewer"):
        DecisionStore(store.path, "audit 1").last()


def test_threads_lose_nothing(store):
    def review(name: str) -> None:
        for k in range(25):
            store.add(f"b{k}", "crime", "accept", name)

    threads = [threading.Thread(target=review, args=(f"reviewer {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.n_decisions for one in store.last()) == 100
    assert {one.n_decisions for one in store.last()} == {4}
    assert {one.n_reviewers for one in store.last()} == {4}


def test_processes_lose_nothing(tmp_path):
    # both also create the file at the same moment
    path = tmp_path / "decisions.db"
    code = (
        "import sys; from labelgap.review._decision_store import DecisionStore\n"
        "store = DecisionStore(sys.argv[1], 'audit 1')\n"
        "for k in range(20): store.add(f'{sys.argv[2]} {k}', 'crime', 'accept', sys.argv[2])\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("Ann", "Bob")
    ]
    assert [one.wait() for one in writers] == [0, 0]
    assert len(DecisionStore(path, "audit 1").last()) == 40


def test_what_was_confirmed_survives_a_kill(tmp_path):
    path = tmp_path / "decisions.db"
    code = (
        "import sys; from labelgap.review._decision_store import DecisionStore\n"
        "store = DecisionStore(sys.argv[1], 'audit 1')\n"
        "k = 0\n"
        "while True:\n"
        "    store.add(f'b{k}', 'crime', 'accept', 'Ann'); k += 1\n"
        "    sys.stdout.write(f'{k}\\n'); sys.stdout.flush()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    confirmed = 0
    while confirmed < 10:
        confirmed = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    confirmed = max([confirmed, *map(int, process.stdout.read().split())])
    process.wait()
    process.stdout.close()
    kept = DecisionStore(path, "audit 1").last()
    # one more may have been written without having been confirmed
    assert len(kept) in (confirmed, confirmed + 1)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_request_with_another_content_is_refused(store):
    store.add("b1", "crime", "accept", "Ann", request="click 1")
    with pytest.raises(RequestReusedError, match=r"'click 1'.*accept of 'crime' for 'b1'"):
        store.add("b2", "crime", "accept", "Ann", request="click 1")
    assert [one.item for one in store.last()] == ["b1"]


def test_a_file_of_the_first_layout_is_taken_over(tmp_path):
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
            "CREATE TABLE decisions (number INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL,"
            " label TEXT NOT NULL, decision TEXT NOT NULL CHECK (decision IN ('accept', 'skip')),"
            " reviewer TEXT NOT NULL, time TEXT NOT NULL, request TEXT UNIQUE) STRICT;"
            "CREATE INDEX entries ON decisions (item, label, number);"
            "INSERT INTO facts VALUES ('version', '1'), ('audit', 'audit 1');"
            "INSERT INTO decisions VALUES (7, 'b1', 'crime', 'accept', 'Ann', 't', 'click 1');"
        )
    connection.close()
    store = DecisionStore(path, "audit 1")
    assert store.since(0) == [(7, "b1", "crime", "accept", "Ann", "t", "")]
    assert store.add("b1", "crime", "unsure", "Ann", comment="blurred") == 8
    assert DecisionStore(path).since(7)[0].comment == "blurred"


def test_decisions_of_another_file_are_added_once(store, tmp_path):
    store.add("b1", "crime", "accept", "Ann")
    other = DecisionStore(tmp_path / "other.db", "audit 1")
    assert other.add_all(store.since(0)) == 1
    assert other.add_all(store.since(0)) == 0
    assert other.answers().decisions == store.answers().decisions


def test_without_an_audit_only_a_database_of_decisions_is_opened(store, tmp_path):
    assert DecisionStore(store.path).audit == "audit 1"
    with pytest.raises(ForeignReviewError, match="no such file"):
        DecisionStore(tmp_path / "nothing.db")
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(ForeignReviewError, match="not a database of decisions"):
        DecisionStore(empty)


def test_a_table_without_a_column_is_damage(tmp_path):
    path = tmp_path / "decisions.db"
    DecisionStore(path, "a" * 16)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE decisions RENAME COLUMN reviewer TO reviewes")
    connection.close()
    with pytest.raises(ForeignReviewError, match="is damaged"):
        DecisionStore(path, "a" * 16).last()
