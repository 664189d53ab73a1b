"""Which papers the ledger is about, and what is said of them in words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class Account:
    """What holds of a paper and what does not, one sentence per entry."""

    holds: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes
    ----------
    name : str
        As in the published figures.
    about, citation : str
    runs : int or None
        Behind each of its means; None where it does not tell.
    page : str
        Our page on the model, seen from the pages of the ledger.
    account : Account
    """

    name: str
    about: str
    citation: str
    runs: int | None
    page: str
    account: Account = field(default_factory=Account)

    @property
    def slug(self) -> str:
        return self.name.lower().replace("-", "")


def load_papers(accounts: str | Path | None = None) -> tuple[Paper, ...]:
    """The papers of the ledger.

    Parameters
    ----------
    accounts : path, optional
        A TOML file with the lists ``holds``, ``fails`` and ``open`` of sentences per paper. They
        speak of certain rows, and are no part of the library therefore.

    Returns
    -------
    tuple of Paper
    """
    text = resources.files("labelgap.report").joinpath("papers.toml").read_text(encoding="utf-8")
    papers = tomllib.loads(text)
    said = {} if accounts is None else _accounts(Path(accounts), papers)
    return tuple(
        Paper(
            name=name,
            about=facts["about"],
            citation=facts["citation"],
            runs=facts["runs"] or None,
            page=facts["page"],
            account=said.get(name, Account()),
        )
        for name, facts in papers.items()
    )


def _accounts(path: Path, papers: Mapping[str, object]) -> dict[str, Account]:
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
        found[name] = Account(**{key: tuple(some) for key, some in lists.items()})
    return found
