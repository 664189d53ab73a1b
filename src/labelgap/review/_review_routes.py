"""What the server answers at each address: pages, questions, decisions, what is known of an item."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from labelgap.report import audit_page, review_page
from labelgap.review._decision_store import DECISIONS, RequestReusedError
from labelgap.review._review_session import Question

if TYPE_CHECKING:
    from labelgap.review._review_server import ReviewServer

_LONGEST_NAME, _LONGEST_COMMENT = 200, 2000
_LARGEST_BATCH = 200

Given = dict[str, Any]


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


def _json(value: Any, filename: str | None = None) -> ServerAnswer:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return ServerAnswer(text.encode(), "application/json; charset=utf-8", filename=filename)


def _review(server: ReviewServer, _: Given) -> ServerAnswer:
    nonce = secrets.token_urlsafe(16)
    page = review_page(server.review.audit, nonce=nonce, reviewer=server.reviewer)
    return ServerAnswer(page.encode(), "text/html; charset=utf-8", nonce)


def _report(server: ReviewServer, _: Given) -> ServerAnswer:
    nonce = secrets.token_urlsafe(16)
    page = audit_page(server.review.audit, nonce=nonce)
    return ServerAnswer(page.encode(), "text/html; charset=utf-8", nonce)


def _batch(server: ReviewServer, given: Given) -> ServerAnswer:
    client = _short_text(given, "client")
    size = given.get("size")
    if size is not None and not (size.isdecimal() and 1 <= int(size) <= _LARGEST_BATCH):
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"size: must be 1 to {_LARGEST_BATCH}")
    review = server.review
    questions = review.next_batch(client, None if size is None else int(size))
    answer = {
        "questions": [_plain_question(question) for question in questions],
        "progress": asdict(review.progress()),
        "agreement": [asdict(pair) for pair in review.tally.agreement()],
        "n_learned": review.tally.n_answers,
    }
    if review.n_wanted is not None and review.tally.n_answers:
        answer["estimate"] = review.estimate()._asdict()
    return _json(answer)


def _plain_question(question: Question) -> dict[str, Any]:
    return {
        **asdict(question.suggestion),
        "probability": question.probability,
        "audit_probability": question.suggestion.probability,
        "about": dict(question.about),
        "is_random": question.is_random,
    }


def _progress(server: ReviewServer, _: Given) -> ServerAnswer:
    return _json(asdict(server.review.progress()))


def _estimate(server: ReviewServer, _: Given) -> ServerAnswer:
    review = server.review
    return _json(
        {
            "table": review.estimate()._asdict(),
            "labels": {name: made._asdict() for name, made in review.estimate_by_label().items()},
        }
    )


def _decide(server: ReviewServer, given: Given) -> ServerAnswer:
    decision = given.get("decision")
    if decision not in DECISIONS:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, f"decision: must be one of {', '.join(DECISIONS)}"
        )
    item, label, comment = given.get("item"), given.get("label"), given.get("comment", "")
    if not isinstance(item, str) or not isinstance(label, str):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "item and label: must be text")
    if not isinstance(comment, str) or len(comment) > _LONGEST_COMMENT:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, f"comment: must be a text of up to {_LONGEST_COMMENT} letters"
        )
    reviewer, request = _short_text(given, "reviewer"), _short_text(given, "request")
    try:
        number = server.review.decide(item, label, decision, reviewer, request, comment)
    except RequestReusedError as error:
        raise RefusedError(HTTPStatus.CONFLICT, str(error)) from None
    except ValueError as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
    return _json({"number": number, "progress": asdict(server.review.progress())})


def _decisions(server: ReviewServer, _: Given) -> ServerAnswer:
    name = f"labelgap-decisions-{server.review.audit.audit_id[:8]}.json"
    return _json(server.review.decisions().to_dict(), name)


def _item(server: ReviewServer, given: Given) -> ServerAnswer:
    try:
        about, labels = server.review.item(str(given.get("item", "")))
    except ValueError as error:
        raise RefusedError(HTTPStatus.NOT_FOUND, str(error)) from None
    known = server.review.knows_labels
    made = [asdict(label) for label in labels]
    return _json({"about": dict(about), "labels": made, "knows_labels": known})


def _label(server: ReviewServer, given: Given) -> ServerAnswer:
    return _json(dict(server.review.explain(str(given.get("label", "")))))


def _short_text(given: Given, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise RefusedError(
            HTTPStatus.BAD_REQUEST, f"{name}: must be a text of 1 to {_LONGEST_NAME} letters"
        )
    return value


ROUTES: dict[str, dict[str, Callable[[ReviewServer, Given], ServerAnswer]]] = {
    "/": {"GET": _review},
    "/report": {"GET": _report},
    "/api/batch": {"GET": _batch},
    "/api/progress": {"GET": _progress},
    "/api/estimate": {"GET": _estimate},
    "/api/decide": {"POST": _decide},
    "/api/decisions": {"GET": _decisions},
    "/api/item": {"GET": _item},
    "/api/label": {"GET": _label},
}
