"""PyTorch's all_reduce_bench.py (stas00/ml-engineering): bandwidths of a scan, or of the one payload of older ones."""

import re
from collections.abc import Iterator
from typing import Any

from ..lines import Log, ranks_of, real, seconds, size_of, time_fields
from ..log_tables import LogTable, tables_of
from ..row import Asked, Imported, LogError
from . import Importer
from .nccl import factor_fits

HEAD = re.compile(
    r"average bandwidth of (all_reduce) (?:over|with a ([0-9.]+)GB payload \([0-9]+ trials,) ([0-9]+) ranks"
)
ROW = re.compile(
    r"\|\s*([0-9.]+)([KMGT]i)?B\s*\|\s*([0-9.]+)GBps\s*\|\s*([0-9.]+)GBps\s*\|$"
    r"|\balgbw: ([0-9.]+) GBps \([0-9.]+ Gbps\)$"
)


def recognises(text: str) -> bool:
    """Return whether this is a log of all_reduce_bench.py."""
    return HEAD.search(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of a log. Raises LogError: there are none, or a row makes no sense."""
    return [row for table in tables_of(log, HEAD, ROW) for row in _rows(log.file, table)]


IMPORTER = Importer(
    name="all_reduce_bench",
    title="all_reduce_bench.py",
    turn=60,
    recognises=recognises,
    read=read,
    definitions={
        "all_reduce_bench": "size over algbw, the mean over trials and ranks of each call's (all_reduce_bench.py)"
    },
    allreduce=HEAD.pattern,
)


def _rows(file: str, table: LogTable) -> Iterator[Imported]:
    _, payload, ranks = table.head.groups()
    p = ranks_of(ranks, table.place)
    common: dict[str, Any] = {"file": file, "tool": "all_reduce_bench.py", "launch": table.place, "ranks": p}
    for line, (size, unit, busbw, scanned, alone) in ((line, match.groups()) for line, match in table.rows):
        place = f"{file}, line {line.number}"
        algbw = scanned or alone
        size_bytes = (
            size_of(size, unit or "", place) if scanned else round(real(payload or "", "the payload", place) * 1e9)
        )
        if scanned and not factor_fits([(algbw, busbw)], p):
            raise LogError(f"{place}: {p} ranks, but busbw / algbw is not 2(p-1)/p of {p}; is the log damaged?")
        rate = real(algbw, "algbw", place) * 1e9
        time_s = seconds(repr(size_bytes / rate), 1.0, "the time of its algbw", place) if rate else 0.0
        yield Imported(
            **common,
            line=line.number,
            size_bytes=size_bytes,
            dtype="float32",
            op="sum",
            time_definition="all_reduce_bench",
            **time_fields(time_s, f"{algbw} GBps"),
        )
