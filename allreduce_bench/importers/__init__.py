"""Times that other tools measured, as rows, as points of a fit, or kept as a run folder.

In: logs. Out: rows, each with its file and line. Read in this order: `row` (a row, and the errors of logs), `tools` (an
importer per file, found by scanning; `ds_bench` is the one to copy), `lines` (what importers share: lines, values, JSON
documents), `log_tables` (tables that a head begins), `table_text` (CSV and Markdown as rows), `nccl_log` (what NCCL
says that it chose), `folders` (systems by the folders of logs), `contents` (the files of folders and archives),
`common_ends` (clocks aligned by the common ends of calls), `reading` (any log to its rows), `frame` (to the points of a
fit), `keep` (rows to a run folder), `merge` (several runs as one).
"""

from pathlib import Path
from typing import TYPE_CHECKING

from .keep import keep, mixed_libraries, refuse_mixed
from .reading import parts_of_logs, read, recognise, refuse_copy
from .row import NOTHING, Asked, Imported, LogError, LogNote, LogUnread, LogWarning

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Asked",
    "Imported",
    "LogError",
    "LogNote",
    "LogUnread",
    "LogWarning",
    "keep",
    "mixed_libraries",
    "parts_of_logs",
    "points",
    "read",
    "recognise",
    "refuse_copy",
    "refuse_mixed",
]


def points(path: Path, asked: Asked = NOTHING) -> "pd.DataFrame":
    """Return the rows of a log as `frame.points_of_log` does."""
    from .frame import points_of_log  # late: it loads pandas, which what reads logs otherwise does not need

    return points_of_log(path, asked)
