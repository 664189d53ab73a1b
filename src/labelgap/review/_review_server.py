"""The review over HTTP, for this machine alone.

Bound to the loopback address. Every request must carry the token of this run and name this server
as its host (against rebinding of names); a request that changes anything must be JSON and, where
the browser says where it comes from, come from here. There are no files to serve and no headers
that would let other origins read an answer. Connections, slow senders and bursts are the business of
`waitress`, which hands over requests that have arrived whole.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlencode

from labelgap.extras import require
from labelgap.files import read_json
from labelgap.review._review_routes import ROUTES, RefusedError, ServerAnswer
from labelgap.review._review_session import Review

_LOOPBACK = "127.0.0.1"
_LARGEST_BODY = 1 << 16
_MOST_CONNECTIONS, _BACKLOG, _N_THREADS = 2000, 2048, 8
_SILENT_SECONDS = 60
_log = logging.getLogger(__name__)
# it warns whenever two requests come at once
logging.getLogger("waitress.queue").setLevel(logging.ERROR)


class ReviewServer:
    """Serve one review to the browsers of this machine, on 127.0.0.1.

    Parameters
    ----------
    review : Review
    port : int, default=0
        0 takes a free one.
    token : str, optional, default=None
        What requests must carry; drawn at random by default.
    reviewer : str, default=""
        The name that the page starts with.

    See Also
    --------
    labelgap.report.review_page : The page that is served.

    Examples
    --------
    >>> from labelgap.review import ReviewServer
    >>> server = ReviewServer(review, port=8000)  # doctest: +SKIP
    >>> server.serve_forever()  # doctest: +SKIP
    """

    def __init__(
        self, review: Review, *, port: int = 0, token: str | None = None, reviewer: str = ""
    ) -> None:
        waitress = require("waitress.server", extra="cli", purpose="the review server")
        self.review, self.reviewer = review, reviewer
        self.token = token or secrets.token_urlsafe(24)
        # another program must not be able to listen on the same port
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listening.bind((_LOOPBACK, port))
        except OSError:
            listening.close()
            raise
        self.server_address = listening.getsockname()
        self._stopping = False
        self._server = waitress.create_server(
            self._respond,
            sockets=[listening],
            threads=_N_THREADS,
            backlog=_BACKLOG,
            connection_limit=_MOST_CONNECTIONS,
            channel_timeout=_SILENT_SECONDS,
            max_request_body_size=_LARGEST_BODY,
            asyncore_use_poll=True,
            ident=None,
            clear_untrusted_proxy_headers=True,
        )

    @property
    def port(self) -> int:
        """Return the port that the server listens on."""
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """Return the address to open, with the token."""
        return f"http://{_LOOPBACK}:{self.port}/?{urlencode({'token': self.token})}"

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Answer requests until :meth:`shutdown` is called or the program is interrupted."""
        server = self._server
        try:
            while not self._stopping:
                server.asyncore.loop(timeout=poll_interval, map=server._map, count=1, use_poll=True)
        finally:
            server.task_dispatcher.shutdown()

    def shutdown(self) -> None:
        """Let :meth:`serve_forever` return."""
        self._stopping = True

    def server_close(self) -> None:
        """Give the port and all connections back."""
        for channel in list(self._server._map.values()):
            channel.close()
        self._server.close()

    # -- from request to answer ---------------------------------------------------------------

    def _respond(self, request: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        more: dict[str, str] = {}
        try:
            status, answer = HTTPStatus.OK, self._answer(request)
        except RefusedError as refusal:
            status, more = refusal.status, refusal.headers
            answer = ServerAnswer(str(refusal).encode(), "text/plain; charset=utf-8")
        except Exception:
            _log.exception("a request failed")
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            answer = ServerAnswer(b"the server failed; see its log", "text/plain; charset=utf-8")
        headers = {
            "Content-Type": answer.kind,
            "Content-Length": str(len(answer.body)),
            "Content-Security-Policy": _policy(answer.nonce),
            **_HEADERS,
            **more,
        }
        if answer.filename is not None:
            headers["Content-Disposition"] = f'attachment; filename="{answer.filename}"'
        start(f"{status.value} {status.phrase}", list(headers.items()))
        return [answer.body]

    def _answer(self, request: dict[str, Any]) -> ServerAnswer:
        method = request["REQUEST_METHOD"]
        self._check_host(request)
        query = {
            name: values[-1] for name, values in parse_qs(request.get("QUERY_STRING", "")).items()
        }
        self._check_token(request, query)
        route = ROUTES.get(request.get("PATH_INFO", ""))
        if route is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is nothing here")
        if method not in route:
            allowed = ", ".join(route)
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, f"use {allowed}", Allow=allowed)
        body = _read_json(request) if method == "POST" else {}
        return route[method](self, {**query, **body})

    def _check_host(self, request: dict[str, Any]) -> None:
        own = (f"{_LOOPBACK}:{self.port}", f"localhost:{self.port}")
        if request.get("HTTP_HOST", "") not in own:
            raise RefusedError(
                HTTPStatus.MISDIRECTED_REQUEST, "this server is for this machine alone"
            )

    def _check_token(self, request: dict[str, Any], query: dict[str, str]) -> None:
        given = request.get("HTTP_X_LABELGAP_TOKEN") or query.pop("token", "")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "the token is missing or wrong; open the address as printed"
            )


def _read_json(request: dict[str, Any]) -> dict[str, Any]:
    origin, site = request.get("HTTP_ORIGIN"), request.get("HTTP_SEC_FETCH_SITE")
    own = (None, f"http://{request['HTTP_HOST']}")
    if origin not in own or site not in (None, "same-origin"):
        raise RefusedError(HTTPStatus.FORBIDDEN, "requests from other pages are refused")
    if request.get("CONTENT_TYPE", "").split(";")[0].strip() != "application/json":
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
    length = request.get("CONTENT_LENGTH", "")
    if not length.isdecimal():
        raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
    if int(length) > _LARGEST_BODY:
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too long")
    try:
        body = read_json(request["wsgi.input"].read(int(length)))
    except ValueError:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "that is not JSON") from None
    if not isinstance(body, dict):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "send a JSON object")
    return body


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
