"""``python tests/reliability/soak.py``: many clients at once, and a review server over hours.

Clients post decisions beside idle connections and slow senders; every acknowledged decision must be in
the database, none may be reset or refused, and after the first quarter the memory of the server must
stay where it is. Loopback only.

    python tests/reliability/soak.py --clients 50 --posts 1000               # a burst
    python tests/reliability/soak.py --seconds 3600 --pause 0.5              # an hour, with little load
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from itertools import count, takewhile
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)]

# a tenth more than after the first quarter, and what one allocation of an arena takes
MOST_GROWTH, ARENA_MB = 1.1, 8.0


class Soak(NamedTuple):
    """What was asked of the server, and what it came to."""

    posted: int
    stored: int
    failures: list[str]
    slowest: float
    megabytes: list[float]

    @property
    def is_flat(self) -> bool:
        after = self.megabytes[len(self.megabytes) // 4 :]
        return not after or max(after) <= after[0] * MOST_GROWTH + ARENA_MB


class Server:
    """A review in a process of its own."""

    def __init__(self, folder: str) -> None:
        command = [sys.executable, __file__, "--serve", folder]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port, self.token, self.pairs = json.loads(self.process.stdout.readline())

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def serve(folder: str) -> None:
    from labelgap.review import ReviewServer
    from review.books import open_review

    server = ReviewServer(open_review(Path(folder)))
    pairs = [(one.item, one.label) for one in server.review.audit.suggestions]
    print(json.dumps([server.port, server.token, pairs]), flush=True)
    server.serve_forever()


def soak(
    folder: str, *, clients: int, posts: int, idle: int, slow: int, seconds: float, pause: float
) -> Soak:
    """Let the clients post until each has its number, or the time is over."""
    server = Server(folder)
    deadline = time.monotonic() + seconds
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(idle)]
    acknowledged, failures, took = [], [], [0.0]
    over = threading.Event()

    def post(name: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        numbers = takewhile(lambda k: k < posts, count()) if posts else count()
        for k in numbers:
            if time.monotonic() > deadline:
                break
            item, label = server.pairs[k % len(server.pairs)]
            body = {"item": item, "label": label, "reviewer": name, "request": f"{name} {k}"}
            body["decision"] = ("accept", "reject")[k % 2]
            start = time.monotonic()
            try:
                connection.request("POST", "/api/decide", json.dumps(body), _headers(server))
                answer = connection.getresponse()
                content = answer.read()
            except OSError as problem:
                failures.append(f"{name} {k}: {problem!r}")
                connection.close()
                continue
            took[0] = max(took[0], time.monotonic() - start)
            if answer.status == 200:
                acknowledged.append(body["request"])
            else:
                failures.append(f"{name} {k}: {answer.status} {content[:80]!r}")
            time.sleep(pause)
        connection.close()

    def dribble() -> None:
        """A request that comes byte by byte, and is answered when it has come."""
        while not over.is_set():
            with socket.create_connection(("127.0.0.1", server.port)) as one:
                text = f"GET /api/progress HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                text += f"X-Labelgap-Token: {server.token}\r\nConnection: close\r\n\r\n"
                for byte in text.encode():
                    one.send(bytes([byte]))
                    over.wait(0.02)
                    if over.is_set():
                        return
                if b"200" not in one.makefile("rb").readline():
                    failures.append("a slow request was refused")

    megabytes = []

    def watch() -> None:
        while not over.wait(max(0.5, min(10.0, seconds / 100))):
            megabytes.append(server.megabytes())

    workers = [threading.Thread(target=post, args=(f"client {n}",)) for n in range(clients)]
    others = [threading.Thread(target=one) for one in (watch, *[dribble] * slow)]
    for thread in (*workers, *others):
        thread.start()
    for thread in workers:
        thread.join()
    over.set()
    for thread in others:
        thread.join()
    for one in silent:
        one.close()
    server.end()
    with closing(sqlite3.connect(next(Path(folder).glob("*.db")))) as connection:
        stored = {request for (request,) in connection.execute("SELECT request FROM decisions")}
    lost = set(acknowledged) - stored
    failures += [f"{one}: acknowledged and not stored" for one in sorted(lost)]
    return Soak(len(acknowledged), len(stored), failures, took[0], megabytes)


def _headers(server: Server) -> dict[str, str]:
    return {"X-Labelgap-Token": server.token, "Content-Type": "application/json"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument(
        "--posts", type=int, default=0, help="of each client; 0 until the time ends"
    )
    parser.add_argument("--idle", type=int, default=400, help="connections that say nothing")
    parser.add_argument("--slow", type=int, default=10, help="clients that send byte by byte")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--pause", type=float, default=0.0, help="between the posts of a client")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = vars(parser.parse_args())
    folder = options.pop("serve")
    if folder is not None:
        serve(folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = soak(folder, **options)
    after = found.megabytes[len(found.megabytes) // 4 :] or [0.0]
    print(*found.failures[:20], sep="\n")
    print(
        f"posted {found.posted:,}, stored {found.stored:,}, lost or refused {len(found.failures)}, "
        f"slowest answer {found.slowest:.1f} s, memory {after[0]:.0f} to {max(after):.0f} MB"
    )
    sys.exit(bool(found.failures) or not found.is_flat or found.posted != found.stored)


if __name__ == "__main__":
    main()
