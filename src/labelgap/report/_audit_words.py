"""What the audit page says in words, from the numbers of the audit."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from labelgap.auditing import Audit, Estimate, LearningPoint, damped_log_lift, rounded


def title(audit: Audit) -> str:
    """What was audited: the file of the items, or the size of the table."""
    for source in audit.provenance.sources:
        if source.place:
            return PurePath(source.place).name or source.place
    return f"{audit.summary.n_items:,} items, {audit.summary.n_labels:,} labels"


def headline(audit: Audit) -> str:
    """The first sentence of the summary."""
    return audit.summary.sentences[0]


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
        fraction = summary.n_unknown / max(1, summary.n_items * summary.n_labels)
        found.append((f"{fraction:.1%}", f"of all entries are unknown ({summary.n_unknown:,})"))
    missing, rate = audit.missing, summary.label_frequency
    interval = f"{rounded(missing.low)} to {rounded(missing.high)}"
    found.append((rounded(missing.value), f"labels probably missing ({interval})"))
    if rate is not None:
        interval = f"{rate.low:.0%} to {rate.high:.0%}"
        found.append((f"{rate.value:.0%}", f"of the relevant labels are recorded ({interval})"))
    n_rare = sum(label.too_rare for label in audit.labels)
    if n_rare:
        found.append((f"{n_rare:,}", f"label{'s' if n_rare > 1 else ''} too rare to learn"))
    return found


def basis(audit: Audit) -> str:
    """What the number of missing labels rests on, and what it would be under each assumption."""
    missing = audit.missing
    data, _, assumption = missing.basis.partition("; ")
    if not missing.scenarios:
        return f"The number of missing labels is estimated from {data}, assuming that {assumption}."
    said = "; ".join(
        f"{one.mechanism}: {rounded(one.value)}"
        + (
            ""
            if rounded(one.low) == rounded(one.high)
            else f" ({rounded(one.low)} to {rounded(one.high)})"
        )
        for one in missing.scenarios
    )
    return f"Missing labels, by the way in which they got lost. {said[0].upper()}{said[1:]}."


def items(audit: Audit) -> str:
    """What the histogram of items shows."""
    n_items, without = audit.summary.n_items, audit.items.n_without_labels
    shown = sum(audit.items.counts)
    text = f"{shown:,} items by the estimated fraction of their relevant labels that is recorded."
    if without:
        text += f" {without:,} of {n_items:,} items carry no label at all."
    return text


def item_words(audit: Audit) -> list[str]:
    """Each bar of the histogram of items."""
    edges = audit.items.edges
    return [
        f"{low:.0%} to {high:.0%} recorded: {n:,} items"
        for low, high, n in zip(edges[:-1], edges[1:], audit.items.counts, strict=True)
    ]


def learning(audit: Audit) -> str:
    """Whether more labelled items would help, read from the last stretch of the curve."""
    points = audit.learning_curve
    if len(points) < 2:
        return ""
    before, after = points[-2], points[-1]
    gain = after.average_precision.value - before.average_precision.value
    grown = after.n_items / max(1, before.n_items)
    step = f"From {_learned_from(before)} to {_learned_from(after)}"
    if before.average_precision.high < after.average_precision.low:
        return f"{step}, average precision rose by {gain:.3f}: more items would still help."
    if gain > 0:
        return (
            f"{step} ({grown:.1f} times as many), average precision rose by {gain:.3f}, within the "
            "uncertainty of this data set."
        )
    return f"{step}, nothing was gained: better features or labels would help more than items."


def learning_words(audit: Audit) -> list[str]:
    """Each point of the learning curve."""
    return [
        f"{_learned_from(point)}: {_with_interval(point.average_precision)}"
        for point in audit.learning_curve
    ]


def _learned_from(point: LearningPoint) -> str:
    return f"{point.n_labels:,} labels of {point.n_items:,} items"


def calibration_words(audit: Audit) -> list[str]:
    """Each bin of the calibration."""
    return [
        f"predicted {one.predicted:.2f}, recorded {_with_interval(one.observed)}, {one.n:,} entries"
        for one in audit.calibration
    ]


def _with_interval(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def strongest_pairs(audit: Audit, most: int = 10) -> list[tuple[str, str, int, float]]:
    """The pairs farthest from independence, with the items that carry both, and the lift."""
    pairs = audit.pairs.map
    if not pairs.labels:
        return []
    strength = np.abs(damped_log_lift(np.array(pairs.counts), audit.summary.n_items))
    first, second = np.triu_indices(len(pairs.labels), 1)
    order = np.argsort(-strength[first, second], kind="stable")[:most]
    return [
        (pairs.labels[i], pairs.labels[j], pairs.counts[i][j], pairs.lift[i][j])
        for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
    ]


def map_summary(audit: Audit) -> str:
    """The co-occurrence map in a sentence."""
    pairs = [
        f"{first} and {second}: {n:,} items, {lift:.1f} times as many as if independent"
        for first, second, n, lift in strongest_pairs(audit, 5)
    ]
    return f"{len(audit.pairs.map.labels)} labels. Farthest from independence: {'; '.join(pairs)}."


def map_words(audit: Audit) -> list[str]:
    """Each cell of the co-occurrence map, row by row."""
    pairs = audit.pairs.map
    return [
        f"{first}: {pairs.counts[i][i]:,} items"
        if i == j
        else f"{first} and {second}: {pairs.counts[i][j]:,} items, "
        f"{pairs.lift[i][j]:.2f} times as many as if independent"
        for i, first in enumerate(pairs.labels)
        for j, second in enumerate(pairs.labels)
    ]


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
        lines.append(("random state", str(origin.random_state)))
    used = [f"{name} = {value}" for name, value in origin.settings.items() if value is not None]
    if used:
        lines.append(("settings", ", ".join(used)))
    if origin.n_decisions:
        lines.append(("decisions taken in", f"{origin.n_decisions:,}"))
    total = sum(origin.seconds.values())
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in origin.seconds.items())
    lines.append(("seconds", f"{total:.1f} ({stages})" if stages else f"{total:.1f}"))
    return lines
