"""The glossary of the documentation as values, so that a page can be made of it."""

import re
import site
import sysconfig
from pathlib import Path
from typing import NamedTuple

FILE = "glossary.md"
ROW = re.compile(r"\| (.+?) \| (.+) \|")
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
CODE = re.compile(r"`([^`]+)`")


class Piece(NamedTuple):
    """A stretch of a sentence; `code`: what a user types or reads on the screen."""

    text: str
    code: bool


class Term(NamedTuple):
    """A term and what it means, in pieces; `anchor` is its place on a page."""

    anchor: str
    term: tuple[Piece, ...]
    meaning: tuple[Piece, ...]


class Section(NamedTuple):
    """The terms of one field."""

    title: str
    terms: tuple[Term, ...]


class GlossaryError(ValueError):
    """The glossary is not where the package keeps it."""


def glossary_text() -> str:
    """The Markdown of the glossary, from the checkout or as installed. Raises GlossaryError where it is missing."""
    places = [Path(__file__).parents[3] / "docs"]
    installed = [sysconfig.get_path("data"), site.getuserbase()]
    places += [Path(data) / "share" / "allreduce-bench" / "docs" for data in installed]
    for place in places:
        if (place / FILE).is_file():
            return (place / FILE).read_text(encoding="utf-8")
    raise GlossaryError(f"no {FILE} found in {', '.join(map(str, places))}; reinstall the package")


def sections(text: str) -> list[Section]:
    """The tables below the second-level headings of `text`; links lose their targets, which are not in the gallery."""
    found, anchors = [], set[str]()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, table = part.partition("\n")
        rows = [match.groups() for match in map(ROW.fullmatch, table.splitlines()) if match]
        terms = [
            Term(_anchor(term, anchors), pieces(term), pieces(LINK.sub(r"\1", meaning)))
            for term, meaning in rows
            if term != "term" and not term.startswith("---")
        ]
        found.append(Section(title.strip(), tuple(terms)))
    return found


def pieces(text: str) -> tuple[Piece, ...]:
    """`text` cut where code between backticks begins and ends."""
    return tuple(Piece(part, number % 2 == 1) for number, part in enumerate(CODE.split(text)) if part)


def _anchor(term: str, taken: set[str]) -> str:
    """A name for the place of `term` that none of those `taken` has; it is then one of them."""
    name = anchor = re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-") or "term"
    number = 2
    while anchor in taken:
        anchor, number = f"{name}-{number}", number + 1
    taken.add(anchor)
    return anchor
