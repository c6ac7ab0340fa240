"""DeepSpeed's ds_bench: the all_reduce tables of its communication benchmarks."""

import re
from typing import Any

from ..lines import SECONDS, Place, time_fields
from ..log_tables import LogTable, importer_of_tables
from ..row import LogError

HEAD = re.compile(r"---- Performance of (\w+) on (?P<ranks>[0-9]+) devices ----")
ROW = re.compile(  # size, elements x bytes, duration, throughput, bus bandwidth; --raw prints no units
    r"(?:^|\s)(?P<size>[0-9.]+) ?(?P<power>[KMGT]?B)?\s+(?P<elements>[0-9]+)x(?P<itemsize>[0-9]+)"
    r"\s+(?P<duration>[0-9.]+)(?: (?P<unit>us|ms|s))?\s+[0-9.]+\s+(?P<busbw>[0-9.]+)$"
)
ROUNDED, LAST_DIGIT = 0.02, 1e6  # share of a size, and bytes/s, by which printed values may differ


def fields(table: LogTable, place: Place, row: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a row. The size is elements times bytes where what is printed is that, rounded."""
    ranks, unit = place.ranks(table.head["ranks"]), row["unit"] or "us"
    time_s = place.seconds(row["duration"], SECONDS[unit], "the duration")
    size_bytes = place.size(row["size"], row["power"])
    exact = place.whole(row["elements"], "the number of elements") * place.whole(row["itemsize"], "the element size")
    if abs(exact / max(size_bytes, 1) - 1) < ROUNDED:
        size_bytes = exact
    bits = 1 if any("BusBW (GBps)" in line for line in table.above) else 8
    moved = place.real(row["busbw"], "the bandwidth") * 1e9 / bits * time_s
    if abs(moved - 2 * (ranks - 1) / ranks * size_bytes) > ROUNDED * size_bytes + LAST_DIGIT * time_s:
        raise LogError(f"{place}: size, duration and bus bandwidth contradict each other; expected 2(p-1)/p S / t")
    return {"ranks": ranks, "size_bytes": size_bytes, "op": "sum", **time_fields(time_s, f"{row['duration']} {unit}")}


IMPORTER = importer_of_tables(
    "ds_bench",
    HEAD,
    ROW,
    fields,
    title="ds_bench",
    definition="a loop of calls on a device of rank 0, after a barrier, divided by its length (ds_bench)",
    allreduce=r"Performance of all_reduce on",
)
