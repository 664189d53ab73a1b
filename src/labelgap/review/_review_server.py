"""The review over HTTP, for this machine alone.

Bound to the loopback address. Every request must carry the token of this run and name this server
as its host (against rebinding of names); a request that changes anything must be JSON and, where
the browser says where it comes from, come from here. There are no files to serve and no headers
that would let other origins read an answer.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from labelgap.report import audit_page, review_page
from labelgap.review._decision_store import DECISIONS
from labelgap.review._review_session import Question, Review

__all__ = ["ReviewServer"]

_LOOPBACK = "127.0.0.1"
_LARGEST_BODY = 1 << 16
_LONGEST_NAME = 200
_LARGEST_BATCH = 200
_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that gets an error for an answer."""

    def __init__(self, status: HTTPStatus, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status = status
        self.headers = headers


class ServerAnswer(NamedTuple):
    """What the server sends back: a page with its nonce, or JSON."""

    body: bytes
    kind: str
    nonce: str | None = None
    filename: str | None = None


class ReviewServer(ThreadingHTTPServer):
    """Serve one review to the browsers of this machine, on 127.0.0.1.

    Parameters
    ----------
    review : Review
    port : int, default=0
        0 takes a free one.
    token : str, optional, default=None
        What requests must carry; drawn at random by default.

    See Also
    --------
    labelgap.report.review_page : The page that is served.

    Examples
    --------
    >>> from labelgap.review import ReviewServer
    >>> server = ReviewServer(review, port=8000)  # doctest: +SKIP
    >>> server.serve_forever()  # doctest: +SKIP
    """

    daemon_threads = True
    # another program must not be able to listen on the same port
    allow_reuse_address = False
    allow_reuse_port = False

    def __init__(self, review: Review, *, port: int = 0, token: str | None = None) -> None:
        self.review = review
        self.token = token or secrets.token_urlsafe(24)
        super().__init__((_LOOPBACK, port), _Handler)

    @property
    def port(self) -> int:
        """Return the port that the server listens on."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Return the address to open, with the token."""
        return f"http://{_LOOPBACK}:{self.port}/?{urlencode({'token': self.token})}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("a connection ended early", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version = "labelgap"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        self._respond("GET")

    def do_POST(self) -> None:
        self._respond("POST")

    def __getattr__(self, name: str) -> Any:
        # whatever other method is asked for is answered as unknown to the route
        if name.startswith("do_"):
            return lambda: self._respond(name[3:])
        raise AttributeError(name)

    # -- from request to answer ---------------------------------------------------------------

    def _respond(self, method: str) -> None:
        try:
            answer = self._answer(method)
        except RefusedError as refusal:
            self._refuse(refusal)
        except Exception:
            _log.exception("a request failed")
            failed = HTTPStatus.INTERNAL_SERVER_ERROR
            self._refuse(RefusedError(failed, "the server failed; see its log"))
        else:
            self._send(HTTPStatus.OK, answer)

    def _answer(self, method: str) -> ServerAnswer:
        self._check_host()
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        self._check_token(query)
        route = _ROUTES.get(address.path)
        if route is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is nothing here")
        if method not in route:
            allowed = ", ".join(route)
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"use {allowed}", Allow=allowed)
        body = self._read_json() if method == "POST" else {}
        return route[method](self.server.review, {**query, **body})

    def _check_host(self) -> None:
        port = self.server.port
        if self.headers.get("Host", "") not in (f"{_LOOPBACK}:{port}", f"localhost:{port}"):
            raise RefusedError(
                HTTPStatus.MISDIRECTED_REQUEST, "this server is for this machine alone"
            )

    def _check_token(self, query: dict[str, str]) -> None:
        given = self.headers.get("X-Labelgap-Token") or query.pop("token", "")
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "the token is missing or wrong; open the address as printed"
            )

    def _read_json(self) -> dict[str, Any]:
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
        own = (None, f"http://{self.headers['Host']}")
        if origin not in own or site not in (None, "same-origin"):
            raise RefusedError(HTTPStatus.FORBIDDEN, "requests from other pages are refused")
        kind = self.headers.get("Content-Type", "").split(";")[0].strip()
        if kind != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
        if int(length) > _LARGEST_BODY:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too long")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "that is not JSON") from None
        if not isinstance(body, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "send a JSON object")
        return body

    # -- from answer to bytes -----------------------------------------------------------------

    def _refuse(self, refusal: RefusedError) -> None:
        # what was sent along may not have been read: the connection cannot be used again
        self.close_connection = True
        answer = ServerAnswer(str(refusal).encode(), "text/plain; charset=utf-8")
        self._send(refusal.status, answer, {**refusal.headers, "Connection": "close"})

    def _send(
        self, status: HTTPStatus, answer: ServerAnswer, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": answer.kind,
            "Content-Length": str(len(answer.body)),
            "Content-Security-Policy": _policy(answer.nonce),
            **_HEADERS,
            **(more or {}),
        }
        if answer.filename is not None:
            headers["Content-Disposition"] = f'attachment; filename="{answer.filename}"'
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *arguments: Any) -> None:
        # never with the query, which holds the token
        _log.debug("%s %s", self.command, urlsplit(getattr(self, "path", "")).path)


