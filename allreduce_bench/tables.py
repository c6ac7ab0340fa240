"""Tables that fit a terminal: columns are left out or folded by one rule, lines are wrapped, fields have colours.

The rule: a table that is wider than the screen is cut between its columns into parts below each other, the key columns
repeated: the first, or as many as its caller says. Of all layouts the one with the fewest parts is taken, and of these
the one that leaves out the fewest secondary columns; they are left out in a fixed order. A column of text is not cut:
it wraps in its place, or below its row if its place is too narrow, also for one of its words, such as a path. Numbers
are never cut. The last line names what was left out or folded.
"""

import re
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple, Optional

LEAST_WIDTH = 20  # characters of a screen: no table fits into less
LEAST_TEXT = 24  # characters in a line of a text that wraps in its place
GAP, INDENT, BELOW = "  ", "  ", "    "
STYLES = {"best": "1;32", "equal": "32", "faint": "2", "bad": "31"}  # a meaning -> its ANSI colours
SIDE_BY_SIDE = "COLUMNS=200 ... | less -S"
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[KMG]i?B|B|[num]?s|[GMk]bit|ranks?|nodes?|cells?|launch(?:es)?)\b|%)")
UNBROKEN = "\N{NO-BREAK SPACE}"


class Screen(NamedTuple):
    """The medium that lines are written to."""

    width: int | None = None  # characters in a line; None: unlimited, as in a file
    colour: bool = False


UNBOUNDED = Screen()


class Field(NamedTuple):
    """The content of one row of a column."""

    text: str
    style: str = ""  # one of STYLES, or none


@dataclass(frozen=True)
class Column:
    """A column with its header, which may have several lines: the last stands directly above the fields."""

    head: tuple[str, ...]
    fields: Sequence[Field]
    is_left: bool = False  # flush left
    is_text: bool = False  # may wrap; the last column alone
    is_key: bool = False  # stands in each part; the first column does in any case
    left_out: int = 0  # secondary columns are left out in the order of these numbers; 0: never
    name: str = ""  # of a secondary one, to name it when it is left out
    instead: Optional["Column"] = None  # replaces it when it is left out

    @cached_property
    def width(self) -> int:
        """The length of its longest line, in characters."""
        return max(map(len, (*self.head, *(field.text for field in self.fields))), default=0)


def columns_of(
    rows: Sequence[Sequence[str]],
    left: Container[int] = (),
    text: int | None = None,
    left_out: Sequence[int] = (),
    heads: int = 1,
    styles: Mapping[str, str] = MappingProxyType({}),
    keys: int = 1,
) -> list[Column]:
    """Return columns of rows, the first `heads` of which are the header; `left`, `text`, `left_out` are indices.

    `styles`: text of a field -> its style. The first `keys` columns stand in each part of a table.
    """
    return [
        Column(
            head=values[:heads],
            fields=tuple(Field(value, styles.get(value, "")) for value in values[heads:]),
            is_left=number in left,
            is_text=number == text,
            is_key=number < keys,
            left_out=left_out.index(number) + 1 if number in left_out else 0,
            name=" ".join(filter(None, values[:heads])),
        )
        for number, values in enumerate(zip(*rows))
    ]


def fitted(columns: Sequence[Column], screen: Screen = UNBOUNDED, whole: str = SIDE_BY_SIDE) -> list[str]:
    """Return the lines of a table by the rule above; `whole` is what to type to see all of it."""
    if screen.width is None:
        return _lines(columns, screen)
    level, parts = _laid_out(columns, screen.width)
    lines = [line for part in parts for line in ("", *_lines(part, screen))][1:]
    absent = sorted((column.left_out, column.name) for column in columns if 0 < column.left_out <= level)
    names = dict.fromkeys(name for _, name in absent)
    said = [f"columns left out: {', '.join(names)}"] * bool(names) + [f"in {len(parts)} parts"] * (len(parts) > 1)
    return [*lines, *wrapped([f"({'; '.join(said)}; all: {whole})"] * bool(said), screen)]


def shown(columns: Sequence[Column], screen: Screen) -> list[Column]:
    """Return the columns that `fitted` shows on the screen, not left out."""
    level = _laid_out(columns, screen.width)[0] if screen.width is not None else 0
    return [column for column in columns if not 0 < column.left_out <= level]


