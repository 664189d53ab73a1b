"""The page of ``labelgap audit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgap._extras import require
from labelgap.audit import Audit, Estimate, LabelAudit
from labelgap.report import _audit_words as words
from labelgap.report._audit_charts import calibration_svg, items_svg, learning_svg, trace_svg
from labelgap.report._audit_map import map_svg, strongest
from labelgap.report._files import replacing

_MOST_LABELS, _LABELS_AT_FIRST = 300, 20
_SCALE = (
    '<svg width="132" height="16" aria-hidden="true" focusable="false" class="map">'
    + "".join(
        f'<rect class="{"seldom" if k < 3 else "often"}" x="{22 * k + 1}" y="1" width="20" '
        f'height="14" rx="2" fill-opacity="{abs(2 * k - 5) / 5:.2f}"/>'
        for k in range(6)
    )
    + "</svg>"
)


def audit_page(audit: Audit, *, nonce: str | None = None) -> str:
    """The audit as HTML.

    Parameters
    ----------
    audit : Audit
    nonce : str, optional
        For the review server: the page then sends decisions to the server that served it, and its
        scripts and styles carry this nonce of the content security policy. Without it decisions
        stay in the browser until they are downloaded.

    Returns
    -------
    str
        A whole document that refers to nothing outside itself.
    """
    environment, safe = page_environment("the audit page")
    n_items, labels = audit.summary.n_items, _ordered_labels(audit)
    return environment.get_template("audit.html.j2").render(
        audit=audit,
        title=words.title(audit),
        headline=words.headline(audit),
        sentences=audit.summary.sentences[1:],
        facts=words.facts(audit),
        contents=_contents(audit),
        label_tables=[labels[:_LABELS_AT_FIRST], labels[_LABELS_AT_FIRST:_MOST_LABELS]],
        n_more_labels=max(0, len(labels) - _MOST_LABELS),
        cell=lambda estimate, share: safe(_bar_cell(estimate, as_share=share)),
        items_chart=safe(items_svg(audit.items)),
        items_words=words.items(audit),
        map=safe(map_svg(audit.pairs.map, n_items)) if len(audit.pairs.map.labels) > 1 else "",
        scale=safe(_SCALE),
        strongest=strongest(audit.pairs.map, n_items),
        p_words=words.p_value,
        learning_chart=safe(learning_svg(audit.learning_curve)) if audit.learning_curve else "",
        learning_words=words.learning(audit),
        calibration_chart=safe(calibration_svg(audit.calibration)) if audit.calibration else "",
        weighted=lambda pairs: ", ".join(f"{name} ({weight:.2g})" for name, weight in pairs),
        traces=[
            (trace, safe(trace_svg(trace, k)))
            for k, trace in enumerate(audit.convergence)
            if trace.values
        ],
        provenance=words.provenance(audit),
        data=_data(audit, served=nonce is not None),
        nonce=safe(f' nonce="{nonce}"') if nonce else "",
    )


def write_audit_page(audit: Audit, path: str | Path) -> None:
    """Write the page; an existing file is replaced only when the new one is complete."""
    page = audit_page(audit)
    with replacing(Path(path)) as (partial,):
        partial.write_text(page, encoding="utf-8")


def page_environment(purpose: str) -> tuple[Any, Any]:
    """The templates, and what marks a string as safe markup."""
    jinja2 = require("jinja2", extra="report", purpose=purpose)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("labelgap.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment, jinja2.filters.do_mark_safe


def suggestion_data(audit: Audit) -> list[dict[str, Any]]:
    """The suggestions as the scripts of the pages read them."""
    return audit.to_dict()["suggestions"]


def _data(audit: Audit, *, served: bool) -> dict[str, Any]:
    return {"audit": audit.audit_id, "served": served, "suggestions": suggestion_data(audit)}


def _contents(audit: Audit) -> list[tuple[str, str]]:
    pairs = audit.pairs
    there = {
        ("missing", "Missing labels"): audit.suggestions,
        ("labels", "Labels"): audit.labels,
        ("item-rates", "Items"): True,
        ("pairs", "Pairs of labels"): len(pairs.map.labels) > 1 or pairs.seldom or pairs.duplicates,
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


def _bar_cell(estimate: Estimate | None, *, as_share: bool) -> str:
    """A table cell with a bar, its interval, and the numbers."""
    if estimate is None:
        return '<td class="picture words dim">not known</td>'
    value, low, high = (
        min(1.0, max(0.0, one)) for one in (estimate.value, estimate.low, estimate.high)
    )
    shown = [f"{one:.0%}" if as_share else f"{one:.2f}" for one in (value, low, high)]
    return (
        '<td class="picture words"><svg height="14" aria-hidden="true" focusable="false">'
        '<rect class="track" width="100%" height="14" rx="2"/>'
        f'<rect class="fill good" width="{100 * value:.1f}%" height="14" rx="2"/>'
        f'<line class="whisker" x1="{100 * low:.1f}%" x2="{100 * high:.1f}%" y1="7" y2="7"/></svg>'
        f'{shown[0]} <span class="aside">({shown[1]}–{shown[2]})</span></td>'
    )
