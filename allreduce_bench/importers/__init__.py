"""Times that other tools measured, as rows, as points of a fit, or kept as a run folder of ours.

In: logs. Out: rows (`row`), each with its file and line. Read in this order: `reading` (which importer reads a log),
`importer` (what each declares) and `tools` (a file each, found by scanning; `osu` is
the one to copy), `lines` (what they share: lines, values, JSON documents), `flux`, `nccl_table`, `columns`,
`inspector`, `common_ends` (what single ones need), `points`, `keep` (a run folder), `merge` (several runs as one).
"""

from .keep import keep
from .reading import parts_of_logs, points, read, recognise, refuse_copy
from .row import Asked, Imported, LogError, LogNote, LogUnread, LogWarning

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
