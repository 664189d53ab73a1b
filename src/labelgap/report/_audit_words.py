"""What the audit page says in words, from the numbers of the audit."""

from __future__ import annotations

from pathlib import PurePath

from labelgap.audit import Audit, rounded
from labelgap.report._audit_charts import learned_from


def title(audit: Audit) -> str:
    """What was audited: the file of the items, or the size of the table."""
    for source in audit.provenance.sources:
        if source.place:
            return PurePath(source.place).name or source.place
    return f"{audit.summary.n_items:,} items, {audit.summary.n_labels:,} labels"


def headline(audit: Audit) -> str:
    """The first sentence of the summary, or that there is nothing to say."""
    sentences = audit.summary.sentences
    return sentences[0] if sentences else "Nothing could be said about missing labels."


def facts(audit: Audit) -> list[tuple[str, str]]:
    """The numbers to remember, each with what it means."""
    summary = audit.summary
    found = [
        (
            f"{summary.n_items:,} × {summary.n_labels:,}",
            f"items and labels, {summary.n_positive:,} recorded labels, "
            f"{summary.n_features:,} features",
        )
    ]
    if summary.n_unknown:
        share = summary.n_unknown / max(1, summary.n_items * summary.n_labels)
        found.append((f"{share:.1%}", f"of all entries are unknown ({summary.n_unknown:,})"))
    if summary.expected_missing is not None:
        missing = summary.expected_missing
        found.append(
            (
                rounded(missing.value),
                f"labels probably missing (95% interval {rounded(missing.low)} to "
                f"{rounded(missing.high)})",
            )
        )
    if summary.recorded is not None:
        rate = summary.recorded
        found.append(
            (
                f"{rate.value:.0%}",
                f"of the relevant labels are recorded ({rate.low:.0%} to {rate.high:.0%})",
            )
        )
    n_rare = sum(label.too_rare for label in audit.labels)
    if n_rare:
        found.append((f"{n_rare:,}", f"label{'s' if n_rare > 1 else ''} too rare to learn"))
    return found


def items(audit: Audit) -> str:
    """What the histogram of items shows."""
    n_items, without = audit.summary.n_items, audit.items.n_without_labels
    shown = sum(audit.items.counts)
    text = f"{shown:,} items by the estimated share of their relevant labels that is recorded."
    if without:
        text += f" {without:,} of {n_items:,} items carry no label at all."
    return text


def learning(audit: Audit) -> str:
    """Whether more labelled items would help, read from the last stretch of the curve."""
    points = audit.learning_curve
    if len(points) < 2:
        return ""
    before, after = points[-2], points[-1]
    gain = after.average_precision.value - before.average_precision.value
    grown = after.n_items / max(1, before.n_items)
    step = f"From {learned_from(before)} to {learned_from(after)}"
    if before.average_precision.high < after.average_precision.low:
        return f"{step}, average precision rose by {gain:.3f}: more items would still help."
    if gain > 0:
        return (
            f"{step} ({grown:.1f} times as many), average precision rose by {gain:.3f}, within the "
            "uncertainty of this data set."
        )
    return f"{step}, nothing was gained: better features or labels would help more than items."


def p_value(p: float) -> str:
    """Three decimals, or that it is smaller."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def provenance(audit: Audit) -> list[tuple[str, str]]:
    """Lines of a table that says how the audit came about."""
    origin = audit.provenance
    lines = [("labelgap", origin.version), ("created", origin.created), ("audit", audit.audit_id)]
    for source in origin.sources:
        digest = f", SHA-256 {source.sha256}" if source.sha256 else ""
        lines.append((source.role, f"{source.place}{digest}"))
    lines.append(("contents", f"SHA-256 {origin.data_sha256}"))
    if origin.random_state is not None:
        lines.append(("seed", str(origin.random_state)))
    used = [f"{name} = {value}" for name, value in origin.settings.items() if value is not None]
    if used:
        lines.append(("settings", ", ".join(used)))
    if origin.n_decisions:
        lines.append(("decisions taken in", f"{origin.n_decisions:,}"))
    total = sum(origin.seconds.values())
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in origin.seconds.items())
    lines.append(("seconds", f"{total:.1f} ({stages})" if stages else f"{total:.1f}"))
    return lines
