"""The papers, what holds of each in words, and the explanations of single figures."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from labelgap_papers.bench import PublishedFigure, published_figures


@dataclass(frozen=True)
class Explanations:
    """What holds of a paper and what does not, one sentence per entry."""

    holds: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper.

    name : str. As in the published figures.
    about, citation : str
    runs : int or None. Behind each of its means; None where it does not tell.
    page : str. Our page on the model, seen from the pages of the reproduction results.
    explanations : Explanations
    """

    name: str
    about: str
    citation: str
    runs: int | None
    page: str
    explanations: Explanations = field(default_factory=Explanations)

    @property
    def slug(self) -> str:
        return self.name.lower().replace("-", "")


def load_papers(explanations: str | Path | None = None) -> tuple[Paper, ...]:
    """The papers of the reproduction results.

    explanations : path, default=None. A TOML file with the lists ``holds``, ``fails`` and ``open``
        of sentences per paper. They speak of certain rows, and are no part of the library
        therefore.
    Returns tuple of Paper
    """
    text = (
        resources.files("labelgap_papers.reproduction")
        .joinpath("papers.toml")
        .read_text(encoding="utf-8")
    )
    papers = tomllib.loads(text)
    said = {} if explanations is None else _explanations(Path(explanations), papers)
    return tuple(
        Paper(
            name=name,
            about=facts["about"],
            citation=facts["citation"],
            runs=facts["runs"] or None,
            page=facts["page"],
            explanations=said.get(name, Explanations()),
        )
        for name, facts in papers.items()
    )


def _explanations(path: Path, papers: Mapping[str, object]) -> dict[str, Explanations]:
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    found = {}
    for name, lists in whole.items():
        if name not in papers:
            raise ValueError(f"{path}: no paper is called {name!r}; there are {', '.join(papers)}")
        unknown = lists.keys() - {"holds", "fails", "open"}
        if unknown:
            raise ValueError(
                f"{path}, {name}: {sorted(unknown)[0]!r} is none of holds, fails, open"
            )
        found[name] = Explanations(**{key: tuple(some) for key, some in lists.items()})
    return found


_SELECTORS = ("paper", "table", "dataset", "setting", "metric", "method")


@dataclass(frozen=True)
class Reason:
    """A sentence about some of the published figures.

    refutes : bool. Whether a figure that we stay below of is refuted by it; a note otherwise.
    text : str
    evidence : str. A page, with the heading, seen from the pages of the reproduction results.
    selects : mapping from field of a published figure to the values it may have
    """

    refutes: bool
    text: str
    evidence: str
    selects: Mapping[str, tuple[str, ...]]

    def applies(self, figure: PublishedFigure) -> bool:
        return all(getattr(figure, name) in some for name, some in self.selects.items())


def load_reasons(path: str | Path | None = None) -> tuple[Reason, ...]:
    """Reasons and notes, from a TOML file with the tables ``refuted`` and ``note``.

    path : path, default=None. By default those that come with the library.
    Returns tuple of Reason
    """
    own = resources.files("labelgap_papers.reproduction").joinpath("reasons.toml")
    text = own.read_text(encoding="utf-8") if path is None else Path(path).read_text("utf-8")
    where = "reasons.toml" if path is None else str(path)
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: {error}") from error
    strange = whole.keys() - {"refuted", "note"}
    if strange:
        raise ValueError(f"{where}: {sorted(strange)[0]!r} is neither 'refuted' nor 'note'")
    return tuple(
        _reason(one, kind == "refuted", f"{where}, {kind} {number}")
        for kind in ("refuted", "note")
        for number, one in enumerate(whole.get(kind, ()), 1)
    )


def _reason(entry: dict[str, Any], refutes: bool, where: str) -> Reason:
    unknown = entry.keys() - {*_SELECTORS, "text", "evidence"}
    if unknown:
        raise ValueError(
            f"{where}: there is no key {sorted(unknown)[0]!r}; figures are selected by "
            f"{', '.join(_SELECTORS)}"
        )
    if not entry.get("text"):
        raise ValueError(f"{where}: needs a text")
    if refutes and not entry.get("evidence"):
        raise ValueError(f"{where}: a refutation needs evidence, the page that shows it")
    selects = {name: _listed(entry[name]) for name in _SELECTORS if name in entry}
    found = Reason(refutes, entry["text"], entry.get("evidence", ""), selects)
    if not any(found.applies(figure) for figure in published_figures()):
        raise ValueError(f"{where}: no published figure is selected by {selects}")
    return found


def _listed(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
