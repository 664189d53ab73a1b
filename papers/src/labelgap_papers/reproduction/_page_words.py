"""Sentences about tables and pictures of the reproduction results."""

from __future__ import annotations

import math
from collections.abc import Sequence

from labelgap_papers.reproduction import number_words as words
from labelgap_papers.reproduction._page_contents import Contest, ExperimentView
from labelgap_papers.reproduction._results import varying
from labelgap_papers.reproduction._statuses import ReproductionStatus
from labelgap_papers.reproduction._tables_and_curves import Grid


def grid_title(shown: ExperimentView, grid: Grid) -> str:
    """Its metric, after the settings that tell it from other tables of the experiment."""
    name = words.metric_words(grid.metric.name)
    kept = varying(shown.results.experiment)
    setting = {key: value for key, value in grid.setting.items() if key in kept}
    return f"{words.setting_words(setting)} · {name}" if setting else name


def footnotes(grid: Grid) -> list[str]:
    """Notes on the figures of a table, and why figures are refuted or were not measured."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for line in grid.lines:
        for cell, dataset in zip(line.cells, grid.datasets, strict=True):
            entry = cell.entry
            if entry and entry.reason and entry.reason != "not run yet":
                place = {
                    ReproductionStatus.DATA_NOT_PUBLIC: dataset.name,
                    ReproductionStatus.NOT_BUILT: line.method.name,
                }.get(entry.status, f"{line.method.name} on {dataset.name}")
                key = (entry.status.value, entry.reason, entry.evidence)
                told.setdefault(key, []).append(place)
    found = list(grid.notes)
    for (status, reason, evidence), places in told.items():
        text = f"{status.capitalize()}: {_few(list(dict.fromkeys(places)))}. "
        text += words.sentence(reason)
        found.append(f"{text} [Evidence]({evidence})." if evidence else text)
    return found


def ranks_words(contest: Contest) -> str:
    """What stands under a picture of mean ranks."""
    if contest.ranked is None:
        return ""
    ranking = contest.ranked.ranking
    chance = words.p_words(ranking.friedman_p)
    test = "" if math.isnan(ranking.friedman_p) else f", Friedman p {chance}"
    blocks = "pairs of set and setting" if contest.ranked.settings > 1 else "sets"
    text = (
        f"Mean ranks over {ranking.n_blocks} {blocks}{test}; bars connect methods that Nemenyi's "
        f"test does not tell apart (α = {ranking.alpha:g})."
    )
    left = contest.ranked.left_out
    return f"{text} Not ranked for want of rows: {_few(left, 8)}." if left else text


def _few(places: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(places[:most])
    return shown if len(places) <= most else f"{shown} and {len(places) - most} more"
