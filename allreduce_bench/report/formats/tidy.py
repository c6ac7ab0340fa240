"""One row a cell: `csv`, which is summary.csv, and `long`, the same for readers."""

import csv
import io
from collections.abc import Callable

from ...evaluation.summary_row import SummaryRow, number_of
from ...runs.recorder import summary_lines
from ...tables import columns_of, fitted
from ...units import three_digits
from .result import Result

ABSENT = "-"


def csv_text(result: Result) -> str:
    """Return the summary as CSV, exactly as in summary.csv: names as in SUMMARY, missing values empty."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(summary_lines(result.rows))
    return text.getvalue()


def long(result: Result) -> str:
    """Return aligned columns with units in the header, one row a cell; missing values are `-`, the reason comes
    last.
    """
    lines = [list(COLUMNS), *([_field_text(row, read) for read in COLUMNS.values()] for row in result.rows)]
    text_columns = (0, 1, len(COLUMNS) - 2, len(COLUMNS) - 1)  # not numbers: left-aligned
    return "".join(f"{line}\n" for line in fitted(columns_of(lines, left=text_columns)))


def _field_text(row: SummaryRow, read: Callable[[SummaryRow], object]) -> str:
    value = read(row)
    return ABSENT if value is None or value == "" else str(value)


def _column(name: str) -> Callable[[SummaryRow], object]:
    return lambda row: row.get(name)


def _scaled_column(name: str, factor: float) -> Callable[[SummaryRow], object]:
    return lambda row: None if (value := number_of(row, name)) is None else three_digits(value * factor)


COLUMNS: dict[str, Callable[[SummaryRow], object]] = {
    "competitor": _column("competitor"),
    "ranks": _column("ranks"),
    "nodes": _column("nodes"),
    "size_bytes": _column("size_bytes"),
    "time_us": _scaled_column("time_s", 1e6),
    "low_us": _scaled_column("time_low_s", 1e6),
    "high_us": _scaled_column("time_high_s", 1e6),
    "min_us": _scaled_column("min_s", 1e6),
    "max_us": _scaled_column("max_s", 1e6),
    "launches": _column("launches"),
    "repetitions": _column("repetitions"),
    "algbw_GB/s": _scaled_column("algbw_bytes_per_s", 1e-9),
    "busbw_GB/s": _scaled_column("busbw_bytes_per_s", 1e-9),
    "speedup": _scaled_column("speedup", 1),
    "wrong": _column("wrong"),
    "standing": _column("standing"),
    "doubt": _column("doubt"),
    "states": _column("states"),
    "grade": lambda row: str(row.get("grade") or "").replace(" ", "_"),
    "state": _column("state"),
    "reason": lambda row: row.get("reason") if row["time_s"] is None else "",
}
