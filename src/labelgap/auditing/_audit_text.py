"""An audit for readers: sentences, one line, a card for notebooks, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from labelgap.auditing._audit_result import (
        Audit,
        AuditSummary,
        Estimate,
        ItemAudit,
        LabelAudit,
        MissingEstimate,
        PairAudit,
        Suggestion,
    )
    from labelgap.propensity import TopScoredFraction

_LIKELY = 0.5
_NEARLY_ALWAYS = 0.9
_N_ON_CARD = 5


def gaps_in_words(
    n_unknown: int, n_cells: int, confident: TopScoredFraction | None, *, stated: bool
) -> str:
    """Return what kind of gaps there are, and what the most confident entries show."""
    parts = []
    if n_unknown:
        parts.append(
            f"{n_unknown:,} of {n_cells:,} entries ({_percent(n_unknown / n_cells)}) are unknown."
        )
    if confident is None:
        parts.append("Zeros are taken as negative." if n_unknown else "All entries are known.")
        return " ".join(parts)
    between = f"between {_percent(confident.low)} and {_percent(confident.high)} of the time"
    if confident.low > _NEARLY_ALWAYS:
        parts.append(
            f"Where a label is predicted most confidently it is nearly always recorded ({between}). "
            "That does not show that zeros are negative: people record the obvious labels first."
        )
    else:
        parts.append(
            f"Even where a label is predicted most confidently it is recorded only {between}: some "
            "zeros are probably missing labels, or labels are hard to predict from these features."
        )
    if stated:
        parts.append("The labels were given with unlabeled zeros.")
    return " ".join(parts)


def sentences_of(
    summary: AuditSummary,
    missing: MissingEstimate,
    labels: Sequence[LabelAudit],
    items: ItemAudit,
    pairs: PairAudit,
    suggestions: Sequence[Suggestion],
    n_unopened: float = 0.0,
) -> tuple[str, ...]:
    """Return what a reader should know first, most important first."""
    sentences = _missing_sentences(summary, missing)
    likely = sum(suggestion.probability >= _LIKELY for suggestion in suggestions)
    if likely:
        more = " or more" if likely == len(suggestions) else ""
        first = suggestions[0]
        sentences.append(
            f"{likely:,}{more} suggested labels are more likely right than wrong; the most "
            f"confident is {first.label!r} for item {first.item} ({_percent(first.probability)})."
        )
    n_rare = sum(label.too_rare for label in labels)
    if n_rare:
        are = "is" if n_rare == 1 else "are"
        sentences.append(f"{n_rare:,} of {len(labels):,} labels {are} too rare to learn.")
    if pairs.duplicates:
        pair = pairs.duplicates[0]
        sentences.append(
            f"{_n_pairs(len(pairs.duplicates))} nearly the same or contain each other, "
            f"such as {pair.first!r} and {pair.second!r}."
        )
    if pairs.rare:
        rare = pairs.rare[0]
        sentences.append(
            f"{_n_pairs(len(pairs.rare))} found on similar items but rarely together, such as "
            f"{rare.first!r} and {rare.second!r} (on {rare.observed:.0f} items together, "
            f"{rare.expected:.0f} expected): perhaps two words for one thing."
        )
    n = items.n_without_labels
    if n:
        carry = "item carries" if n == 1 else "items carry"
        unopened = ", and one of them looks as if nobody opened it, unless nothing applies to it"
        if round(n_unopened) > 1:
            unopened = (
                f", and about {rounded(n_unopened)} of them look as if nobody opened them, unless "
                "nothing applies to them"
            )
        sentences.append(f"{n:,} {carry} no label at all{unopened if n_unopened >= 1 else ''}.")
    return tuple(sentences)


def _missing_sentences(summary: AuditSummary, missing: MissingEstimate) -> list[str]:
    beside = f"beside {summary.n_positive:,} that are recorded"
    low, high = rounded(missing.low), rounded(missing.high)
    if summary.gaps == "none":
        return [f"Few labels seem to be missing: at most about {high}, {beside}."]
    about = rounded(missing.value)
    if missing.identified:
        return [f"About {about} labels are probably missing ({low} to {high}), {beside}."]
    return [
        f"Between {low} and {high} labels are missing, {beside}; {about} is our estimate.",
        "How many cannot be told from one table, since it depends on how labels got lost.",
    ]


def _n_pairs(n: int) -> str:
    return "1 pair of labels is" if n == 1 else f"{n} pairs of labels are"


def rounded(value: float) -> str:
    """Return an estimated count as text with two significant digits.

    Examples
    --------
    >>> from labelgap.auditing import rounded
    >>> rounded(2345.6), rounded(7.2)
    ('2,300', '7')
    """
    if value < 10:
        return f"{value:.0f}"
    digits = len(str(int(value))) - 2
    return f"{round(value, -digits):,.0f}"


def _percent(fraction: float) -> str:
    digits = 0 if fraction >= 0.095 or fraction == 0 else 1
    return f"{100 * fraction:.{digits}f}%"


def line_of(audit: Audit) -> str:
    """Return the audit in one line, for its ``repr``."""
    summary, missing = audit.summary, audit.missing
    return (
        f"<Audit of {summary.n_items:,} items x {summary.n_labels:,} labels: about "
        f"{rounded(missing.value)} labels missing ({rounded(missing.low)} to "
        f"{rounded(missing.high)}), {len(audit.suggestions):,} suggestions>"
    )


def card_of(audit: Audit) -> str:
    """Return the summary and the first suggestions as HTML, for notebooks."""
    summary = audit.summary
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in summary.sentences)
    rows = "".join(
        f"<tr><td>{escape(suggestion.item)}</td><td>{escape(suggestion.label)}</td>"
        f"<td>{suggestion.probability:.2f}</td></tr>"
        for suggestion in audit.suggestions[:_N_ON_CARD]
    )
    head = "<tr><th>item</th><th>label</th><th>probability</th></tr>"
    table = f"<table>{head}{rows}</table>" if rows else ""
    title = f"Audit: {summary.n_items:,} items × {summary.n_labels:,} labels"
    return f"<div><b>{title}</b><ul>{sentences}</ul>{table}</div>"


def audit_tables(audit: Audit, *, item: str = "item") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of the table of suggestions and of the table of labels.

    Parameters
    ----------
    audit : Audit
    item : str, default="item"
        The name of the column of ids.

    Returns
    -------
    suggestions, labels : dict from name to array
        Numbers that are not known are NaN; lists of evidence are text, separated by ``"; "``.

    Examples
    --------
    >>> from labelgap import audit
    >>> from labelgap.auditing import audit_tables
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> suggestions, labels = audit_tables(audit(X, Y, n_suggestions=3), item="row")
    >>> list(suggestions)[:4], list(labels)[:2]
    (['rank', 'row', 'label', 'probability'], ['label', 'n_positive'])
    """
    return _suggestion_columns(audit, item), _label_columns(audit)


