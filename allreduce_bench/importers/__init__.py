"""Times that other tools measured, as rows, as points of a fit, or kept as a run folder of ours.

In: logs. Out: rows (`importer.Imported`), each with its file and line. Read in this order: `reading` (which importer
reads a log), `importer` (a row, and what each importer declares) and `tools` (a file each, found by scanning; `osu` is
the one to copy), `lines` (what they share: lines, values, JSON documents), `flux`, `nccl_table`, `columns`,
`inspector`, `common_ends` (what single ones need), `points`, `keep` (a run folder), `merge` (several runs as one).
"""

from .importer import Asked, Imported, LogError, LogNote, LogUnread, LogWarning
from .keep import keep
from .points import points
from .reading import parts_of_logs, read, recognise, refuse_copy

__all__ = [
    "Asked",
    "Imported",
    "LogError",
    "LogNote",
    "LogUnread",
    "LogWarning",
    "keep",
    "parts_of_logs",
    "points",
    "read",
    "recognise",
    "refuse_copy",
]
