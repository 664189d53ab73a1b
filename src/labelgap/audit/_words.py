"""The audit in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from labelgap.audit._recording import Recorded
from labelgap.audit._result import (
    ItemAudit,
    LabelAudit,
    PairAudit,
    Suggestion,
    Summary,
)

__all__ = ["gaps_in_words", "rounded", "sentences_of"]

_LIKELY = 0.5


def gaps_in_words(
    n_unknown: int, n_cells: int, recorded: Recorded | None, *, by_statement: bool
) -> str:
    """What kind of gaps there are, and what that is read from."""
    parts = []
    if n_unknown:
        parts.append(
            f"{n_unknown:,} of {n_cells:,} entries ({_percent(n_unknown / n_cells)}) are marked as "
            "unknown."
        )
    if recorded is None:
        parts.append("Zeros are taken as meant." if n_unknown else "No entry is in doubt.")
        return " ".join(parts)
    share, verdict = recorded.share, recorded.verdict
    between = f"between {_percent(share.low)} and {_percent(share.high)}"
    if verdict == "complete":
        parts.append(
            "Zeros look meant: where a label is most surely expected it is nearly always recorded "
            f"({between} of the time)."
        )
    elif verdict == "ambiguous":
        parts.append(
            "Zeros look ambiguous: even where a label is most surely expected it is recorded only "
            f"part of the time ({between}), so some zeros are probably forgotten labels."
        )
    else:
        parts.append(
            "Whether zeros are meant or forgotten cannot be told: labels are too hard to predict "
            f"from these features (between {_percent(share.low)} and {_percent(share.high)} of the "
            "relevant ones may be recorded)."
        )
    if by_statement:
        parts.append("The labels came with the word that zeros may mean that nobody looked.")
    return " ".join(parts)


def sentences_of(
    summary_parts: Summary,
    labels: Sequence[LabelAudit],
    items: ItemAudit,
    pairs: PairAudit,
    suggestions: Sequence[Suggestion],
) -> tuple[str, ...]:
    """What a reader should know first, most important first."""
    found = []
    if summary_parts.expected_missing is not None:
        found.append(_missing(summary_parts))
    likely = sum(one.probability >= _LIKELY for one in suggestions)
    if likely:
        more = " or more" if likely == len(suggestions) else ""
        found.append(
            f"{likely:,}{more} suggested labels are more likely right than wrong; the surest is "
            f"{suggestions[0].label!r} for item {suggestions[0].item} "
            f"({_percent(suggestions[0].probability)})."
        )
    rare = sum(one.too_rare for one in labels)
    if rare:
        found.append(
            f"{rare:,} of {len(labels):,} labels {'is' if rare == 1 else 'are'} too rare to learn."
        )
    if pairs.duplicates:
        one = pairs.duplicates[0]
        found.append(
            f"{_pairs(len(pairs.duplicates))} nearly the same or contain each other, "
            f"such as {one.first!r} and {one.second!r}."
        )
    if pairs.seldom:
        pair = pairs.seldom[0]
        found.append(
            f"{_pairs(len(pairs.seldom))} found on similar items but seldom together, such as "
            f"{pair.first!r} and {pair.second!r} (on {pair.observed:.0f} items together, "
            f"{pair.expected:.0f} expected): perhaps two words for one thing."
        )
    if items.n_without_labels:
        n = items.n_without_labels
        found.append(f"{n:,} {'item carries' if n == 1 else 'items carry'} no label at all.")
    return tuple(found) or ("Nothing stands out.",)


def _missing(summary: Summary) -> str:
    expected = summary.expected_missing
    assert expected is not None
    beside = f"beside {summary.n_positive:,} that are recorded"
    if summary.gaps == "none":
        return f"Few labels seem to be missing: at most about {rounded(expected.high)}, {beside}."
    return (
        f"About {rounded(expected.value)} labels are probably missing (95% interval: "
        f"{rounded(expected.low)} to {rounded(expected.high)}), {beside}."
    )


def _pairs(n: int) -> str:
    return "1 pair of labels is" if n == 1 else f"{n} pairs of labels are"


def rounded(value: float) -> str:
    """Two figures are enough for a guess."""
    if value < 10:
        return f"{value:.0f}"
    digits = len(str(int(value))) - 2
    return f"{round(value, -digits):,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.095 or share == 0 else f"{100 * share:.1f}%"
