"""``labelgap review``: from a table or an audit to questions, and wrong calls in one sentence."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest

from auditing.sample_audits import bare_audit, sample_audit
from labelgap.review import DecisionStore, ReviewServer

pytest.importorskip("jinja2")


@pytest.fixture
def interrupted(monkeypatch) -> list[ReviewServer]:
    """Servers are started and stopped by Ctrl-C at once; the list says which."""
    started: list[ReviewServer] = []

    def stop(server: ReviewServer, poll_interval: float = 0.5) -> None:
        started.append(server)
        raise KeyboardInterrupt

    monkeypatch.setattr(ReviewServer, "serve_forever", stop)
    return started


@pytest.fixture
def songs(workplace):
    """A table of songs with forgotten moods."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    moods = (X[:, :2] + 0.3 * rng.standard_normal((120, 2)) > 0) & (
        rng.uniform(size=(120, 2)) < 0.7
    )
    lines = ["song,loud,fast,long,old,mood_happy,mood_calm"]
    lines += [
        ",".join([f"s{k}", *(f"{x:.3f}" for x in X[k]), *map(str, moods[k].astype(int))])
        for k in range(120)
    ]
    path = workplace / "songs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_an_audit_is_put_up_for_review(run, workplace, interrupted):
    (workplace / "audit.json").write_text(sample_audit().to_json())
    ran = run("review", "audit.json", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["url"].startswith("http://127.0.0.1:")
    assert ran.json["n_suggestions"] == 12
    assert ran.json["db"] == "decisions.sqlite"
    assert "0 accepted and 0 rejected, kept in decisions.sqlite" in ran.err
    assert (workplace / "decisions.sqlite").exists()


def test_a_table_is_audited_first(run, songs, interrupted):
    options = ("--labels", "mood_*", "--item", "song", "--suggestions", "30", "--json")
    ran = run("review", songs, *options)
    assert ran.code == 0, ran.err
    review = interrupted[0].review
    assert ran.json["n_suggestions"] == len(review.audit.suggestions) == 30
    (question,) = review.next_batch("Ann", 1)
    assert question.suggestion.item.startswith("s")
    assert set(question.about) == {"loud", "fast", "long", "old", "recorded labels"}
    # the same call goes on with the same file
    review.decide(question.suggestion.item, question.suggestion.label, "accept", "Ann")
    again = run("review", songs, *options)
    assert again.json["audit_id"] == ran.json["audit_id"]
    assert "1 accepted" in again.err


def test_the_model_is_fitted_again_after_twenty_answers(run, songs, interrupted):
    run("review", songs, "--labels", "mood_*", "--item", "song", "--json")
    review = interrupted[0].review
    before = review._candidates.log_odds
    for one in review.next_batch("Ann", 25):
        review.decide(one.suggestion.item, one.suggestion.label, "accept", "Ann")
    review.next_batch("Ann")
    assert np.abs(review._candidates.log_odds - before).max() > 0.01


def test_texts_are_shown(run, workplace, interrupted):
    rng = np.random.default_rng(0)
    lines = ["id,note,urgent"]
    for k in range(60):
        urgent = k % 3 == 0
        words = "please call at once now" if urgent else "thank you for the nice lunch"
        lines.append(f"n{k},{words} {k},{int(urgent and rng.uniform() < 0.8)}")
    (workplace / "notes.csv").write_text("\n".join(lines) + "\n")
    ran = run("review", "notes.csv", "--text", "note", "--labels", "urgent", "--item", "id")
    assert ran.code == 0, ran.err
    (question,) = interrupted[0].review.next_batch("Ann", 1)
    assert question.about["note"].split()[0] in ("please", "thank")
    assert question.about["recorded labels"] == "none"


def test_it_answers_while_it_runs(run, workplace, monkeypatch):
    """The command itself serves; a request from another thread ends it."""
    (workplace / "audit.json").write_text(sample_audit().to_json())
    seen = []
    serve = ReviewServer.serve_forever

    def ask_and_stop(server: ReviewServer) -> None:
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(address.netloc, timeout=30)
        connection.request("GET", f"/api/progress?{address.query}")
        seen.append(json.loads(connection.getresponse().read()))
        connection.close()
        server.shutdown()

    def serve_one(server: ReviewServer, poll_interval: float = 0.05) -> None:
        threading.Thread(target=ask_and_stop, args=(server,)).start()
        serve(server, poll_interval)

    monkeypatch.setattr(ReviewServer, "serve_forever", serve_one)
    assert run("review", "audit.json").code == 0
    assert seen[0]["n_candidates"] == 12


def test_wrong_calls_are_explained(fails, workplace):
    (workplace / "bare.json").write_text(bare_audit().to_json())
    assert "nothing to review" in fails("review", "bare.json")
    (workplace / "other.json").write_text('{"a": 1}')
    assert "other.json: this is no audit" in fails("review", "other.json")
    assert "there is no such file" in fails("review", "nowhere.json")
    (workplace / "audit.json").write_text(sample_audit().to_json())
    assert "--db missing/d.sqlite" in fails("review", "audit.json", "--db", "missing/d.sqlite")
    DecisionStore(workplace / "taken.sqlite", "another audit")
    said = fails("review", "audit.json", "--db", "taken.sqlite")
    assert "decisions about another audit" in said
    (workplace / "notes.txt").write_text("hello " * 200)
    assert "is not a database" in fails("review", "audit.json", "--db", "notes.txt")


def test_a_taken_port_is_explained(run, workplace):
    (workplace / "audit.json").write_text(sample_audit().to_json())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("review", "audit.json", "--port", port)
    assert ran.code == 2
    assert f"--port {port}" in ran.err
