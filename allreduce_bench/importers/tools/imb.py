"""Intel MPI Benchmarks: the Allreduce tables of IMB-MPI1, one for each number of processes.

time_s is t_max, the maximum over ranks of each rank's mean over its calls. Each table is a launch, though IMB measures
all of them in one mpirun, in which the other ranks wait: launches of one number of ranks come from several logs.
"""

import re
from typing import Any

from ..lines import (
    NOISE,
    US,
    Log,
    LogLine,
    dtype_of,
    is_cut,
    is_whole,
    listed,
    op_of,
    ranks_of,
    real,
    seconds,
    shown,
    time_fields,
    unit_s,
    warn_of_others,
    warn_of_row,
    whole,
)
from ..row import Asked, Imported, LogError
from . import Importer

TOOL = "Intel MPI Benchmarks"
BANNER = re.compile(r"Intel ?\(R\) MPI Benchmarks? (?:Suite )?V?([0-9][\w.]*(?: Update [0-9]+)?)", re.ASCII)
BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?!#)(\S+)")
PROCESSES = re.compile(r"#[\s(]*#processes = ([0-9]+)")
HEADER = re.compile(r"\s*(#Benchmarking\s+#procs\s+)?#bytes\s+#repetitions\b")
NAMED = re.compile(r"\s*([A-Z]\w*)\s+([0-9]+)(?=\s)")  # the beginning of a row below such a header
HEAD_LINES = {  # what the head of a log says -> how it begins
    "date": "Date",
    "kernel": "System",
    "release": "Release",
    "mpi_standard": "MPI Version",
    "dtype": "MPI_Datatype for reductions",
    "op": "MPI_Op",
}
COLUMNS = ("t_min", "t_max", "t_avg")  # each with its unit: t_max[usec]
FAILURE = re.compile(r"[a-z]+(?:-[a-z]+)+\b")  # instead of a time: `out-of-mem.`, `time-out.`, `int-overflow.`


def recognises(text: str) -> bool:
    """Return whether this is a log of the Intel MPI Benchmarks."""
    return BANNER.search(text) is not None or (BENCHMARK.search(text) is not None and "#repetitions" in text)


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of the Allreduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    reader = _Reader(log.file)
    for line in log.lines:
        reader.take(line)
    if not reader.rows:
        others = [name for name in dict.fromkeys(reader.benchmarks) if name != "Allreduce"]
        what = f"found: {listed(others)}" if others else "the table is empty"
        raise LogError(f"{log.file}, line {log.lines[-1].number}: no row of an Allreduce up to here; {what}")
    warn_of_others(log.file, (name for name in reader.benchmarks if name != "Allreduce"))
    return reader.rows


IMPORTER = Importer(
    name="imb",
    title="Intel MPI Benchmarks",
    turn=30,
    recognises=recognises,
    read=read,
    definitions={"imb_t_max": "maximum over ranks of each rank's mean over its calls (Intel MPI Benchmarks, t_max)"},
    allreduce=r"# Benchmarking Allreduce",
)


