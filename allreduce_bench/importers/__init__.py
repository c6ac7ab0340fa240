"""Times that other tools measured, as rows, as points of a fit, or kept as a run folder of ours.

In: logs. Out: rows (`row`), each with its file and line. Read in this order: `reading` (which importer reads a log),
`other_formats` (what none reads), `importer` (what each declares) and `tools` (a file each, found by scanning; `osu` is
the one to copy), `lines` and `values` (what they share), `flux`, `nccl_table`, `rates`, `columns` (what single ones
need), `points`, `keep` (a run folder), `merge` (several runs as one). Who arrives late: `inspector_lines`, `inspector`,
`inspector_arrivals`, `monitor_lines` (StepMonitor), `arrival_trace`; of PyTorch and NCCL `documents`, `collectives`,
`kineto_events`, `kineto_arrivals`, `flight_recorder`, `nccl_ras`, `job_files`; `arrival_sources` (any of them). Pairs:
`pair_tables`.
"""

from .keep import keep
from .points import points
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
    "points",
    "read",
    "recognise",
    "refuse_copy",
]
