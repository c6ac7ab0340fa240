"""A page of HTML as its elements and its words."""

import re
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "img", "br", "wbr", "link", "hr", "input"}


class ParsedPage(HTMLParser):
    """The elements and the words of a page; fails where an element is closed that is not open."""

    def __init__(self, source: str | Path):
        super().__init__()
        self.source = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(self.source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] or "" for _, attributes in self.elements if attribute in attributes]
