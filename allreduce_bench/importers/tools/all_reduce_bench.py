"""PyTorch's all_reduce_bench.py (stas00/ml-engineering): bandwidths of a scan, or of the one payload of older ones."""

import re
from typing import Any

from ..lines import Place, time_fields
from ..log_tables import LogTable, importer_of_tables
from .nccl import refuse_other_factor

HEAD = re.compile(
    r"average bandwidth of (all_reduce) (?:over|with a (?P<payload>[0-9.]+)GB payload \([0-9]+ trials,) "
    r"(?P<ranks>[0-9]+) ranks"
)
ROW = re.compile(
    r"\|\s*(?P<size>[0-9.]+)(?P<power>[KMGT]i)?B\s*\|\s*(?P<busbw>[0-9.]+)GBps\s*\|\s*(?P<scanned>[0-9.]+)GBps\s*\|$"
    r"|\balgbw: (?P<alone>[0-9.]+) GBps \([0-9.]+ Gbps\)$"
)


def fields(table: LogTable, place: Place, row: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a row: its time is the size over algbw."""
    ranks, algbw = place.ranks(table.head["ranks"]), row["scanned"] or row["alone"]
    if row["scanned"]:
        size_bytes = place.size(row["size"], row["power"])
        refuse_other_factor([(algbw, row["busbw"])], ranks, place)
    else:
        size_bytes = round(place.real(table.head["payload"] or "", "the payload") * 1e9)
    rate = place.real(algbw, "algbw") * 1e9
    time_s = place.seconds(repr(size_bytes / rate), 1.0, "the time of its algbw") if rate else 0.0
    fixed = {"ranks": ranks, "size_bytes": size_bytes, "dtype": "float32", "op": "sum"}
    return fixed | time_fields(time_s, f"{algbw} GBps")


IMPORTER = importer_of_tables(
    "all_reduce_bench",
    HEAD,
    ROW,
    fields,
    title="all_reduce_bench.py",
    definition="size over algbw, the mean over trials and ranks of each call's (all_reduce_bench.py)",
    allreduce=HEAD.pattern,
)