def _suggestion_columns(audit: Audit, item: str) -> dict[str, Any]:
    suggestions = audit.suggestions
    evidence = [suggestion.evidence for suggestion in suggestions]
    similar = ([f"{s.item} ({s.similarity:.2f})" for s in why.similar] for why in evidence)
    others = ([f"{c.label} (lift {c.lift:.1f})" for c in why.cooccurring] for why in evidence)
    features = ([f"{f.feature} ({f.contribution:+.3f})" for f in why.features] for why in evidence)
    return {
        "rank": np.array([suggestion.rank for suggestion in suggestions], dtype=np.int64),
        item: _texts(suggestion.item for suggestion in suggestions),
        "label": _texts(suggestion.label for suggestion in suggestions),
        "probability": _numbers(suggestion.probability for suggestion in suggestions),
        "state": _texts(suggestion.state for suggestion in suggestions),
        "similar_items": _texts(map("; ".join, similar)),
        "cooccurring_labels": _texts(map("; ".join, others)),
        "features": _texts(map("; ".join, features)),
    }


def _label_columns(audit: Audit) -> dict[str, Any]:
    labels = audit.labels
    columns: dict[str, Any] = {
        "label": _texts(label.name for label in labels),
        "n_positive": np.array([label.n_positive for label in labels], dtype=np.int64),
        "observed": _numbers(label.observed for label in labels),
        "expected_missing": _numbers(label.expected_missing for label in labels),
        "too_rare": np.array([label.too_rare for label in labels], dtype=bool),
        "calibration_error": _numbers(label.calibration_error for label in labels),
    }
    for name in ("label_frequency", "auc", "average_precision"):
        estimates: list[Estimate | None] = [getattr(label, name) for label in labels]
        for part, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
            columns[name + suffix] = _numbers(
                None if estimate is None else getattr(estimate, part) for estimate in estimates
            )
    return columns


def _texts(values: Iterable[str]) -> np.ndarray:
    return np.array(list(values), dtype=object)


def _numbers(values: Iterable[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
