"""The page on which a reviewer answers the questions of the review server."""

from __future__ import annotations

from labelgap.audit import Audit
from labelgap.report import _audit_words as words
from labelgap.report._audit_page import page_environment


def review_page(audit: Audit, *, nonce: str) -> str:
    """The review page as HTML.

    Parameters
    ----------
    audit : Audit
        What is under review.
    nonce : str
        Of the content security policy under which the server sends the page.
    """
    environment, safe = page_environment("the review page")
    return environment.get_template("audit_review.html.j2").render(
        title=words.title(audit),
        version=audit.provenance.version,
        data={"audit": audit.audit_id},
        nonce=safe(f' nonce="{nonce}"'),
    )
