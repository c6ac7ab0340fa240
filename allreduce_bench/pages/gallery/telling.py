"""Docstring of an algorithm's file in parts: idea, cost, when it is best, source."""

import re
from typing import NamedTuple

from ...schedule.algorithm import Algorithm

SECTION = re.compile(r"`(\w+)`: ")  # starts a paragraph about one of several algorithms in a file
BEST = re.compile(r"\bBest: (.+?\.)(?= |$)")
SOURCE = re.compile(r"\bSource: (.+)$")
COST = ("Cost of n bytes", "Steps:", "Sent")  # starts of sentences about the cost


class Paragraph(NamedTuple):
    """Paragraph of a docstring; `drawn`: its line breaks count, as in a table of rounds."""

    text: str
    drawn: bool


class Telling(NamedTuple):
    """Docstring of an algorithm in parts; missing ones are empty."""

    title: str
    idea: tuple[Paragraph, ...]
    cost: str
    best: str
    source: str


def telling(algorithm: Algorithm) -> Telling:
    """Split the docstring of `algorithm`'s file into parts.

    Paragraphs about other algorithms in the same file are left out.
    """
    title, *rest = [part for part in re.split(r"\n\s*\n", algorithm.doc.strip("\n")) if part.strip()] or [""]
    idea: list[Paragraph] = []
    cost = best = source = ""
    of = algorithm.name  # whom the paragraph is about
    for part in rest:
        if part.startswith("    "):
            if of == algorithm.name:
                idea.append(Paragraph(_unindented(part), True))
            continue
        text = " ".join(part.split())
        if begun := SECTION.match(text):
            of = begun[1]
        text, source = _cut(SOURCE, text, source)
        if of != algorithm.name:
            continue
        text, best = _cut(BEST, text, best)
        if text.startswith(COST):
            sentences = re.split(r"(?<=\.) (?=[A-Z])", text)
            cost = " ".join(sentence for sentence in sentences if sentence.startswith(COST))
            text = " ".join(sentence for sentence in sentences if not sentence.startswith(COST))
        if text:
            idea.append(Paragraph(text, False))
    return Telling(" ".join(title.split()), tuple(idea), cost, best, source)


def _unindented(lines: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in lines.splitlines())


def _cut(pattern: re.Pattern[str], text: str, otherwise: str) -> tuple[str, str]:
    """Return `text` without the pattern's match, and the matched group; or `text` unchanged, and `otherwise`."""
    found = pattern.search(text)
    if not found:
        return text, otherwise
    return " ".join((text[: found.start()] + text[found.end() :]).split()), found[1]
