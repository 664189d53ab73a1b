"""Tables of which there are two versions: what was added later was missing before.

Three are read from the folder ``realgaps`` under ``LABELGAP_DATA``. :func:`read_versions` reads a pair of
one's own, and experiments take such pairs by name: ``protocol = { name = "real-gaps", pairs = { mine =
{ old = "old.csv", new = "new.csv" } } }``.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labelgap.data import DatasetUnavailableError
from labelgap.labels import Labels

__all__ = ["REAL_GAPS", "VersionPair", "load_versions", "read_versions"]

_SEPARATOR = ";"
# of debtags: packages in all, packages among them that nobody tagged, and rows a tag needs
_N_PACKAGES, _N_UNTAGGED, _FEWEST_ROWS = 6000, 3393, 10


@dataclass(frozen=True)
class VersionPair:
    """Texts of items with their labels in an old and in a new version.

    Attributes
    ----------
    texts : list of str
    then, filled : Labels
        What was recorded in the old version, and with everything that the new one added. An item that
        nobody ever labelled is unknown in ``filled``.
    test_texts : list of str, optional
        Items that came later; without them some of the others are held out.
    test_labels : Labels, optional
    """

    texts: list[str]
    then: Labels
    filled: Labels
    test_texts: list[str] | None = None
    test_labels: Labels | None = None


def load_versions(name: str) -> VersionPair:
    """Read one of the tables of :data:`REAL_GAPS`.

    Parameters
    ----------
    name : {"mdi", "emoji", "debtags"}
    """
    if name == "debtags":
        return _debtags()
    lines = _lines(f"{name}.csv.gz")
    texts = [line["text"] for line in lines]
    names, then = _labels(line["tags_then"] for line in lines)
    _, later = _labels((line["tags_later"] for line in lines), names)
    pair = _pair(texts, names, then, later)
    if name != "mdi":
        return pair
    test = _lines("mdi_later.csv.gz")
    _, tags = _labels((line["tags"] for line in test), names)
    test_texts = [line["text"] for line in test]
    return VersionPair(pair.texts, pair.then, pair.filled, test_texts, _as_labels(tags, names))


def read_versions(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    item: str = "id",
    text: str = "text",
    tags: str = "tags",
) -> VersionPair:
    """Read two versions of a table as CSV files (or .csv.gz), one item per line.

    Items of the old version are to learn from, and those that only the new one has are the test set.
    Labels are those of the old version.

    Parameters
    ----------
    old, new : path
    item, text, tags : str
        Columns: what identifies an item, its text, and its labels with ``;`` between them.
    """
    before, after = _read(Path(old)), _read(Path(new))
    for path, lines in ((old, before), (new, after)):
        missing = [column for column in (item, text, tags) if lines and column not in lines[0]]
        if missing:
            raise ValueError(f"{path}: no column {missing[0]!r}; name it (item=, text=, tags=)")
    now = {line[item]: line[tags] for line in after}
    names, then = _labels(line[tags] for line in before)
    _, later = _labels((now.get(line[item], "") for line in before), names)
    pair = _pair([line[text] for line in before], names, then, later)
    known = {line[item] for line in before}
    added = [line for line in after if line[item] not in known]
    if not added:
        return pair
    _, test = _labels((line[tags] for line in added), names)
    test_texts = [line[text] for line in added]
    return VersionPair(pair.texts, pair.then, pair.filled, test_texts, _as_labels(test, names))


def _debtags() -> VersionPair:
    """6,000 packages, 3,393 of which nobody tagged; tested on those that were tagged later."""
    lines = _lines("debtags.csv.gz")
    rng = np.random.default_rng(0)
    later = [line for line in lines if line["part"] == "tagged later"]
    # siblings of one source package are near duplicates
    sources = {line["source"] for line in later}
    tagged = [line for line in lines if line["part"] == "tagged" and line["source"] not in sources]
    untagged = [line for line in _lines("debtags_untagged.csv.gz") if line["source"] not in sources]
    tagged = [tagged[k] for k in rng.permutation(len(tagged))[: _N_PACKAGES - _N_UNTAGGED]]
    untagged = [untagged[k] for k in rng.permutation(len(untagged))[:_N_UNTAGGED]]
    names, then = _labels(line["tags"] for line in tagged)
    frequent = then.sum(axis=0) >= _FEWEST_ROWS
    names = [name for name, kept in zip(names, frequent, strict=True) if kept]
    recorded = np.vstack([then[:, frequent], np.zeros((len(untagged), len(names)))])
    filled = recorded.copy()
    filled[len(tagged) :] = np.nan
    texts = [line["text"] for line in (*tagged, *untagged)]
    _, test = _labels((line["tags"] for line in later), names)
    return VersionPair(
        texts,
        _as_labels(recorded, names).with_zeros("unlabeled"),
        _as_labels(filled, names),
        [line["text"] for line in later],
        _as_labels(test, names),
    )


REAL_GAPS = ("mdi", "emoji", "debtags")
"""Names of the tables."""


def _lines(file: str) -> list[dict[str, str]]:
    root = os.environ.get("LABELGAP_DATA")
    path = Path(root or ".") / "realgaps" / file
    if root is None or not path.exists():
        raise DatasetUnavailableError(f"{file}: put it in the folder realgaps under LABELGAP_DATA")
    return _read(path)


def _read(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _labels(
    cells: Iterable[str], names: Sequence[str] | None = None
) -> tuple[list[str], np.ndarray]:
    """The names of the labels, sorted unless given, and a matrix of 0 and 1."""
    sets = [[tag for tag in cell.split(_SEPARATOR) if tag] for cell in cells]
    chosen = sorted({tag for tags in sets for tag in tags}) if names is None else list(names)
    position: Mapping[str, int] = {name: j for j, name in enumerate(chosen)}
    found = np.zeros((len(sets), len(chosen)))
    for row, tags in enumerate(sets):
        found[row, [position[tag] for tag in tags if tag in position]] = 1
    return chosen, found


def _pair(
    texts: list[str], names: Sequence[str], then: np.ndarray, later: np.ndarray
) -> VersionPair:
    recorded = _as_labels(then, names).with_zeros("unlabeled")
    return VersionPair(texts, recorded, _as_labels(np.maximum(then, later), names))


def _as_labels(values: np.ndarray, names: Sequence[str]) -> Labels:
    return Labels.from_dense(values).with_names(list(names))
