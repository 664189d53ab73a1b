"""What a page consists of, and whether its tags are closed in order."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "rect", "circle", "path", "line", "use"}


class Outline(HTMLParser):
    """Collects ids, links and what is named by them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.described: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in _VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href"):
                self.links.append(value)
            if name == "aria-labelledby":
                self.described += value.split()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open.pop() == tag


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    assert parser.open == []
    return parser
