"""UCC's ucc_perftest: the tables of its allreduce, with -F and without."""

import re
from typing import Any

from ..lines import US, Place, dtype_of, op_of, time_fields
from ..log_tables import LogTable, importer_of_tables
from .nccl import ranks_of_factors

HEAD = re.compile(r"^\s*Collective: +(\S+)")
ROW = re.compile(
    r"^\s*(?P<count>[0-9]+)\s+(?P<size>[0-9]+)\s+(?P<mean>[0-9.]+)\s+[0-9.]+\s+(?P<longest>[0-9.]+)"
    r"(?:\s+(?P<busbw>[0-9.]+)\s+[0-9.]+\s+[0-9.]+)?$"
)


def fields(table: LogTable, place: Place, row: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a row."""
    mean_s, longest_s = (place.seconds(row[name], US) for name in ("mean", "longest"))
    return {
        "ranks": table.launched or _ranks(table),
        "size_bytes": place.whole(row["size"], "the size"),
        "count": place.whole(row["count"], "the count"),
        "dtype": dtype_of(table.facts.get("datatype", "")),
        "op": op_of(table.facts.get("reduction", "")),
        "in_place": {"0": False, "1": True}.get(table.facts.get("inplace", "")),
        "osu_avg_s": mean_s or None,
        "imb_t_max_s": longest_s,
        **time_fields(mean_s, f"{row['mean']} us"),
    }


def _ranks(table: LogTable) -> int | None:
    """Return the ranks whose 2(p-1)/p fits the bus bandwidths of -F, where these have fewer digits than the times."""
    timed = [(int(row["size"]), float(row["mean"]), row["busbw"]) for _, row in table.rows if row["busbw"]]
    rates = [(f"{size / time / 1e3:.2f}", busbw) for size, time, busbw in timed if time > size / time / 1e3]
    return ranks_of_factors(rates)


IMPORTER = importer_of_tables(
    "ucc_perftest",
    HEAD,
    ROW,
    fields,
    title="ucc_perftest",
    definition="mean over ranks of each rank's mean over its calls, a barrier between them (ucc_perftest, avg)",
    allreduce=r"(?mi)^[ \t]*Collective: +allreduce",
    begins=r"(?m)^[ \t]*Collective: +\S+\s+Memory type:",
)
