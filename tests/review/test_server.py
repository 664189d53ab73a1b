"""The server answers its own page and nobody else."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from labelgap.review import ReviewServer
from review.books import open_review

pytest.importorskip("jinja2")


class Client:
    """Requests to a server, with its token unless told otherwise."""

    def __init__(self, server: ReviewServer) -> None:
        self.server = server

    def ask(self, path, *, method="GET", body=None, token="right", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["X-Labelgap-Token"] = self.server.token if token == "right" else token
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def json(self, path, **options):
        answer, content = self.ask(path, **options)
        assert answer.status == 200, content
        return json.loads(content)

    def decide(self, question, decision, reviewer="Ann", request="1"):
        body = {
            "item": question["item"],
            "label": question["label"],
            "decision": decision,
            "reviewer": reviewer,
            "request": request,
        }
        return self.json("/api/decide", method="POST", body=body)


@pytest.fixture
def client(tmp_path) -> Iterator[Client]:
    server = ReviewServer(open_review(tmp_path))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield Client(server)
    server.shutdown()
    server.server_close()
    thread.join()


def test_questions_answers_and_the_file_of_decisions(client):
    batch = client.json("/api/batch?client=Ann")
    assert len(batch["questions"]) == 20
    first, second = batch["questions"][:2]
    assert 0 < first["probability"] < 1
    assert first["evidence"]["cooccurring"]
    client.decide(first, "accept", request="1")
    after = client.decide(second, "reject", request="2")["progress"]
    assert (after["n_accepted"], after["n_rejected"]) == (1, 1)
    assert client.json("/api/progress") == after
    answer, content = client.ask("/api/decisions")
    assert "attachment" in answer.headers["Content-Disposition"]
    kept = json.loads(content)
    assert kept["format"] == "labelgap decisions"
    assert [one["decision"] for one in kept["decisions"]] == ["accept", "reject"]


def test_a_click_sent_twice_counts_once(client):
    (question,) = client.json("/api/batch?client=Ann&size=1")["questions"]
    numbers = {client.decide(question, "accept", request="same")["number"] for _ in range(2)}
    assert len(numbers) == 1


@pytest.mark.parametrize("path", ["/", "/report"])
def test_pages_come_with_a_policy_that_fits_their_scripts(client, path):
    answer, content = client.ask(path)
    policy = answer.headers["Content-Security-Policy"]
    nonce = policy.split("script-src 'nonce-")[1].split("'")[0]
    page = content.decode()
    assert page.count(f'nonce="{nonce}"') == page.count("<script") + page.count("<style")
    assert " style=" not in page
    assert "unsafe" not in policy
    other = client.ask(path)[0].headers["Content-Security-Policy"]
    assert other != policy


@pytest.mark.parametrize("path", ["/", "/report", "/api/progress", "/nowhere"])
def test_every_answer_is_closed_to_others(client, path):
    answer, _ = client.ask(path, Origin="http://elsewhere.example")
    headers = answer.headers
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("token", [None, "", "wrong", "é" * 8])
@pytest.mark.parametrize("path", ["/", "/api/batch?client=x", "/nowhere"])
def test_without_the_token_nothing_is_said(client, path, token):
    sent = token.encode().decode("latin-1") if token else token
    answer, content = client.ask(path, token=sent)
    assert answer.status == 403
    assert b"token" in content
    assert b"b1" not in content


def test_the_token_may_stand_in_the_address(client):
    path = f"/api/progress?token={quote(client.server.token)}"
    assert client.ask(path, token=None)[0].status == 200
    assert client.ask("/api/progress?token=wrong", token=None)[0].status == 403
    assert client.server.url.startswith("http://127.0.0.1:")
    assert client.server.token in client.server.url


@pytest.mark.parametrize("host", ["elsewhere.example", "127.0.0.1", "localhost:1", ""])
def test_a_name_that_is_not_ours_is_refused(client, host):
    assert client.ask("/api/progress", Host=host)[0].status == 421


def test_it_listens_on_loopback_only(client):
    assert client.server.server_address[0] == "127.0.0.1"
    with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
        ReviewServer(client.server.review, port=client.server.port)


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/report/../../x", "//etc/passwd", "/api"],
)
def test_there_are_no_other_paths(client, path):
    assert client.ask(path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods_are_refused(client, method):
    answer, _ = client.ask("/api/progress", method=method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET"


GOOD = {"item": "b1", "label": "novel", "decision": "accept", "reviewer": "Ann", "request": "1"}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (GOOD, {"Origin": "http://elsewhere.example"}, 403),
        (GOOD, {"Sec_Fetch_Site": "cross-site"}, 403),
        (json.dumps(GOOD), {"Content_Type": "text/plain"}, 415),
        (json.dumps(GOOD), {}, 415),
        ("{", {"Content_Type": "application/json"}, 400),
        ("[1]", {"Content_Type": "application/json"}, 400),
        ("x" * 70_000, {"Content_Type": "application/json"}, 413),
        ({**GOOD, "decision": "maybe"}, {}, 400),
        ({**GOOD, "item": 1}, {}, 400),
        ({**GOOD, "item": "nobody"}, {}, 400),
        ({**GOOD, "reviewer": ""}, {}, 400),
        ({**GOOD, "reviewer": "x" * 300}, {}, 400),
        ({key: GOOD[key] for key in ("item", "label", "decision", "reviewer")}, {}, 400),
    ],
)
def test_bad_requests_change_nothing(client, body, headers, status):
    answer, content = client.ask("/api/decide", method="POST", body=body, **headers)
    assert answer.status == status, content
    assert client.json("/api/progress")["n_accepted"] == 0


def test_the_good_request_beside_them_is_taken(client):
    assert client.ask("/api/decide", method="POST", body=GOOD)[0].status == 200
    assert client.json("/api/progress")["n_accepted"] == 1


@pytest.mark.parametrize("query", ["", "client=", "client=x&size=0", "client=x&size=-1"])
def test_batches_are_asked_for_properly(client, query):
    assert client.ask(f"/api/batch?{query}")[0].status == 400


def test_a_broken_connection_does_no_harm(client):
    with socket.create_connection(("127.0.0.1", client.server.port)) as half:
        half.sendall(b"POST /api/decide HTTP/1.1\r\nHost: ")
    assert client.json("/api/progress")["n_accepted"] == 0


def test_two_reviewers_at_once_lose_nothing(client):
    questions = client.json("/api/batch?client=x&size=30")["questions"]

    def review(name: str) -> None:
        for k, question in enumerate(questions):
            client.decide(question, "accept" if name == "Ann" else "reject", name, f"{name} {k}")

    threads = [threading.Thread(target=review, args=(name,)) for name in ("Ann", "Bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = client.server.review.store
    assert sum(one.n_decisions for one in store.last()) == 60
    assert {one.n_reviewers for one in store.last()} == {2}
    assert len(client.json("/api/progress")["disagreements"]) == 30


def test_a_used_request_with_another_content_is_refused(client):
    first, second = client.json("/api/batch?client=x&size=2")["questions"]
    client.decide(first, "accept", request="same")
    body = {**GOOD, "item": second["item"], "label": second["label"], "request": "same"}
    answer, content = client.ask("/api/decide", method="POST", body=body)
    assert answer.status == 409
    assert b"was used before" in content
    assert client.json("/api/progress")["n_accepted"] == 1


def test_a_burst_beside_silent_connections_loses_nothing(client):
    questions = client.json("/api/batch?client=x&size=50")["questions"]
    silent = [socket.create_connection(("127.0.0.1", client.server.port)) for _ in range(100)]
    problems = []

    def post(name: str) -> None:
        for k in range(10):
            try:
                client.decide(questions[k], "accept", name, f"{name} {k}")
            except Exception as problem:
                problems.append(problem)

    threads = [threading.Thread(target=post, args=(f"reviewer {n}",)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in silent:
        one.close()
    assert problems == []
    assert len(client.server.review.store.since(0)) == 200


def test_an_item_and_a_label_are_explained(client):
    (question,) = client.json("/api/batch?client=x&size=1")["questions"]
    known = client.json(f"/api/item?item={question['item']}")
    assert question["label"] in [one["label"] for one in known["labels"]]
    assert client.ask("/api/item?item=nobody")[0].status == 404
    assert client.json(f"/api/label?label={question['label']}") == {}


def test_a_comment_is_kept_and_a_long_one_refused(client):
    (question,) = client.json("/api/batch?client=x&size=1")["questions"]
    body = {**GOOD, "item": question["item"], "label": question["label"], "comment": "on page 3"}
    assert client.ask("/api/decide", method="POST", body=body)[0].status == 200
    assert client.server.review.store.since(0)[0].comment == "on page 3"
    body |= {"comment": "x" * 3000, "request": "2"}
    assert client.ask("/api/decide", method="POST", body=body)[0].status == 400
