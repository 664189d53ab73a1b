"""The pages of an audit: the report, and the page on which a reviewer answers questions."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from labelgap.auditing import Audit, LabelAudit
from labelgap.extras import require
from labelgap.files import replacing
from labelgap.report import _audit_charts as charts
from labelgap.report import _audit_words as words

_MOST_LABELS, _LABELS_AT_FIRST = 300, 20


def audit_page(audit: Audit, *, nonce: str | None = None) -> str:
    """Return the report of an audit as HTML.

    Parameters
    ----------
    audit : Audit
    nonce : str, optional, default=None
        For the review server: the page then sends decisions to the server that served it, and its
        scripts and styles carry this nonce of the content security policy. Without it decisions
        stay in the browser until they are downloaded.

    Returns
    -------
    str
        A whole document that refers to nothing outside itself.

    See Also
    --------
    write_audit_page : Writes the page to a file.

    Examples
    --------
    >>> from labelgap import audit
    >>> from labelgap.generators import make_positive_only
    >>> from labelgap.report import audit_page
    >>> made = make_positive_only(120, 10, 4, density=0.3, random_state=0)
    >>> audit_page(audit(made.X, made.labels, random_state=0))[:15]
    '<!doctype html>'
    """
    environment, safe = _environment("the audit page")
    labels = _ordered_labels(audit)
    return environment.get_template("audit.html.j2").render(
        audit=audit,
        title=words.title(audit),
        headline=words.headline(audit),
        sentences=audit.summary.sentences[1:],
        facts=words.facts(audit),
        basis=words.basis(audit),
        contents=_contents(audit),
        label_tables=[labels[:_LABELS_AT_FIRST], labels[_LABELS_AT_FIRST:_MOST_LABELS]],
        n_more_labels=max(0, len(labels) - _MOST_LABELS),
        items_chart=safe(charts.items_chart(audit)),
        items_words=words.items(audit),
        map=safe(charts.cooccurrence_chart(audit)),
        strongest=words.strongest_pairs(audit),
        p_words=words.p_value,
        learning_chart=safe(charts.learning_chart(audit)),
        learning_words=words.learning(audit),
        calibration_chart=safe(charts.calibration_chart(audit)),
        weighted=lambda pairs: ", ".join(f"{name} ({weight:.2g})" for name, weight in pairs),
        traces=[
            (trace, safe(charts.trace_chart(trace, number)))
            for number, trace in enumerate(audit.convergence)
            if trace.values
        ],
        provenance=words.provenance(audit),
        data={
            "audit": audit.audit_id,
            "served": nonce is not None,
            "suggestions": audit.to_dict()["suggestions"],
        },
        nonce=safe(f' nonce="{nonce}"') if nonce else "",
    )


def write_audit_page(audit: Audit, path: str | Path) -> None:
    """Write the report of an audit; an existing file is replaced once the new one is complete.

    Parameters
    ----------
    audit : Audit
    path : path

    See Also
    --------
    audit_page : The page as text.

    Examples
    --------
    >>> from labelgap import audit
    >>> from labelgap.generators import make_positive_only
    >>> from labelgap.report import write_audit_page
    >>> made = make_positive_only(120, 10, 4, density=0.3, random_state=0)
    >>> write_audit_page(audit(made.X, made.labels, random_state=0), "report.html")  # doctest: +SKIP
    """
    page = audit_page(audit)
    with replacing(path) as (partial,):
        partial.write_text(page, encoding="utf-8")


def review_page(audit: Audit, *, nonce: str, reviewer: str = "") -> str:
    """Return the page on which a reviewer answers the questions of the review server.

    Parameters
    ----------
    audit : Audit
        What is under review.
    nonce : str
        Of the content security policy under which the server sends the page.
    reviewer : str, default=""
        The name that the page starts with.

    Returns
    -------
    str
        HTML.

    See Also
    --------
    labelgap.review.ReviewServer : Serves the page.

    Examples
    --------
    >>> from labelgap import audit
    >>> from labelgap.generators import make_positive_only
    >>> from labelgap.report import review_page
    >>> made = make_positive_only(120, 10, 4, density=0.3, random_state=0)
    >>> review_page(audit(made.X, made.labels, random_state=0), nonce="a1b2")[:15]
    '<!doctype html>'
    """
    environment, safe = _environment("the review page")
    return environment.get_template("review.html.j2").render(
        title=words.title(audit),
        version=audit.provenance.version,
        data={"audit": audit.audit_id, "reviewer": reviewer},
        nonce=safe(f' nonce="{nonce}"'),
    )


def _environment(purpose: str) -> tuple[Any, Any]:
    """The templates, and what marks a string as safe markup."""
    jinja2 = require("jinja2", extra="report", purpose=purpose)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("labelgap.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sha256"] = _source_hash
    return environment, jinja2.filters.do_mark_safe


def _source_hash(text: str) -> str:
    """A style or script as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _contents(audit: Audit) -> list[tuple[str, str]]:
    pairs = audit.pairs
    there = {
        ("missing", "Missing labels"): audit.suggestions,
        ("labels", "Labels"): audit.labels,
        ("unopened", "Unopened items"): audit.unopened_items,
        ("wrong", "Wrong labels"): audit.wrong_positives,
        ("item-rates", "Items"): True,
        ("pairs", "Pairs of labels"): len(pairs.map.labels) > 1 or pairs.rare or pairs.duplicates,
        ("quality", "Trust"): audit.learning_curve or audit.calibration,
        ("topics", "Topics"): audit.topics,
        ("features", "Features"): audit.selected_features,
        ("convergence", "Convergence"): any(trace.values for trace in audit.convergence),
        ("again", "Do it again"): True,
    }
    return [entry for entry, is_there in there.items() if is_there]


def _ordered_labels(audit: Audit) -> list[LabelAudit]:
    """The labels with most missing entries first; those nothing is known of last."""

    def order(label: LabelAudit) -> tuple[bool, float, int]:
        missing = label.expected_missing
        return (missing is None, -(missing or 0.0), -label.n_positive)

    return sorted(audit.labels, key=order)
