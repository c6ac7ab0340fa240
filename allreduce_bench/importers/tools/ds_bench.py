"""DeepSpeed's ds_bench: the all_reduce tables of its communication benchmarks. Each table is a launch."""

import re
from collections.abc import Iterator
from typing import Any

from ..lines import SECONDS, Log, ranks_of, real, seconds, size_of, time_fields, whole
from ..log_tables import LogTable, tables_of
from ..row import Asked, Imported, LogError
from . import Importer

HEAD = re.compile(r"---- Performance of (\w+) on ([0-9]+) devices ----")
ROW = re.compile(  # size, elements x bytes, duration, throughput, bus bandwidth; --raw prints no units
    r"(?:^|\s)([0-9.]+) ?([KMGT]?B)?\s+([0-9]+)x([0-9]+)\s+([0-9.]+)(?: (us|ms|s))?\s+[0-9.]+\s+([0-9.]+)$"
)
ROUNDED, LAST_DIGIT = 0.02, 1e6  # share of a size, and bytes/s, by which printed values may differ


def recognises(text: str) -> bool:
    """Return whether this is a log of ds_bench."""
    return HEAD.search(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of the all_reduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    in_bytes = "BusBW (GBps)" in log.text
    return [row for table in tables_of(log, HEAD, ROW) for row in _rows(log.file, table, in_bytes)]


IMPORTER = Importer(
    name="ds_bench",
    title="ds_bench",
    turn=60,
    recognises=recognises,
    read=read,
    definitions={
        "ds_bench": "a loop of calls on a device of rank 0, after a barrier, divided by its length (ds_bench)"
    },
    allreduce=r"Performance of all_reduce on",
)


def _rows(file: str, table: LogTable, in_bytes: bool) -> Iterator[Imported]:
    ranks = ranks_of(table.head[2], table.place)
    common: dict[str, Any] = {"file": file, "tool": "ds_bench", "launch": table.place, "op": "sum", "ranks": ranks}
    for line, match in table.rows:
        size, unit, elements, itemsize, duration, of_time, busbw = match.groups()
        place = f"{file}, line {line.number}"
        time_s = seconds(duration, SECONDS[of_time or "us"], "the duration", place)
        size_bytes, count = size_of(size, unit or "", place), whole(elements, "the number of elements", place)
        if abs(count * whole(itemsize, "the element size", place) / max(size_bytes, 1) - 1) < ROUNDED:
            size_bytes = count * int(itemsize)  # the size is rounded
        moved = real(busbw, "the bandwidth", place) * 1e9 / (1 if in_bytes else 8) * time_s
        if abs(moved - 2 * (ranks - 1) / ranks * size_bytes) > ROUNDED * size_bytes + LAST_DIGIT * time_s:
            raise LogError(f"{place}: size, duration and bus bandwidth contradict each other; expected 2(p-1)/p S / t")
        yield Imported(
            **common,
            line=line.number,
            size_bytes=size_bytes,
            time_definition="ds_bench",
            **time_fields(time_s, f"{duration} {of_time or 'us'}"),
        )
