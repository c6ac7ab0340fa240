"""The result of a run as text for stdout: one function per format, from its summary."""

from . import document, nccl, osu, tidy
from .result import Result, closing_table

FORMATS = {
    "table": closing_table,
    "long": tidy.long,
    "csv": tidy.csv_text,
    "json": document.json_text,
    "nccl": nccl.nccl,
    "osu": osu.osu,
}

__all__ = ["FORMATS", "Result", "closing_table"]
