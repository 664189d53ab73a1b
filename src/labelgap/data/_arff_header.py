"""The header of an ARFF file: relation, attributes, and which of them are labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from xml.etree import ElementTree

from labelgap.data._contents import Contents, FileSource, contents_of

_DATA_LINE = re.compile(rb"^[ \t]*@data\b[^\n]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_RELATION = re.compile(rf"@relation\s+({QUOTED}|.*\S)", re.IGNORECASE)
_ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
_CATEGORY = re.compile(rf"\s*({QUOTED}|[^,'\"]*?)\s*(?:,|$)")
_LABEL_COUNT = re.compile(r"(?:^|\s)-[cC]\s+(-?\d+)")
_NUMERIC_TYPES = frozenset({"numeric", "real", "integer"})
_TEXT_TYPES = frozenset({"string", "date"})


class Attribute(NamedTuple):
    """One column: `categories` is None for numbers and for text."""

    name: str
    is_text: bool
    categories: tuple[str, ...] | None


@dataclass(frozen=True)
class ArffHeader:
    """Everything before the data, and where the data begins."""

    relation: str
    attributes: list[Attribute]
    data_start: int
    data_line: int

    @property
    def label_count(self) -> int | None:
        """MEKA's ``-C n`` in the name of the relation."""
        found = _LABEL_COUNT.search(self.relation)
        return int(found.group(1)) if found else None


def read_header(contents: Contents) -> ArffHeader:
    """Parse up to and including the ``@data`` line."""
    marker = _DATA_LINE.search(contents.data)
    if marker is None:
        raise contents.error(
            "there is no @data line", remedy="Check that the file is ARFF and was read to its end"
        )
    relation, attributes = "", []
    lines = contents.text(0, marker.start()).split("\n")
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if found := _RELATION.match(line):
            relation = unquoted(found.group(1))
        elif found := _ATTRIBUTE.match(line):
            attributes.append(_attribute(contents, number, *found.groups()))
        else:
            raise contents.error(
                f"{line[:60]!r} is neither @relation nor @attribute",
                line=number,
                remedy="Put a % in front of comments and quote names that hold blanks",
            )
    data_line = contents.data.count(b"\n", 0, marker.end() - 1) + 1
    return ArffHeader(relation, attributes, marker.end(), data_line)


def label_columns(
    contents: Contents, header: ArffHeader, labels: Sequence[str] | int | None
) -> list[int]:
    """Positions of the labels, in the order of the file.

    `labels` are names (in any order), or a number: the first n attributes, or the last n when it is
    negative; without it, the number that MEKA keeps in the name of the relation.
    """
    n_columns = len(header.attributes)
    if labels is None:
        labels = header.label_count
        if labels is None:
            raise contents.error(
                "nothing says which attributes are labels",
                remedy="Pass labels= as the Mulan XML file, a list of names, or a number "
                "(first n, or last n when negative)",
            )
    if isinstance(labels, int):
        if not 0 < abs(labels) <= n_columns:
            raise contents.error(
                f"{labels} labels among {n_columns} attributes",
                remedy=f"Pass labels= as a number from 1 to {n_columns}, negative if they are last",
            )
        return list(range(labels) if labels > 0 else range(n_columns + labels, n_columns))
    position = {attribute.name: j for j, attribute in enumerate(header.attributes)}
    for name in labels:
        if name not in position:
            raise contents.error(
                f"there is no attribute for the label {name!r}",
                remedy="Check that the list of labels belongs to this file",
            )
    return sorted({position[name] for name in labels})


def _attribute(contents: Contents, number: int, name: str, kind: str) -> Attribute:
    kind = kind.strip()
    if kind.startswith("{") and kind.endswith("}"):
        categories = _categories(kind[1:-1])
        if categories is None:
            raise contents.error(
                f"cannot read the categories {kind[:60]}",
                line=number,
                remedy="Separate categories with commas and quote those that hold commas or quotes",
            )
        return Attribute(unquoted(name), False, categories)
    word = kind.split(maxsplit=1)[0].lower() if kind else ""
    if word not in _NUMERIC_TYPES | _TEXT_TYPES:
        raise contents.error(
            f"attribute {unquoted(name)!r} has the type {kind[:40]!r}",
            line=number,
            remedy="Use numeric, real, integer, string, date or a list of categories in braces",
        )
    return Attribute(unquoted(name), word in _TEXT_TYPES, None)


@lru_cache(maxsize=1024)
def _categories(text: str) -> tuple[str, ...] | None:
    found, position = [], 0
    while position < len(text):
        match = _CATEGORY.match(text, position)
        if match is None:
            return None
        found.append(unquoted(match.group(1)))
        position = match.end()
    return tuple(found)


def unquoted(token: str) -> str:
    if len(token) >= 2 and token[0] == token[-1] and token[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token


def read_label_xml(path: FileSource) -> list[str]:
    """Return the names of the labels that Mulan's XML file lists, hierarchies flattened.

    The columns of the ARFF file need not come in this order: the ARFF file decides.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelgap.data import read_label_xml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "toy.xml")
    ...     _ = path.write_text('<labels><label name="red"/><label name="big"/></labels>')
    ...     read_label_xml(path)
    ['red', 'big']
    """
    contents = contents_of(path)
    if b"<!DOCTYPE" in contents.data or b"<!ENTITY" in contents.data:
        raise contents.error(
            "the XML declares a document type or entities", remedy="Remove the declarations"
        )
    try:
        root = ElementTree.fromstring(contents.data)
    except ElementTree.ParseError as error:
        raise contents.error(
            f"this is not well-formed XML ({error.msg})",
            line=error.position[0],
            remedy="Check that this is Mulan's list of labels",
        ) from error
    names = [element.get("name") for element in root.iter() if _local_name(element) == "label"]
    if not names or None in names:
        raise contents.error(
            "no <label name=...> elements" if not names else "a <label> element has no name",
            remedy='Write every label as <label name="..."/>',
        )
    return [str(name) for name in names]


def _local_name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