def wrapped(lines: Iterable[str], screen: Screen) -> list[str]:
    """Wrap lines to the width of the screen, continuation lines indented; a number keeps its unit."""
    return [piece for line in lines for piece in _wrapped(line, screen.width)]


def _wrapped(line: str, width: int | None, indent: str = INDENT) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    indent += line[: len(line) - len(line.lstrip())]
    pieces = textwrap.wrap(
        BEFORE_UNIT.sub(UNBROKEN, line),
        max(width, LEAST_WIDTH),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [piece.replace(UNBROKEN, " ") for piece in pieces]


def _laid_out(columns: Sequence[Column], width: int) -> tuple[int, list[list[Column]]]:
    """Return the number up to which columns are left out, and the parts of the others."""
    levels = (0, *sorted({column.left_out for column in columns if column.left_out}))
    layouts = {level: _parts(_down_to(level, columns), max(width, LEAST_WIDTH)) for level in levels}
    level = min(levels, key=lambda level: len(layouts[level]))  # the first of several
    return level, layouts[level]


def _down_to(level: int, columns: Sequence[Column]) -> list[Column]:
    """Return the columns, those left out up to this number replaced by their substitutes, if any."""
    chosen = [column.instead if 0 < column.left_out <= level else column for column in columns]
    return [column for column in chosen if column]


def _parts(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Split columns into as few parts as possible, each with the key columns, the widest as narrow as possible."""
    fewest = len(_filled(columns, width))
    evenly = (_filled(columns, limit) for limit in range(width // fewest if fewest > 1 else width, width + 1))
    return next(parts for parts in evenly if len(parts) == fewest)


def _filled(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Fill parts with as many columns as fit, at least one beside the key columns."""
    keys = [column for number, column in enumerate(columns) if column.is_key or number == 0]
    parts = [[*keys]]
    for column in columns[len(keys) :]:
        if len(parts[-1]) > len(keys) and _least_width([*parts[-1], column]) > width:
            parts.append([*keys])
        parts[-1].append(column)
    return parts


def _least_width(columns: Sequence[Column]) -> int:
    """Return the width of a line without its text, which may stand below."""
    widths = [column.width for column in columns if not column.is_text]
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _lines(columns: Sequence[Column], screen: Screen) -> list[str]:
    """Return the lines of one part."""
    height = max(len(column.head) for column in columns)
    heads = [[""] * (height - len(column.head)) + list(column.head) for column in columns]
    rows = [list(map(Field, line)) for line in zip(*heads)] + list(map(list, zip(*(c.fields for c in columns))))
    room = None if screen.width is None else screen.width - _least_width(columns) - len(GAP)
    if room is None or not columns[-1].is_text or columns[-1].width <= room:
        return [_line(row, columns, screen) for row in rows]
    longest = max(len(word) for field in columns[-1].fields for word in (field.text or " ").split(" "))
    if room >= max(LEAST_TEXT, longest):
        return [line for row in rows for line in _lines_beside(row, columns, screen, room)]
    return [line for number, row in enumerate(rows) for line in _lines_above(row, columns, screen, number >= height)]


def _lines_beside(row: Sequence[Field], columns: Sequence[Column], screen: Screen, room: int) -> list[str]:
    """Return the lines of a row whose last field is a text that wraps in its place."""
    *fields, text = row
    pieces = [Field(piece, text.style) for piece in _wrapped(text.text, room, "")]
    rows = zip_longest(*([field] for field in fields), pieces, fillvalue=Field(""))
    return [_line(line, columns, screen) for line in rows]


def _lines_above(row: Sequence[Field], columns: Sequence[Column], screen: Screen, has_text: bool) -> list[str]:
    """Return the lines of a row with its text below it; the header of the text is left out."""
    *fields, text = row
    below = _wrapped(BELOW + text.text, screen.width, "") if has_text and text.text else []
    return [_line(fields, columns[:-1], screen), *(_painted(Field(piece, text.style), screen) for piece in below)]


def _line(row: Iterable[Field], columns: Sequence[Column], screen: Screen) -> str:
    padded = []
    for field, column in zip(row, columns):
        blanks = " " * (column.width - len(field.text))
        painted = _painted(field, screen)
        padded.append(painted + blanks if column.is_left else blanks + painted)
    return GAP.join(padded).rstrip()


def _painted(field: Field, screen: Screen) -> str:
    if not screen.colour or not field.style:
        return field.text
    return f"\033[{STYLES[field.style]}m{field.text}\033[0m"
