"""UCC's ucc_perftest: the tables of its allreduce, with -F and without. Each table is a launch."""

import re
from collections.abc import Iterator
from typing import Any

from ..lines import US, Log, dtype_of, op_of, seconds, time_fields, whole
from ..log_tables import LogTable, tables_of
from ..row import Asked, Imported
from . import Importer
from .nccl import ranks_of_factors

HEAD = re.compile(r"^\s*Collective: +(\S+)")
ROW = re.compile(r"^\s*([0-9]+)\s+([0-9]+)\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)(?:\s+([0-9.]+)\s+[0-9.]+\s+[0-9.]+)?$")


def recognises(text: str) -> bool:
    """Return whether this is a log of ucc_perftest."""
    return re.search(r"(?m)^[ \t]*Collective: +\S+\s+Memory type:", text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of the allreduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    return [row for table in tables_of(log, HEAD, ROW) for row in _rows(log.file, table)]


IMPORTER = Importer(
    name="ucc_perftest",
    title="ucc_perftest",
    turn=60,
    recognises=recognises,
    read=read,
    definitions={
        "ucc_perftest": "mean over ranks of each rank's mean over its calls, a barrier between them (ucc_perftest, avg)"
    },
    allreduce=r"(?mi)^[ \t]*Collective: +allreduce",
)


def _rows(file: str, table: LogTable) -> Iterator[Imported]:
    common: dict[str, Any] = {
        "file": file,
        "tool": "ucc_perftest",
        "launch": table.place,
        "ranks": table.launched or _ranks(table),
        "dtype": dtype_of(table.facts.get("datatype", "")),
        "op": op_of(table.facts.get("reduction", "")),
        "in_place": {"0": False, "1": True}.get(table.facts.get("inplace", "")),
        "time_definition": "ucc_perftest",
    }
    for line, match in table.rows:
        place = f"{file}, line {line.number}"
        mean_s, longest_s = (seconds(match[group], US, "the time", place) for group in (3, 5))
        yield Imported(
            **common,
            line=line.number,
            size_bytes=whole(match[2], "the size", place),
            count=whole(match[1], "the count", place),
            osu_avg_s=mean_s or None,
            imb_t_max_s=longest_s,
            **time_fields(mean_s, f"{match[3]} us"),
        )


def _ranks(table: LogTable) -> int | None:
    """Return the ranks whose 2(p-1)/p fits the bus bandwidths of -F, where these have fewer digits than the times."""
    timed = [(int(match[2]), float(match[3]), match[6]) for _, match in table.rows if match[6]]
    rates = [(f"{size / time / 1e3:.2f}", busbw) for size, time, busbw in timed if time > size / time / 1e3]
    return ranks_of_factors(rates)
