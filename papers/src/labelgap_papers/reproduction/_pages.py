"""The reproduction results as Markdown pages with pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from labelgap.files import replacing
from labelgap.plots.svg import svg_file
from labelgap_papers.bench import MetricPlan
from labelgap_papers.reproduction import number_words as words
from labelgap_papers.reproduction._explanations import Explanations
from labelgap_papers.reproduction._page_contents import (
    Contest,
    ExperimentView,
    PageContents,
    PaperView,
    measured_facts,
)
from labelgap_papers.reproduction._pictures import Picture
from labelgap_papers.reproduction._results import Results, varying
from labelgap_papers.reproduction._statuses import ReproductionStatus
from labelgap_papers.reproduction._tables_and_curves import Grid, GridCell

FIGURES = "figures"
_NO_BREAK = "\u00a0"
_ACCOUNT = (("holds", "What holds"), ("fails", "What does not"), ("open", "Open"))


def markdown_pages(view: PageContents, command: str) -> dict[str, str]:
    """Names and contents of the pages, without the pictures that they show.

    view : PageContents
    command : str. What writes the files; they tell their reader.
    Returns dict from name to text
    """
    found = {"index.md": _index(view, command)}
    for paper in view.papers:
        found[f"{paper.paper.slug}.md"] = _paper(paper)
    for results in _comparisons(view):
        found[f"{results.experiment.name}.md"] = _comparison(results)
    return found


def write_markdown_pages(view: PageContents, folder: str | Path, command: str) -> list[Path]:
    """Write pages and pictures, complete or not at all; pictures of former rows are removed.

    view : PageContents
    folder : path
    command : str
    Returns list of Path. What was written.
    """
    folder = Path(folder)
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    texts = markdown_pages(view, command)
    for picture in view.pictures():
        texts[f"{FIGURES}/{picture.name}.svg"] = svg_file(picture.raw, picture.title)
    targets = [folder / name for name in texts]
    with replacing(*targets) as partial:
        for path, text in zip(partial, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
    for path in (folder / FIGURES).glob("*.svg"):
        if path not in targets:
            path.unlink()
    return targets


def _comparisons(view: PageContents) -> list[Results]:
    """The experiments that belong to no paper."""
    return view.reproduction.of("")


def _index(view: PageContents, command: str) -> str:
    meanings = [
        [one.symbol, one.value, one.meaning, f"{view.counts[one]:,}"] for one in ReproductionStatus
    ]
    pages = "\n".join(one.paper.slug for one in view.papers)
    parts = [
        "# The reproduction results: published figures and ours",
        f"**{words.headline(view.counts)}**",
        f"{words.remainder(view.counts)} {words.provisional(view.reproduction.entries)}".strip(),
        _table(["", "status", "what it says", "figures"], meanings, "lllr"),
        "When a figure counts as what, and why: [the rule](../decisions/reproduction-statuses.md).",
        "## By paper",
        _by_paper(view),
        "What holds of each paper in words, and every figure, is on its page:",
        f"```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```",
        *_list_of_comparisons(view),
        "## How the pages come about",
        f"From {view.reproduction.n_samples:,} rows in `rows`, one JSON line per measurement, with "
        "settings, seconds, commit and versions. After new rows:",
        f"```console\n$ {command}\n```",
        "To add a method to a table: one line in the file of its experiment, `labelgap bench run`, and "
        "this command.",
    ]
    return _joined(parts)


def _list_of_comparisons(view: PageContents) -> list[str]:
    pages = "\n".join(one.experiment.name for one in _comparisons(view))
    if not pages:
        return []
    return [
        "## Comparisons of ours",
        "Without published figures, by the same runner:",
        f"```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```",
    ]


def _by_paper(view: PageContents) -> str:
    columns = [*(one.counts for one in view.papers), view.counts]
    links = [f"[{one.paper.name}]({one.paper.slug}.md)" for one in view.papers]
    lines = [
        [status.value, *(f"{counts[status]:,}" if counts[status] else "–" for counts in columns)]
        for status in ReproductionStatus
    ]
    lines.append(["**figures**", *(f"**{sum(counts.values()):,}**" for counts in columns)])
    return _table(["status", *links, "all"], lines)


def _paper(view: PaperView) -> str:
    paper = view.paper
    parts = [
        f"# {paper.name}: {paper.about}",
        f"{paper.citation} Our page on the model: [{paper.name}]({paper.page}).",
    ]
    if sum(view.counts.values()):
        total = sum(view.counts.values())
        parts.append(f"**{words.counted(total, 'published figure')}**: {words.tally(view.counts)}.")
    parts += _explained(paper.explanations)
    parts.append(
        "In the tables: ours as mean ± standard deviation over runs (bold: the best measured "
        "here), below it the published figure, below that the "
        "[status](../decisions/reproduction-statuses.md) with ours minus published and, where runs are "
        "missing, how many of them are there. Methods in *italics* are what a user would pick "
        "without the paper."
    )
    for shown in view.experiments:
        parts += _experiment(shown, paper.name)
    if view.costs:
        parts += ["## Time and memory", "Medians over all runs and settings of the tables above."]
        parts += [_image(picture) for picture in view.costs]
    return _joined(parts)


def _explained(explanations: Explanations) -> list[str]:
    found = []
    for name, title in _ACCOUNT:
        sentences = getattr(explanations, name)
        if sentences:
            found += [f"## {title}", "\n".join(f"- {sentence}" for sentence in sentences)]
    return found


def _comparison(results: Results) -> str:
    """A table per setting and metric: a row per set, a column per method."""
    experiment = results.experiment
    parts = [
        f"# {experiment.title}",
        experiment.about,
        f"{words.sentence('; '.join(measured_facts(results)))} Mean ± standard deviation over runs, "
        "with the number of runs where some are missing; bold: the best of the set. To measure more: "
        f"`labelgap bench run {experiment.name}`.",
    ]
    for setting in experiment.settings:
        parts.append(f"## {words.setting_words(setting.values)}")
        if not any(row.setting == setting.values for row in results.rows):
            parts.append("Not measured.")
            continue
        for metric in experiment.metrics:
            lines = [
                [one.name, *_compared(results, one.name, setting.values, metric)]
                for one in experiment.datasets
                if setting.is_for(one)
            ]
            direction = "more is better" if metric.higher_is_better else "less is better"
            headings = ["set", *(one.name for one in experiment.methods)]
            title = f"<b>{escape(words.metric_words(metric.name))}</b> ({direction})"
            parts += _folded(title, _table(headings, lines))
    return _joined(parts)


def _compared(
    results: Results, dataset: str, setting: Mapping[str, Any], metric: MetricPlan
) -> list[str]:
    """What each method reached on a set, the best in bold."""
    names = [one.name for one in results.experiment.methods]
    found = {name: results.summary(dataset, setting, name, metric.name) for name in names}
    means = [one.mean for one in found.values() if one is not None]
    best = (max if metric.higher_is_better else min)(means, default=None)
    cells = []
    for name, one in found.items():
        if one is None:
            rows = results.at(dataset, setting, name)
            text = rows[-1].status.replace("_", " ") if rows else "not measured"
        else:
            text = words.ours_words(one, words.is_cost(metric.name))
            text = f"**{text}**" if one.mean == best and len(means) > 1 else text
            text += f" ({one.n}/{one.planned})" if one.n < one.planned else ""
        cells.append(text.replace(" ", _NO_BREAK))
    return cells


def _experiment(shown: ExperimentView, paper: str) -> list[str]:
    experiment = shown.results.experiment
    facts = " ".join([words.sentence("; ".join(shown.facts)), *shown.left_out])
    parts = [f"## {shown.heading}: {experiment.title}", experiment.about, facts]
    for grid in shown.grids:
        direction = "more is better" if grid.metric.higher_is_better else "less is better"
        seconds = words.is_cost(grid.metric.name)
        lines = [
            [
                _method(line.method.name, line.method.baseline, line.method.published == paper),
                *(_cell(cell, seconds) for cell in line.cells),
            ]
            for line in grid.lines
        ]
        headings = ["", *(dataset.name for dataset in grid.datasets)]
        title = f"<b>{escape(_grid_title(shown, grid))}</b> ({direction})"
        notes = "\n".join(f"- {note}" for note in _footnotes(grid))
        parts += _folded(title, _table(headings, lines), notes)
    for contest in shown.contests:
        parts += _contest(contest)
    for one in shown.curves:
        title = escape(words.sentence(one.table.title))
        parts += _folded(f"<b>Curves</b>: {title}", _image(one.picture))
    if shown.topics:
        lines = [[f"{topic['fraction']:.1%}", ", ".join(topic["labels"])] for topic in shown.topics]
        parts.append(_table(["fraction", "labels"], lines, "rl"))
    return parts


def _contest(contest: Contest) -> list[str]:
    parts = []
    if contest.lines:
        headings = [f"{contest.main} against", "wins", "ties", "losses", "one run only"]
        headings += ["mean advantage", "effect (d)", "Wilcoxon p over sets", "published + / = / −"]
        lines = [
            [
                one.opponent,
                str(one.wins),
                str(one.ties),
                str(one.losses),
                str(one.untested or "–"),
                words.signed(one.advantage),
                words.effect(one.effect),
                words.p_words(one.wilcoxon_p),
                " / ".join(map(str, one.published)) if one.published else "–",
            ]
            for one in contest.lines
        ]
        parts.append(_table(headings, lines))
    if contest.picture:
        parts += [_image(contest.picture), _ranks_words(contest)]
    metric = escape(words.metric_words(contest.metric.name))
    return _folded(f"<b>{metric}</b>: wins, losses and mean ranks", *parts)


def _folded(title: str, *parts: str) -> list[str]:
    """What a page shows when its title is clicked: a page of a paper has up to eighty tables."""
    return [f"<details>\n<summary>{title}</summary>", *parts, "</details>"]


def _grid_title(shown: ExperimentView, grid: Grid) -> str:
    """Its metric, after the settings that tell it from other tables of the experiment."""
    name = words.metric_words(grid.metric.name)
    kept = varying(shown.results.experiment)
    setting = {key: value for key, value in grid.setting.items() if key in kept}
    return f"{words.setting_words(setting)} · {name}" if setting else name


def _footnotes(grid: Grid) -> list[str]:
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


def _ranks_words(contest: Contest) -> str:
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


def _method(name: str, baseline: bool, main: bool) -> str:
    return f"*{name}*" if baseline else f"**{name}**" if main else name


def _cell(cell: GridCell, seconds: bool) -> str:
    lines = []
    if cell.ours is not None:
        text = words.ours_words(cell.ours, seconds)
        lines.append(f"**{text}**" if cell.best else text)
    runs = ""
    if cell.ours is not None and cell.ours.n < cell.ours.planned:
        runs = f" {cell.ours.n}/{cell.ours.planned}"
    if cell.entry is not None:
        lines.append(words.published_words(cell.entry.figure))
        status = cell.entry.status
        what = words.difference_words(cell.entry) if cell.ours else status.short
        lines.append(f"{status.symbol} {what}{runs}")
    elif runs:
        lines.append(f"{runs.strip()} runs")
    return "<br>".join(lines).replace(" ", _NO_BREAK)


def _image(picture: Picture) -> str:
    """With the description as the text for those who do not see it."""
    alt = picture.description.replace("[", "(").replace("]", ")").replace("\n", " ")
    return f"![{picture.title}. {alt}]({FIGURES}/{picture.name}.svg)"


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]], align: str = "") -> str:
    align = align or "l" + "r" * (len(headings) - 1)
    rules = [":---" if side == "l" else "---:" for side in align]
    return "\n".join(f"| {' | '.join(map(_safe, line))} |" for line in (headings, rules, *lines))


def _safe(text: str) -> str:
    return text.replace("|", "\\|")


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
