"""Numbers and names as the pages write them, on pages and in Markdown alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from labelgap_papers.bench import PublishedFigure
from labelgap_papers.reproduction._results import Entry
from labelgap_papers.reproduction._statuses import Measured, ReproductionStatus, is_time

METRIC_NAMES = {
    "one_error": "One-error",
    "hamming_loss": "Hamming loss",
    "ranking_loss": "Ranking loss",
    "coverage": "Coverage",
    "average_precision": "Average precision",
    "auc": "AUC",
    "auc_micro": "AUC, micro",
    "auc_macro": "AUC, macro",
    "auc_instance": "AUC, per instance",
    "f1_macro": "F1, macro",
    "f1_micro": "F1, micro",
    "precision_at_1": "Precision at 1",
    "precision_at_3": "Precision at 3",
    "precision_at_5": "Precision at 5",
    "auc_top_t": "AUC, top T",
    "one_minus_hamming_loss": "1 − Hamming loss",
    "one_minus_ranking_loss": "1 − ranking loss",
    "unseen_at_1": "Precision at 1, unseen labels",
    "unseen_at_3": "Precision at 3, unseen labels",
    "unseen_at_5": "Precision at 5, unseen labels",
    "carried_at_1": "Precision at 1, unseen labels, rows that carry one",
    "carried_at_3": "Precision at 3, unseen labels, rows that carry one",
    "carried_at_5": "Precision at 5, unseen labels, rows that carry one",
    "fit_seconds": "Seconds to fit",
    "fit_cpu_seconds": "Processor seconds to fit",
    "iteration_seconds": "Seconds so far",
    "peak_gigabytes": "Peak memory (GB)",
}
_FOREMOST = ("average_precision", "mean_average_precision")
_PRECISIONS = {
    "precision_at_": "",
    "unseen_at_": ", unseen",
    "carried_at_": ", rows with unseen",
}


def metric_words(name: str) -> str:
    return METRIC_NAMES.get(name, name.replace("_", " ").capitalize())


def foremost(names: Iterable[str]) -> list[str]:
    """The same metrics; the one to look at first comes first."""
    return sorted(names, key=lambda name: name not in _FOREMOST)


def metric_short(name: str) -> str:
    """For the axes of pictures."""
    for start, where in _PRECISIONS.items():
        if name.startswith(start):
            return f"P@{name.removeprefix(start)}{where}"
    return metric_words(name)


def is_cost(metric: str) -> bool:
    """Whether values of a metric are seconds or gigabytes rather than fractions."""
    return "seconds" in metric or "gigabytes" in metric


def setting_words(setting: Mapping[str, Any]) -> str:
    """``missing = 0.4, k = 20``; empty where nothing varies."""
    return ", ".join(f"{key.replace('_', ' ')} = {short(value)}" for key, value in setting.items())


def short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def number(value: float | None, seconds: bool = False) -> str:
    """Three decimals; three significant digits for seconds and memory."""
    if value is None or not math.isfinite(value):
        return "–"
    return significant(value) if seconds else f"{value:.3f}"


def significant(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ours_words(ours: Measured, seconds: bool = False) -> str:
    spread = "" if ours.std is None else f" ±{number(ours.std, seconds)}"
    return f"{number(ours.mean, seconds)}{spread}"


def published_words(figure: PublishedFigure) -> str:
    return figure.printed if figure.std is None else f"{figure.printed} ±{figure.std:.3f}"


def difference_words(entry: Entry) -> str:
    """Ours minus published, or how many times as long."""
    if entry.ours is None:
        return ""
    if is_time(entry.figure):
        return f"{significant(entry.ours.mean / entry.figure.mean)}×"
    return _with_sign(entry.difference, 3)


def p_words(p: float) -> str:
    if math.isnan(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def sentence(text: str) -> str:
    """With a capital at the start and a full stop at the end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def counted(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def signed(value: float) -> str:
    return "–" if math.isnan(value) else _with_sign(value, 4)


def _with_sign(value: float, digits: int) -> str:
    """A true minus sign, and no sign for what rounds to zero."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def effect(value: float) -> str:
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return "–" if math.isnan(value) else _with_sign(value, 1)


def tally(counts: Mapping[ReproductionStatus, int]) -> str:
    """``12 reproduced, 3 below``."""
    return ", ".join(f"{n:,} {status}" for status, n in counts.items() if n) or "no figures"


def headline(counts: Mapping[ReproductionStatus, int]) -> str:
    """The reproduction results in one sentence."""
    total = sum(counts.values())
    parts = {
        "reproduced": counts[ReproductionStatus.REPRODUCED],
        "beaten": counts[ReproductionStatus.BEATEN],
        "exceeded without proof": counts[ReproductionStatus.AHEAD],
        "not reached": counts[ReproductionStatus.BELOW],
    }
    told = ", ".join(f"{n:,} {what}" for what, n in parts.items()).replace(" ", " are ", 1)
    return f"Of {total:,} published figures, {told} and {counts[ReproductionStatus.REFUTED]:,} refuted."


def remainder(counts: Mapping[ReproductionStatus, int]) -> str:
    """What the headline leaves out."""
    left = {
        "belong to data that cannot be had": counts[ReproductionStatus.DATA_NOT_PUBLIC],
        "belong to methods that are not built": counts[ReproductionStatus.NOT_BUILT],
        "were not measured yet": counts[ReproductionStatus.NOT_MEASURED],
    }
    parts = [f"{n:,} {what}" for what, n in left.items() if n]
    return f"Of the others, {', '.join(parts)}." if parts else "All were measured."


def provisional(entries: Iterable[Entry]) -> str:
    """How many statuses stand on fewer runs than planned."""
    measured = [entry.ours for entry in entries if entry.ours is not None]
    few = sum(not one.complete for one in measured)
    if not few:
        return ""
    return (
        f"{few:,} of the {len(measured):,} measured ones are provisional: they rest on fewer runs "
        "or a smaller search than planned."
    )


__all__ = [
    "counted",
    "difference_words",
    "effect",
    "headline",
    "is_cost",
    "metric_words",
    "number",
    "ours_words",
    "p_words",
    "provisional",
    "published_words",
    "remainder",
    "sentence",
    "setting_words",
    "short",
    "signed",
    "significant",
    "tally",
]
