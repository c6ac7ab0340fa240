"""Says of cells that their ranks did not finish why: by those who watched the ranks, when these are gone."""

import os

from .chain import end_of_marks
from .folder import KEY, RunFolder
from .plan import Launch
from .recorder import append_to, field_values, mark_line
from .rows import csv_bytes
from .schema import CELLS, checksum


def mark_unfinished_cell(folder: RunFolder, launch: Launch, facts: dict) -> None:
    """Add a row about a cell that nobody finished to the attempt that `facts` name, else to the newest one of `launch`.

    Its ranks are gone; another job may be at work on a newer attempt. Where no attempt came as far as writing there is
    nothing to add to, and a cell that has ended after all stays so.
    """
    attempts = folder.attempt_numbers().get(launch, [])
    if not attempts or _has_ended(folder, launch, facts):
        return
    row = {"attempt": max(attempts), **facts, "launch": launch.name}
    path = folder.launches / f"{launch.name}.{row['attempt']}.cells.csv"
    end = end_of_marks(path, folder.launches / f"{launch.name}.{row['attempt']}.csv", folder.run_crc32)
    if end is None:  # killed before it wrote a header
        return
    columns = [column for column in CELLS if column.name in end.columns]
    if end.last_crc32 is None:
        line = csv_bytes([field_values(columns, row)])
    else:
        kept = {"rows": 0, "rows_nbytes": 0, "rows_crc32": checksum(b""), "rows_begin_nbytes": end.rows_end_nbytes}
        line, _ = mark_line({**row, **kept, "follows": end.last_crc32}, folder.run_crc32, columns)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    try:
        append_to(handle, b"\n" * end.is_torn + line)
    finally:
        os.close(handle)


def _has_ended(folder: RunFolder, launch: Launch, facts: dict) -> bool:
    key = tuple("" if facts.get(name) is None else str(facts[name]) for name in KEY)
    return key in folder.finished(launch)