_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def _policy(nonce: str | None) -> str:
    common = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    if nonce is None:
        return common
    scripts = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'"
    return f"{common}; {scripts}; connect-src 'self'; img-src data:"


# -- what the routes do -----------------------------------------------------------------------


def _json(value: Any, filename: str | None = None) -> ServerAnswer:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return ServerAnswer(text.encode(), "application/json; charset=utf-8", filename=filename)


def _page(render: Callable[..., str]) -> Callable[[Review, dict[str, Any]], ServerAnswer]:
    def route(review: Review, _: dict[str, Any]) -> ServerAnswer:
        nonce = secrets.token_urlsafe(16)
        page = render(review.audit, nonce=nonce)
        return ServerAnswer(page.encode(), "text/html; charset=utf-8", nonce)

    return route


def _batch(review: Review, given: dict[str, Any]) -> ServerAnswer:
    client = _short_text(given, "client")
    size = given.get("size")
    if size is not None and not (size.isdecimal() and 1 <= int(size) <= _LARGEST_BATCH):
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"size: must be 1 to {_LARGEST_BATCH}")
    questions = review.next_batch(client, None if size is None else int(size))
    return _json(
        {
            "questions": [_plain_question(question) for question in questions],
            "progress": asdict(review.progress()),
        }
    )


def _plain_question(question: Question) -> dict[str, Any]:
    return {
        **asdict(question.suggestion),
        "probability": question.probability,
        "audit_probability": question.suggestion.probability,
        "about": dict(question.about),
    }


def _progress(review: Review, _: dict[str, Any]) -> ServerAnswer:
    return _json(asdict(review.progress()))


def _decide(review: Review, given: dict[str, Any]) -> ServerAnswer:
    decision = given.get("decision")
    if decision not in DECISIONS:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, f"decision: must be one of {', '.join(DECISIONS)}"
        )
    item, label = given.get("item"), given.get("label")
    if not isinstance(item, str) or not isinstance(label, str):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "item and label: must be text")
    reviewer, request = _short_text(given, "reviewer"), _short_text(given, "request")
    try:
        number = review.decide(item, label, decision, reviewer, request)
    except ValueError as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
    return _json({"number": number, "progress": asdict(review.progress())})


def _decisions(review: Review, _: dict[str, Any]) -> ServerAnswer:
    name = f"labelgap-decisions-{review.audit.audit_id[:8]}.json"
    return _json(review.decisions().to_dict(), name)


def _short_text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, f"{name}: must be a text of 1 to {_LONGEST_NAME} letters"
        )
    return value


_ROUTES: dict[str, dict[str, Callable[[Review, dict[str, Any]], ServerAnswer]]] = {
    "/": {"GET": _page(review_page)},
    "/report": {"GET": _page(audit_page)},
    "/api/batch": {"GET": _batch},
    "/api/progress": {"GET": _progress},
    "/api/decide": {"POST": _decide},
    "/api/decisions": {"GET": _decisions},
}
