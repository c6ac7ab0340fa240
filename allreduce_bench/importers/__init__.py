"""Times that other tools measured, as rows, as points of a fit, or kept as a run folder.

In: logs. Out: rows, each with its file and line. Read in this order: `row` (a row, and the errors of logs), `tools`
(an importer per file, found by scanning; `osu` is the one to copy), `lines` (what importers share: lines, values,
JSON documents), `common_ends` (clocks aligned by the common ends of calls), `reading` (any log to its rows), `points`
(to the points of a fit), `keep` (rows to a run folder; several runs as one).
"""

from .keep import keep
from .reading import parts_of_logs, read, recognise, refuse_copy
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
    "read",
    "recognise",
    "refuse_copy",
]