class _Reader:
    """The rows read so far, line by line."""

    def __init__(self, file: str):
        self.file, self.rows = file, list[Imported]()
        self.benchmarks: list[str] = []
        self.head: dict[str, str] = {}
        self.ranks: int | None = None
        self.columns: list[str] = []  # of the current table; none: no table of an all-reduce
        self.tables = self.width = 0
        self.cold, self.unit_s = False, US

    def take(self, line: LogLine) -> None:
        """Read one line."""
        text = line.text
        if match := BANNER.search(text):
            self.head, self.columns = {"version": match[1]}, []
        elif match := BENCHMARK.search(text):
            self.benchmarks.append(match[1])
            self.ranks, self.columns = None, []
        elif match := PROCESSES.search(text):
            self.ranks = ranks_of(match[1], f"{self.file}, line {line.number}")
        elif match := HEADER.match(text):
            self._begin(text.removeprefix(match[1] or ""), f"{self.file}, line {line.number}")
        elif text.lstrip().startswith("#"):
            self._take_head(text)
        elif self.columns and (match := NAMED.match(text)) and match[1] == "Allreduce":
            self.ranks = ranks_of(match[2], f"{self.file}, line {line.number}")
            self._take_row(line._replace(text=text[match.end() :]))
        elif self.columns and is_whole((text.split() or [""])[0]):
            self._take_row(line)

    def _begin(self, header: str, place: str) -> None:
        """Begin a table. Raises LogError for an unknown unit of time."""
        is_allreduce = self.benchmarks[-1:] == ["Allreduce"]
        columns = [re.sub(r"\[\w*\]$", "", name) for name in header.split()]
        units = re.findall(r"\bt_max\[(\w*)\]", header)
        self.unit_s = unit_s(units[0], place) if is_allreduce and units else US
        is_whole = is_allreduce and {"#repetitions", *COLUMNS} <= set(columns)
        self.columns = columns if is_whole else []
        self.tables += bool(self.columns)
        self.width = 0

    def _take_head(self, text: str) -> None:
        name, colon, value = text.lstrip("# ").partition(":")
        for key, begins in HEAD_LINES.items():
            if colon and name.strip() == begins and value.strip():
                self.head[key] = value.strip()
        self.cold = self.cold or bool(re.search(r"-off_cache\s+-?[1-9]", text))

    def _take_row(self, line: LogLine) -> None:
        words, place = line.text.split(), f"{self.file}, line {line.number}"
        reason_at = next((at for at in (1, 2) if at < len(words) and FAILURE.match(words[at])), 0)
        if not reason_at and NOISE.match(line.text):
            return
        needed = 1 + self.columns.index("t_avg")
        if not reason_at and (len(words) < needed or is_cut(line, self.width)):
            warn_of_row(self.file, line, f"{shown(line.text)} is no whole row")
            return
        size_bytes = whole(words[0], "the size", place)
        if reason_at:  # a reason instead of a time, after the size or the number of repetitions
            reason = " ".join(words[reason_at:])
            state = "left out" if reason.startswith("time-out") else "skipped"
            fields: dict[str, Any] = {"state": state, "reason": f"the log says: {reason}"[:200]}
        else:
            self.width = len(line.text)
            fields = _times_and_defects(dict(zip(self.columns, words)), self.unit_s, place)
        self.rows.append(Imported(line=line.number, size_bytes=size_bytes, **self._common(), **fields))

    def _common(self) -> dict[str, Any]:
        kernel = " ".join(self.head[key] for key in ("kernel", "release") if key in self.head)
        facts: dict[str, Any] = {"machines": [{"kernel": kernel}]} if kernel else {}
        if "date" in self.head:
            facts["date"] = self.head["date"]
        if "mpi_standard" in self.head:
            facts["mpi"] = {"mpi_standard": self.head["mpi_standard"]}
        return {
            "file": self.file,
            "tool": TOOL,
            "version": self.head.get("version"),
            "launch": f"{self.file}, table {self.tables}",
            "ranks": self.ranks,
            "dtype": dtype_of(self.head.get("dtype", "")),
            "op": op_of(self.head.get("op", "MPI_SUM")),  # it has no other
            "cache": "cold" if self.cold else "warm",
            "time_definition": "imb_t_max",
            "facts": facts,
        }


def _times_and_defects(values: dict[str, str], of_times: float, place: str) -> dict[str, Any]:
    _, most, mean = (seconds(values[name], of_times, name, place) for name in COLUMNS)
    fields: dict[str, Any] = time_fields(most, f"{values['t_max']} us")
    fields |= {"imb_t_max_s": most, "osu_avg_s": mean}
    fields["iterations"] = whole(values["#repetitions"], "#repetitions", place, 1)
    if "defects" in values:
        defects = real(values["defects"], "defects", place)
        fields |= {"wrong": 0} if defects == 0 else {"state": "wrong", "reason": f"the log says: defects {defects:g}"}
    return fields
