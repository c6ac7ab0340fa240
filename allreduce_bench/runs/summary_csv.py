"""Writes summary.csv, which is derived from the rest of a run and made anew whenever that changes."""

from collections.abc import Iterable, Mapping

from .atomic_write import write_atomically
from .folder import RunFolder
from .recorder import field_values
from .rows import csv_bytes
from .schema import SUMMARY, names


def write_summary(folder: RunFolder, rows: Iterable[Mapping[str, object]]) -> None:
    """Write summary.csv anew, all at once. Raises OSError."""
    write_atomically(folder.summary_csv, csv_bytes(summary_lines(rows)).decode())


def summary_lines(rows: Iterable[Mapping[str, object]]) -> list[list]:
    """The lines of summary.csv: the names of SUMMARY, then the values of each row."""
    return [names(SUMMARY), *(field_values(SUMMARY, row) for row in rows)]
