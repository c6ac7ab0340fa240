"""Rows of texts as lines with columns."""

from collections.abc import Container, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Container[int] = ()) -> list[str]:
    """A line a row: columns two blanks apart and flush right, those numbered in `left` flush left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    ways = [str.ljust if number in left else str.rjust for number in range(len(widths))]
    return ["  ".join(way(text, width) for way, text, width in zip(ways, row, widths)).rstrip() for row in rows]
