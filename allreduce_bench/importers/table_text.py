"""The text of a table, CSV or Markdown, as its header and rows: a list of fields a line."""

import csv
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from .row import LogError, LogWarning

PEEKED = 100_000  # characters of a text, to find its header
SEPARATORS = ",;\t"
ENDS = ("\n", "\r", "|")  # of a last row that is whole
MARKDOWN = re.compile(
    r"(?m)^[ \t]*\|[^\n]*\|[ \t]*\r?\n[ \t]*\|[ \t:|-]*---[ \t:|-]*\|[ \t]*\r?$"
)  # a header and its rule
RULE = re.compile(r"\|[\s:|-]*---[\s:|-]*\|")

Row = tuple[int, list[str]]  # the number of its line, and its fields


class TableHead(NamedTuple):
    """The header of a table, and its first row."""

    number: int = 1  # of the line of the header
    names: Sequence[str] = ()  # of columns; empty: there is no table
    first: Sequence[str] = ()


def find_head(text: str) -> TableHead:
    """Return the first line of a text that is no comment as a header, and the row below."""
    try:
        rows = list(islice(split_table("", text[:PEEKED]), 2))
    except LogError:
        rows = []
    first = rows[1][1] if len(rows) > 1 else ()
    return TableHead(*rows[0], first) if rows else TableHead()


def split_table(file: str, text: str) -> Iterator[Row]:
    """Yield the header and each row, without blank lines and comments, which begin with #. Raises LogError: damaged."""
    lines = text.lstrip("\ufeff").splitlines(keepends=True)
    if MARKDOWN.search(text):
        yield from _split_markdown(lines)
        return
    skipped = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    reader = csv.reader(lines[skipped:], delimiter=max(SEPARATORS, key=(*lines, "")[skipped].count))
    width = 0
    try:
        for words in reader:
            width = width or len(words)
            if words and not (words[0].startswith("#") and len(words) != width):
                yield skipped + reader.line_num, [word.strip() for word in words]
    except csv.Error as error:
        number = skipped + reader.line_num
        raise LogError(
            f"{file}, line {number}: damaged CSV, such as a quote that is not closed; copy it again"
        ) from error


def _split_markdown(lines: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the first table; lines of another number of fields are left out."""
    width = 0
    for number, line in enumerate(map(str.strip, lines), start=1):
        words = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        width = width or len(words)
        if words and len(words) == width and not RULE.fullmatch(line):
            yield number, words


def read_records(file: str, text: str, used: Collection[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each line below the header, and its fields by name; of equal names the first counts.

    A last line that may be cut off, also in a field that is `used`, is dropped with a warning. Raises LogError.
    """
    rows = split_table(file, text)
    _, header = next(rows)
    place_of = {name: header.index(name) for name in header}
    cut = 0 if text.endswith(ENDS) else len(text.splitlines())  # the number of a last line without an end
    for number, words in rows:
        if number == cut and (len(words) != len(header) or header[-1] in used):
            why = "the last row has no line end, so it may be cut off; left out"
            warnings.warn(f"{file}, line {number}: {why}", LogWarning, stacklevel=2)
        elif len(words) != len(header):
            raise LogError(f"{file}, line {number}: {len(words)} fields, expected {len(header)} as in the header")
        else:
            yield number, {name: words[place] for name, place in place_of.items()}
