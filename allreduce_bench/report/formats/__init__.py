"""The result of a run as text for stdout: one function per format, from its summary."""

from . import nccl, osu, tidy
from .result import Result, closing_table


def _json_text(result: Result) -> str:
    from .document import json_text  # late: its schemas describe models, too, which need pandas

    return json_text(result)


FORMATS = {
    "table": closing_table,
    "long": tidy.long,
    "csv": tidy.csv_text,
    "json": _json_text,
    "nccl": nccl.nccl,
    "osu": osu.osu,
}

__all__ = ["FORMATS", "Result", "closing_table"]
